"""Cells of the fault table in which processes die: the caller, and those that recover.

All children share one ledger file, as the workers of one host do. What they share otherwise is the
provider. The parent never opens a thread, so that every fork is a clean one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.testing.world import FIVE_CONTRACTS, FOURTEEN, Behaviour, World
from tests.faults.children import Child, Ended, Moment, Story
from tests.faults.evidence import Cell, Statement, read_evidence
from tests.faults.oracle import faults
from tests.faults.play import BUDGET, PROMISES, SENDS, House, quiet, said_of, statement

DEADLINE_S, SETTLING_S, LEASE_S = 1.0, 1.3, 3.0
KILL_BUDGET = replace(BUDGET, send_deadline_s=DEADLINE_S, turn_s=4.0)
SETTLE_WITHIN_S = 60.0

# What is slow is slower than the deadline, and keeps the provider's settling promise.
SHORT: dict[str, dict[str, Any]] = {
    "slow_deadline": {"seconds": 1.15},
    "slow_lease": {"seconds": 1.25},
}
PLAYED: dict[str, Behaviour] = {
    "_".join([one.name, *(str(v) for v in one.params.values() if one.name == "throttled")]): (
        Behaviour(one.name, **{**one.params, **SHORT.get(one.name, {})})
    )
    for variants in FOURTEEN.values()
    for one in variants
} | {
    "late_execution": Behaviour("late_execution", seconds=0.6),
    "accepted_202": Behaviour("accepted_202", seconds=1.0),
    "in_progress_409": Behaviour("in_progress_409"),
    "empty_body": Behaviour("empty_body"),
    "validation_422": Behaviour("validation_422"),
    "already_exists": Behaviour("already_exists"),
}
# These are said to whoever comes, not only the first time.
REFUSALS = frozenset(
    {
        "unauthorised_401", "forbidden_403", "business_refusal", "error_body_2xx",
        "validation_422", "already_exists",
    }
)  # fmt: skip
# With these the caller can be killed while it waits for the reply.
WAITED_FOR: dict[str, Behaviour] = {
    "request_lost": Behaviour("request_lost", how="hang"),
    "reply_lost": Behaviour("reply_lost", how="hang"),
    "slow_deadline": PLAYED["slow_deadline"],
    "slow_lease": PLAYED["slow_lease"],
    "truncated": Behaviour("truncated", how="hang"),
    "lookup_misses_first": Behaviour("lookup_misses_first", how="hang"),
    "late_execution": Behaviour("late_execution", seconds=0.6, how="hang"),
}

BEFORE, ANSWERED, WAITING = "invoke.before", "invoke.after", "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deaths:
    """Where the caller dies; and who recovers then, and dies at which point (None: nobody does).

    `again`: `rerun`, the same script once more, which recovers inline; `worker`, one pass of it.
    """

    first: str
    again: str | None = None
    second: str | None = None

    def __str__(self) -> str:
        first = {BEFORE: "before", ANSWERED: "answered"}.get(self.first, self.first)
        return f"{first}+{self.again}@{self.second}" if self.again else first


# For whom a point of the recovery exists: who can be asked, and who may be sent again.
CAN_ASK = frozenset(name for name, one in FIVE_CONTRACTS.items() if one.lookup)
RECOVERIES: tuple[tuple[Deaths, frozenset[str]], ...] = (
    (
        Deaths(first=BEFORE, again="rerun", second="invoke.after"),
        frozenset({"key_and_lookup", "key_only", "lookup_only"}),
    ),
    (
        Deaths(first=BEFORE, again="worker", second="invoke.before"),
        frozenset({"key_and_lookup", "key_only"}),
    ),
    (Deaths(first=ANSWERED, again="worker", second="ask.after"), CAN_ASK),
    (Deaths(first=ANSWERED, again="rerun", second="ask.before"), CAN_ASK),
    (
        Deaths(first=ANSWERED, again="rerun", second="take.after"),
        frozenset({"key_only", "lookup_only", "neither"}),
    ),
    (
        Deaths(first=BEFORE, again="worker", second="advance.after"),
        frozenset({"fencing_lookup", "neither"}),
    ),
)


@dataclass(slots=True, kw_only=True)
class Kill:
    """One cell, and what came of it."""

    contract: str
    cell: str
    behaviour: Behaviour
    deaths: Deaths
    how: str
    died: list[float] = field(default_factory=list[float])
    told: list[Statement] = field(default_factory=list[Statement])

    @property
    def times(self) -> int:
        """How often the provider behaves so: it refuses whoever comes, the rest happens once."""
        return SENDS if self.cell in REFUSALS else 1

    @property
    def order(self) -> str:
        return f"{self.how}/{self.contract}/{self.cell}/{self.deaths}"


def cells(how: str) -> Iterator[Kill]:
    """Every contract x behaviour x place to die."""
    for contract in FIVE_CONTRACTS:
        for name, behaviour in PLAYED.items():
            places = [Deaths(first=BEFORE), Deaths(first=ANSWERED)]
            places += [deaths for deaths, whose in RECOVERIES if contract in whose]
            for deaths in places:
                yield Kill(
                    contract=contract, cell=name, behaviour=behaviour, deaths=deaths, how=how
                )
        for name, behaviour in WAITED_FOR.items():
            yield Kill(
                contract=contract, cell=name, behaviour=behaviour,
                deaths=Deaths(first=WAITING), how=how,
            )  # fmt: skip


def story_of(world: World, house: House, kill: Kill) -> Story:
    """The caller's death, and the death of who recovers."""
    match = {"order": kill.order}
    world.script(kill.contract, match, [kill.behaviour] * kill.times)
    if kill.deaths.first == WAITING:
        child = Child(
            lambda: make_call(house, kill, None),
            kill_when=lambda: bool(world.arrivals(kill.contract, **match)),
        )
    else:
        child = Child(lambda: make_call(house, kill, Moment(kill.deaths.first)))
    _heard(kill, (yield child))
    if not kill.died:
        raise AssertionError(f"{kill.order}: the caller ended before it could be killed")
    if kill.deaths.again is None:
        return
    recover = make_call if kill.deaths.again == "rerun" else recover_one
    moment = Moment(str(kill.deaths.second))
    _heard(kill, (yield Child(lambda: recover(house, kill, moment))))


def _heard(kill: Kill, ended: Ended) -> None:
    if ended.killed:
        kill.died.append(ended.at)
    elif ended.value is not None:
        kill.told.append(Statement(**ended.value))


def make_call(house: House, kill: Kill, moment: Moment | None) -> dict[str, Any]:
    """The script that makes the call (or makes it again); returns what it was told."""
    house.app.hands.on_effect = moment
    if kill.how == "async":
        return _as_json(*asyncio.run(_call(house, kill)))
    asked_at = time.time()
    with house.app.session(kill.order, principal="u"):
        record = house.sync[kill.contract](order=kill.order).record
    return _as_json(asked_at, record)


async def _call(house: House, kill: Kill) -> tuple[float, ActionRecord]:
    asked_at = time.time()
    async with house.app.session(kill.order, principal="u"):
        action = await house.asynchronous[kill.contract](order=kill.order)
    return asked_at, action.record


def _as_json(asked_at: float, record: ActionRecord) -> dict[str, Any]:
    told = statement(asked_at, record)
    return {name: getattr(told, name) for name in Statement.__dataclass_fields__}


def recover_one(house: House, kill: Kill, moment: Moment) -> None:
    """One pass of a worker over this action alone: what it does for each that it takes."""
    hands = house.app.hands
    hands.on_effect = moment
    record = house.record(kill.order)
    assert record is not None, f"{kill.order} is not in the ledger"

    async def work() -> None:
        recovery = house.app.recovery()
        taken = await recovery.take(record)
        if taken is not None:
            await recovery.go_on(taken)

    asyncio.run(work())


def settle_all(house: House, played: list[Kill]) -> dict[str, Any]:
    """A worker recovers until all is quiet; then each script runs once more, and is told.

    :returns: which orders are not quiet, and what each script was told. One whose intent was
        finally rejected would be a new intent, and does not run again.
    """
    told: dict[str, Any] = {}
    left = asyncio.run(_settle_and_call(house, played, told))
    for kill in _may_run_again(house, played):
        if kill.how == "sync":
            told[kill.order] = make_call(house, kill, None)
    house.app.close()
    return {"left": left, "told": told}


async def _settle_and_call(house: House, played: list[Kill], told: dict[str, Any]) -> list[str]:
    left = await _settle(house, [kill.order for kill in played])
    for kill in _may_run_again(house, played):
        if kill.how == "async":
            told[kill.order] = _as_json(*(await _call(house, kill)))
    await house.aclient.aclose()
    return left


def _may_run_again(house: House, played: list[Kill]) -> list[Kill]:
    return [kill for kill in played if (found := house.record(kill.order)) and not found.final]


async def _settle(house: House, orders: list[str]) -> list[str]:
    worker = house.app.make_worker(concurrency=16)
    running = asyncio.create_task(worker.run())
    until = time.monotonic() + SETTLE_WITHIN_S
    left = orders
    look = asyncio.Event()
    while left and time.monotonic() < until and not running.done():
        asyncio.get_running_loop().call_later(0.2, look.set)
        await look.wait()
        look.clear()
        now = house.app.hands.clock()
        left = [one for one in left if (found := house.record(one)) and not quiet(found, now)]
    worker.stop()
    await running
    return left


def cell_of(kill: Kill) -> Cell:
    """The cell as the oracle sees it: every sender that died is proven gone."""
    provider = FIVE_CONTRACTS[kill.contract]
    promise = replace(
        PROMISES[kill.contract],
        send_deadline_s=DEADLINE_S,
        absence_final_after_s=SETTLING_S if provider.lookup else None,
        refusal_final_after_s=SETTLING_S if provider.answers_key_first else None,
    )
    points = (kill.deaths.first, kill.deaths.second)
    unsent = [at for point, at in zip(points, kill.died, strict=False) if point == BEFORE]
    return Cell(
        promise=promise, behaviours=(kill.behaviour.name,) * kill.times, sender="gone",
        died_at=kill.died[-1], unsent_at=tuple(unsent),
    )  # fmt: skip


def judge(world: World, house: House, kill: Kill) -> list[str]:
    """All that the oracle finds wrong with a cell."""
    record = house.record(kill.order)
    key = record.key if record else None
    evidence = read_evidence(world.db_path, kill.contract, {"order": kill.order}, key)
    wrong = faults(cell_of(kill), evidence, said_of(house, record, kill.told))
    ended = f"{record.state}, {record.reason}" if record else "no action"
    return [f"{kill.order}: {fault} [{ended}; {_course(house, record)}]" for fault in wrong]


def _course(house: House, record: ActionRecord | None) -> str:
    events = house.app.ledger.events(record.id) if record else []
    return " ".join(f"{event.event}:{event.reason}" for event in events)


def why_a_person(world: World, kill: Kill) -> str | None:
    """Why this cell may end with a person though there is a key or a look-up; None: it may not."""
    if kill.contract == "neither":
        return "neither a key nor a look-up"
    if world.count(kill.contract, order=kill.order) > 1:
        return "the provider made a double, and it was noticed"
    return None
