"""A tool's own database: the key in the tool's transaction makes the answer exact."""

from __future__ import annotations

import contextlib
import sqlite3
import threading

import psycopg
import psycopg.sql
import pytest
import sqlalchemy
from sqlalchemy import text

from ascertain import Ascertain, Budget, State, current_attempt, sql
from ascertain.errors import ContractError
from ascertain.store.ledger import Filter
from ascertain.store.postgres_place import place_of
from tests.postgres import server

QUICK = Budget(turn_s=3.0, send_deadline_s=1.0, backoff_s=0.01)
PATIENT = Budget(turn_s=6.0, send_deadline_s=2.0, backoff_s=0.01)


class Shop:
    """A stock table of the tool's own, reached through one kind of handle."""

    def __init__(self, connect, alchemy_of, *, alchemy: bool) -> None:
        self.connect = connect
        self.engine = alchemy_of() if alchemy else connect
        self.do("CREATE TABLE moves (order_id TEXT, quantity INTEGER)")

    def do(self, statement, values=()):
        """Run one statement by itself; gives its rows."""
        with contextlib.closing(self.connect()) as db:
            cursor = db.cursor()
            cursor.execute(statement, values)
            rows = cursor.fetchall() if cursor.description else []
            db.commit()
        return rows

    def effects(self, order_id: str) -> int:
        moved = self.do("SELECT order_id FROM moves")
        return sum(row == (order_id,) for row in moved)

    def write(self, order_id: str, quantity: int, *, before_commit=lambda: None) -> None:
        insert = f"INSERT INTO moves VALUES ('{order_id}', {quantity})"
        if hasattr(self.engine, "begin"):
            with self.engine.begin() as tx:
                sql.mark(tx, ref=f"M-{order_id}")
                tx.execute(text(insert))
                before_commit()
            return
        db = self.engine()
        try:
            sql.mark(db, ref=f"M-{order_id}")
            db.cursor().execute(insert)
            before_commit()
            db.commit()
        finally:
            db.close()


def sqlite_shop(path, *, alchemy):
    return Shop(
        lambda: sqlite3.connect(path, timeout=5),
        lambda: sqlalchemy.create_engine(f"sqlite:///{path}"),
        alchemy=alchemy,
    )


def postgres_shop(*, alchemy):
    place = place_of(server.new_url())
    schema = psycopg.sql.Identifier(place.schema)
    with psycopg.connect(**place.options) as db:
        db.execute(psycopg.sql.SQL("CREATE SCHEMA {}").format(schema))

    def connect():
        return psycopg.connect(**place.options, options=f"-c search_path={place.schema}")

    return Shop(
        connect,
        lambda: sqlalchemy.create_engine(
            "postgresql+psycopg://", creator=connect, poolclass=sqlalchemy.NullPool
        ),
        alchemy=alchemy,
    )


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request) -> str:
    return request.param


@pytest.fixture(params=[True, False], ids=["sqlalchemy", "dbapi"])
def shop(request, kind, tmp_path) -> Shop:
    if kind == "sqlite":
        return sqlite_shop(tmp_path / "shop.db", alchemy=request.param)
    return postgres_shop(alchemy=request.param)


@pytest.fixture
def app(tmp_path):
    with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none", lease_s=0.5) as app:
        yield app


def guarded(app, shop, body, budget=QUICK):
    tool = app.tool(identity=["order_id"], name="reserve_stock", budget=budget)(body)
    sql.guard(tool, shop.engine)
    return tool


def test_a_lost_commit_reply_is_found_by_the_mark(app, shop):
    """The commit happened and its answer was lost: the mark says so, nothing is repeated."""

    def reserve_stock(order_id: str, quantity: int) -> None:
        shop.write(order_id, quantity)
        raise ConnectionError("server closed the connection unexpectedly")

    tool = guarded(app, shop, reserve_stock)
    with app.session("s", principal="u"):
        action = tool(order_id="A1", quantity=2)
    assert (action.state, action.provider_ref) == (State.CONFIRMED, "M-A1")
    assert shop.effects("A1") == 1


def test_a_rolled_back_attempt_is_absent_at_once_and_sent_again(app, shop):
    """Nothing was committed: the fence makes that final, and the second attempt takes effect."""
    attempts = []

    def reserve_stock(order_id: str, quantity: int) -> None:
        attempts.append(current_attempt().number)
        if len(attempts) == 1:

            def broken() -> None:
                raise ConnectionError("gone before the commit")

            shop.write(order_id, quantity, before_commit=broken)
        shop.write(order_id, quantity)

    tool = guarded(app, shop, reserve_stock)
    with app.session("s", principal="u"):
        action = tool(order_id="A2", quantity=1)
    assert (action.state, attempts) == (State.CONFIRMED, [1, 2])
    assert shop.effects("A2") == 1


def test_an_attempt_that_was_ruled_out_can_never_take_effect(app, shop):
    """A sender that wakes after the look-up said absent is refused by the fence."""
    fenced = threading.Event()
    told: list[str] = []

    def reserve_stock(order_id: str, quantity: int) -> None:
        if current_attempt().number == 1:
            assert fenced.wait(10)
            try:
                shop.write(order_id, quantity)
            except Exception as error:
                told.append(str(error))
                raise
        shop.write(order_id, quantity)

    tool = guarded(app, shop, reserve_stock)

    def first() -> None:
        with app.session("s", principal="u"):
            tool(order_id="A3", quantity=1)

    sleeper = threading.Thread(target=first)
    sleeper.start()
    pause = threading.Event()
    while not (held := app.ledger.find(Filter())) or held[0].state is not State.UNKNOWN:
        pause.wait(0.02)
    recovered = app.recover()
    assert recovered == 1
    assert shop.effects("A3") == 1, "the second attempt took effect"
    fenced.set()
    sleeper.join(10)
    assert told == ["already_marked"]
    assert shop.effects("A3") == 1
    assert app.ledger.find(Filter())[0].state is State.CONFIRMED


@pytest.mark.parametrize("alchemy", [True, False], ids=["sqlalchemy", "dbapi"])
@pytest.mark.parametrize("commits", [True, False])
def test_a_look_up_waits_for_a_transaction_that_may_still_commit(app, alchemy, commits):
    """In PostgreSQL several write at once: what is marked and not committed is not absent yet."""
    shop = postgres_shop(alchemy=alchemy)
    marked, go_on = threading.Event(), threading.Event()

    def reserve_stock(order_id: str, quantity: int) -> None:
        if current_attempt().number == 1:

            def hold() -> None:
                marked.set()
                assert go_on.wait(10)
                if not commits:
                    raise ConnectionError("gone before the commit")

            shop.write(order_id, quantity, before_commit=hold)
            raise ConnectionError("the answer to the commit is lost")
        shop.write(order_id, quantity)

    # a look-up has as long as a send, also where others want the processor while it waits
    tool = guarded(app, shop, reserve_stock, PATIENT)

    def call() -> None:
        with app.session("s", principal="u"):
            tool(order_id="A5", quantity=1)

    sender = threading.Thread(target=call)
    sender.start()
    assert marked.wait(10)
    pause = threading.Event()
    while app.ledger.find(Filter())[0].state is not State.UNKNOWN:
        pause.wait(0.02)
    recovery = threading.Thread(target=app.recover)
    recovery.start()
    recovery.join(0.3)
    assert recovery.is_alive(), "it waits for the mark to be settled"
    go_on.set()
    recovery.join(10)
    sender.join(10)
    record = app.ledger.find(Filter())[0]
    assert record.state is State.CONFIRMED
    assert (record.attempt, record.provider_ref) == ((1, "M-A5") if commits else (2, None))
    assert shop.effects("A5") == 1


def test_marking_outside_a_guarded_call_is_an_error(shop):
    """There is no key to write outside an attempt."""
    with pytest.raises(Exception, match="no attempt here"):
        shop.write("A4", 1)


def test_a_guard_needs_an_engine(app, shop):
    """Anything else is refused when it is declared."""

    def reserve_stock(order_id: str) -> None: ...

    tool = app.tool(identity=["order_id"])(reserve_stock)
    with pytest.raises(ContractError, match="SQLAlchemy engine"):
        sql.guard(tool, 42)
