"""`ascertain retain`: archive and remove what is old; what the other commands say of it then."""

import json
import sqlite3

import pytest

from ascertain import Ascertain, Receipt
from ascertain.store.open import open_ledger
from ascertain.store.secret import ENVIRONMENT
from tests.ledgers import SECRET, ledger_url

LEDGER = ("--ledger", "sqlite:///ledger.db")
OLD = ("--older-than", "0s")


@pytest.fixture
def paid(cli, here, ledger_kind, monkeypatch):
    """The URL of a ledger with two closed actions and an open one, and their ids."""
    if ledger_kind == "postgres":
        monkeypatch.setenv(ENVIRONMENT, SECRET)
    url = ledger_url(here / "ledger.db")
    app = Ascertain(url, worker="none")

    @app.tool(identity=["to"])
    def pay(to: str) -> object:
        if to == "lost":
            raise TimeoutError
        return Receipt(f"R-{to}", {"to": to})

    with app.session("chat-1", principal="u7"):
        ids = [pay("ann").id, pay("bob").id, pay("lost").id]
    app.close()
    return url, ids


@pytest.mark.every_ledger
def test_what_is_old_is_archived_removed_and_told(cli, here, paid):
    url, (ann, bob, lost) = paid
    at = ("--ledger", url)
    dry = json.loads(cli("retain", *OLD, "--dry-run", *at, "--json").out)
    assert (dry["would_remove"], dry["tools"]) == (2, {"pay": 2})
    assert "2 actions ended before" in cli("retain", *OLD, "--dry-run", *at).said
    assert not (here / "old.jsonl").exists()
    done = cli("retain", *OLD, "--archive", "old.jsonl", *at, "--json")
    told = json.loads(done.out)
    assert (done.code, told["removed"], told["damaged"]) == (0, 2, [])
    lines = [json.loads(line) for line in (here / "old.jsonl").read_text().splitlines()]
    assert [line["action"]["id"] for line in lines] == [ann, bob]
    assert lines[0]["payloads"]["args"]["body"] == '{"to":"ann"}'
    checked = json.loads(cli("retain", "--verify", "old.jsonl", *at, "--json").out)
    assert checked == {
        "archive": "old.jsonl", "lines": 2, "actions": 2, "again": 0, "wrong": [],
    }  # fmt: skip
    assert "every chain holds" in cli("retain", "--verify", "old.jsonl", *at).said
    shown = cli("show", ann, *at)
    assert "confirmed R-ann" in shown.said
    assert "in old.jsonl; this is what was kept of it" in shown.said
    assert json.loads(cli("show", ann, *at, "--json").out)["removed"]["archive"] == "old.jsonl"
    assert "is confirmed (R-ann), and it was archived on" in cli("why", ann, *at).said
    found = [json.loads(line) for line in cli("export", *at).out.splitlines()]
    by_id = {line["action"]: line for line in found}
    assert (by_id[ann]["removed"], by_id[ann]["archive"]) == (True, "old.jsonl")
    assert by_id[ann]["archived_at"] is not None
    assert (by_id[lost]["removed"], by_id[lost]["archive"]) == (False, None)
    ledger = open_ledger(url)
    assert len(ledger.events(lost)) == 4, "what is open is left as it is"
    ledger.close()


def test_up_to_a_limit_and_then_the_rest(cli, here, paid):
    limited = ("retain", *OLD, "--archive", "old.jsonl", "--limit", "1", *LEDGER, "--json")
    assert [json.loads(cli(*limited).out)["removed"] for _ in range(3)] == [1, 1, 0]
    assert len((here / "old.jsonl").read_text().splitlines()) == 2
    assert "0 actions archived in old.jsonl" in cli(*limited[:-1]).said


def test_what_does_not_verify_is_told_and_left(cli, here, paid, shell):
    _, (ann, *_) = paid
    shell("UPDATE payload SET body = '{}' WHERE what = 'args' AND action_id = ?", ann)
    done = cli("retain", *OLD, "--archive", "old.jsonl", *LEDGER)
    assert done.code == 1
    assert f"does not verify, left alone: Action {ann}: its arguments have been changed" in (
        done.said
    )
    assert "1 action archived" in done.said


def test_a_changed_archive_is_told(cli, here, paid):
    cli("retain", *OLD, "--archive", "old.jsonl", *LEDGER)
    path = here / "old.jsonl"
    path.write_text(path.read_text().replace("R-ann", "R-eve"))
    done = cli("retain", "--verify", "old.jsonl", *LEDGER)
    assert done.code == 1
    assert "wrong Line 1: " in done.said
    assert "not all of it holds" in done.said


def test_an_archive_needs_no_ledger_but_its_secret(cli, here, paid, monkeypatch):
    cli("retain", *OLD, "--archive", "old.jsonl", *LEDGER)
    secret = (here / "ledger.db.secret").read_text().strip()
    for file in here.glob("ledger.db*"):
        file.unlink()
    assert cli("retain", "--verify", "old.jsonl", *LEDGER).code == 5
    monkeypatch.setenv("ASCERTAIN_SECRET", f"hex:{secret}")
    assert cli("retain", "--verify", "old.jsonl", *LEDGER).code == 0


def test_arguments_and_results_may_be_left_out(cli, here, paid):
    cli("retain", *OLD, "--archive", "old.jsonl", "--no-values", *LEDGER)
    assert '"to"' not in (here / "old.jsonl").read_text()
    assert cli("retain", "--verify", "old.jsonl", *LEDGER).code == 0


def test_bad_input_changes_nothing(cli, here, paid):
    assert cli("retain", "--archive", "old.jsonl", *LEDGER).code == 2
    assert cli("retain", *OLD, *LEDGER).code == 2
    assert cli("retain", "--older-than", "soon", "--dry-run", *LEDGER).code == 2
    (here / "other.txt").write_text("mine\n")
    done = cli("retain", *OLD, "--archive", "other.txt", *LEDGER)
    assert (done.code, (here / "other.txt").read_text()) == (5, "mine\n")
    assert "next: Name another file" in done.complained
    assert cli("retain", *OLD, "--archive", "none/old.jsonl", *LEDGER).code == 5
    assert cli("retain", "--verify", "none.jsonl", *LEDGER).code == 5
    assert json.loads(cli("retain", *OLD, "--dry-run", *LEDGER, "--json").out)["would_remove"] == 2


@pytest.fixture
def shell(here):
    def run(text, *values):
        with sqlite3.connect(here / "ledger.db") as db:
            db.execute(text, values)
        db.close()

    return run
