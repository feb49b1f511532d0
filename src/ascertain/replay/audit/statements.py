"""What the model told the person, against what the recorded answers support.

The sentences are read by the rules for replies (``rules/replies``); what they are held against is
made here from the answers, for there is no ledger.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract
from ascertain.model.outcome import Kind as Refusal
from ascertain.model.tables import State
from ascertain.replay.audit.answers import Known, Trust, least
from ascertain.replay.audit.calls import Seen
from ascertain.replay.audit.finding import Exhibit, exhibit
from ascertain.replay.effects import By, own_name
from ascertain.replay.formats.conversation import Utterance
from ascertain.rules.facts import Known as OnRecord
from ascertain.rules.replies.check import check_reply
from ascertain.rules.replies.finding import Finding as Contradiction
from ascertain.runtime.promises import noun_of

# "Failed" or "done" of a call whose answer does not support it, or to do it once more.
PLAIN = frozenset({
    "submitted_without_evidence", "not_done_while_unknown", "not_done_although_confirmed",
    "reversed_without_evidence", "invites_repeat",
})  # fmt: skip
# What hangs on names and references, of which a recording knows less than a ledger.
BY_NAME = frozenset({
    "more_than_receipt", "unknown_reference", "reference_of_another", "doubted_although_settled",
})  # fmt: skip
_STATES = {
    Known.CONFIRMED: State.CONFIRMED, Known.REFUSED: State.REJECTED, Known.UNKNOWN: State.UNKNOWN,
}  # fmt: skip


class Misstated(NamedTuple):
    """A sentence that the recorded answers do not support."""

    contradiction: Contradiction
    trust: Trust
    about: tuple[Seen, ...]
    evidence: tuple[Exhibit, ...]
    reasons: tuple[str, ...]


def misstatements(
    said: Utterance, place: int, turn: int, calls: Sequence[Seen]
) -> Iterator[Misstated]:
    """The sentences of one message that contradict what was known by then.

    :param place: where in the conversation it was said. :param calls: of the whole conversation.
    """
    before = [one for one in calls if one.place < place and one.effect.writes]
    mine = [one for one in before if one.turn == turn] or before
    if not before:
        return  # nothing was called that it could speak of
    quoted = [json.dumps(one.call.args, ensure_ascii=False) for one in calls if one.place < place]
    shown = [one.answer.text for one in calls if one.answer and one.answered_at < place]
    found = {
        (c.rule, c.said): c
        for c in _checked(said.text, mine, place, quoted, shown)
        if c.rule in PLAIN
    }
    for c in _checked(said.text, before, place, quoted, shown):
        if c.rule in BY_NAME:
            found.setdefault((c.rule, c.said), c)
    known = {_id(one): one for one in before}
    for contradiction in found.values():
        about = tuple(known[name] for name in contradiction.actions if name in known)
        yield _weighed(contradiction, about, said, place)


def _checked(
    text: str, calls: Sequence[Seen], place: int, quoted: list[str], shown: list[str]
) -> list[Contradiction]:
    return check_reply(text, [_on_record(one, place) for one in calls], quoted=quoted, shown=shown)


def _weighed(
    contradiction: Contradiction, about: tuple[Seen, ...], said: Utterance, place: int
) -> Misstated:
    trust, reasons = Trust.HIGH, [contradiction.why]
    if contradiction.rule in BY_NAME:
        trust = Trust.LOW
    for one in about:
        trust = least(trust, one.reading.trust)
        if one.effect.by not in (By.CONTRACT, By.RECORDING):
            trust = least(trust, Trust.LOW if one.effect.by is By.NOTHING else Trust.MEDIUM)
        reasons.append(f"of {one.call.tool}, {_known_then(one, place)}")
    if not about:
        trust = Trust.LOW
    evidence = [exhibit("call", one.call.where, one.text()) for one in about[-2:]]
    evidence += [
        exhibit("answer", one.answer.where, one.answer.text or "(empty)")
        for one in about[-2:]
        if one.answer is not None and one.answered_at < place
    ]
    evidence.append(exhibit("said", said.where, contradiction.said))
    return Misstated(contradiction, trust, about, tuple(evidence), tuple(reasons))


def _known_then(one: Seen, place: int) -> str:
    return one.reading.why if one.answered_at < place else "no answer had come yet"


def _id(one: Seen) -> str:
    return f"call-{one.place}"


def _on_record(one: Seen, place: int) -> OnRecord:
    """A recorded call as the rules for replies know an action."""
    answered = 0 <= one.answered_at < place
    known = one.reading.known if answered else Known.UNKNOWN
    state = _STATES[known]
    contract = one.contract or Contract(
        tool=own_name(one.call.tool), noun=noun_of(own_name(one.call.tool))
    )
    record = ActionRecord(
        id=_id(one), tenant="", tool=contract.tool, principal="", session="", opening="",
        turn=str(one.turn), slot="", chain="", call_id=one.call.call_id or None, parent=None,
        replaces=None, intent="", ordinal="", exact="", wording="", key=one.key, contract="",
        mode="", created_at=0.0, send_by_at=0.0, state=state,
        final=int(state is State.REJECTED),
        kind=Refusal.BUSINESS if state is State.REJECTED else None,
        provider_ref=(one.reading.ref or None) if state is State.CONFIRMED else None,
    )  # fmt: skip
    return record, contract
