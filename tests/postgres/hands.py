"""What an operator does to the server while a ledger is at work."""

import contextlib

import psycopg

from ascertain.store.postgres_link import PostgresLink
from ascertain.store.postgres_place import place_of
from ascertain.store.postgres_schema import make
from ascertain.store.postgres_session import PostgresSession
from ascertain.store.secret import secret_id
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


def cut(monkeypatch, what, *, after_it, by=None):
    """Cut the connection just before or just after the next commit of this kind.

    ``what``: "do" for a COMMIT by itself, "together" for what is one trip. ``by``: what cuts it,
    instead of the end of the session's backend.
    """
    right = getattr(PostgresSession, what)

    def once(session, *arguments, **named):
        if what == "do" and arguments != ("COMMIT",):
            return right(session, *arguments, **named)
        if what == "together" and named.get("begin"):
            return right(session, *arguments, **named)
        monkeypatch.undo()
        pid = backend_of(session)
        if after_it:
            right(session, *arguments, **named)
        (by or end)(pid)
        if after_it:
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        done = right(session, *arguments, **named)
        raise AssertionError(f"a connection that was ended gave {done}")

    monkeypatch.setattr(PostgresSession, what, once)


def make_older(url, secret, number=1):
    """Make a ledger as an older release did, which stopped after that migration."""
    link = PostgresLink(place_of(url), secret=secret, wait_s=5.0, make=True)
    with link.lone_session() as session:
        session.do("BEGIN")
        make(session, link.place, until=number)
        session.run("put_meta", "secret_id", secret_id(secret))
        session.do("COMMIT")
    link.close()
