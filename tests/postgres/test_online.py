"""Migrating while calls go on: nobody is held up, killed runs go on, and older code is told."""

import contextlib
import signal
import threading
import time

import pytest

from ascertain.errors import LedgerLocked, LedgerNewer
from ascertain.store import migrating
from ascertain.store.ledger import Advanced, Filter, Reserved
from ascertain.store.postgres import PostgresLedger
from ascertain.store.postgres_place import place_of
from ascertain.store.postgres_schema import newest
from ascertain.testing.conformance.samples import confirm, reserve_sent, submit, wanted
from tests.postgres import hands, releases
from tests.postgres.conftest import SECRET

WIDER = """-- What a later release adds: older code goes on beside it.
--
-- oldest writer: {earlier}
ALTER TABLE action ADD COLUMN colour text;
-- step
ALTER TABLE event ADD COLUMN colour text;
-- step
ALTER TABLE payload ADD COLUMN colour text;
-- step alone
CREATE INDEX CONCURRENTLY IF NOT EXISTS action_colour ON action (colour);
-- step
CREATE TABLE colour (name text COLLATE "C" PRIMARY KEY);
"""
NARROWER = "ALTER TABLE action DROP COLUMN colour;\n"
WAITING = (
    "SELECT count(*) FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation"
    " WHERE NOT l.granted AND c.relnamespace = %s::regnamespace AND c.relname = %s"
)


@pytest.fixture
def further(tmp_path):
    """The files of two later migrations: one that adds, one that takes away."""
    found = tmp_path / "wider.sql", tmp_path / "narrower.sql"
    for path, text in zip(found, (WIDER, NARROWER), strict=True):
        path.write_text(text.replace("{earlier}", str(newest())))
    return found


@pytest.fixture
def children():
    started = []
    yield started
    for child in started:
        with child:  # closes its pipes
            child.kill()


@pytest.fixture
def begin(children):
    def start(*arguments, **environment):
        children.append(releases.start(*arguments, **environment))
        return children[-1]

    return start


def ended(child, code=0, within_s=60):
    said = child.communicate(timeout=within_s)[1]
    assert child.returncode == code, said
    return said


def until(holds, within_s=30.0):
    give_up_at = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < give_up_at, "it did not happen in time"
        threading.Event().wait(0.005)
    return found


@contextlib.contextmanager
def held(url, table):
    """Somebody keeps a transaction open that has written to a table."""
    with hands.shell(url) as db:
        db.execute("BEGIN")
        db.execute(f"LOCK TABLE {table} IN ROW EXCLUSIVE MODE")
        yield
        db.execute("ROLLBACK")


def waits_for(url, table):
    with hands.shell(url) as db:
        return db.execute(WAITING, [place_of(url).schema, table]).fetchone()[0]


def meta(url):
    with hands.shell(url) as db:
        return dict(db.execute("SELECT name, value FROM meta").fetchall())


def differences(url):
    return migrating.verify(url)


def test_calls_of_the_release_before_go_on_while_it_is_migrated(url, begin, further):
    """Its worker is at work, and somebody holds a table of its calls open."""
    worker = begin("call", url, newest())
    assert worker.stdout.readline() == "1\n"
    with held(url, "action"):
        migration = begin("migrate", url, 60, newest(), further[0])
        until(lambda: waits_for(url, "action"))
        for _ in range(20):
            assert worker.stdout.readline(), "a call was held up"
        assert migration.poll() is None
        assert meta(url)["schema"] == str(newest())
    ended(migration)
    after = [int(worker.stdout.readline()) for _ in range(5)]
    worker.stdin.close()
    made = [int(line) for line in worker.stdout.readlines()]
    assert worker.wait(30) == 0
    assert meta(url)["schema"] == str(newest() + 1)
    ledger = PostgresLedger(url, secret=SECRET, make=False)
    assert len(ledger.find(Filter(state="confirmed", limit=10_000))) == (made or after)[-1]
    assert list(ledger.verify()) == []
    ledger.close()


def test_nobody_waits_behind_a_migration_that_waits(url, begin):
    """From the first schema on: an action is written again and again while a table is held open."""
    hands.make_older(url, SECRET, 1)
    stop, written = threading.Event(), []
    with hands.shell(url) as db:
        one = wanted("i1")._replace(n=1, head=b"h")
        columns = ", ".join(f'"{name}"' for name in one._fields)
        marks = ", ".join(["%s"] * len(one))
        db.execute(f"INSERT INTO action ({columns}) VALUES ({marks})", list(one))

    def write():
        with hands.shell(url) as db:
            while not stop.is_set():
                db.execute("UPDATE action SET due_at = coalesce(due_at, 0) + 1")
                written.append(1)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        with contextlib.ExitStack() as rest:
            tables = ("session", "action", "event")  # in the order in which it comes to them
            open_ones = [rest.enter_context(contextlib.ExitStack()) for _ in tables]
            for table, stack in zip(tables, open_ones, strict=True):
                stack.enter_context(held(url, table))
            migration = begin("migrate", url, 60, newest())
            for table, stack in zip(tables, open_ones, strict=True):
                until(lambda table=table: waits_for(url, table))
                before = len(written)
                until(lambda before=before: len(written) > before + 20)
                assert migration.poll() is None
                stack.close()
        ended(migration)
    finally:
        stop.set()
        writing.join()
    assert (meta(url)["schema"], differences(url)) == (str(newest()), [])
    with hands.shell(url) as db:
        assert db.execute("SELECT due_at FROM action").fetchone() == (len(written),)


def test_one_that_is_killed_after_any_step_is_followed_by_the_next(url, begin):
    hands.make_older(url, SECRET, 1)
    reached = []
    for _ in range(2):
        ended(begin("migrate", url, 60, newest(), DIES_AT_STEP="11"), -signal.SIGKILL)
        reached.append((meta(url)["schema"], meta(url)["migrating"]))
    assert reached == [("2", "3.9"), ("2", "3.20")], "it went on from where it was killed"
    ended(begin("migrate", url, 60, newest()))
    assert (meta(url)["schema"], differences(url)) == (str(newest()), [])


def test_one_that_is_killed_while_it_builds_an_index_is_followed_by_the_next(url, begin, further):
    """What it left, an index that is not valid, is made anew."""
    hands.make_older(url, SECRET, newest())
    with hands.shell(url) as db:
        db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        db.execute("SELECT count(*) FROM rate")  # an index waits for whoever sees an older moment
        migration = begin("migrate", url, 60, newest(), further[0])
        invalid = (
            "SELECT count(*) FROM pg_index WHERE NOT indisvalid AND indrelid = 'action'::regclass"
        )
        with hands.shell(url) as other:
            until(lambda: other.execute(invalid).fetchone()[0])
            migration.kill()
            migration.wait()
            other.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE query LIKE '%CONCURRENTLY%action_colour%' AND pid <> pg_backend_pid()"
            )
            assert other.execute(invalid).fetchone() == (1,)
        db.execute("ROLLBACK")
    ended(begin("migrate", url, 60, newest(), further[0]))
    with hands.shell(url) as db:
        valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'action_colour'::regclass"
        assert db.execute(valid).fetchone() == (True,)
    assert meta(url)["schema"] == str(newest() + 1)


def test_two_that_migrate_at_once_do_it_once(url, begin):
    hands.make_older(url, SECRET, 1)
    for child in [begin("migrate", url, 60, newest()) for _ in range(2)]:
        ended(child)
    assert (meta(url)["schema"], differences(url)) == (str(newest()), [])


def test_one_that_cannot_get_hold_of_a_table_says_who_holds_it(url):
    hands.make_older(url, SECRET)
    with held(url, "session"), pytest.raises(LedgerLocked) as caught:
        migrating.apply(url, secret=SECRET, wait_s=0.3)
    assert "open transactions: pid" in caught.value.message
    assert "it goes on from here" in caught.value.advice
    assert migrating.apply(url, secret=SECRET).schema == 1
    assert differences(url) == []


def test_one_that_another_is_migrating_is_told(url):
    hands.make_older(url, SECRET)
    with hands.shell(url) as db:
        lock = "SELECT pg_advisory_lock(hashtextextended('ascertain migrates ' || %s, 0))"
        db.execute(lock, [place_of(url).schema])
        with pytest.raises(LedgerLocked, match="Another process migrates"):
            migrating.apply(url, secret=SECRET, wait_s=0.1)


def test_older_code_works_on_what_a_newer_release_added(open_again, url, begin, further):
    """Open already, or opened later; what it writes is whole for both."""
    old = open_again()
    first = submit(old, reserve_sent(wanted("i1")), Reserved).record
    ended(begin("migrate", url, 60, newest(), further[0]))
    submit(old, confirm(first), Advanced)
    hands.end(hands.backend_of(hands.writer(old)))
    late = open_again(make=False)
    for ledger, intent in ((old, "i2"), (late, "i3")):
        sent = submit(ledger, reserve_sent(wanted(intent)), Reserved).record
        submit(ledger, confirm(sent), Advanced)
        assert len(ledger.events(sent.id)) == 3
        assert ledger.bury(closed_before=9e9) > 0
    assert list(late.verify()) == []
    assert late.vitals().schema == newest() + 1


def test_what_older_code_would_trip_over_waits_until_none_writes(open_again, url, begin, further):
    """And from then on it is refused: when it opens, and when it has to connect anew."""
    old, other = open_again(), open_again()
    for ledger in (old, other):
        submit(ledger, reserve_sent(wanted(f"i{id(ledger)}")), Reserved)
    said = ended(begin("migrate", url, 0.3, newest(), *further), code=1)
    assert "Older releases still write to the ledger" in said
    assert meta(url)["oldest_writer"] == str(newest()), "nobody was shut out in vain"
    old.close()
    migration = begin("migrate", url, 60, newest(), *further)
    until(lambda: meta(url)["schema"] == str(newest() + 1))
    assert migration.poll() is None
    hands.end(hands.backend_of(hands.writer(other)))
    ended(migration)
    assert meta(url)["oldest_writer"] == str(newest() + 2)
    for ledger in (other, open_again(make=False)):
        with pytest.raises(LedgerNewer, match=f"knows up to {newest()}"):
            ledger.submit([reserve_sent(wanted("late"))])
