"""What an operator does to the server while a ledger is at work."""

import contextlib

import psycopg

from ascertain.store.postgres_place import place_of
from tests.postgres import server


@contextlib.contextmanager
def shell(url):
    """A connection of somebody else, in the ledger's schema."""
    place = place_of(url)
    with psycopg.connect(**place.options, autocommit=True) as db:
        db.execute("SELECT set_config('search_path', %s, false)", [place.schema])
        yield db


def backend_of(session):
    """The server's process on the other side of a connection."""
    return session.ready().info.backend_pid


def writer(ledger):
    """The session with which the ledger writes."""
    with ledger._link.writing() as session:
        return session


def end(pid):
    """``pg_terminate_backend``; waits until it is gone."""
    with psycopg.connect(server.base_url(), autocommit=True) as db:
        db.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
