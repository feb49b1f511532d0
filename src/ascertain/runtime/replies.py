"""What a reply claims, held against the ledger for a session."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from ascertain.errors import InvalidArguments
from ascertain.model.action import ActionRecord
from ascertain.rules.replies.check import check_reply
from ascertain.rules.replies.finding import Finding
from ascertain.rules.replies.structured import verify_claims
from ascertain.runtime.hands import Hands
from ascertain.values.parsing import parse_call

if TYPE_CHECKING:
    from ascertain.rules.facts import Known
    from ascertain.runtime.desk import Desk
    from ascertain.runtime.scope import Opened

QUOTED = 50  # of so many actions, the newest, may the arguments and results be quoted


def check(desk: Desk, session: Opened, text: str) -> list[Finding]:
    """The sentences of ``text`` that contradict what is on record of the session.

    :raises InvalidArguments: it is no text.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidArguments("A reply to check is a text.")
    known = desk.known(session.scope, whole=True)
    quoted, shown = _beside(desk.hands, known)
    return check_reply(text, known, quoted=quoted, shown=shown)


def verify(desk: Desk, session: Opened, reply: Mapping[str, Any] | str) -> list[Finding]:
    """The claims of a structured reply that contradict what is on record of the session.

    :raises InvalidArguments: it is no JSON object, or was cut off.
    """
    claims = parse_call(reply) if isinstance(reply, str) else reply
    if not isinstance(claims, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidArguments("A structured reply is a JSON object.")
    known = desk.known(session.scope, whole=True)
    turn = desk.known(session.scope)
    quoted, shown = _beside(desk.hands, known)
    return verify_claims(claims, known, wish=turn, quoted=quoted, shown=shown)


def _beside(hands: Hands, known: list[Known]) -> tuple[list[str], list[str]]:
    """What a reply may quote: arguments, and what providers said."""
    newest: list[ActionRecord] = [record for record, _ in reversed(known)]
    ids = [record.id for record in islice(newest, QUOTED)]
    arguments = map(hands.ledger.arguments, ids)
    results = map(hands.ledger.result, ids)
    return [text for text in arguments if text], [text for text in results if text]
