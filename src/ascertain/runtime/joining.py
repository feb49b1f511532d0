"""How a call is taken in by the chain that it is made in, and how it waits for a step before."""

from __future__ import annotations

from concurrent.futures import wait
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from ascertain.flow.call import Wanted
from ascertain.flow.effects import Admit, Attend
from ascertain.runtime.place import Place
from ascertain.runtime.registry import Entry
from ascertain.runtime.seats import Coming, Joined, Seat

if TYPE_CHECKING:
    from ascertain.runtime.scope import Opened


def seated(session: Opened, place: Place | None) -> AbstractContextManager[Seat | None]:
    """The call in the chain that it is made in, from its first moment on; None: in none."""
    return nullcontext() if session.joined is None else session.joined.seated(place)


def admitted(entry: Entry, asked: Admit) -> Wanted | Coming:
    """The call as a step of the chain; the ledger is read only where the gate has to see it."""
    chain, wanted = _of(asked)
    made = chain.made()
    look = chain.needs_look(entry, wanted.record.intent, asked.seat)
    around = chain.around() if look else None
    return chain.admit(entry, wanted, asked.seat, made, around, last=asked.last)


async def admitted_async(entry: Entry, asked: Admit) -> Wanted | Coming:
    """The same, without blocking the loop."""
    import asyncio  # most of what an import costs

    chain, wanted = _of(asked)
    made, around = chain.made(), None
    if chain.needs_look(entry, wanted.record.intent, asked.seat):
        around = await asyncio.get_running_loop().run_in_executor(None, chain.around)
    return chain.admit(entry, wanted, asked.seat, made, around, last=asked.last)


def attended(asked: Attend) -> None:
    """Wait in this thread."""
    coming: Coming = asked.coming
    wait([coming.news], coming.patience_s(asked.seconds))


async def attended_async(asked: Attend) -> None:
    """Wait, and let the loop go on."""
    import asyncio

    coming: Coming = asked.coming
    news = asyncio.wrap_future(coming.news)
    await asyncio.wait([news], timeout=coming.patience_s(asked.seconds))


def _of(asked: Admit) -> tuple[Joined, Wanted]:
    seat: Seat = asked.seat
    wanted: Wanted = asked.wanted
    return seat.chain, wanted
