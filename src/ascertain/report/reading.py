"""What reports read from a ledger: pages, one action by the start of its id, its contract."""

from __future__ import annotations

from collections.abc import Iterator

from ascertain.errors import ActionNotFound, AscertainError
from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract, contract_from_json
from ascertain.store.ledger import Filter, Ledger

PAGE = 500
OBSERVED = "observe"
_AFTER_ALL = "~"
_SHOWN = 5


class AmbiguousId(AscertainError):
    """Several actions begin with this id."""

    code = "ambiguous_id"
    next_step = "Give more characters of the id."


def walk(ledger: Ledger, query: Filter) -> Iterator[ActionRecord]:
    """All actions that fit, newest first, page by page; ``query.limit`` is not looked at."""
    query = query._replace(limit=PAGE)
    while True:
        page = ledger.find(query)
        yield from page
        if len(page) < PAGE:
            return
        query = query._replace(before_id=page[-1].id)


def find_one(ledger: Ledger, prefix: str) -> ActionRecord:
    """The action whose id is, or begins with, ``prefix``.

    :raises ActionNotFound: there is none.
    :raises AmbiguousId: there are several.
    """
    wanted = prefix.strip().lower()
    if not wanted.isalnum() or not wanted.isascii():
        raise ActionNotFound(f"{prefix!r} cannot be the id of an action.")
    exact = ledger.get(wanted)
    if exact is not None:
        return exact
    # ids grow with time, so those that share a beginning stand together
    near = ledger.find(Filter(before_id=wanted + _AFTER_ALL, limit=_SHOWN + 1))
    found = [record for record in near if record.id.startswith(wanted)]
    if not found:
        raise ActionNotFound(f"There is no action {wanted!r} in {ledger.url}.")
    if len(found) > 1:
        ids = [record.id for record in found[:_SHOWN]]
        more = ", ..." if len(found) > _SHOWN else ""
        raise AmbiguousId(
            f"Several actions begin with {wanted!r}: {', '.join(ids)}{more}.", actions=ids
        )
    return found[0]


def contract_of(ledger: Ledger, record: ActionRecord) -> Contract | None:
    """The contract that is stored with the action; None where the ledger does not hold it."""
    text = ledger.contract(record.contract)
    return None if text is None else contract_from_json(text)


def is_observed(record: ActionRecord) -> bool:
    """Whether the action was only watched: nobody acts on it, and it needs no end."""
    return record.mode == OBSERVED
