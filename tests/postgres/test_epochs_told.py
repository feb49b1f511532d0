"""`ascertain epochs` and `ascertain doctor`: what people are told of a broken history."""

import json

import pytest

from ascertain.cli.run import run
from ascertain.store.ledger import Advanced, Reserved
from ascertain.store.secret import ENVIRONMENT
from ascertain.testing.conformance.samples import confirm, reserve_sent, submit, wanted
from tests.postgres import hands
from tests.postgres.conftest import SECRET


@pytest.fixture
def cli(url, monkeypatch, capsys):
    """Run a command on the ledger: exit code, and what it printed as JSON."""
    monkeypatch.setenv(ENVIRONMENT, SECRET.decode())

    def told(*words):
        code = run([*words, "--ledger", url, "--json"])
        out = capsys.readouterr()
        return code, json.loads(out.out or out.err)

    return told


@pytest.fixture
def moved(ledger, url):
    """The ledger, after its server has come to another timeline; nobody has noticed yet."""
    settled(ledger)
    with hands.shell(url) as db:
        db.execute("UPDATE epoch SET timeline = 99")
    return ledger


def settled(ledger):
    """Something that was done."""
    submit(ledger, confirm(submit(ledger, reserve_sent(wanted()), Reserved).record), Advanced)


def history(told):
    return next(check for check in told["checks"] if check["name"] == "history")


def test_an_unbroken_history_is_well(ledger, cli):
    settled(ledger)
    code, told = cli("epochs")
    assert (code, [one["why"] for one in told["epochs"]]) == (0, ["first"])
    assert history(cli("doctor")[1])["verdict"] == "ok"


def test_a_doctor_notices_a_break_and_says_what_follows(moved, cli):
    check = history(cli("doctor")[1])
    assert check["verdict"] == "warn"
    assert "another timeline" in check["sentence"]
    assert "ascertain epochs --nothing-lost --by NAME" in check["next"]
    assert cli("epochs")[0] == 1


def test_somebody_vouches_by_name(moved, cli):
    assert cli("epochs", "--nothing-lost")[0] == 2
    code, told = cli("epochs", "--nothing-lost", "--by", "li")
    assert (code, told["epochs"][0]["settled_by"]) == (0, "li")
    assert "li vouches" in history(cli("doctor")[1])["sentence"]
    assert cli("epochs", "--nothing-lost", "--by", "li")[1]["error"] == "not_allowed"


def test_nobody_vouches_where_something_is_known_to_be_lost(moved, cli):
    epoch = next(iter(cli("epochs")[1]["epochs"]))
    with moved._link.changing() as change:
        change("miss", epoch["id"], "an action")
    assert history(cli("doctor")[1])["verdict"] == "bad"
    code, told = cli("epochs", "--nothing-lost", "--by", "li")
    assert code != 0
    assert "something is lost" in json.dumps(told)
