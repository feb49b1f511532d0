"""Bad input: a typed error that names the cause and the next step, before anything is sent."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from ascertain import Absent, Ascertain, Budget, KeyFormat, State
from ascertain.errors import (
    ArgumentsTooLarge,
    AscertainError,
    ContractError,
    DuplicateTool,
    InvalidArguments,
    LedgerCorrupt,
    LedgerError,
    LedgerNewer,
    LedgerReadOnly,
    MissingArguments,
    NoAttempt,
    NoSession,
    NotCanonical,
    UnknownTool,
    WeakKey,
)
from ascertain.store.ledger import Filter


@pytest.fixture
def sent() -> list:
    return []


@pytest.fixture
def app(tmp_path):
    with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none") as app:
        yield app


@pytest.fixture
def pay(app, sent):
    @app.tool(identity=["order_id"])
    def pay(order_id: str, amount: Decimal = Decimal(1), items: list | None = None) -> dict:
        sent.append(order_id)
        return {"id": "P1"}

    return pay


def deep(levels: int) -> list:
    nested: list = []
    for _ in range(levels):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    "arguments, error, says",
    [
        ({"order_id": 7}, InvalidArguments, "order_id"),
        ({}, MissingArguments, "order_id"),
        ({"order_id": "A", "colour": "red"}, InvalidArguments, "colour"),
        ({"order_id": "A", "amount": float("nan")}, InvalidArguments, "amount"),
        ({"order_id": "A", "amount": 1.5}, InvalidArguments, "amount"),
        ({"order_id": "A", "items": [float("inf")]}, NotCanonical, "items"),
        ({"order_id": "A", "items": ["x" * 10_000_000]}, ArgumentsTooLarge, "items"),
        ({"order_id": "A", "items": deep(1000)}, ArgumentsTooLarge, "items"),
        ({"order_id": "A\ud800"}, NotCanonical, "order_id"),
        ({"order_id": "A", "items": [b"bytes"]}, NotCanonical, "items"),
    ],
)
def test_arguments_that_do_not_fit_never_leave(app, pay, sent, arguments, error, says):
    """Refused with the argument's name and a next step; no record, nothing sent."""
    with app.session("s", principal="u"), pytest.raises(error) as refused:
        pay(**arguments)
    assert says in str(refused.value)
    assert "Next:" in str(refused.value)
    assert sent == []
    assert app.ledger.find(Filter()) == []


def test_an_unknown_tool_is_named_with_those_that_exist(app, pay):
    """A model that invents a tool."""
    with app.session("s", principal="u") as session, pytest.raises(UnknownTool, match="pay"):
        session.call("refund_all", {})


def test_a_call_outside_a_session_says_what_to_write(pay, sent):
    """Whose wish is it?"""
    with pytest.raises(NoSession, match=r"app\.session"):
        pay(order_id="A1")
    assert sent == []


@pytest.mark.parametrize("who", ["", 7, None, "a\nb"])
def test_a_session_needs_a_plain_principal(app, who):
    """Empty, foreign or unprintable identities are refused."""
    with pytest.raises(ContractError, match="principal"):
        app.session("s", principal=who)


def test_a_key_outside_a_call_is_an_error():
    """There is no attempt whose key it could be."""
    from ascertain import key

    with pytest.raises(NoAttempt):
        key()


@pytest.mark.parametrize(
    "said, error, says",
    [
        ({"key_format": KeyFormat(style="hex", length=16)}, WeakKey, "64 bits"),
        ({"key_format": KeyFormat(style="hex", length=0)}, WeakKey, "0 bits"),
        ({"key_format": "roman"}, WeakKey, "roman"),
        ({"identity": ["order"]}, ContractError, "not parameters"),
        ({"identity": "order_id"}, ContractError, "must be a list"),
        ({"redact": ["phone"]}, ContractError, "not parameters"),
        ({"redact": "order_id"}, ContractError, "must be a list"),
        (
            {"identity": ["order_id"], "wording": ["order_id"]},
            ContractError,
            "identity and wording",
        ),
        ({"once_per": "galaxy"}, ContractError, "galaxy"),
        ({"repeat": "twice"}, ContractError, "twice"),
        ({"repeat": "by_nature"}, ContractError, "once_per"),
        ({"key_lifetime": "a while"}, ContractError, "duration"),
        ({"key_lifetime": "30s"}, ContractError, "margin"),
        ({"refusal_final_after": "10s"}, ContractError, "speaks of repeats by key.*key_lifetime="),
        (
            {"refusal_final_after": 0, "key_lifetime": "24h"},
            ContractError,
            "above 0.*refusal_covers_key=True",
        ),
        ({"via": [object()]}, ContractError, "not watched"),
        ({"budget": Budget(sends=0)}, ContractError, "sends"),
        ({"retries": 3}, ContractError, "retries"),
    ],
)
def test_a_declaration_that_cannot_be_kept_is_refused(app, said, error, says):
    """At registration, not at the first lost answer."""
    with pytest.raises(error, match=says):

        @app.tool(**said)
        def pay(order_id: str) -> dict:
            return {}


def test_two_tools_with_one_name_or_one_noun(app, pay):
    """query_payment must mean one thing."""
    with pytest.raises(DuplicateTool, match="pay"):
        app.tool(name="pay")(lambda: None)

    @app.tool()
    def send_invoice() -> None: ...

    with pytest.raises(DuplicateTool, match="invoice"):

        @app.tool()
        def print_invoice() -> None: ...


def test_a_lookup_that_returns_none_is_a_defect_and_no_absence(app, sent, caplog):
    """A search that broke is not absence: unknown, nothing sent again, and the log says so."""

    @app.tool(budget=Budget(turn_s=0.3, backoff_s=0.2, unanswered=2))
    def pay(order_id: str) -> dict:
        sent.append(order_id)
        raise TimeoutError

    @pay.lookup(absence_final_after=0)
    def find(action):
        return None

    with app.session("s", principal="u"):
        action = pay(order_id="A1")
    assert action.state is State.UNKNOWN
    assert "The look-up of pay returned NoneType, which is no answer. Next: Return Absent" in (
        caplog.text
    )
    reasons = [event.reason for event in app.ledger.events(action.id)]
    assert "lookup_answer" in reasons
    assert sent == ["A1"]


def test_a_second_lookup_is_refused(app, pay):
    """One tool, one way to ask."""
    pay.lookup()(lambda action: Absent)
    with pytest.raises(ContractError, match="already"):
        pay.lookup()(lambda action: Absent)


def test_a_corrupted_ledger_is_named_before_anything_is_sent(tmp_path):
    """Not a database: the message says what to do with the file."""
    path = tmp_path / "ledger.db"
    path.write_bytes(b"this is not a database, it is a poem" * 200)
    with pytest.raises(LedgerCorrupt, match="Next:"):
        Ascertain(f"sqlite:///{path}").open()


def test_a_newer_ledger_is_left_alone(tmp_path):
    """Written by a newer release: refused, untouched."""
    path = tmp_path / "ledger.db"
    Ascertain(f"sqlite:///{path}").open().close()
    with sqlite3.connect(path) as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        assert "meta" in tables
        db.execute("UPDATE meta SET value = '99' WHERE name IN ('schema', 'oldest_writer')")
        assert db.total_changes == 2
    with pytest.raises(LedgerNewer, match="Upgrade"):
        Ascertain(f"sqlite:///{path}").open()


def test_a_read_only_folder_is_named(tmp_path):
    """As another user if this is root: the folder's permissions are the cause."""
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o555)
    for parent in (tmp_path, *tmp_path.parents):
        if os.access(parent, os.W_OK) and parent.stat().st_uid == os.getuid():
            parent.chmod(parent.stat().st_mode | 0o055)
    code = (
        "import os, sys\n"
        "sys.path[:0] = sys.argv[2].split(os.pathsep)\n"
        "import ascertain.store.sqlite\n"
        "from ascertain import Ascertain\n"
        "from ascertain.errors import LedgerReadOnly\n"
        "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "try: Ascertain('sqlite:///' + sys.argv[1] + '/ledger.db').open()\n"
        "except LedgerReadOnly as error: print(error.code, error.advice)\n"
    )
    source = str(Path(sys.modules["ascertain"].__file__ or "").parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), source],
        env={},  # no coverage in a process that may not write
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("ledger_read_only"), done.stderr
    assert "permission" in done.stdout
    assert issubclass(LedgerReadOnly, LedgerError)


def test_an_unknown_ledger_url_is_refused():
    """Only what exists is offered."""
    with pytest.raises(AscertainError, match="sqlite"):
        Ascertain("mysql://localhost/x")


def test_every_error_is_data_too():
    """For --json and for HTTP answers."""
    error = MissingArguments("order_id is missing.", names=["order_id"])
    told = error.as_dict()
    assert told["error"] == "missing_arguments"
    assert told["names"] == ["order_id"]
    assert json.dumps(told)
