"""Histories of real processes on real ledgers and servers, and what the checker says of them.

    .venv/bin/python -m tests.linear.run --histories 20000

Four processes use one session at once: they begin and commit actions that bring values, say some,
read, use what they have read, renew the session, and die by SIGKILL in between; others take their
places. The ledger is SQLite or PostgreSQL; in front of it stands Valkey or Redis, which is flushed,
evicted from, cut off and killed, on a line that loses replies and requests. Two histories come of
it, and both are judged: what the session's clients saw, and what the session store was asked and
said.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from ascertain.store.ledger import Ledger
from ascertain.store.open import open_ledger
from ascertain.testing.linearize import Op, Unexplained, unexplained
from tests import ledgers
from tests.conformance.valkey_server import KINDS, Server
from tests.linear import clients
from tests.linear.losing import LosingLine
from tests.linear.models import Kept, Session
from tests.linear.troubles import Troubles
from tests.postgres import server as postgres

OPERATIONS = 500
CLIENTS = 4
PLACES = tuple(itertools.product(KINDS, ledgers.KINDS))
"""Every session store before every ledger; one history at a time on each, for clients mostly wait.
"""
ENDS_WITHIN_S = 240.0
PRELOADED = ["tests.linear.clients", "psycopg", "ascertain.store.postgres"]
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where ledgers lie, where there is such a place: processes die here, but no machine does."""
LEDGER_LASTS = 250
"""Histories on one ledger; then a new one begins, so that a long run has no large ones."""


_processes = threading.Lock()
"""One thread at a time: whoever starts a process also asks after all that have ended."""


@dataclass
class Report:
    """What was played, and what was found."""

    histories: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Report) -> None:
        self.histories += other.histories
        self.counts += other.counts
        self.wrong += other.wrong

    def __str__(self) -> str:
        rows = [("histories", self.histories), ("wrong", len(self.wrong))]
        return "\n".join(f"{name:<44}{n:>9}" for name, n in [*rows, *sorted(self.counts.items())])


class Crew:
    """Four client processes; who dies is replaced, and goes on with what is left of its part."""

    def __init__(self, folder: Path, ledger: str, url: str, variant: str) -> None:
        self.deaths = 0
        self._folder = folder
        self._about = (ledger, url, variant)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        self._seats = [self._hire() for _ in range(CLIENTS)]

    def play(self, session: str, operations: int) -> list[Path]:
        """Play one history; where its notes are."""
        notes: list[Path] = []
        tasks: dict[Any, tuple[int, clients.Task]] = {}

        def give(seat: int, count: int) -> None:
            path = self._folder / f"{session}-{len(notes)}.notes"
            notes.append(path)
            task = clients.Task(session, f"{session}-{len(notes)}", count, str(path))
            channel = self._seats[seat][1]
            tasks[channel] = (seat, task)
            channel.send(task)

        for seat in range(CLIENTS):
            give(seat, operations // CLIENTS)
        while tasks:
            ready = wait(list(tasks), timeout=ENDS_WITHIN_S)
            assert ready, f"{session}: its clients do not come to an end"
            for channel in ready:
                seat, task = tasks.pop(channel)
                try:
                    channel.recv()
                    continue
                except (EOFError, ConnectionResetError):
                    self._replace(seat)
                left = task.operations - _asked(Path(task.notes))
                if left > 0:
                    give(seat, left)
        return notes

    def close(self) -> None:
        for process, channel in self._seats:
            channel.send(None)
            assert _ended(process) == 0

    def kill(self) -> None:
        """Whoever is still there."""
        for process, channel in self._seats:
            process.kill()
            _ended(process)
            channel.close()

    def _replace(self, seat: int) -> None:
        process, channel = self._seats[seat]
        code = _ended(process)
        assert code == -signal.SIGKILL, f"a client ended with {code}"
        channel.close()
        self.deaths += 1
        self._seats[seat] = self._hire()

    def _hire(self) -> tuple[Any, Any]:
        mine, theirs = self._context.Pipe()
        process = self._context.Process(target=clients.serve_tasks, args=(theirs, *self._about))
        with _processes:
            process.start()
        theirs.close()
        return process, mine


def _ended(process: Any) -> int | None:
    """The exit code of a process that is about to end."""
    with _processes:
        process.join(30)
        return process.exitcode


def _notes_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _asked(path: Path) -> int:
    """So many operations of the session's history are in these notes."""
    notes = _notes_of(path)
    asked = sum(note.get("level") == "session" for note in notes)
    return asked - sum(note.get("seen") == clients.REFUSED for note in notes)


def _read_back(notes: list[Path]) -> tuple[list[Op], list[Op]]:
    """Both histories: of the session, and of its store."""
    session: list[Op] = []
    kept: list[Op] = []
    for path in notes:
        answers: dict[int, dict[str, Any]] = {}
        asked: list[dict[str, Any]] = []
        for note in _notes_of(path):
            if "level" in note:
                asked.append(note)
            else:
                answers[note["n"]] = note
        for note in asked:
            op = Op(note["kind"], note["given"], note["at"])
            if note["n"] in answers:
                answer = answers[note["n"]]
                op = op._replace(end=answer["at"], seen=answer["seen"])
            if op.seen != clients.REFUSED:
                (session if note["level"] == "session" else kept).append(op)
    return session, kept


def play(
    place: tuple[str, str], sessions: range, folder: Path, *, variant: str = "as built",
    operations: int = OPERATIONS,
) -> Report:  # fmt: skip
    """Play and judge histories, one after the other, on one server and one ledger."""
    report = Report()
    server, kind = place
    url = ledgers.url_of_kind(kind, folder / "ledger.db")
    truth = open_ledger(url, secret=clients.SECRET)
    truth.counts()  # which makes it
    machine = Server(folder, server).start()
    line = LosingLine(machine.port, sessions.start)
    crew = Crew(folder, url, line.url, variant)
    try:
        with Troubles(machine, sessions.start) as troubles:
            for number in sessions:
                began = time.monotonic()
                notes = crew.play(f"chat-{number}", operations)
                session, kept = _read_back(notes)
                session.append(_last_look(truth, f"chat-{number}"))
                _judge(
                    report,
                    f"{server} {kind} {number}",
                    session,
                    [*kept, *troubles.lost_since(began)],
                )
                report.counts[f"histories on {server} before {kind}"] += 1
                for path in notes:
                    path.unlink()
        crew.close()
        if not report.wrong:
            report.wrong += [f"{kind}: the ledger's chain: {one}" for one in truth.verify()]
    finally:
        crew.kill()
        line.close()
        machine.kill()
        truth.close()
    report.counts["clients killed"] += crew.deaths
    report.counts.update({f"server: {kind}": n for kind, n in troubles.done.items()})
    report.counts.update({f"line: {fate}": n for fate, n in line.fates.items()})
    return report


def _last_look(truth: Ledger, session: str) -> Op:
    """When all is over: what the ledger itself says."""
    start = time.monotonic()
    values = truth.contexts.memory(clients.TENANT, session).values
    now = dict.fromkeys(clients.KEYS) | {value.key: json.loads(value.value) for value in values}
    return Op("read", None, start, time.monotonic(), now)


def _judge(report: Report, name: str, session: list[Op], kept: list[Op]) -> None:
    report.histories += 1
    counts = report.counts
    for level, history, model in (("session", session, Session(clients.KEYS)),
                                  ("session store", kept, Kept())):  # fmt: skip
        counts[f"{level}: operations"] += len(history)
        counts[f"{level}: pending for ever"] += sum(op.pending for op in history)
        found: Unexplained | None = unexplained(history, model)
        counts[f"{level}: not linearizable"] += found is not None
        if found is not None:
            report.wrong.append(f"{name}, {level}, {len(history)} operations: {found}")


def play_everywhere(
    histories: int, *, variant: str = "as built", operations: int = OPERATIONS
) -> Report:
    """So many histories, divided among :data:`PLACES`."""
    postgres.base_url()  # a server ends with the thread that started it
    total, lock = Report(), threading.Lock()
    errors: list[BaseException] = []

    def one(place: tuple[str, str], sessions: range) -> None:
        try:
            for first in range(sessions.start, sessions.stop, LEDGER_LASTS):
                part = range(first, min(first + LEDGER_LASTS, sessions.stop))
                with tempfile.TemporaryDirectory(prefix="ascertain-linear-", dir=MEMORY) as folder:
                    report = play(place, part, Path(folder), variant=variant, operations=operations)
                with lock:
                    total.add(report)
        except BaseException as error:
            errors.append(error)
            raise

    ends = [histories * n // len(PLACES) for n in range(len(PLACES) + 1)]
    parts = zip(PLACES, itertools.starmap(range, itertools.pairwise(ends)), strict=True)
    threads = [threading.Thread(target=one, args=part) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    return total


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--histories", type=int, default=100)
    options.add_argument("--operations", type=int, default=OPERATIONS)
    options.add_argument("--variant", choices=clients.VARIANTS, default="as built")
    said = options.parse_args()
    began = time.monotonic()
    report = play_everywhere(said.histories, variant=said.variant, operations=said.operations)
    print(f"{report}\n{'seconds':<44}{time.monotonic() - began:>9.0f}")
    for wrong in report.wrong[:5]:
        print(wrong)
    sys.exit(1 if report.wrong else 0)


if __name__ == "__main__":
    main()
