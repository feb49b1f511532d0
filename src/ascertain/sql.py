"""Tools that write to a database of yours: our key goes into your transaction.

No promise of a provider is needed. ``sql.mark(tx)`` writes the attempt's key beside what the tool
writes, so both happen or neither does; the look-up that ``sql.guard`` supplies reads it, and where
it finds nothing it also makes sure that what was sent so far can never take effect. The answer is
exact, and at once::

    @app.tool(identity=["order_id"])
    def reserve_stock(order_id: str, quantity: int) -> None:
        with engine.begin() as tx:
            sql.mark(tx)
            tx.execute(text("UPDATE stock SET ..."), ...)


    sql.guard(reserve_stock, engine)

``engine`` is an SQLAlchemy engine, or a function that opens a DB-API connection (sqlite3, psycopg).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from ascertain.errors import ContractError
from ascertain.model.words import Absent, AbsentType, Found, NotSent, Refused
from ascertain.runtime.attempt import current_attempt
from ascertain.runtime.tool import AsyncTool, Tool
from ascertain.store.queries import load_queries

__all__ = ["guard", "mark"]

_QUERIES = load_queries("marks.sql")

Run = Callable[[str, dict[str, Any]], Any]


def mark(tx: Any, ref: str | None = None) -> None:
    """Write this attempt's key in your open transaction, before or after your own statements.

    :param tx: an SQLAlchemy connection or session in a transaction, or a DB-API connection or
        cursor that is not in autocommit.
    :param ref: the reference of what the tool makes, told as ``provider_ref`` by a look-up.
    :raises NotSent: a look-up has ruled this attempt out meanwhile; roll back (an exception that
        leaves your ``with`` block does).
    :raises Refused: this key has taken effect already.
    :raises NoAttempt: outside a guarded call.
    """
    attempt = current_attempt()
    run = _runner(tx)
    values = {"key": attempt.key, "attempt": attempt.number, "ref": ref}
    if run("mark", values).rowcount == 1:
        return
    row = run("mark_of", {"key": attempt.key}).fetchone()
    if row is not None and row[0]:
        raise Refused("already_marked", kind="already_exists")
    raise NotSent("fenced", retryable=False)


def guard(
    tool: Tool[..., Any] | AsyncTool[..., Any],
    engine: Any,
    *,
    create: bool = True,
) -> None:
    """Give a tool the look-up that reads its marks, and fences.

    :param engine: an SQLAlchemy engine, or a function that opens a DB-API connection.
    :param create: create the table ``ascertain_mark`` if it is missing.
    :raises ContractError: neither an engine nor a function, or the tool has a look-up already.
    """
    if not hasattr(engine, "begin") and not callable(engine):
        raise ContractError(
            f"sql.guard needs an SQLAlchemy engine or a function that opens a connection, "
            f"not {type(engine).__name__}."
        )
    if create:
        with _transaction(engine) as tx:
            _runner(tx)("create_marks", {})

    def find_mark(action: Any) -> Found | AbsentType:
        with _transaction(engine) as tx:
            run = _runner(tx)
            run("fence", {"key": action.key, "attempt": action.attempt})
            row = run("mark_of", {"key": action.key}).fetchone()
        if row is None:
            raise LookupError("The mark could not be read back.")
        done, ref = row
        return Found(ref or action.key) if done else Absent

    tool.lookup(fences="attempt")(find_mark)


@contextmanager
def _transaction(engine: Any) -> Generator[Any]:
    """A transaction of our own, committed at the end."""
    if hasattr(engine, "begin"):
        with engine.begin() as tx:
            yield tx
        return
    with closing(engine()) as connection:
        try:
            yield connection
        except BaseException:
            connection.rollback()
            raise
        connection.commit()


def _runner(tx: Any) -> Run:
    """How to run a named query on this kind of transaction."""
    if hasattr(tx, "exec_driver_sql") or hasattr(tx, "get_bind"):
        from sqlalchemy import text

        def with_sqlalchemy(name: str, values: dict[str, Any]) -> Any:
            return tx.execute(text(_QUERIES[name].text), values)

        return with_sqlalchemy

    connection = getattr(tx, "connection", tx)
    style = _paramstyle(connection)

    def with_dbapi(name: str, values: dict[str, Any]) -> Any:
        statement, parameters = _positional(name, values, style)
        cursor = tx if hasattr(tx, "fetchone") else tx.cursor()
        cursor.execute(statement, parameters)
        return cursor

    return with_dbapi


def _paramstyle(connection: Any) -> str:
    """The driver's own word for its placeholders (PEP 249)."""
    for kind in type(connection).__mro__:
        driver = sys.modules.get(kind.__module__.partition(".")[0])
        style = getattr(driver, "paramstyle", None)
        if isinstance(style, str):
            return style
    raise ContractError(
        f"sql.mark cannot tell which database driver {type(connection).__name__} belongs to.",
        next_step="Pass an SQLAlchemy connection, or one of a DB-API driver.",
    )


def _positional(name: str, values: dict[str, Any], style: str) -> tuple[str, Sequence[Any]]:
    query = _QUERIES[name]
    placeholder = "?" if style == "qmark" else "%s"
    if style not in ("qmark", "format", "pyformat"):
        raise ContractError(f"The driver's parameter style {style!r} is not supported yet.")
    return query.placed(placeholder), [values[used] for used in query.order()]
