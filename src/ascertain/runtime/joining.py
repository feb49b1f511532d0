"""How a call joins the chain that it is made in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ascertain.flow.call import Wanted
from ascertain.runtime.place import Place
from ascertain.runtime.registry import Entry

if TYPE_CHECKING:
    from ascertain.runtime.chain import Chain


def admitted(chain: Chain, entry: Entry, wanted: Wanted, place: Place | None) -> Wanted:
    """The call as a step of the chain; the ledger is read only where the gate has to see it."""
    look = chain.needs_look(entry, wanted.record.intent, place)
    return chain.admit(entry, wanted, place, chain.around() if look else None)


async def admitted_async(chain: Chain, entry: Entry, wanted: Wanted, place: Place | None) -> Wanted:
    """The same, without blocking the loop."""
    import asyncio  # most of what an import costs

    around = None
    if chain.needs_look(entry, wanted.record.intent, place):
        around = await asyncio.get_running_loop().run_in_executor(None, chain.around)
    return chain.admit(entry, wanted, place, around)
