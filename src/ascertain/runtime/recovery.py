"""Recovery of one leased action: what a worker and a durable engine both do, pass by pass."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ascertain.flow.recover import recover
from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract
from ascertain.model.operations import Take, Taken
from ascertain.model.rate import Speaker, Ticket
from ascertain.rules import fold
from ascertain.rules.chain import advance_of
from ascertain.rules.evidence import open_review
from ascertain.rules.rate import shared, ticket
from ascertain.runtime import sender
from ascertain.runtime.aio import AsyncDriver
from ascertain.runtime.aio_commit import commit_async
from ascertain.runtime.bodies import Bodies
from ascertain.runtime.hands import Hands
from ascertain.runtime.registry import Entry

R = TypeVar("R")


class InHand(NamedTuple):
    """An action that was leased, and what the ledger knows that is needed to go on with it.

    :param entry: None: there is no such tool here. :param values: its arguments; None: not read.
    :param ticket: a turn at its provider. :param error: its contract could not be read.
    """

    record: ActionRecord
    entry: Entry | None = None
    contract: Contract | None = None
    values: dict[str, Any] | None = None
    ticket: Ticket | None = None
    error: Exception | None = None


class Recovery:
    """Drives the recovery flow of actions that are leased to this process.

    :param loop_of: the event loop on which async tools live, while it runs.
    """

    def __init__(
        self,
        hands: Hands,
        bodies: Bodies,
        *,
        loop_of: Callable[[], asyncio.AbstractEventLoop | None] = lambda: None,
    ) -> None:
        self._hands = hands
        self._bodies = bodies
        self._loop_of = loop_of

    def lease_s(self) -> float:
        """How long a lease on any action has to last."""
        longest = max(
            (entry.contract.budget.send_deadline_s for entry in self._hands.registry), default=5.0
        )
        return self._hands.lease_s + longest

    def room(self, running: int, most: int) -> int:
        """How many more actions can be worked on: sync code needs a thread that is free.

        One that is taken without it would spend its sends on nothing, up to a person's desk.

        :param running: how many are worked on. :param most: how many may be at once.
        """
        room = max(0, most - running)
        if any(_needs_thread(entry) for entry in self._hands.registry):
            room = min(room, self._bodies.room_beside(running))
        return room

    async def take(self, record: ActionRecord) -> InHand | None:
        """Lease this one action, due or not, with a turn at its provider if that has a rate.

        None while somebody else's lease on it holds, or the rate is used up: then it is due at its
        place in the queue.

        :raises LedgerError: the ledger failed; nothing was leased.
        """
        hands, now = self._hands, self._hands.clock()
        owner = record.lease_owner
        take = Take(
            owner=sender.me(), now=now, lease_until=now + self.lease_s(), action_id=record.id,
            gone=hands.inquire((owner,)) if owner else frozenset(),
            rates=tuple(one for one in hands.registry.rates if one[0] == record.tool),
        )  # fmt: skip
        reply = await commit_async(hands.committer, take)
        assert isinstance(reply, Taken)
        if not reply.records:
            return None
        return await apart(partial(self.in_hand, reply.records[0], booked=reply.booked))

    def in_hand(self, record: ActionRecord, *, booked: bool) -> InHand:
        """What is needed of the ledger to go on with an action; it may block.

        :param booked: a turn at its provider was taken with it, where a rate is declared.
        """
        hands = self._hands
        entry = hands.registry.find(record.tool)
        try:
            contract = hands.contract_of(record, entry)
        except Exception as error:
            return InHand(record, error=error)
        if entry is None or contract is None:
            return InHand(record)
        try:
            values = hands.arguments_of(entry, record)
        except Exception:
            values = None  # whoever needs them reads them again, and is told why they are not there
        held = _ticket(contract, record) if booked else None
        return InHand(record, entry, contract, values, held)

    async def go_on(self, one: InHand) -> None:
        """Go on with an action just leased, as far as one pass goes."""
        if one.error is not None:
            raise one.error
        entry, contract = one.entry, one.contract
        if entry is None or contract is None:
            await self._give_to_person(one.record)
            return
        flow = recover(self._hands.setting(entry, contract), one.record, None, one.ticket)
        driver = AsyncDriver(self._hands, entry, self._bodies, one.values)
        home = self._loop_of() if entry.is_async else None
        if home is None or home is asyncio.get_running_loop() or home.is_closed():
            await driver.drive(flow)
            return
        future = asyncio.run_coroutine_threadsafe(driver.drive(flow), home)
        await asyncio.wrap_future(future)

    async def _give_to_person(self, record: ActionRecord) -> None:
        """No tool of that name is registered here: this process can neither ask nor send."""
        now = self._hands.clock()
        if record.review is None and record.attempt:
            move = open_review(record, reason="tool_unknown", now=now)
        else:
            move = fold.hold(record, due_at=now + 60.0, now=now)
        operation = advance_of(record, move)
        await commit_async(self._hands.committer, operation)


def _ticket(contract: Contract, record: ActionRecord) -> Ticket | None:
    """The turn at its provider that was taken with an action, where a rate is declared."""
    rate = shared(contract)
    if rate is None or record.lease_owner is None or record.lease_until is None:
        return None
    return ticket(rate, record.lease_owner, Speaker.WORKER, record.lease_until)


def _needs_thread(entry: Entry) -> bool:
    """Whether recovering an action of this tool runs sync code."""
    if entry.contract.is_read:
        return False
    return not entry.is_async or (entry.lookup is not None and not entry.lookup_is_async)


async def apart(function: Callable[..., R], *args: object) -> R:
    """Run what may block, such as reading the ledger, without blocking the loop."""
    return await asyncio.get_running_loop().run_in_executor(None, function, *args)
