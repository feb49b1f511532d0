"""All that a ledger holds of an action, taken out of it; and where it is kept then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ascertain.store.check import Stored


class Filed(NamedTuple):
    """All that a ledger holds of one action, its contract and its place in a chain among it.

    :param contract: JSON; None where the ledger does not hold it.
    :param chain: the columns of its chain. :param member: its own in it; None: it is in none.
    """

    stored: Stored
    contract: str | None
    chain: tuple[Any, ...] | None = None
    member: tuple[Any, ...] | None = None


class Keep(Protocol):
    """Where actions are kept before they are removed."""

    @property
    def name(self) -> str:
        """How people find it again; the tombstones say it."""
        ...

    def append(self, filed: Sequence[Filed]) -> None:
        """Keep these; when it returns they survive a loss of power.

        :raises LedgerError: they are not kept.
        """
        ...
