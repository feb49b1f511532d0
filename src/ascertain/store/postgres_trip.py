"""Several prepared statements in one round trip, by the driver's own wrapper of libpq.

What the driver does for each statement (a cursor, a look at its types, a wait) costs the caller as
much as writing the rows costs the server. Here all are sent, and then there is one wait.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from psycopg.abc import PQGen
    from psycopg.pq.abc import PGconn, PGresult

Rows = list[tuple[Any, ...]]
Sent = Callable[[], None] | None

_INTEGERS = (20, 21, 23)
"""By these numbers a server names int8, int2 and int4."""

_DONE, _FATAL, _SYNC = (1, 2), 7, 10
"""What libpq says of an answer: it is done (with or without rows), an error, the end of a trip."""


class Said(NamedTuple):
    """A statement, and what its parameters are.

    :param name: stands for the text on a connection that has prepared it.
    """

    name: bytes
    text: bytes
    values: Sequence[bytes | None] = ()


def trip(link: PGconn, prepared: set[bytes], said: Sequence[Said], sent: Sent) -> PQGen[list[Rows]]:
    """Say all of this, and give the rows of each: numbers and texts.

    Outside of a transaction they are one of their own, committed with the last of them. A
    connection on which it is not known what was heard is closed.

    :param link: has nothing under way. :param prepared: the names that it knows.
    :param sent: called once there is nothing left but to wait; it must not raise.
    :raises psycopg.Error: the first that went wrong; of all of it nothing was done.
    """
    heard = False
    link.enter_pipeline_mode()
    try:
        told = _say(link, prepared, said)
        link.pipeline_sync()
        yield from _driver().send(link)
        if sent is not None:
            sent()
        results = yield from _hear(link)
        heard = True
    finally:
        if heard:
            link.exit_pipeline_mode()
        else:
            link.finish()
    return _rows(results, told, prepared)


class _Driver(NamedTuple):
    send: Callable[[PGconn], PQGen[None]]
    fetch_many: Callable[[PGconn], PQGen[list[PGresult]]]
    error_from_result: Callable[[PGresult], Exception]
    Error: type[Exception]


@cache
def _driver() -> _Driver:
    """What we need of the driver, which is an extra; looked for once."""
    from psycopg import Error
    from psycopg.errors import error_from_result
    from psycopg.generators import fetch_many, send

    return _Driver(send, fetch_many, error_from_result, Error)


def _say(link: PGconn, prepared: set[bytes], said: Sequence[Said]) -> list[bytes]:
    """:returns: what will be answered: names that are prepared, and nothing for what gives rows."""
    told: list[bytes] = []
    for name, text, values in said:
        if name not in prepared:
            link.send_prepare(name, text)
            told.append(name)
        link.send_query_prepared(name, values)
        told.append(b"")
    return told


def _hear(link: PGconn) -> Generator[Any, Any, list[PGresult]]:
    """The answers to all that was said."""
    fetch, error_of = _driver().fetch_many, _driver().error_from_result
    results: list[PGresult] = []
    try:
        while True:
            found = yield from fetch(link)
            if not found or found[0].status == _SYNC:
                return results
            results += found
    except _driver().Error as lost:
        for result in results:  # its last words say why
            if result.status == _FATAL:
                raise error_of(result) from lost
        raise


def _rows(results: Sequence[PGresult], told: Sequence[bytes], prepared: set[bytes]) -> list[Rows]:
    all_rows: list[Rows] = []
    for result, name in zip(results, told, strict=False):
        if result.status not in _DONE:
            raise _driver().error_from_result(result)
        if name:
            prepared.add(name)
        else:
            all_rows.append(_read(result))
    return all_rows


def _read(result: PGresult) -> Rows:
    columns: list[list[Any]] = []
    for column in range(result.nfields):
        values = [result.get_value(row, column) for row in range(result.ntuples)]
        number = result.ftype(column) in _INTEGERS
        columns.append([
            value if value is None else int(value) if number else value.decode() for value in values
        ])  # fmt: skip
    return list(zip(*columns, strict=True))
