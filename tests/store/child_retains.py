"""Archives and removes what is old, and kills itself at one moment of it; says how far it came.

``unfinished``: a line is written in part. ``written``: before it is forced to the disk. ``kept``:
the batch is on the disk. ``removing``: in the middle of the transaction that removes. ``removed``:
after it.
"""

import os
import signal
import sys

from ascertain.store import archive, retaining
from ascertain.store.open import open_ledger

BATCH = 4


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def unfinished(file, left):
    os.write(file, left[: len(left) // 2])
    die()


class Os:
    """The system, but for one call."""

    def __init__(self, **calls):
        self.__dict__.update(calls)

    def __getattr__(self, name):
        return getattr(os, name)


def dying_after(what):
    def called(*arguments):
        what(*arguments)
        die()

    return called


def arm(moment):
    if moment == "unfinished":
        archive.os = Os(write=unfinished)
    elif moment == "written":
        archive.os = Os(fsync=lambda _: die())
    elif moment == "kept":
        archive.Archive.append = dying_after(archive.Archive.append)
    elif moment == "removing":
        retaining._bury = dying_after(retaining._bury)


def main(url, path, moment, batch):
    retaining.REMOVED_AT_ONCE = BATCH
    ledger = open_ledger(url)
    with archive.Archive(path, secret=ledger.secret()) as keep:
        batches = ledger.retain(closed_before=4e9, keep=keep, at=1.0)
        for number in range(int(batch) + 1):
            if number == int(batch):
                arm(moment)
            next(batches)
        if moment == "removed":
            die()
    ledger.close()


main(*sys.argv[1:])
