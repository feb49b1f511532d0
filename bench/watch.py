"""What it costs to watch a ledger: ``ascertain top``, and each question of it, by what there is.

    python bench/watch.py [--open 100000] [--closed 1000000] [--ledgers sqlite postgres]

Rows are copies of a few real actions, made by the database itself: those that are open are due, due
later, leased, to be counted, or wait for a person, of 20 tools and 5 tenants. Medians in
milliseconds; what is closed should cost nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from ascertain.report.top import look
from ascertain.store.ledger import Advanced, Ledger, Reserved
from ascertain.store.open import open_ledger
from ascertain.store.postgres_place import is_postgres, place_of
from ascertain.store.rows import FIELDS
from ascertain.testing.conformance.samples import confirm, lose, reserve_sent, submit, wanted

HERE = Path(__file__).resolve().parent
ROUNDS = 15
FEW = 100
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last})"
LEASE_S = 60.0
PARTS = {"due": 0.6, "later": 0.25, "waiting": 0.1, "counts": 0.04, "leased": 0.01}
"""What of all that is open is what."""

Run = Callable[[str], Any]


def models(ledger: Ledger) -> dict[str, str]:
    """One real action of each kind; their ids."""
    now = time.time()
    made = {
        kind: submit(ledger, reserve_sent(wanted(kind), at=now), Reserved).record
        for kind in ("closed", *PARTS)
    }
    for kind in ("due", "later"):
        submit(ledger, lose(made[kind], due_at=now), Advanced)
    case = lose(made["waiting"], due_at=None)
    submit(ledger, case._replace(after=case.after._replace(review="no_answer")), Advanced)
    submit(ledger, confirm(made["closed"]), Advanced)
    count = confirm(made["counts"])
    submit(ledger, count._replace(after=count.after._replace(due_at=now)), Advanced)
    return {kind: record.id for kind, record in made.items()}


def fill(run: Run, model: str, kind: str, numbers: range, now: float) -> None:
    """Copy an action so many times."""
    ours = {
        "id": f"'{kind} ' || (1000000000 + i)",
        "intent": f"'{kind} intent ' || i",
        "session": f"'{kind} ' || (i / 20)",
        "key": f"'{kind} key ' || i",
        "tool": "'tool ' || (i % 20)",
        "tenant": "'tenant ' || (i % 5)",
        "first_sent_at": f"{now} - i % 100000",
        **_when(kind, now),
    }
    names = ", ".join(f'"{name}"' for name in FIELDS)
    values = ", ".join(ours.get(name, f'model."{name}"') for name in FIELDS)
    run(
        f"{NUMBERS.format(first=numbers[0], last=numbers[-1])} INSERT INTO action ({names}) "
        f"SELECT {values} FROM n CROSS JOIN (SELECT * FROM action WHERE id = '{model}') AS model"
    )


def _when(kind: str, now: float) -> dict[str, str]:
    """When such an action falls due; whoever is at work on it."""
    match kind:
        case "due":
            return {"due_at": f"{now} - i % 3600"}
        case "later" | "counts":
            return {"due_at": f"{now} + 3600 + i % 3600"}
        case "leased":
            until = f"{now} + 3600 + i % 50"
            return {"due_at": until, "lease_until": until, "lease_owner": "'worker ' || (i % 4)"}
        case _:
            return {}


@contextlib.contextmanager
def other_session(url: str) -> Iterator[Run]:
    """Another session in the same database."""
    if is_postgres(url):
        import psycopg

        place = place_of(url)
        with psycopg.connect(autocommit=True, **place.options) as db:
            db.execute("SELECT set_config('search_path', %s, false)", [place.schema])
            yield lambda text: db.execute(text.encode())
        return
    path = url.removeprefix("sqlite:///")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        yield db.execute


def measured(ledger: Ledger) -> dict[str, float]:
    """Medians, in milliseconds, of each question, and of the whole page."""
    fleet = ledger.fleet
    questions: dict[str, Callable[[float], Any]] = {
        "queues": fleet.queues,
        "leases": fleet.leases,
        "oldest unknown": lambda _: fleet.oldest_unknown(),
        "holders": ledger.holders,
        "top, the whole page": lambda now: look(ledger, now),
    }
    return {name: _ms(ask) for name, ask in questions.items()}


def _ms(ask: Callable[[float], Any]) -> float:
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        ask(time.time())
        took.append(time.perf_counter() - began)
    return median(took) * 1e3


def watch(url: str, open_: int, closed: int) -> dict[str, dict[str, float]]:
    """Fill an empty ledger step by step, and measure after each; by what there is in it."""
    found: dict[str, dict[str, float]] = {}
    ledger = open_ledger(url)
    try:
        ids = models(ledger)
        with other_session(url) as run:

            def add(kind: str, numbers: range) -> None:
                fill(run, ids[kind], kind, numbers, time.time())

            def measure(what: str) -> None:
                if is_postgres(url):
                    run("VACUUM ANALYZE action")  # as its autovacuum does, which the tests' has not
                found[what] = measured(ledger)

            add("due", range(FEW))
            measure(f"{FEW:,} open")
            add("closed", range(closed))
            measure(f"{FEW:,} open, {closed:,} closed")
            for kind, share in PARTS.items():
                add(kind, range(FEW, FEW + int(open_ * share)))
            measure(f"{open_:,} open, {closed:,} closed")
    finally:
        ledger.close()
    return found


def new_url(kind: str, folder: str) -> str:
    """An empty ledger of this kind."""
    if kind == "sqlite":
        return f"sqlite:///{folder}/ledger.db"
    sys.path.insert(0, str(HERE.parent))
    from tests.postgres import server  # starts one from the wheel by itself

    os.environ["ASCERTAIN_SECRET"] = secrets.token_hex(32)  # of a ledger that goes away again
    return str(server.new_url())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--open", type=int, default=100_000)
    parser.add_argument("--closed", type=int, default=1_000_000)
    parser.add_argument("--ledgers", nargs="+", default=["sqlite", "postgres"])
    asked = parser.parse_args()
    for kind in asked.ledgers:
        with tempfile.TemporaryDirectory(dir=HERE, prefix=".watch-") as folder:
            found = watch(new_url(kind, folder), asked.open, asked.closed)
        print(f"{kind}, milliseconds")
        for what, took in found.items():
            each = "; ".join(f"{name} {ms:.2f}" for name, ms in took.items())
            print(f"  {what:36} {each}", flush=True)


if __name__ == "__main__":
    main()
