"""The calls of a conversation as the audit sees them: turn, effect, answer, and what is meant."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ascertain.model.contract import Contract
from ascertain.replay.audit.answers import Reading, is_guarded, read
from ascertain.replay.effects import Effect, effect_of, own_name, words_of
from ascertain.replay.formats.conversation import (
    Conversation,
    Entry,
    ToolAnswer,
    ToolCall,
    Utterance,
    calls_of,
)

# Parameters by which a caller names a request: another value is no other intent.
KEYS: Final = re.compile(
    r"(?:idempot|dedup|client_?(?:request_?)?token|clienttoken|request_?id$|requestid$|nonce$)",
    re.IGNORECASE,
)
# Parameters that hold a text for people, where no contract says which do.
WORDING: Final = words_of(
    "body comment comments content description details explanation issue memo message note notes "
    "reason remark remarks subject summary text thought title"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One call, and what its answer proves.

    :param place: its place in the conversation; ``answered_at``: its answer's, -1: none.
    :param turn: the person's how many-th wish it serves.
    """

    call: ToolCall
    answer: ToolAnswer | None
    place: int
    answered_at: int
    turn: int
    effect: Effect
    reading: Reading
    contract: Contract | None

    @property
    def guarded(self) -> bool:
        return is_guarded(self.answer)

    @property
    def key(self) -> str:
        """The idempotency key among its arguments; '': there is none."""
        args = self.call.args or {}
        return next((str(args[name]) for name in sorted(args) if KEYS.search(name)), "")

    def text(self) -> str:
        """The call as it is quoted."""
        args = self.call.args
        shown = self.call.raw if args is None else json.dumps(args, ensure_ascii=False)
        return f"{self.call.tool}({shown or '?'})"


def turns_of(entries: tuple[Entry, ...]) -> list[int]:
    """For each entry, the number of the person's message before it; what comes first is in 1."""
    turn, found = 0, list[int]()
    spoken = False
    for entry in entries:
        if isinstance(entry, Utterance) and entry.role == "user":
            turn += not (spoken and found)  # messages in a row are one wish
            spoken = True
        else:
            spoken = False
        found.append(max(turn, 1))
    return found


def seen_calls(conversation: Conversation, contracts: Mapping[str, Contract]) -> Iterator[Seen]:
    """Every call of a conversation."""
    turns = turns_of(conversation.entries)
    for call, answer, place, answered_at in calls_of(conversation.entries):
        yield Seen(
            call=call, answer=answer, place=place, answered_at=answered_at, turn=turns[place],
            effect=effect_of(call.tool, call.kind, contracts), reading=read(answer),
            contract=contracts.get(call.tool) or contracts.get(own_name(call.tool)),
        )  # fmt: skip


def sameness(a: Seen, b: Seen) -> tuple[str, ...] | None:
    """By what two calls of one tool mean the same; None: they do not, or it cannot be known.

    :returns: the names of arguments in which they differ all the same: wording.
    """
    one, other = a.call.args, b.call.args
    if one is None or other is None:
        return None
    differ = tuple(
        sorted(
            name
            for name in {*one, *other}
            if not KEYS.search(name) and not _equal(one.get(name), other.get(name))
        )
    )
    if not differ:
        return ()
    contract = b.contract
    if contract is not None and contract.identity:
        return None if set(differ) & set(contract.identity) else differ
    wording = frozenset(contract.wording) if contract is not None else WORDING
    rest = {name for name in (*one, *other) if not KEYS.search(name)} - set(differ)
    return differ if set(differ) <= wording and rest else None


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.strip() == other.strip()
    return type(one) is type(other) and bool(one == other)
