"""Names of what transactions stand on, beside the rows that they write.

SQLite lets one writer in at a time, so what a transaction has read stands until it has written.
Where several write at once, those that read and write the same thing name it, and one waits for
the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from ascertain.model.action import ActionRecord
from ascertain.model.booking import Answered, Book, GiveBack, Spends
from ascertain.model.chain import ChainRecord
from ascertain.model.operations import Advance, Beside, Lookalike, Operation, Reserve, Take
from ascertain.model.session import Needs, Provides, StillNeeds

_BETWEEN = "\n"


def intent_name(intent: str) -> str:
    """What is stored of an intent: whether there is any action of it."""
    return f"intent{_BETWEEN}{intent}"


def session_name(tenant: str, session: str) -> str:
    """What a session remembers, and at which version."""
    return _BETWEEN.join(("session", tenant, session))


def chain_name(chain: str) -> str:
    """The direction of a chain, and who is in it."""
    return f"chain{_BETWEEN}{chain}"


def references_name(tenant: str, tool: str) -> str:
    """Which references and look-alikes a tool's actions have."""
    return _BETWEEN.join(("references", tenant, tool))


def rate_name(rate: str) -> str:
    """What of a provider's rate is taken."""
    return f"rate{_BETWEEN}{rate}"


def chains_of(operation: Operation) -> Iterator[str]:
    """The chains that an operation joins, turns, stops, wakes or says something of."""
    beside = operation.beside if isinstance(operation, Reserve | Advance) else ()
    for one in (operation, *beside):
        chain: object = getattr(one, "chain", None)
        if isinstance(chain, ChainRecord):
            yield chain.id
        elif isinstance(chain, str):
            yield chain


def stands_on(operation: Operation) -> Iterator[str]:
    """The names of what must not change between what an operation reads and what it writes."""
    yield from map(chain_name, chains_of(operation))
    match operation:
        case Reserve(record=record, beside=beside):
            yield intent_name(record.intent)
            for one in beside:
                yield from _beside(record, one)
        case Advance(before=before, beside=beside, claim=claim):
            if claim is not None:
                yield references_name(before.tenant, before.tool)
            for one in beside:
                yield from _beside(before, one)
        case Take(rates=rates):
            yield from (rate_name(rate.name) for _, rate in rates)
        case Book(rate=rate) | GiveBack(rate=rate):
            yield rate_name(rate.name)
        case _:
            pass


def _beside(record: ActionRecord, beside: Beside) -> Iterator[str]:
    match beside:
        case Needs() | StillNeeds() | Provides():
            yield session_name(record.tenant, record.session)
        case Lookalike():
            yield references_name(record.tenant, record.tool)
        case Spends(rate=rate) | Answered(rate=rate):
            yield rate_name(rate.name)
        case _:
            pass
