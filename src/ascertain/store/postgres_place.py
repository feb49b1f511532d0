"""Where a PostgreSQL ledger lies: a database, and a schema in it.

The URL is libpq's, with one more parameter: ``postgresql://user@host/database?schema=name``.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ascertain.errors import LedgerError

DEFAULT_SCHEMA = "ascertain"
_SCHEMES = ("postgresql://", "postgres://")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SUPPORTED = (
    "Write postgresql://user@host:5432/database?schema=ascertain; characters such as @ : / in a "
    "name or a password as %40 %3A %2F."
)

# What libpq leaves to the system: after a silent network a call would hang for many minutes.
# Whatever the URL says itself, holds.
CAREFUL: dict[str, Any] = {
    "application_name": "ascertain",
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "target_session_attrs": "read-write",
}


class PostgresPlace(NamedTuple):
    """Where to connect.

    :param options: of the connection, by libpq's names. :param schema: in which the tables are.
    :param shown: the URL for people, which has no password.
    """

    options: dict[str, Any]
    schema: str
    shown: str


def is_postgres(url: object) -> bool:
    """Whether the URL names a PostgreSQL ledger."""
    return str(url).startswith(_SCHEMES)


def place_of(url: str) -> PostgresPlace:
    """What a URL means.

    :raises LedgerError: it cannot be read, or the driver is not installed.
    """
    schema, plain = _schema_in(url)
    options = {**CAREFUL, **_read(plain)}
    user, port = options.get("user"), options.get("port")
    host = str(options.get("host") or options.get("hostaddr") or "")
    database = options.get("dbname") or ""
    at = f"{user}@" if user else ""
    if host.startswith("/"):  # the folder of a socket
        also = f"&host={host}{f'&port={port}' if port else ''}"
    else:
        at, also = f"{at}{host}{f':{port}' if port else ''}", ""
    if options.get("sslmode"):
        also += f"&sslmode={options['sslmode']}"
    return PostgresPlace(options, schema, f"postgresql://{at}/{database}?schema={schema}{also}")


def shown(url: str) -> str:
    """The URL without its password, and whatever else only the driver has to know."""
    return place_of(url).shown if is_postgres(url) else url


def _schema_in(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        said = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        raise _unreadable() from None
    schema = dict(said).get("schema", DEFAULT_SCHEMA)
    if not _SCHEMA.fullmatch(schema):
        raise LedgerError(
            f"The ledger's URL names the schema {schema!r}: lower-case letters, digits and _ only.",
            next_step=_SUPPORTED,
        )
    rest = urlencode([pair for pair in said if pair[0] != "schema"])
    return schema, urlunsplit(parts._replace(query=rest))


def _read(url: str) -> dict[str, Any]:
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise LedgerError(
            "A ledger in PostgreSQL needs the driver psycopg, which is not installed.",
            next_step="pip install 'ascertain[postgres]'",
        ) from None
    try:
        options = dict(conninfo_to_dict(url))
    except (psycopg.Error, ValueError):
        raise _unreadable() from None  # what libpq says of it may show the password
    if not str(options.get("port") or "0").replace(",", "0").isdecimal():
        raise _unreadable()  # perhaps what is behind a : or an @ in the password
    return options


def _unreadable() -> LedgerError:
    return LedgerError("The ledger's URL cannot be read.", next_step=_SUPPORTED)
