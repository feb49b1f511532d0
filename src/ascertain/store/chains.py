"""Chains in a ledger: what is checked and written beside an action, and of a chain itself.

Everything goes by named queries, so it is written once for every backend.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.model.chain import (
    LEFT,
    Around,
    ChainRecord,
    Direction,
    EndChain,
    Joins,
    Keeps,
    Leaves,
    Member,
    OpenChain,
    ScheduleChain,
    Steers,
    StopChain,
    TakeChains,
    TurnChain,
    Turns,
    Weight,
)
from ascertain.model.tables import State
from ascertain.rules import chain as rules
from ascertain.store.access import Run
from ascertain.store.beside import ALONE, ROOMS
from ascertain.store.compact import compact_json
from ascertain.store.rows import to_record


def to_chain(row: Sequence[Any]) -> ChainRecord:
    """A row as a chain."""
    record = ChainRecord(*row)
    return record._replace(direction=Direction(record.direction))


def to_member(row: Sequence[Any]) -> Member:
    """A row as a member."""
    chain, action_id, step, position, weight, after, undoes, kept = row
    needs = tuple(json.loads(after))
    return Member(chain, action_id, step, position, Weight(weight), needs, undoes, kept)


def chain_of(run: Run, chain: str) -> ChainRecord | None:
    """The chain as it stands."""
    rows = run("chain_by_id", chain)
    return to_chain(rows[0]) if rows else None


def around_of(run: Run, chain: str) -> Around | None:
    """The chain with all its members and their actions."""
    record = chain_of(run, chain)
    if record is None:
        return None
    actions = {row[0]: to_record(row) for row in run("actions_of_chain", chain)}
    members = sorted(
        (to_member(row) for row in run("members_of", chain)),
        key=lambda member: (member.position, member.action_id),
    )
    return Around(record, tuple((member, actions[member.action_id]) for member in members))


class _Joining:
    def blocks(self, run: Run, record: ActionRecord, beside: Joins) -> str:
        if record.state is not State.SENT:
            return ""
        why = rules.blocks(chain_of(run, beside.chain.id), beside.member)
        undoes = beside.member.undoes
        if why or not undoes:
            return why
        original = run("by_id", undoes)
        place = _member(run, beside.chain.id, undoes)
        return rules.unwanted(to_record(original[0]), place) if original else rules.UNWANTED

    def write(self, run: Run, record: ActionRecord, beside: Joins) -> None:
        member = beside.member
        run("insert_chain", *_plain(beside.chain))
        run(
            "insert_member", member.chain, record.id, member.step, member.position,
            member.weight.value, compact_json(list(member.after)), member.undoes, member.kept,
        )  # fmt: skip
        _tell(run, record, member)


class _Steering:
    def blocks(self, run: Run, record: ActionRecord, beside: Steers) -> str:
        if not beside.sends:
            return ""
        return rules.blocks(chain_of(run, beside.chain), _member(run, beside.chain, record.id))

    def write(self, run: Run, record: ActionRecord, beside: Steers) -> None:
        member = _member(run, beside.chain, record.id)
        if member is not None:
            _tell(run, record, member)


class _Leaving:
    def blocks(self, run: Run, _record: ActionRecord, beside: Leaves) -> str:
        chain = chain_of(run, beside.chain)
        return "" if chain is not None and chain.due_at == beside.due_at else "not_left"

    def write(self, run: Run, _record: ActionRecord, beside: Leaves) -> None:
        run("leave_chain", beside.chain, LEFT)


class _Turning:
    def blocks(self, _run: Run, _record: ActionRecord, _beside: Turns) -> str:
        return ""

    def write(self, run: Run, record: ActionRecord, beside: Turns) -> None:
        _turn(run, beside.chain, beside.reason, record.updated_at)


class _Keeping:
    def blocks(self, _run: Run, _record: ActionRecord, _beside: Keeps) -> str:
        return ""

    def write(self, run: Run, record: ActionRecord, beside: Keeps) -> None:
        run("keep_member", beside.chain, record.id)
        run("wake_confirmed", beside.chain, record.updated_at)


def _tell(run: Run, record: ActionRecord, member: Member) -> None:
    """An event of a member: it may turn the chain, or be what others waited for."""
    why = rules.turns(record, member)
    now = record.updated_at
    if why:
        _turn(run, member.chain, why, now)
    if member.undoes:
        run("wake_one", member.undoes, now)
    chain = chain_of(run, member.chain)
    if chain is not None and chain.backward and chain.stopped_at is None:
        run("wake_confirmed", member.chain, now)


def _turn(run: Run, chain: str, reason: str, now: float) -> None:
    before = chain_of(run, chain)
    if before is None or before.backward:
        return
    run("turn_chain", chain, reason, now)
    run("wake_all", chain, now)


def _member(run: Run, chain: str, action_id: str) -> Member | None:
    rows = run("member_of", chain, action_id)
    return to_member(rows[0]) if rows else None


def _open(run: Run, alone: OpenChain) -> ChainRecord | None:
    run("insert_chain", *_plain(alone.chain))
    return chain_of(run, alone.chain.id)


def _turn_back(run: Run, alone: TurnChain) -> ChainRecord | None:
    _turn(run, alone.chain, alone.reason, alone.now)
    return chain_of(run, alone.chain)


def _stop(run: Run, alone: StopChain) -> ChainRecord | None:
    run("stop_chain", alone.chain, alone.reason, alone.now)
    run("wake_all", alone.chain, alone.now)
    return chain_of(run, alone.chain)


def _schedule(run: Run, alone: ScheduleChain) -> ChainRecord | None:
    run("schedule_chain", alone.chain, alone.due_at)
    return chain_of(run, alone.chain)


def _end(run: Run, alone: EndChain) -> ChainRecord | None:
    before = chain_of(run, alone.chain)
    run("end_chain", alone.chain, alone.due_at, LEFT)
    return before


def _take(run: Run, alone: TakeChains) -> tuple[ChainRecord, ...]:
    rows = run("chains_due", alone.now, compact_json(sorted(alone.gone)), alone.limit)
    found = [to_chain(row) for row in rows]
    taken = [
        one._replace(owner=alone.owner if one.plan else one.owner, due_at=alone.until)
        for one in found
    ]
    for one in taken:
        run("own_chain", one.id, one.owner, one.due_at)
    return tuple(taken)


def _plain(chain: ChainRecord) -> tuple[Any, ...]:
    return (*chain[:10], chain.direction.value, *chain[11:])


ROOMS.update({
    Joins: _Joining(), Steers: _Steering(), Keeps: _Keeping(), Leaves: _Leaving(),
    Turns: _Turning(),
})  # fmt: skip
_WRITERS: dict[type[Any], Callable[[Run, Any], Any]] = {
    OpenChain: _open,
    TurnChain: _turn_back,
    StopChain: _stop,
    ScheduleChain: _schedule,
    EndChain: _end,
    TakeChains: _take,
}
ALONE.update(_WRITERS)
