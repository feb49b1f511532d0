"""Where the store under test keeps its data, and what a foreign hand may do to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ascertain.store.ledger import Ledger


class Place(Protocol):
    """One ledger's data. It is handed to other processes, so it must survive pickling.

    Tables and columns are named as the fields of the records: ``action``, ``event``, ``payload``,
    ``tombstone``.
    """

    def open(self, **options: Any) -> Ledger:
        """A new handle on the same data, as another process would have it.

        :param options: of the store; ``secret=`` is known to all.
        """
        ...

    def another(self) -> Place:
        """A place like this one, with nothing in it."""
        ...

    def by_hand(
        self, table: str, where: Mapping[str, Any], change: Mapping[str, Any] | None
    ) -> None:
        """What an operator does with a database shell: change columns, or delete (None).

        Must raise when the database refuses it.
        """
        ...

    def by_force(
        self, table: str, where: Mapping[str, Any], change: Mapping[str, Any] | None
    ) -> None:
        """The same by somebody who first removes every protection in the database."""
        ...

    def insert_by_force(self, table: str, row: Mapping[str, Any]) -> None:
        """Insert a row in the same way."""
        ...

    def plans(self) -> Mapping[str, str]:
        """For each query by its name, how the database would find its rows."""
        ...

    def forget_secret(self) -> None:
        """Remove the secret that lies beside the data."""
        ...
