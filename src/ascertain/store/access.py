"""How what is kept beside the actions reaches its database, whichever it is.

Everything goes by named queries, so it is written once for every backend.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

Run = Callable[..., list[tuple[Any, ...]]]
"""``run(name, *values)``: run a named query, inside the transaction, and give all its rows."""


class Access(Protocol):
    """The ways to a ledger's database; each is for the calling thread alone."""

    def asking(self) -> AbstractContextManager[Run]:
        """Queries that read."""
        ...

    def one_moment(self) -> AbstractContextManager[Run]:
        """The same, where all that is read must be of one moment."""
        ...

    def changing(self, *names: str) -> AbstractContextManager[Run]:
        """A transaction of its own. Of two that name the same thing, one waits for the other."""
        ...

    def erasing(self) -> AbstractContextManager[Run]:
        """The same, where what is deleted must be gone from the pages of the database too."""
        ...


def first(rows: list[tuple[Any, ...]]) -> tuple[Any, ...] | None:
    """The first row, or None."""
    return rows[0] if rows else None
