"""The tables of a PostgreSQL ledger: made once, compared with this release when it is opened."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from ascertain.errors import LedgerCorrupt, LedgerError, LedgerNewer
from ascertain.store.access import Run
from ascertain.store.postgres_errors import EVENT_RULE
from ascertain.store.postgres_place import PostgresPlace
from ascertain.store.postgres_session import PostgresSession
from ascertain.store.queries import load_migrations
from ascertain.store.rule_rows import RULE_ROWS, are_ours
from ascertain.store.steps import in_one, oldest_writer_in

_OWN = frozenset({"meta", "action", "event", "rule"})
_MIGRATING = "migrate"


def migrations() -> list[tuple[int, str]]:
    """This release's migrations: number and script, in order."""
    return load_migrations("postgres")


def newest() -> int:
    """The number of this release's last migration."""
    return len(migrations())


def oldest_writer(run: Run) -> int | None:
    """The migration that whoever writes must know at least; None: the ledger does not say."""
    rows = run("get_meta", "oldest_writer")
    return int(rows[0][0]) if rows else None


def schema_of(run: Run, place: PostgresPlace) -> int:
    """The number of the last migration of the ledger in this schema; 0 where there is none.

    :raises LedgerCorrupt: the schema holds something else.
    """
    tables = {name for (name,) in run("tables", place.schema)}
    if not tables:
        return 0
    rows = run("get_meta", "schema") if tables >= _OWN else []
    if not rows or not str(rows[0][0]).isdecimal():
        raise LedgerCorrupt(
            f"The schema {place.schema} of {place.shown} holds tables, but no ledger.",
            next_step="Name another one in the URL (?schema=...); a ledger has its own.",
        )
    return int(rows[0][0])


def check_schema(run: Run, place: PostgresPlace) -> bool:
    """Whether the ledger is as this release needs it; False: there is none yet.

    A newer one is so too where it says that a release of this age may still write.

    :raises LedgerNewer: it does not say so. :raises LedgerError: it has to be migrated.
    :raises LedgerCorrupt: something else is there, or its transition table is another one.
    """
    schema, latest = schema_of(run, place), newest()
    if schema == 0:
        return False
    if schema > latest:
        oldest = oldest_writer(run)
        if oldest is None or oldest > latest:
            raise LedgerNewer(
                f"The ledger {place.shown} has schema {schema}; this release knows up to {latest}."
            )
    if schema < latest:
        raise LedgerError(
            f"The ledger {place.shown} has schema {schema}; this release works with {latest}.",
            next_step="`ascertain migrate URL` shows what has to be done, and does it.",
        )
    if not are_ours(run("rules"), is_newer=schema > latest):
        raise LedgerCorrupt(
            f"The transition table in the ledger {place.shown} is not the one of this release.",
            next_step="Use the release that wrote it; the table changes only by a migration.",
        )
    return True


def make(session: PostgresSession, place: PostgresPlace, *, until: int | None = None) -> int:
    """Make a ledger where there is none, in the caller's transaction; one at a time.

    :param until: as a release that knew migrations up to this one.
    :returns: the schema that was found; not 0: somebody else was quicker.
    """
    session.run("lock_names", f'["{_MIGRATING} {place.schema}"]')
    before = schema_of(session.run, place)
    if not session.run("schema_there", place.schema):
        session.script(f"CREATE SCHEMA {place.schema}")
    if before:
        return before
    wanted = migrations()[:until]
    for number, script in wanted:
        session.script(in_one(script))
        session.run("put_meta", "schema", str(number))
    session.run("put_meta", "oldest_writer", str(oldest_writer_in(wanted)))
    for row in RULE_ROWS:
        session.run("put_rule", *row)
    session.script(rule_script())
    return before


def differences(session: PostgresSession, place: PostgresPlace) -> list[str]:
    """In what the ledger differs from one that is made now, beside it, and not kept."""
    found: dict[str, str] = dict(session.run("catalog", place.schema))
    fresh = place._replace(schema=f"{place.schema[:40]}_{random.SystemRandom().getrandbits(48):x}")
    session.do("BEGIN")
    try:
        session.run("move_to", fresh.schema)
        make(session, fresh)
        wanted: dict[str, str] = dict(session.run("catalog", fresh.schema))
    finally:
        session.roll_back()
    return compared(found, wanted)


def rule_script() -> str:
    """What makes the database itself refuse a move that the transition table does not have."""
    events = _list(f"{start} {event} {end}" for start, event, end, _ in RULE_ROWS)
    moves = {(start, end) for start, _, end, unless in RULE_ROWS if not unless}
    unless_final = {(start, end) for start, _, end, unless in RULE_ROWS if unless} - moves
    always = _list(f"{start} {end}" for start, end in sorted(moves))
    while_open = _list(f"{start} {end}" for start, end in sorted(unless_final))
    return f"""
        ALTER TABLE event DROP CONSTRAINT IF EXISTS {EVENT_RULE};
        ALTER TABLE event ADD CONSTRAINT {EVENT_RULE}
            CHECK (start || ' ' || event || ' ' || "end" IN ({events})) NOT VALID;
        DROP TRIGGER IF EXISTS action_moves_by_rule ON action;
        CREATE TRIGGER action_moves_by_rule
        BEFORE UPDATE OF state, final, kind, code, provider_ref ON action
        FOR EACH ROW WHEN (
            (NEW.state <> OLD.state AND OLD.state || ' ' || NEW.state NOT IN ({always})
                AND (OLD.final <> 0 OR OLD.state || ' ' || NEW.state NOT IN ({while_open})))
            OR (OLD.final = 1 AND (NEW.final <> 1 OR NEW.kind IS DISTINCT FROM OLD.kind
                OR NEW.code IS DISTINCT FROM OLD.code))
            OR (OLD.state IN ('confirmed', 'compensated') AND NEW.state = OLD.state
                AND OLD.provider_ref IS NOT NULL
                AND NEW.provider_ref IS DISTINCT FROM OLD.provider_ref)
        ) EXECUTE FUNCTION refuse('the transition table does not allow this change');
    """


def compared(found: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """What is missing, foreign or different among named parts."""
    return [
        *(f"{name} is missing." for name in sorted(wanted.keys() - found.keys())),
        *(f"{name} is not of this release." for name in sorted(found.keys() - wanted.keys())),
        *(
            f"{name} is not as in a new ledger."
            for name in sorted(found.keys() & wanted.keys())
            if found[name] != wanted[name]
        ),
    ]


def _list(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)
