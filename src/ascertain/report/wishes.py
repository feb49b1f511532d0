"""Wishes, as they are told: the actions of one chain, else of one turn, and what they came to.

Derived from the actions and their events each time; nothing of it is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ascertain.errors import ActionNotFound
from ascertain.model.action import ActionRecord
from ascertain.model.chain import Around
from ascertain.model.contract import Contract
from ascertain.report.reading import contract_of, is_observed, walk
from ascertain.report.shown import shown_records
from ascertain.report.story import record_as_dict
from ascertain.report.words import iso
from ascertain.rules.cases import as_found, in_review
from ascertain.rules.chain_facts import chain_state
from ascertain.rules.facts import part_of
from ascertain.rules.project import Part, WorkflowState, workflow_state
from ascertain.store.ledger import Filter, Ledger


class WishNotFound(ActionNotFound):
    """No action of this chain or turn was found where it was looked for."""

    code = "wish_not_found"
    next_step = "`ascertain chains` lists them; --since looks further back."


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One action of a wish. ``contract`` is None where the ledger does not hold it any more."""

    record: ActionRecord
    contract: Contract | None

    @property
    def is_read(self) -> bool:
        return self.contract is not None and self.contract.is_read

    @property
    def part(self) -> Part:
        """Its share in the wish."""
        if self.contract is not None:
            return part_of(self.record, self.contract)
        record = self.record
        state, final = as_found(record)
        return Part(
            name=record.tool,
            state=state,
            final=final,
            in_review=in_review(record),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The actions of one chain, else those of one turn that are in none; oldest first.

    :param around: the chain's own record, with the place of each action in it; None for a turn.
    :param id: of the chain; of a turn ``SESSION/TURN``, or ``SESSION`` where turns are not told.
    """

    id: str
    is_chain: bool
    members: tuple[Member, ...]
    around: Around | None = None

    @property
    def name(self) -> str:
        """What the chain is called; empty for a turn."""
        return "" if self.around is None else self.around.chain.name

    @property
    def first(self) -> ActionRecord:
        return self.members[0].record

    @property
    def counting(self) -> list[Member]:
        """The writes that count: what was corrected gives way to its correction, and what reverses
        another one is no part of the wish.
        """
        replaced: set[str | None] = {member.record.replaces for member in self.members}
        if self.around is not None:
            replaced |= {m.action_id for m, _ in self.around.members if m.undoes}
        return [m for m in self.members if not m.is_read and m.record.id not in replaced]

    @property
    def state(self) -> WorkflowState:
        """What it came to."""
        if self.around is not None:
            contracts = {member.record.id: member.contract for member in self.members}
            return chain_state(self.around, lambda record: contracts.get(record.id))
        return workflow_state([member.part for member in self.counting])

    @property
    def began_at(self) -> float:
        return min(member.record.created_at for member in self.members)

    @property
    def changed_at(self) -> float:
        return max(member.record.updated_at for member in self.members)

    @property
    def is_open(self) -> bool:
        return any(member.record.open for member in self.members)

    @property
    def is_chained(self) -> bool:
        """Whether calls of it depended, or could depend, on each other."""
        return self.is_chain or len(self.members) > 1

    def as_dict(self) -> dict[str, Any]:
        first = self.first
        return {
            "id": self.id,
            "chain": first.chain or None,
            "name": self.name or None,
            "direction": None if self.around is None else str(self.around.chain.direction),
            "session": first.session,
            "turn": first.turn or None,
            "principal": first.principal,
            "tenant": first.tenant,
            "state": str(self.state),
            "open": self.is_open,
            "began_at": self.began_at,
            "began_at_utc": iso(self.began_at),
            "changed_at": self.changed_at,
            "actions": [record_as_dict(member.record) for member in self.members],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a look at the newest actions found. ``scanned``: how many actions were read."""

    wishes: tuple[Wish, ...]
    scanned: int


def recent(ledger: Ledger, since_at: float) -> Found:
    """The wishes of the actions made since then, newest first; cost: those actions."""
    records = [record for record in _since(ledger, since_at) if not is_observed(record)]
    return Found(wishes=tuple(_wishes(ledger, records)), scanned=len(records))


def of_session(ledger: Ledger, session: str) -> list[Wish]:
    """The wishes of a session, oldest first; cost: what is in the session, by its index.

    :raises WishNotFound: there is no such session.
    """
    records = [r for r in walk(ledger, Filter(session=session)) if not is_observed(r)]
    if not records:
        raise WishNotFound(f"There is no session {session!r} in {ledger.url}.")
    return _wishes(ledger, records)[::-1]


def find_wish(ledger: Ledger, id: str, since_at: float) -> Wish:
    """The wish of that id, by the session's index or the chain's; else among those since then.

    :raises WishNotFound: neither.
    """
    session, slash, turn = id.rpartition("/")
    queries = [Filter(session=session, turn=turn)] if slash else []
    for query in [*queries, Filter(session=id, turn="")]:
        records = [r for r in walk(ledger, query) if not r.chain and not is_observed(r)]
        if records:
            return _wishes(ledger, records)[0]
    around = ledger.chains.around(id)
    if around is not None and around.members:
        return _wishes(ledger, [record for _, record in reversed(around.members)])[0]
    records = [r for r in _since(ledger, since_at) if r.chain == id]
    if not records:
        raise WishNotFound(f"There is no chain or turn {id!r} in {ledger.url}.")
    return _wishes(ledger, records)[0]


def _since(ledger: Ledger, since_at: float) -> Iterator[ActionRecord]:
    for record in walk(ledger, Filter()):
        if record.created_at < since_at:
            return
        yield record


def _wishes(ledger: Ledger, records: Iterable[ActionRecord]) -> list[Wish]:
    """Group records that come newest first; the wishes come in that order too."""
    contracts: dict[str, Contract | None] = {}
    groups: dict[tuple[str, ...], list[Member]] = {}
    for record in shown_records(ledger, list(records)):
        if record.contract not in contracts:
            contracts[record.contract] = contract_of(ledger, record)
        group = groups.setdefault(_group(record), [])
        group.insert(0, Member(record=record, contract=contracts[record.contract]))
    return [
        Wish(
            id=_id(members[0].record),
            is_chain=key[0] == "chain",
            members=tuple(members),
            around=ledger.chains.around(key[-1]) if key[0] == "chain" else None,
        )
        for key, members in groups.items()
    ]


def _group(record: ActionRecord) -> tuple[str, ...]:
    if record.chain:
        return ("chain", record.tenant, record.chain)
    return ("turn", record.tenant, record.session, record.turn)


def _id(record: ActionRecord) -> str:
    if record.chain:
        return record.chain
    return f"{record.session}/{record.turn}" if record.turn else record.session
