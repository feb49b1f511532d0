"""What is checked and written in the same transaction as an action, one room for each kind.

A room speaks to the database only by named queries, so it is written once for every backend. It
runs inside the transaction of the operation: nothing it saw can have changed when it writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ascertain.model.action import ActionRecord
from ascertain.model.operations import Alone, Beside, Lookalike
from ascertain.model.session import Needs, Provides, StillNeeds
from ascertain.store.access import Run
from ascertain.store.claims import LookalikeRoom
from ascertain.store.context_rooms import NeedsRoom, ProvidesRoom, StillNeedsRoom


class Room(Protocol):
    """How one kind of :class:`~ascertain.model.operations.Beside` is kept."""

    def blocks(self, run: Run, record: ActionRecord, beside: Any, /) -> str:
        """Why the operation must not be written now, as a stable code; empty where it may be."""
        ...

    def write(self, run: Run, record: ActionRecord, beside: Any, /) -> tuple[Any, ...] | None:
        """Write what comes beside the action, which is written; returns what there is to tell."""
        ...


ROOMS: dict[type[Beside], Room] = {
    Lookalike: LookalikeRoom(),
    Needs: NeedsRoom(),
    StillNeeds: StillNeedsRoom(),
    Provides: ProvidesRoom(),
}

ALONE: dict[type[Alone], Callable[[Run, Any], Any]] = {}
"""What writes each kind of :class:`~ascertain.model.operations.Alone`, and gives its reply."""
