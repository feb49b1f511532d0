"""Another release of this one: it knows fewer migrations, or more.

    python -m tests.postgres.releases migrate URL WAIT KNOWS [FURTHER.sql ...]
    python -m tests.postgres.releases call URL KNOWS

``migrate`` brings the ledger to that release's schema. ``call`` makes calls until its input ends,
and says how many it has made after each.
"""

import itertools
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from ascertain.store import migrating, postgres_online, postgres_schema, queries
from ascertain.store.ledger import Advanced, Reserved
from ascertain.store.postgres import PostgresLedger
from ascertain.testing.conformance.samples import confirm, reserve_sent, submit, wanted
from tests.postgres.conftest import SECRET

ROOT = Path(__file__).resolve().parent.parent.parent
DIES_AT = "DIES_AT_STEP"


def know(number, further=()):
    """From now on this process is the release that knows so many migrations, and these."""
    known = queries.load_migrations("postgres")[: int(number)]
    known += enumerate((Path(path).read_text() for path in further), start=len(known) + 1)
    titles = [f"migration {number}" for number, _ in known]
    postgres_schema.migrations = postgres_online.migrations = lambda: known
    migrating.migration_titles = lambda _: titles


def migrate(url, wait_s, number, *further):
    know(number, further)
    if os.environ.get(DIES_AT):
        _die_after(int(os.environ[DIES_AT]))
    migrating.apply(url, secret=SECRET, wait_s=float(wait_s))


def _die_after(steps):
    right, counted = postgres_online._do, itertools.count(1)

    def one(*arguments):
        right(*arguments)
        if next(counted) == steps:
            os.kill(os.getpid(), signal.SIGKILL)

    postgres_online._do = one


def call(url, number):
    know(number)
    ledger = PostgresLedger(url, secret=SECRET)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    for made in itertools.count(1):
        sent = submit(ledger, reserve_sent(wanted(f"i{os.getpid()}-{made}")), Reserved).record
        submit(ledger, confirm(sent, f"T{made}"), Advanced)
        print(made, flush=True)
        if ended.is_set():
            break
    ledger.close()


def start(*arguments, **environment):
    """That program, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.postgres.releases", *map(str, arguments)], cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", *sys.path]), **environment},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


if __name__ == "__main__":
    {"migrate": migrate, "call": call}[sys.argv[1]](*sys.argv[2:])
