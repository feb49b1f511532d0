"""What the tests of the store share."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from ascertain.store.ledger import Advanced, Filter, Reserved
from ascertain.testing.conformance.samples import confirm, reserve_sent, submit, wanted

ROOT = Path(__file__).resolve().parent.parent.parent


def sent(ledger, intent="intent-1", **changes):
    return submit(ledger, reserve_sent(wanted(intent, **changes)), Reserved).record


def settled(ledger, intent="intent-1", **changes):
    return submit(ledger, confirm(sent(ledger, intent, **changes)), Advanced).record


def everything(ledger):
    return ledger.find(Filter(limit=100_000))


def child(module, *arguments, **options):
    """A process of its own that runs a module of these tests."""
    found_by = os.pathsep.join(["src", *sys.path])
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.store.{module}", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": found_by},
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


@contextlib.contextmanager
def writer(ledger):
    """The connection with which the ledger writes."""
    with ledger._file.writing() as db:
        yield db
