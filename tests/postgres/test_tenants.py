"""The second wall: what a role of one tenant sees and changes, whatever it asks for."""

import psycopg
import pytest
from psycopg import sql

from ascertain import Ascertain, Found
from ascertain.errors import LedgerDenied
from ascertain.store.ledger import Advanced, Filter, Reserved
from ascertain.store.postgres import PostgresLedger
from ascertain.store.postgres_place import place_of
from ascertain.testing.conformance.samples import confirm, lose, reserve_sent, submit, wanted
from tests.postgres import hands, server
from tests.postgres.conftest import SECRET

TENANT_TABLES = (
    "action", "event", "payload", "tombstone", "lookalike", "claim", "chain", "member", "session",
    "context", "pledge",
)  # fmt: skip


@pytest.fixture
def role(ledger, url):
    """A role that is neither owner nor superuser, let in for tenant `a`."""
    name = f"r{place_of(url).schema}"
    with hands.shell(url) as db:
        db.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
        db.execute("SELECT let_in(%s, 'a')", [name])
        ((superuser,),) = db.execute(
            "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s", [name]
        ).fetchall()
    assert not superuser
    return name


@pytest.fixture
def url_of_a(url, role):
    return url.replace(f"{server.OWNER}@", f"{role}@")


@pytest.fixture
def ledger_of_a(url_of_a):
    ledger = PostgresLedger(url_of_a, secret=SECRET)
    yield ledger
    ledger.close()


def of(tenant, **changes):
    return reserve_sent(wanted(f"intent-{tenant}", tenant=tenant, **changes))


def test_every_table_with_a_tenants_data_has_the_wall(ledger, url):
    """Also one that a later migration adds."""
    with hands.shell(url) as db:
        rows = db.execute(
            "SELECT relname, relrowsecurity FROM pg_class WHERE relnamespace = %s::regnamespace"
            " AND relkind = 'r'",
            [place_of(url).schema],
        ).fetchall()
    shared = {
        "meta", "rule", "contract", "heartbeat", "breaker", "rate", "tally", "tenant_role", "epoch",
    }  # fmt: skip
    assert {name for name, _ in rows} == {*TENANT_TABLES, *shared}
    assert all(walled for name, walled in rows if name not in shared)


def test_a_role_sees_the_actions_of_its_tenant_only(ledger, ledger_of_a):
    mine = submit(ledger, of("a"), Reserved).record
    other = submit(ledger, of("b"), Reserved).record
    assert ledger_of_a.find(Filter()) == [mine]
    assert ledger_of_a.get(mine.id) == mine
    assert ledger_of_a.get(other.id) is None
    assert ledger_of_a.events(other.id) == []
    assert ledger_of_a.arguments(other.id) is None
    assert ledger_of_a.counts()["sent"] == 1
    assert list(ledger_of_a.verify()) == []
    assert len(ledger.find(Filter())) == 2


def test_a_role_writes_for_its_tenant_only(ledger, ledger_of_a):
    other = submit(ledger, of("b"), Reserved).record
    mine = submit(ledger_of_a, of("a"), Reserved).record
    submit(ledger_of_a, confirm(mine), Advanced)
    error = submit(ledger_of_a, of("b", slot="turn-2"), LedgerDenied)
    assert "GRANT" in error.advice
    for change in (confirm(other), lose(other)):
        assert isinstance(ledger_of_a.submit([change])[0], Exception)
    assert ledger.get(other.id) == other
    assert len(ledger.find(Filter())) == 2
    assert list(ledger.verify()) == []


@pytest.mark.parametrize("table", TENANT_TABLES)
def test_by_hand_too(ledger, url_of_a, table):
    """Nothing of another tenant is read or changed with any statement on any table."""
    app = Ascertain(ledger.url, secret=SECRET, worker="none", tenant="b")
    _play(app)
    app.close()
    everything = sql.SQL("SELECT * FROM {}").format(sql.Identifier(table))
    with hands.shell(ledger.url) as db:
        one = "(SELECT id FROM action WHERE tool = 'refund') AS one"
        db.execute(f"INSERT INTO tombstone SELECT id, 1, '', '', '' FROM {one}")
        db.execute(f"INSERT INTO lookalike SELECT id, 'b', 'refund', '' FROM {one}")
        db.execute(f"INSERT INTO pledge SELECT 'b', 'chat-1', 'x', id, 0 FROM {one}")
        assert db.execute(everything).fetchall() != []
    with hands.shell(url_of_a) as db:
        assert db.execute(everything).fetchall() == []
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("INSERT INTO tenant_role VALUES (current_user, 'b')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("SELECT let_in(current_user::text, 'b')")


def test_an_app_of_one_tenant_works_behind_the_wall(ledger, url_of_a):
    """Sessions, context, chains and recovery; nothing of it needs to see the others."""
    other = submit(ledger, of("b"), Reserved).record
    app = Ascertain(url_of_a, secret=SECRET, worker="none", tenant="a", lease_s=0.2)
    assert _play(app) == "confirmed"
    app.recover()
    assert {record.tenant for record in app.ledger.find(Filter())} == {"a"}
    app.close()
    assert ledger.get(other.id) == other
    assert list(ledger.verify()) == []


def _play(app):
    """A read that brings context, a chain of two, a look-up by fields."""

    @app.read(provides={"order_id": "id"})
    def query_order(phone: str) -> dict:
        return {"id": "A123"}

    @app.tool(context={"order_id": "order_id"}, identity=["order_id"])
    def refund(order_id: str) -> dict:
        return {"id": "R900"}

    @refund.lookup(by="fields")
    def find_refund(action):
        return Found("R900")

    with app.session("chat-1", principal="u7") as session:
        query_order(phone="1")
        with session.chain("refund"):
            action = refund()
    return str(action.state)
