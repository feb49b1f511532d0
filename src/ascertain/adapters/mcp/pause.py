"""A call that waits for a person is left with the host, in the protocol's own way.

The pause only wakes the call up. Before it everything stands in the ledger; after it the ledger is
read again, and what the person said to the host is not believed: who sits there is not known, and
some hosts answer by themselves. A host that cannot be asked gets the facts at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import mcp_types as types

from ascertain.adapters.mcp.exchange import Requests
from ascertain.adapters.pausing import APPROVAL
from ascertain.rules.texts import clean

ASKED: Final = "ascertain"
LEAST_S: Final = 1.0
"""With less time left before a host may give up the call, it is told at once."""
_STATE: Final = "ascertain.dev/action:"

_APPROVAL: Final = (
    "{tool} waits for a person's approval; nothing has been sent. Look at it with `ascertain show "
    "{action}`, approve or decline it with `ascertain approve`, then go on here."
)
_REVIEW: Final = (
    "It is not known what became of {tool}; a person has to find out. Look at it with `ascertain "
    "review show {action}`, say what was found with `ascertain resolve`, then go on here."
)
_ALL: Final = " An answer given here approves nothing and settles nothing: the call looks again."


class Pause(NamedTuple):
    """What the host is asked, and the state that it sends back with the answer.

    The state is the action's id. Nothing is taken from it on trust: it only says which action a
    call may be about, and the ledger says whether it is.
    """

    state: str
    requests: Requests


def pause_of(tool: str, waits: Mapping[str, Any]) -> Pause:
    """The pause of a call that waits.

    :param waits: as :func:`ascertain.adapters.pausing.waits` says.
    """
    words = _APPROVAL if waits["waits_for"] == APPROVAL else _REVIEW
    message = words.format(tool=clean(tool, 80), action=waits["action"]) + _ALL
    form = types.ElicitRequestFormParams(
        message=message, requested_schema={"type": "object", "properties": {}}
    )
    asked = types.ElicitRequest(params=form)
    dumped = asked.model_dump(by_alias=True, mode="json", exclude_none=True)
    return Pause(f"{_STATE}{waits['action']}", {ASKED: dumped})


def action_in(state: str | None) -> str:
    """The action that a call which comes back says it is about; empty: none."""
    found = state or ""
    return found.removeprefix(_STATE) if found.startswith(_STATE) else ""
