"""`ascertain doctor`: each thing that can be wrong is found, named, and followed by a next step."""

import json
import shutil
import sqlite3
import sys
import time

import pytest

from ascertain import Ascertain, Budget, Found
from ascertain.errors import LookupAnswer
from ascertain.report.doctor_vitals import vital_checks
from ascertain.store.open import open_ledger
from ascertain.store.sqlite_file import LedgerFile
from tests.cli import shop as shops
from tests.cli.conftest import fill

LEDGER = ("--ledger", "sqlite:///ledger.db")


def examined(cli, *words, code=1):
    """The checks by name, the worst of each."""
    done = cli("doctor", *(words or LEDGER), "--json")
    assert done.code == code, done.out
    order = ("ok", "warn", "bad")
    found = {}
    for check in json.loads(done.out)["checks"]:
        known = found.get(check["name"])
        if known is None or order.index(check["verdict"]) > order.index(known["verdict"]):
            found[check["name"]] = check
        assert check["verdict"] == "ok" or check["next"], "what is wrong has a next step"
    return found


def past(seconds):
    """A clock that many seconds behind (or, below 0, ahead)."""
    return lambda: time.time() - seconds


@pytest.fixture
def well(here):
    """A ledger with one settled action, and nothing to complain about."""
    shop = shops.make()
    with shop.app.session("chat-42", principal="u7"):
        shop.create_ticket("A123")
    shop.app.close()
    return shop


def test_a_ledger_that_is_well(cli, well):
    found = examined(cli, code=0)
    assert {check["verdict"] for check in found.values()} == {"ok"}
    assert set(found) == {
        "journal", "space", "ledger-mode", "secret", "ledger", "schema", "durability", "size",
        "chain", "recovery", "workers", "unknown", "lookup", "disputed", "review", "left",
        "breakers", "resent", "clock", "leases",
    }  # fmt: skip


def test_a_look_up_whose_code_returns_no_answer(cli, here):
    """`None` is no absence: the typed error and its next step are told wherever one looks."""
    app = Ascertain("sqlite:///ledger.db", worker="none")

    @app.tool(budget=Budget(turn_s=0.3, backoff_s=0.1, backoff_max_s=0.1, unanswered=2))
    def pay(order_id: str) -> dict:
        raise TimeoutError

    @pay.lookup(absence_final_after=0)
    def find(action):
        return None

    with app.session("s", principal="u"):
        action = pay(order_id="A1")
    app.close()
    check = examined(cli)["lookup"]
    assert check["verdict"] == "bad"
    assert "lookup_answer" in check["sentence"]
    assert "pay (it returned NoneType)" in check["sentence"]
    assert check["next"] == LookupAnswer.next_step
    for command in ("why", "show"):
        said = cli(command, action.id, *LEDGER).said
        assert "returned nothing that is an answer" in said
        assert LookupAnswer.next_step.rstrip(".") in said
        assert "it returned NoneType" in said


def test_the_checks_fit_80_columns_and_are_counted(cli, ledger):
    done = cli("doctor", *LEDGER)
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.out.endswith("20 checks: 19 ok, 1 warn, 0 bad\n")
    assert "next: ascertain actions --review" in done.said


def test_the_vitals_are_there_for_programs(cli, well):
    vitals = json.loads(cli("doctor", *LEDGER, "--json").out)["vitals"]
    assert (vitals["journal"], vitals["synchronous"], vitals["durable"]) == ("wal", "full", True)
    assert vitals["schema"] == vitals["newest_schema"]
    assert min(vitals["pages"], vitals["page_bytes"], vitals["free_bytes"], vitals["sync_s"]) > 0
    said = cli("doctor", *LEDGER).said
    assert "Commits are forced to the disk (journal wal, synchronous full), which took" in said
    assert f"in {vitals['pages']} pages of 4 KiB" in said


def test_of_a_ledger_that_does_not_open_there_are_no_vitals(cli, here):
    (here / "ledger.db").write_text("not a database, but long enough to look at\n" * 20)
    assert json.loads(cli("doctor", *LEDGER, "--json").out)["vitals"] is None


def test_connections_that_do_not_wait_for_the_disk(cli, well, monkeypatch):
    """As a build of SQLite, or another hand, could set them up."""
    connect = LedgerFile._connect

    def careless(file):
        db = connect(file)
        db.execute("PRAGMA synchronous = NORMAL")
        return db

    monkeypatch.setattr(LedgerFile, "_connect", careless)
    found = examined(cli)["durability"]
    assert found["verdict"] == "bad"
    assert "A loss of power can take back what was committed" in found["sentence"]
    assert "synchronous normal" in found["sentence"]


@pytest.mark.parametrize(
    "changed, name, verdict, words",
    [
        ({"journal": "off", "durable": False}, "durability", "bad", "loss of power"),
        ({"journal": "delete"}, "durability", "warn", "no write-ahead log (journal delete"),
        ({"sync_s": None}, "durability", "warn", "could not be tried"),
        ({"sync_s": 0.25}, "durability", "ok", "took 250 ms just now"),
        ({"journal_bytes": 300 * 1024**2}, "size", "warn", "the journal takes 300 MiB"),
        ({"schema": 1, "newest_schema": 2}, "schema", "bad", "works with 2"),
        ({"schema": 3, "newest_schema": 2}, "schema", "warn", "may go on with it"),
    ],
)
def test_what_a_store_says_of_itself_is_judged(well, changed, name, verdict, words):
    ledger = open_ledger("sqlite:///ledger.db")
    vitals = ledger.vitals()._replace(**changed)
    ledger.close()
    (check,) = [check for check in vital_checks(vitals) if check.name == name]
    assert check.verdict == verdict
    assert words in check.sentence
    assert bool(check.next_step) == (verdict != "ok")


def test_a_missing_secret(cli, well, here):
    (here / "ledger.db.secret").unlink()
    found = examined(cli, code=5)
    assert found["secret"]["verdict"] == "bad"
    assert "is missing" in found["ledger"]["sentence"]
    assert "Restore ledger.db.secret" in found["ledger"]["next"]


def test_a_secret_that_others_can_read(cli, well, here):
    (here / "ledger.db.secret").chmod(0o644)
    found = examined(cli)
    assert "open to others (mode 0644)" in found["secret"]["sentence"]
    assert found["secret"]["next"].startswith("chmod 600 ")


@pytest.mark.parametrize("mode, verdict", [(0o666, "bad"), (0o644, "warn"), (0o640, "ok")])
def test_a_ledger_that_everybody_reaches(cli, well, here, mode, verdict, monkeypatch):
    monkeypatch.setattr("ascertain.report.doctor_file._is_reachable", lambda _path: True)
    (here / "ledger.db").chmod(mode)
    assert examined(cli, code=int(verdict != "ok"))["ledger-mode"]["verdict"] == verdict


def test_a_ledger_that_cannot_be_written_is_bad_whoever_can_read_it(cli, well, here, monkeypatch):
    monkeypatch.setattr("ascertain.report.doctor_file._is_reachable", lambda _path: True)
    (here / "ledger.db").chmod(0o444)
    monkeypatch.setattr("os.access", lambda _path, _how: False)  # root is never refused
    found = examined(cli)["ledger-mode"]
    assert (found["verdict"], found["sentence"]) == (
        "bad", "This user cannot write to ledger.db.",
    )  # fmt: skip


def test_a_folder_and_an_empty_file_are_called_what_they_are(cli, here):
    (here / "ledger.db").mkdir()
    assert "is a folder, not a ledger" in examined(cli, code=5)["ledger"]["sentence"]
    assert "is a folder, not a ledger" in cli("actions", *LEDGER).complained
    (here / "empty.db").touch()
    empty = ("--ledger", "sqlite:///empty.db")
    assert "is empty: it is no ledger yet" in examined(cli, *empty, code=5)["ledger"]["sentence"]


def test_a_database_of_something_else_was_not_changed_and_nothing_else_is_said(cli, here):
    by_hand(here, "CREATE TABLE customer (name)")
    found = examined(cli, code=5)
    assert found["journal"]["sentence"] == "The file keeps no write-ahead log; a ledger does."
    assert "nothing was changed" in found["journal"]["next"]
    assert "is a database, but not a ledger" in found["ledger"]["sentence"]


def test_a_file_of_something_else(cli, here):
    (here / "ledger.db").write_text("not a database, but long enough to look at\n" * 20)
    found = examined(cli, code=5)
    assert found["journal"]["sentence"].endswith("ledger.db is not an SQLite file.")
    assert found["ledger"]["verdict"] == "bad"


def test_a_ledger_that_was_taken_off_its_log(cli, well, here):
    by_hand(here, "PRAGMA journal_mode = DELETE")
    assert examined(cli)["journal"]["verdict"] == "warn"
    assert examined(cli, code=0)["journal"]["verdict"] == "ok", "opening it has put it right"


def test_a_ledger_of_a_newer_release(cli, well, here):
    by_hand(here, "UPDATE meta SET value = '99' WHERE name IN ('schema', 'oldest_writer')")
    found = examined(cli, code=5)
    assert "has schema 99" in found["ledger"]["sentence"]
    assert "Upgrade this installation" in found["ledger"]["next"]


def by_hand(here, *statements):
    db = sqlite3.connect(here / "ledger.db", isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


CHANGE_AN_EVENT = (
    "DROP TRIGGER event_is_written_once",
    "UPDATE event SET reason = 'receipt' WHERE action_id = '{id}' AND n = 3",
)


def test_an_event_of_an_open_action_that_was_changed_by_hand(cli, ledger, here):
    by_hand(here, *(text.format(id=ledger["unknown"]) for text in CHANGE_AN_EVENT))
    found = examined(cli)
    assert found["chain"]["verdict"] == "bad"
    assert ledger["unknown"] in found["chain"]["sentence"]


def test_the_chains_of_closed_actions_are_checked_when_asked(cli, ledger, here):
    by_hand(here, *(text.format(id=ledger["rejected"]) for text in CHANGE_AN_EVENT))
    assert examined(cli)["chain"]["verdict"] == "ok"
    assert ledger["rejected"] in examined(cli, *LEDGER, "--deep")["chain"]["sentence"]


def test_due_actions_that_nobody_recovers(cli, here):
    fill(here, clock=past(900))
    found = examined(cli)
    assert found["recovery"]["verdict"] == "bad"
    assert "Nobody recovers: 1 open action is due" in found["recovery"]["sentence"]
    assert "no worker was seen within a day" in found["recovery"]["sentence"]
    assert found["recovery"]["next"].startswith("Start one: ascertain worker")


def test_due_actions_beside_a_worker_that_does_not_keep_up(cli, here):
    fill(here, clock=past(900))
    shop = shops.make()
    shop.app.ledger.heartbeat("somebody", time.time())
    shop.app.close()
    assert "does not keep up" in examined(cli)["recovery"]["sentence"]


def test_an_unknown_action_that_is_sought_for_long(cli, here):
    ids = fill(here, clock=past(2 * 3600))
    found = examined(cli)
    assert found["unknown"]["verdict"] == "warn"
    assert found["unknown"]["next"] == f"ascertain why {ids['unknown']}"


def test_best_effort_that_stays_open_is_counted_apart(cli, here):
    shop = shops.make(clock=past(7200))
    with shop.app.session("chat-42", principal="u7"):
        shop.send_note("thank you")
    shop.app.close()
    found = examined(cli, code=0)
    assert found["unknown"]["sentence"] == (
        "No action is unknown and still sought. 1 best-effort one stays open."
    )


def test_an_action_that_waits_for_a_person(cli, here):
    fill(here, clock=past(7200))
    found = examined(cli)
    assert "1 action waits for a person, the oldest for 2 h" in found["review"]["sentence"]
    assert found["review"]["next"] == "ascertain actions --review"


def test_evidence_against_a_settled_action(cli, here):
    shop = shops.make(clock=past(600))
    entry = shop.app.registry.get("create_ticket")
    with shop.app.session("chat-42", principal="u7"):
        ticket = shop.create_ticket("A123")
    entry.lookup = lambda _action: Found("T900", count=2)
    shop.app.close()
    again = shops.make()
    again.app.registry.get("create_ticket").lookup = entry.lookup
    assert again.app.recover() == 1
    again.app.close()
    found = examined(cli)
    assert found["disputed"]["verdict"] == "bad"
    assert ticket.id in found["disputed"]["sentence"]
    assert "Disputed: evidence contradicts what was settled." in cli("show", ticket.id, *LEDGER).out


def test_events_from_the_future(cli, here):
    fill(here, clock=past(-3600))
    found = examined(cli)
    assert found["clock"]["verdict"] == "bad"
    assert "from the future" in found["clock"]["sentence"]


def test_a_lease_shorter_than_the_deadline_of_its_send(cli, spawn, shop, here):
    spawn("-c", KILLED_IN_ITS_SEND, command=sys.executable).wait(timeout=20)
    assert examined(cli, code=0)["leases"]["sentence"].startswith("1 send is under way")
    by_hand(here, "UPDATE action SET lease_until = last_sent_at + 0.1")
    assert examined(cli)["leases"]["verdict"] == "bad"


KILLED_IN_ITS_SEND = """
from shop import app
with app.session("chat-42", principal="u7") as session:
    session.call("create_ticket", {"order_id": "KILLED"})
"""


def test_with_an_app_its_tools_and_times_are_examined_too(cli, shop, here):
    shops.make().app.open().close()
    found = examined(cli, "shop:app")
    assert "4 tools" in found["app"]["sentence"]
    assert found["lint"]["verdict"] == "bad"
    assert "[lease-too-short]" in found["lint"]["sentence"]


def test_an_app_that_passes_its_own_secret_can_be_examined(cli, here):
    secret = "secret=b'0123456789abcdef0123456789abcdef'"
    (here / "shop.py").write_text(shops.MODULE.replace("make()", f"make(lease_s=7.0, {secret})"))
    shops.make(secret=b"0123456789abcdef0123456789abcdef").app.open().close()
    for words in (("shop:app",), ("shop:app", *LEDGER)):
        assert examined(cli, *words)["ledger"]["verdict"] == "ok"
    assert examined(cli, *LEDGER, code=5)["ledger"]["verdict"] == "bad"


def test_an_app_whose_ledger_is_not_there_yet(cli, shop, here):
    found = examined(cli, "shop:app", code=5)
    assert "There is no ledger" in found["ledger"]["sentence"]
    assert not (here / "ledger.db").exists()


def test_a_disk_that_is_nearly_full(cli, well, monkeypatch):
    room = shutil.disk_usage(".").free
    monkeypatch.setattr("ascertain.report.doctor_file.FREE_SPACE_FLOOR_BYTES", room // 2)
    assert examined(cli)["space"]["verdict"] == "warn"
    monkeypatch.setattr("ascertain.report.doctor_file.FREE_SPACE_FLOOR_BYTES", room * 2)
    assert examined(cli)["space"]["verdict"] == "bad"
