"""How a PostgreSQL ledger stands: its settings as they are in force, its size, and its disk."""

from __future__ import annotations

import time

from ascertain.store.ledger import Vitals
from ascertain.store.postgres_link import PostgresLink
from ascertain.store.postgres_schema import newest, schema_of

_TRIES = 3


def vitals(link: PostgresLink) -> Vitals:
    """Look; see :meth:`~ascertain.store.ledger.Ledger.vitals`.

    Settings are read from the connection that writes: some of them are its own.
    """
    with link.writing() as session, link.typed():
        schema = schema_of(session.run, link.place)
        ((synchronous, fsync, whole_pages, page_bytes, pages),) = session.run(
            "vitals", link.place.schema
        )
        took: list[float] = []
        for _ in range(_TRIES):
            started = time.perf_counter()
            session.run("small_commit")
            took.append(time.perf_counter() - started)
    forced = fsync == "on" and whole_pages == "on" and synchronous != "off"
    return Vitals(
        schema=schema,
        newest_schema=newest(),
        journal="wal",
        synchronous=synchronous if fsync == "on" else "off",
        durable=forced,
        pages=pages,
        page_bytes=page_bytes,
        free_pages=0,
        journal_bytes=0,
        free_bytes=None,
        sync_s=sorted(took)[_TRIES // 2],
    )
