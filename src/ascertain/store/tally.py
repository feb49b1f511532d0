"""Counts of what happens, by tool and second; written along with what happens, once a second.

What a process counts between two of those writes is in its memory, and lost with it: this is for
people who watch, and evidence of nothing. Once it has been quiet it writes its next count at once.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from time import monotonic

from ascertain.model.action import ActionRecord, Draft
from ascertain.rules.tally import counted
from ascertain.store.access import Run

Counts = Counter[tuple[int, str, str]]
EVERY_S = 1.0


def add(counts: Counts, record: ActionRecord, drafts: Iterable[Draft]) -> None:
    """Count what has just been written of an action."""
    for draft in drafts:
        for what in counted(record, draft):
            counts[int(record.updated_at), record.tool, what] += 1


class Tally:
    """What this process has counted and not written yet. Used under the lock of who writes."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._kept: Counts = Counter()
        self._write_at = 0.0

    @property
    def is_due(self) -> bool:
        """Whether what is counted should be written with the next that is."""
        return bool(self._kept) and monotonic() >= self._write_at

    def due(self, counts: Counts) -> Counts:
        """What is to be written now with these new ones; empty: nothing yet.

        Not taken off before :meth:`written` says that it was committed.
        """
        if self._pid != os.getpid():  # what a parent has counted, it writes itself
            self._pid, self._kept = os.getpid(), Counter()
        if monotonic() < self._write_at:
            return Counter()
        return self._kept + counts

    def written(self, counts: Counts, due: Counts) -> None:
        """The transaction that made these counts was committed, and wrote what was due."""
        if due:
            self._kept.clear()
            self._write_at = monotonic() + EVERY_S
        else:
            self._kept.update(counts)

    def rest(self) -> Counts:
        """What is left when the ledger is closed."""
        return self._kept if self._pid == os.getpid() else Counter()


def put(run: Run, counts: Counts) -> None:
    """Write counts, inside a transaction."""
    for (at, tool, what), n in sorted(counts.items()):  # in one order, whoever writes them
        run("put_tally", at, tool, what, n)
