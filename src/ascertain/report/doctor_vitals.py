"""Checks on what a store says of itself: does a commit last, and how large is it?"""

from __future__ import annotations

from collections.abc import Iterator

from ascertain.report.doctor import Check, bad, ok, warn
from ascertain.report.words import many, size
from ascertain.store.ledger import Vitals

WAL = "wal"
LONG_JOURNAL_BYTES = 256 * 1024 * 1024


_OUR_CONNECTIONS = (
    "Let nothing but ascertain set up its connections; look for a changed SQLite build."
)
_THE_SERVER = "Set fsync, full_page_writes and synchronous_commit to on, at the database server."


def vital_checks(vitals: Vitals, *, server: bool = False) -> Iterator[Check]:
    """Schema, durability and size.

    :param server: whether the ledger lies on a database server.
    """
    yield _schema(vitals)
    yield _durability(vitals, _THE_SERVER if server else _OUR_CONNECTIONS)
    yield _size(vitals)


def _schema(vitals: Vitals) -> Check:
    if vitals.schema == vitals.newest_schema:
        return ok("schema", f"The ledger has schema {vitals.schema}, the newest.")
    if vitals.schema > vitals.newest_schema:
        return warn(
            "schema",
            f"The ledger has schema {vitals.schema}, of a newer release; this one knows "
            f"{vitals.newest_schema} and may go on with it.",
            "Upgrade this installation before the next release takes away what it needs.",
        )
    return bad(
        "schema",
        f"The ledger has schema {vitals.schema}; this release works with {vitals.newest_schema}.",
        "Use the release that wrote it, or let this one migrate it: open it once.",
    )


def _durability(vitals: Vitals, remedy: str) -> Check:
    settings = f"journal {vitals.journal}, synchronous {vitals.synchronous}"
    if not vitals.durable:
        return bad(
            "durability",
            f"A loss of power can take back what was committed ({settings}): an effect could be "
            "at the provider that the ledger does not know.",
            remedy,
        )
    if vitals.journal != WAL:
        return warn(
            "durability",
            f"There is no write-ahead log ({settings}): who reads and who writes wait for each "
            "other.",
            "Put the ledger on a local disk; let nothing but ascertain set up its connections.",
        )
    if vitals.sync_s is None:
        return warn(
            "durability",
            f"Commits are forced to the disk ({settings}); what that costs could not be tried.",
            "See that this user can write to the ledger's folder.",
        )
    return ok(
        "durability",
        f"Commits are forced to the disk ({settings}), which took {_milliseconds(vitals.sync_s)} "
        "just now.",
    )


def _size(vitals: Vitals) -> Check:
    pages = many(vitals.pages, "page")
    said = (
        f"{size(vitals.pages * vitals.page_bytes)} in {pages} of {size(vitals.page_bytes)}, "
        f"{vitals.free_pages} of them empty; the journal takes {size(vitals.journal_bytes)}."
    )
    if vitals.journal_bytes < LONG_JOURNAL_BYTES:
        return ok("size", said)
    return warn(
        "size", said,
        "Look for a process that reads the ledger and never ends: it keeps the journal from being "
        "folded back.",
    )  # fmt: skip


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"
