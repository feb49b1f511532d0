"""What PostgreSQL's errors mean to people: the cause, and the next step. Never the password."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ascertain.errors import (
    IllegalTransition,
    LedgerCorrupt,
    LedgerDenied,
    LedgerError,
    LedgerFull,
    LedgerLocked,
    LedgerReadOnly,
    LedgerUnreachable,
)

if TYPE_CHECKING:
    import psycopg

EVENT_RULE = "event_by_rule"

_DISK_FULL = "53100"
_READ_ONLY = "25006"
_NO_PRIVILEGE = "42501"
_NOT_LOCKED = "55P03"
_WAITED_TOO_LONG = frozenset({_NOT_LOCKED, "57014"})
_MET_ANOTHER = frozenset({"40P01", "40001"})
_SERVER_GONE = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03"})
_NOT_A_LEDGER = frozenset({"42P01", "42703", "3F000"})
_DAMAGED = frozenset({"XX001", "XX002"})
_STALE_PLAN = "0A000"
_NEVER_SENT = "ascertain: "

# Of a connection that is not made there is no code, only the server's sentence.
_REFUSED_BY_NAME = (
    (
        "password authentication failed",
        "Correct the password: in the URL, PGPASSWORD or ~/.pgpass.",
    ),
    ("no password supplied", "Give the password: in the URL, PGPASSWORD or ~/.pgpass."),
    ("authentication failed", "Correct the user and the password, or the server's pg_hba.conf."),
    ("no pg_hba.conf entry", "Let this user in from this host: the server's pg_hba.conf."),
    ("role ", "Create the role, or correct the user in the URL."),
    ("permission denied for database", "GRANT CONNECT ON DATABASE to this user."),
)


def is_lost(error: Exception) -> bool:
    """Whether the connection, and not the statement, is what went wrong."""
    import psycopg

    if not isinstance(error, psycopg.Error):
        return False
    state = error.sqlstate or ""
    if state[:2] == "08" or state in _SERVER_GONE:
        return True
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and not state


def is_stale(error: Exception) -> bool:
    """Whether a statement was prepared for tables as they are no more."""
    return getattr(error, "sqlstate", None) == _STALE_PLAN and "cached plan" in str(error)


def is_passing(error: Exception) -> bool:
    """Whether the same, done again at once, may well go through."""
    import psycopg

    found = error.__cause__ if isinstance(error, LedgerError) else error
    if not isinstance(found, psycopg.Error):
        return False
    return is_stale(found) or found.sqlstate in _MET_ANOTHER or is_lost(found)


def is_held(error: Exception) -> bool:
    """Whether somebody else held what was needed, so that it may go through later."""
    import psycopg

    state = error.sqlstate if isinstance(error, psycopg.Error) else None
    return state == _NOT_LOCKED or state in _MET_ANOTHER


def ledger_error(error: psycopg.Error, shown: str) -> LedgerError:
    """The typed error for what PostgreSQL said, with what it said as its cause."""
    made = _made(error, shown)
    made.__cause__ = error
    return made


def connect_error(error: psycopg.Error, shown: str) -> LedgerError:
    """The same for a connection that could not be made."""
    made = _unconnected(str(error), shown)
    made.__cause__ = error
    return made


def _made(error: psycopg.Error, shown: str) -> LedgerError:
    state, said = error.sqlstate or "", f"PostgreSQL says: {_one_line(str(error))}."
    if is_lost(error):
        return LedgerUnreachable(f"The connection to the ledger {shown} was lost. {said}")
    if state == _DISK_FULL:
        return LedgerFull(
            f"There is no space left for the ledger {shown}. {said}",
            next_step="Free disk space on the database server.",
        )
    if state == _READ_ONLY:
        return LedgerReadOnly(
            f"The ledger {shown} takes no writes: a standby, or set to read only. {said}",
            next_step="Name the primary in the URL, or all hosts: host1,host2.",
        )
    if state == _NO_PRIVILEGE:
        return LedgerDenied(
            f"This user may not do that in the ledger {shown}. {said}",
            next_step="GRANT the rights on the schema's tables to this user; see the page on "
            "PostgreSQL.",
        )
    if state in _WAITED_TOO_LONG or state in _MET_ANOTHER:
        return LedgerLocked(
            f"Another session held what was needed in the ledger {shown}. {said}",
            next_step="Look for a session that keeps a transaction open: pg_stat_activity.",
        )
    if state in _NOT_A_LEDGER:
        return LedgerCorrupt(
            f"The ledger {shown} lacks a table or a column. {said}",
            next_step="Restore it from a backup; nothing but `ascertain migrate` changes tables.",
        )
    if state in _DAMAGED:
        return LedgerCorrupt(f"The ledger {shown} is damaged. {said}")
    text = error.diag.message_primary or ""
    if text.startswith(_NEVER_SENT):
        return IllegalTransition(f"The ledger refused it: {text.removeprefix(_NEVER_SENT)}.")
    if error.diag.constraint_name == EVENT_RULE:
        return IllegalTransition("The ledger refused it: no such row in the transition table.")
    return LedgerError(f"The ledger {shown} could not do it. {said}")


def _unconnected(text: str, shown: str) -> LedgerError:
    said = f"PostgreSQL says: {_one_line(text)}."
    if 'database "' in text and "does not exist" in text:
        return LedgerUnreachable(
            f"There is no database for the ledger {shown}. {said}",
            next_step="CREATE DATABASE, or correct the name in the URL.",
        )
    for words, step in _REFUSED_BY_NAME:
        if words in text:
            return LedgerDenied(f"The ledger {shown} lets nobody in. {said}", next_step=step)
    if "read-only" in text or "hot standby" in text:
        return LedgerReadOnly(
            f"The ledger {shown} takes no writes: only a standby answers. {said}",
            next_step="Name the primary in the URL, or all hosts: host1,host2.",
        )
    return LedgerUnreachable(f"The ledger {shown} cannot be reached. {said}")


def _one_line(text: str) -> str:
    return " ".join(text.split()).rstrip(".")
