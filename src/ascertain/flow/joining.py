"""How a call becomes a step of its chain: once what it depends on is not under way any more."""

from __future__ import annotations

from typing import Any

from ascertain.flow.call import Wanted
from ascertain.flow.effects import Flow, Setting, admit, attend
from ascertain.rules.budget import Turn


def join_chain(setting: Setting, wanted: Wanted, seat: Any, turn: Turn) -> Flow[Wanted]:
    """Take the call in; nothing is stored before, and the waiting ends with the turn.

    :param seat: the call in the chain that it is made in, as the driver knows it.
    :raises ContractError: it depends on a step that the chain does not have.
    """
    while True:
        left_s = turn.until - setting.clock()
        admitted = yield from admit(wanted, seat, last=left_s <= 0)
        if isinstance(admitted, Wanted):
            return admitted
        yield from attend(admitted, left_s)
