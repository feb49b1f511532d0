"""Chains as a ledger shows them."""

from __future__ import annotations

from ascertain.model.chain import Around, ChainRecord
from ascertain.store.access import Access
from ascertain.store.chains import around_of, chain_of, to_chain


class LedgerChains:
    """The :class:`~ascertain.store.ledger.Chains` of a ledger."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def get(self, chain: str) -> ChainRecord | None:
        """The chain as it stands, or None."""
        with self._access.asking() as run:
            return chain_of(run, chain)

    def around(self, chain: str) -> Around | None:
        """The chain with its members and their actions; cost: what is in it."""
        with self._access.one_moment() as run:
            return around_of(run, chain)

    def of_session(self, session: str, tenant: str) -> list[ChainRecord]:
        """The chains of a session, oldest first."""
        with self._access.asking() as run:
            return [to_chain(row) for row in run("chains_of_session", session, tenant)]

    def recent(self, *, before: float, limit: int = 100) -> list[ChainRecord]:
        """Chains opened before a moment, newest first."""
        with self._access.asking() as run:
            return [to_chain(row) for row in run("chains_before", before, limit)]

    def owners(self) -> list[str]:
        """Who works on plans that have something left to start."""
        with self._access.asking() as run:
            return [owner for (owner,) in run("chain_owners")]

    def next_due_at(self) -> float | None:
        """When the plan of a chain is looked at next; None: no plan has anything left to start."""
        with self._access.asking() as run:
            rows: list[tuple[float | None]] = run("next_chain_due")
        return rows[0][0]
