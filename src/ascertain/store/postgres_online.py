"""From one schema to the next while calls go on: in small steps that hold nobody up.

A statement that waits for a table makes all wait who come after it. So each step waits a moment,
lets go, and tries again; indexes are built beside the work; how far it came is in the ledger, so
whoever is killed is followed by the next; and one migrates at a time. What older code that is at
work would trip over waits until none of it writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from ascertain.errors import LedgerLocked
from ascertain.store.postgres_errors import is_held
from ascertain.store.postgres_place import PostgresPlace
from ascertain.store.postgres_schema import (
    migrations,
    newest,
    oldest_writer,
    rule_script,
    schema_of,
)
from ascertain.store.postgres_session import PostgresSession
from ascertain.store.rule_rows import RULE_ROWS, are_ours
from ascertain.store.steps import Step, oldest_writer_in, steps_of

MOMENT_S = 0.2
"""How long a step waits for a table, and thereby lets calls wait."""

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0
_PROGRESS, _SCHEMA, _OLDEST = "migrating", "schema", "oldest_writer"


def migrate_online(session: PostgresSession, place: PostgresPlace, *, wait_s: float) -> None:
    """Bring a ledger that is there to this release's schema, while others work on it.

    :param wait_s: how long each step may try, and how long another one who migrates is waited for.
    :raises LedgerLocked: that was not enough; what is done stays, and the next run goes on from it.
    """
    with _the_only_one(session, place, wait_s):
        for number, script in migrations()[schema_of(session.run, place) :]:
            _shut_out(session, place, oldest_writer_in([(number, script)]), wait_s)
            steps = steps_of(script)
            for done in range(_done(session, number), len(steps)):
                _do(session, place, steps[done], (number, done + 1), wait_s)
            _finish(session, place, number, wait_s)


def _do(
    session: PostgresSession, place: PostgresPlace, step: Step, at: tuple[int, int], wait_s: float
) -> None:
    progress = f"{at[0]}.{at[1]}"
    if not step.alone:

        def work() -> None:
            session.script(step.text)
            session.run("put_meta", _PROGRESS, progress)

        _in_moments(session, place, work, wait_s)
        return
    # It waits for transactions to end, which holds up nobody. One that was killed has left a part.
    session.run("be_patient", int(1000 * wait_s), 0)
    try:
        for (name,) in session.run("half_made", place.schema):
            session.script(f"DROP INDEX CONCURRENTLY {name}")
        session.script(step.text)
    except Exception as error:
        session.roll_back()
        raise (_held(session, place, wait_s) if is_held(error) else error) from error
    session.run("put_meta", _PROGRESS, progress)


def _finish(session: PostgresSession, place: PostgresPlace, number: int, wait_s: float) -> None:
    """The migration counts; with the last one so does the transition table of this release."""

    def work() -> None:
        if number == newest() and not are_ours(session.run("rules"), is_newer=False):
            for row in RULE_ROWS:
                session.run("put_rule", *row)
            session.script(rule_script())
        session.run("put_meta", _SCHEMA, str(number))

    _in_moments(session, place, work, wait_s)


def _in_moments(
    session: PostgresSession, place: PostgresPlace, work: Callable[[], None], wait_s: float
) -> None:
    """One transaction, which waits for a table only for a moment at a time."""
    session.run("be_patient", int(1000 * MOMENT_S), 0)
    give_up_at, pause_s = time.monotonic() + wait_s, _FIRST_PAUSE_S
    while True:
        session.do("BEGIN")
        try:
            work()
            session.do("COMMIT")
        except Exception as error:
            session.roll_back()
            if not is_held(error):
                raise
            if time.monotonic() >= give_up_at:
                raise _held(session, place, wait_s) from error
        else:
            return
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _shut_out(session: PostgresSession, place: PostgresPlace, oldest: int, wait_s: float) -> None:
    """Nobody writes from here on who does not know that migration.

    Looked at before, so that nobody is shut out in vain, and after: who came in between has either
    seen the mark and gone, or is seen here.
    """
    if oldest <= (oldest_writer(session.run) or 0):
        return
    _wait_for_older(session, place, oldest, wait_s)
    session.run("put_meta", _OLDEST, str(oldest))
    _wait_for_older(session, place, oldest, wait_s)


def _wait_for_older(
    session: PostgresSession, place: PostgresPlace, oldest: int, wait_s: float
) -> None:
    give_up_at = time.monotonic() + wait_s
    while found := session.run("older_writers", place.schema, oldest):
        if time.monotonic() >= give_up_at:
            who = ", ".join(f"{name} (pid {pid}, schema {knows})" for knows, pid, name in found)
            raise LedgerLocked(
                f"Older releases still write to the ledger {place.shown}, which this migration "
                f"does not bear: {who}.",
                next_step="Stop them, or let them be replaced by this release; then run it again.",
            )
        time.sleep(_FIRST_PAUSE_S)


@contextmanager
def _the_only_one(session: PostgresSession, place: PostgresPlace, wait_s: float) -> Generator[None]:
    """One migrates at a time; asked for again and again, for who waits inside a statement would be
    waited for by an index that is built.
    """
    give_up_at = time.monotonic() + wait_s
    while session.run("begin_migrating", place.schema) != [(True,)]:
        if time.monotonic() >= give_up_at:
            raise LedgerLocked(
                f"Another process migrates the ledger {place.shown}.",
                next_step="Let it finish; then `ascertain migrate URL` shows what is left.",
            )
        time.sleep(_FIRST_PAUSE_S)
    yield
    session.run("end_migrating", place.schema)  # after an error the end of the connection does it


def _done(session: PostgresSession, number: int) -> int:
    """How many steps of this migration are done."""
    for (said,) in session.run("get_meta", _PROGRESS):
        of, _, steps = str(said).partition(".")
        if of == str(number):
            return int(steps)
    return 0


def _held(session: PostgresSession, place: PostgresPlace, wait_s: float) -> LedgerLocked:
    rows = session.run("long_transactions")
    who = ", ".join(f"pid {pid} ({name or 'no name'}) for {age:.0f} s" for pid, name, age in rows)
    return LedgerLocked(
        f"Others held the tables of the ledger {place.shown} for {wait_s:g} s; open transactions: "
        f"{who or 'none any more'}.",
        next_step="End what keeps a transaction open (pg_stat_activity), then run it again: it "
        "goes on from here.",
    )
