"""What being rung gains who waits for another process, and what it costs who calls.

    python bench/joins.py [--rounds N] [--url postgresql://...]

On PostgreSQL; without --url on a server of its own, for which the tests' packages are needed. Pairs
are interleaved: the same with bells and without.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ascertain import Ascertain
from ascertain.store import postgres_queries, postgres_session
from ascertain.store.ledger import Advanced, Reserved
from ascertain.store.postgres import PostgresLedger
from ascertain.testing.conformance.samples import confirm, records, reserve_sent, wanted

SECRET = b"the secret of this bench"
WORKS_S = 0.15, 0.35, 0.6


@contextmanager
def without_bells() -> Generator[None]:
    """Nobody asks to be rung, and what moves an action does not say whether somebody waits."""
    bell, said = PostgresLedger.bell, postgres_session.said
    text, order = postgres_queries.FORMS["write_moves"]
    text = text.replace(b"RETURNING a.id, a.waited", b"RETURNING a.id")
    text = text.replace(b"SELECT id, waited", b"SELECT id")
    postgres_queries.FORMS["move_unheard"] = text, order

    def unheard(name: str, values: tuple[Any, ...]) -> postgres_queries.Said:
        return said("move_unheard" if name == "write_moves" else name, values)

    PostgresLedger.bell, postgres_session.said = lambda *_: None, unheard
    try:
        yield
    finally:
        PostgresLedger.bell, postgres_session.said = bell, said


def app_of(url: str, begun: int | None = None) -> tuple[Ascertain, Callable[..., object]]:
    """:param begun: a pipe that is told when a call is at work."""
    app = Ascertain(url, secret=SECRET, worker="none")

    @app.tool(identity=["n"], once_per="principal")
    def work(n: int, seconds: float) -> dict[str, float]:
        if begun is not None:
            os.write(begun, b".")
        time.sleep(seconds)  # the work that is waited for
        return {"ended_at": time.time()}

    return app, work


def lag_s(url: str, n: int, seconds: float) -> float:
    """How long after the end of a call somebody who joined it in another process hears of it."""
    out, told = os.pipe()
    at_work, begun = os.pipe()
    child = os.fork()
    app, work = app_of(url, begun)
    with app.session(f"chat-{child == 0}", principal="u"):
        if child == 0:
            os.write(told, repr(work(n=n, seconds=seconds).result["ended_at"]).encode())
            app.close()
            os._exit(0)
        os.read(at_work, 1)
        joined = work(n=n, seconds=seconds)
        heard_at = time.time()
    assert joined.how == "joined", joined.how
    os.waitpid(child, 0)
    ended_at = float(os.read(out, 100))
    for pipe in (out, told, at_work, begun):
        os.close(pipe)
    app.close()
    return heard_at - ended_at


def write_s(ledger: PostgresLedger, name: str, at_once: int) -> float:
    """Seconds that it takes to store and to confirm so many actions."""
    began = time.perf_counter()
    new = [reserve_sent(wanted(f"{name}{n}")) for n in range(at_once)]
    sent = records(ledger.submit(new), Reserved)
    records(ledger.submit([confirm(one) for one in sent]), Advanced)
    return time.perf_counter() - began


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--url", default="")
    said = parser.parse_args(arguments)
    url = said.url
    if not url:
        from tests.postgres.server import new_url

        url = new_url()
    app_of(url)[0].open()
    lags: dict[str, list[float]] = {"with": [], "without": []}
    for n in range(said.rounds):
        seconds = WORKS_S[n % len(WORKS_S)]
        lags["with"].append(lag_s(url, 2 * n, seconds))
        with without_bells():
            lags["without"].append(lag_s(url, 2 * n + 1, seconds))
    for name, found in lags.items():
        told = ", ".join(f"{1000 * one:.1f}" for one in (statistics.median(found), max(found)))
        print(f"{name} bells: who joins hears it after (median, longest) {told} ms")
    for at_once in (1, 64):
        pairs = []
        ledgers = [PostgresLedger(url, secret=SECRET) for _ in range(2)]
        for n in range(said.rounds * (20 if at_once == 1 else 5)):
            took = {}
            for with_them in (n % 2 == 0, n % 2 == 1):
                name = f"{with_them}-{at_once}-{n}-"
                with nullcontext() if with_them else without_bells():
                    took[with_them] = write_s(ledgers[(with_them + n // 2) % 2], name, at_once)
            pairs.append(took[True] / took[False])
        for ledger in ledgers:
            ledger.close()
        ratio, n = statistics.median(pairs), len(pairs)
        print(f"{at_once} at once: with bells over without {ratio:.3f} ({n} pairs)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
