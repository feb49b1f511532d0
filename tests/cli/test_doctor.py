"""`ascertain doctor`: each thing that can be wrong is found, named, and followed by a next step."""

import json
import shutil
import sqlite3
import sys
import time

import pytest

from ascertain import Found
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
        "journal", "space", "ledger-mode", "secret", "ledger", "schema", "chain", "recovery",
        "unknown", "disputed", "review", "breakers", "clock", "leases",
    }  # fmt: skip


def test_the_checks_fit_80_columns_and_are_counted(cli, ledger):
    done = cli("doctor", *LEDGER)
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.out.endswith("14 checks: 13 ok, 1 warn, 0 bad\n")
    assert "next: ascertain actions --review" in done.said


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
    by_hand(here, "UPDATE meta SET value = '99' WHERE name = 'schema'")
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
