"""What a replay came to, in counts: as data, and in lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from ascertain import Action
from ascertain.replay.recording import Call
from ascertain.testing.invariants import (
    NO_DUPLICATE_EFFECT,
    NO_LIE,
    NO_LOST_ACTION,
    Statement,
    Violation,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What the caller was told of one recorded call.

    :param how: ``new``, ``replayed``, ``joined`` or ``bound``.
    :param value: what the tool gave back, if it is confirmed.
    """

    call: Call
    how: str
    statement: Statement
    value: Any

    @classmethod
    def of(cls, call: Call, action: Action[Any]) -> Self:
        """Keep what an action says of itself now."""
        record = action.record
        return cls(
            call=call,
            how=action.how,
            statement=Statement(
                action=record.id,
                state=record.state,
                final=bool(record.final),
                provider_ref=record.provider_ref,
                disputed=bool(record.disputed),
            ),
            value=action.result,
        )


BECAME: Mapping[str, str] = {
    "replayed": "replayed, not sent",
    "bound": "the refusal was told again, not sent",
    "joined": "joined the first one, which was still open",
    "new": "made as a new action, after the first one had ended without effect",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """An identical write that came again, and what became of it.

    :param how: see :data:`BECAME`. :param state: what the caller was told.
    """

    tool: str
    conv: str
    order: int
    how: str
    state: str

    @property
    def became(self) -> str:
        """In plain words."""
        return BECAME[self.how]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """All counts of a replay.

    :param intents: distinct writes. :param repeats: identical writes that came again.
    :param faults: that a request really met, by kind.
    :param ends: actions by how they ended; ``read_ends``: reads and generic calls.
    :param lookups: of writes. :param doubled: second effects of one single sending, which are the
        network's doing; ``noticed``: those that are reported.
    :param as_recorded: intents that ended as they had in the recording.
    :param broken_promises: actions of which the provider said "absent" when by its promise that was
        final, and it was not so: then a double has to be noticed, and is none of ours.
    """

    name: str
    contract: str
    seed: int | None
    conversations: int
    calls: int
    reads: int
    writes: int
    generic: int
    intents: int
    repeats: tuple[Repeat, ...]
    faults: dict[str, int]
    ends: dict[str, int]
    read_ends: dict[str, int]
    effects: int
    creates: int
    lookups: int
    doubled: int
    noticed: int
    as_recorded: int
    left_open: int
    in_review: int
    violations: tuple[Violation, ...]
    broken_promises: int
    took_s: float

    @property
    def agrees(self) -> bool:
        return not self.violations

    @property
    def totals(self) -> dict[str, int]:
        """The numbers of the last line."""
        named = {
            "duplicates": NO_DUPLICATE_EFFECT,
            "false_statements": NO_LIE,
            "lost_actions": NO_LOST_ACTION,
        }
        found = [one.invariant for one in self.violations]
        return {
            **{name: found.count(invariant) for name, invariant in named.items()},
            "other": sum(invariant not in named.values() for invariant in found),
            "left_open": self.left_open,
            "left_to_person": self.in_review,
        }

    def as_dict(self) -> dict[str, Any]:
        """The report, for ``--json``."""
        plain = asdict(self)
        plain["repeats"] = [{**asdict(one), "became": one.became} for one in self.repeats]
        plain["violations"] = [str(one) for one in self.violations]
        plain["took_s"] = round(self.took_s, 2)
        return {**plain, "agrees": self.agrees, "totals": self.totals}


def lines_of(done: Replayed) -> Iterator[str]:
    """The report, for people."""
    faults = sum(done.faults.values())
    yield (
        f"recording   {done.name}: {done.calls} calls in {done.conversations} conversations "
        f"({done.reads} reads, {done.writes} writes, {done.generic} generic)"
    )
    seed = "" if done.seed is None else f", seed {done.seed}"
    yield f"contract    {done.contract}{seed}"
    yield f"intents     {done.intents} distinct writes, {len(done.repeats)} identical repeats"
    for one in done.repeats:
        yield f"  {one.tool} again ({one.conv}, call {one.order}): {one.became}: {one.state}"
    yield f"faults      {faults} injected{_listed(done.faults)}"
    yield f"ends        {_listed(done.ends).removeprefix(': ')}"
    yield f"reads       {_listed(done.read_ends).removeprefix(': ')}"
    yield f"as recorded {done.as_recorded} of {done.intents} writes"
    doubled = ""
    if done.doubled:
        doubled = f"; {done.doubled} doubled by the network, {done.noticed} of them noticed"
    if done.broken_promises:
        doubled += f"; {done.broken_promises} promises of the provider were broken"
    yield (
        f"provider    {done.effects} effects, {done.creates} creates and {done.lookups} look-ups "
        f"arrived{doubled}"
    )


def closing_of(done: Replayed) -> Iterator[str]:
    """What does not hold, and the totals."""
    yield from (str(one) for one in done.violations)
    totals = done.totals
    to = f" ({done.in_review} with a person)" if done.in_review else ""
    other = f", other disagreements {totals['other']}" if totals["other"] else ""
    verdict = "all agrees" if done.agrees else "this does NOT agree"
    yield (
        f"duplicates {totals['duplicates']}, false statements {totals['false_statements']}, "
        f"lost actions {totals['lost_actions']}, left open {done.left_open}{to}{other}: "
        f"{verdict} ({done.took_s:.0f} s)"
    )


def _listed(counts: Mapping[str, int]) -> str:
    text = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f": {text}" if text else ""
