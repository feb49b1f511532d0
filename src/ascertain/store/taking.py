"""Taking due actions: fair between tenants and tools, and no more than their providers' rates.

Written once for every backend: it speaks to the database by named queries, inside the transaction
of the operation. What it costs grows with what is taken and with the number of tenants and tools
that have anything open, never with how much is due or how much there is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.model.operations import Take, Taken
from ascertain.model.rate import Shared, Speaker, Usage
from ascertain.model.tables import State
from ascertain.rules import fold
from ascertain.rules import rate as rules
from ascertain.store.access import Run
from ascertain.store.compact import compact_json
from ascertain.store.rates import read_usage, write_usage
from ascertain.store.rows import Values, to_record

Pair = tuple[str, str]


Lease = Callable[[Sequence[Values]], None]
"""Gives each action (owner, until, fence, suspect, id) its lease."""


def take(run: Run, lease: Lease, operation: Take) -> Taken:
    """Lease what the operation asks for."""
    gone = compact_json(sorted(operation.gone))
    if operation.action_id is not None:
        tools = None if operation.tools is None else compact_json(sorted(operation.tools))
        rows = run("due_one", operation.action_id, operation.now, gone, tools)
        return _take_one(run, lease, operation, to_record(rows[0])) if rows else Taken(())
    turns = _Turns(run, operation)
    found = list(_due(run, operation, turns))
    if operation.gone and len(found) < operation.limit:
        found += _of_gone(run, operation, turns, gone, operation.limit - len(found))
    turns.write()
    return _leased(lease, operation, found)._replace(again_at=turns.again_at)


def _take_one(run: Run, lease: Lease, operation: Take, record: ActionRecord) -> Taken:
    """Lease this one, with its turn; where there is none, it is given its place in the queue."""
    if not _wanted(record, operation.now):
        return _leased(lease, operation, [record])._replace(booked=False)
    turns = _Turns(run, operation)
    if turns.any_for(record.tool):
        turns.spend(record.tool)
        turns.write()
        return _leased(lease, operation, [record])
    at = turns.line_up(record.tool)
    if record.state is State.PREPARED:
        at = min(at, record.send_by_at)
    run("put_off", record.id, operation.now, at)
    return Taken(records=(), again_at=at)


def _wanted(record: ActionRecord, now: float) -> bool:
    """Whether anything may still be asked or sent; else it is taken only to be withdrawn."""
    return record.state is not State.PREPARED or now < record.send_by_at


def _leased(lease: Lease, operation: Take, previous: Sequence[ActionRecord]) -> Taken:
    owner, until = operation.owner, operation.lease_until
    records = tuple(fold.take(record, owner=owner, until=until) for record in previous)
    lease([(owner, until, record.fence, record.suspect, record.id) for record in records])
    return Taken(records=records, previous=tuple(previous))


def _due(run: Run, operation: Take, turns: _Turns) -> Iterator[ActionRecord]:
    """What is due: one of each tenant and tool in turn, the oldest of it first."""
    left = operation.limit
    pairs = _pairs(run, operation, turns)
    queues = deque(_Queue(run, pair, operation.now) for pair in pairs)
    while left > 0 and queues:
        queue = queues.popleft()
        if not turns.any_for(queue.pair[1]):
            continue
        record = queue.next(1 + left // (len(queues) + 1))
        if record is not None:
            turns.spend(record.tool)
            left -= 1
            queues.append(queue)
            yield record


def _pairs(run: Run, operation: Take, turns: _Turns) -> list[Pair]:
    """Tenants and tools that have something due, once around, up to the limit."""
    found: list[Pair] = []
    start, around = operation.after, False
    while len(found) < operation.limit:
        page = [
            (row[0], row[1]) for row in run("due_pairs", *start, operation.now, operation.limit)
        ]
        for pair in page:
            if around and pair > operation.after:
                return found
            wanted = operation.tools is None or pair[1] in operation.tools
            if wanted and turns.any_for(pair[1]) and len(found) < operation.limit:
                found.append(pair)
        if len(page) == operation.limit:
            start = page[-1]
        elif around or operation.after == ("", ""):
            break
        else:
            start, around = ("", ""), True
    return found


def _of_gone(
    run: Run, operation: Take, turns: _Turns, gone: str, left: int
) -> Iterator[ActionRecord]:
    """What is leased by somebody who will never use it again."""
    tools = None if operation.tools is None else compact_json(sorted(operation.tools))
    for row in run("due_of_gone", gone, operation.now, tools, left):
        record = to_record(row)
        if turns.any_for(record.tool):
            turns.spend(record.tool)
            yield record


class _Queue:
    """The due actions of one tenant and tool, read as they are needed."""

    def __init__(self, run: Run, pair: Pair, now: float) -> None:
        self.pair = pair
        self._run, self._now = run, now
        self._rows: deque[Sequence[Any]] = deque()
        self._read = 0
        self._ended = False

    def next(self, likely: int) -> ActionRecord | None:
        """The oldest one left. :param likely: how many of it will probably be wanted."""
        if not self._rows and not self._ended:
            rows = self._run("due_of", *self.pair, self._now, likely, self._read)
            self._rows.extend(rows)
            self._read += len(rows)
            self._ended = len(rows) < likely
        return to_record(self._rows.popleft()) if self._rows else None


class _Turns:
    """The turns at providers that are left for a worker, while it takes."""

    def __init__(self, run: Run, operation: Take) -> None:
        self._run = run
        self._operation = operation
        self._rates = dict(operation.rates)
        self._usages: dict[str, Usage] = {}
        self._left: dict[str, int] = {}
        self._spent: dict[str, int] = {}
        self._held: dict[str, Shared] = {}

    @property
    def again_at(self) -> float | None:
        """When what had to be left may be taken; None: nothing had to be."""
        now = self._operation.now
        at = (rules.worker_at(self._usages[name], rate, now) for name, rate in self._held.items())
        return min(at, default=None)

    def any_for(self, tool: str) -> bool:
        """Whether one more of this tool may be taken; that it may not is remembered."""
        rate = self._rates.get(tool)
        if rate is None:
            return True
        left = self._left.get(rate.name)
        if left is None:
            left = self._left[rate.name] = self._look(rate)
        if left <= 0:
            self._held[rate.name] = rate
        return left > 0

    def spend(self, tool: str) -> None:
        """One more of this tool was taken."""
        rate = self._rates.get(tool)
        if rate is not None:
            self._left[rate.name] -= 1
            self._spent[rate.name] = self._spent.get(rate.name, 0) + 1

    def line_up(self, tool: str) -> float:
        """Give an action of this tool, for which there is no turn, its place, and write that."""
        rate = self._rates[tool]
        usage, at = rules.lined(self._usages[rate.name], rate, self._operation.now)
        write_usage(self._run, rate, usage)
        return at

    def write(self) -> None:
        """Write what was spent."""
        now = self._operation.now
        for rate in {rate.name: rate for rate in self._rates.values()}.values():
            n = self._spent.get(rate.name, 0)
            if n:
                held = rules.ticket(
                    rate, self._operation.owner, Speaker.WORKER, self._operation.lease_until
                )
                usage = rules.taken(self._usages[rate.name], rate, held, n, now)
                self._usages[rate.name] = usage
                write_usage(self._run, rate, usage)

    def _look(self, rate: Shared) -> int:
        now = self._operation.now
        usage = read_usage(self._run, rate.name, now)
        usage = rules.forgotten(usage, rate, self._operation.gone, now)
        self._usages[rate.name] = usage
        return rules.room(usage, rate, Speaker.WORKER, now)
