"""`ascertain actions`: what is in a ledger, newest first, for people and for programs."""

import json
import os
import pty
import re
import time
import unicodedata

import pytest

from tests.cli import shop as shops
from tests.cli.conftest import ASCERTAIN, fill

LEDGER = ("--ledger", "sqlite:///ledger.db")
READING = [
    ("actions",),
    ("show", "01a2"),
    ("why", "01a2"),
    ("resolve", "01a2", "--confirmed", "T900"),
    ("observe-report",),
    ("doctor",),
]


def width_of(line):
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line)


def test_actions_are_listed_newest_first_within_80_columns(cli, ledger):
    done = cli("actions", *LEDGER)
    assert done.code == 0
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == list(reversed(ledger.values()))
    assert lines[-1] == "4 actions"
    assert max(map(width_of, lines)) <= 80


@pytest.mark.parametrize(
    "options, names",
    [
        (("--open",), ["review", "unknown"]),
        (("--review",), ["review"]),
        (("--state", "rejected"), ["rejected"]),
        (("--tool", "send_mail"), ["review"]),
        (("--session", "chat-42", "--limit", "1"), ["review"]),
        (("--session", "another"), []),
    ],
)
def test_a_list_can_be_narrowed(cli, ledger, options, names):
    done = cli("actions", *LEDGER, *options, "--json")
    assert done.code == 0
    assert [found["id"] for found in json.loads(done.out)["actions"]] == [ledger[n] for n in names]


@pytest.mark.parametrize("age_s", [0, 192, 5 * 3600 + 60 * 50, 40 * 86400])
def test_what_an_action_waits_for_is_never_cut_however_old_it_is(cli, here, age_s):
    fill(here, clock=lambda: time.time() - age_s)
    lines = cli("actions", *LEDGER).out.splitlines()
    assert max(map(width_of, lines)) <= 80
    assert [line.split()[-1] for line in lines[1:4:2]] == ["review", "business"]
    assert lines[0].split() == ["ID", "STATE", "TOOL", "REFERENCE", "AGE", "NOTE"]


def test_what_is_cut_off_is_said(cli, ledger):
    assert cli("actions", *LEDGER, "--limit", "2").out.endswith("there are more (--limit)\n")
    assert json.loads(cli("actions", *LEDGER, "--limit", "2", "--json").out)["more"] is True
    assert json.loads(cli("actions", *LEDGER, "--json").out)["more"] is False


def test_observed_calls_are_marked_and_are_not_open(cli, here):
    shop = shops.make()
    with pytest.raises(TimeoutError):
        shop.pay("ann", how="lost")
    shop.app.close()
    row = cli("actions", *LEDGER).out.splitlines()[1]
    assert row.split()[1] == "unknown"
    assert row.endswith("observed")
    assert cli("actions", *LEDGER, "--open").out.startswith("No such actions")


def test_the_ledger_may_be_named_in_the_environment(cli, ledger, monkeypatch):
    monkeypatch.setenv("ASCERTAIN_LEDGER", "sqlite:///ledger.db")
    assert cli("actions").out.endswith("4 actions\n")


def test_an_empty_ledger_has_no_actions(cli, here):
    shops.make().app.open().close()
    done = cli("actions", *LEDGER)
    assert done.code == 0
    assert done.out.startswith("No such actions in")


@pytest.mark.parametrize("command", READING, ids=lambda command: command[0])
def test_a_missing_ledger_is_said_and_never_created(cli, here, command):
    done = cli(*command, "--ledger", "sqlite:///nowhere/ledger.db")
    assert done.code == 5
    assert "There is no ledger" in done.said + done.complained
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("command", READING, ids=lambda command: command[0])
def test_an_empty_file_is_no_ledger_and_is_left_alone(cli, here, command):
    (here / "ledger.db").touch()
    assert cli(*command, *LEDGER).code == 5
    assert [path.name for path in here.iterdir()] == ["ledger.db"]
    assert (here / "ledger.db").stat().st_size == 0


@pytest.mark.parametrize(
    "url, says",
    [
        ("mysql://db/ledger", "There is no ledger for mysql:// URLs."),
        ("sqlite://host/ledger.db", "names a host"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
def test_a_url_that_means_no_file_is_refused(cli, here, url, says):
    done = cli("actions", "--ledger", url)
    assert done.code == 5
    assert says in done.complained
    assert "next: Use sqlite:///relative.db" in done.complained


def test_a_state_that_there_is_not_is_refused_with_those_that_there_are(cli, ledger):
    done = cli("actions", *LEDGER, "--state", "failed")
    assert done.code == 2
    assert "'failed' is no state" in done.err
    assert "prepared, sent, confirmed, rejected, unknown, compensated" in done.complained


@pytest.mark.parametrize("name", ["confirmed", "rejected", "unknown", "review"])
@pytest.mark.parametrize("command", ["actions", "show", "why"])
def test_nothing_that_a_provider_says_steers_a_terminal(cli, ledger, command, name):
    """The shop's refusal carries an escape sequence and a bell in its code."""
    words = (command,) if command == "actions" else (command, ledger[name])
    for done in (cli(*words, *LEDGER), cli(*words, *LEDGER, "--json")):
        assert done.code == 0
        assert not [c for c in done.out if unicodedata.category(c) in ("Cc", "Cf") and c != "\n"]
    if command == "show" and name == "rejected":
        assert "code NO[31mPE" in cli(*words, *LEDGER).out


def on_a_terminal(spawn, *argv):
    """What a command writes where a terminal is."""
    control, end = pty.openpty()
    child = spawn(*argv, stdout=end, stderr=end)
    os.close(end)
    seen = b""
    while chunk := read(control):
        seen += chunk
    os.close(control)
    assert child.wait(timeout=20) == 0
    return seen.decode()


def read(control):
    try:
        return os.read(control, 65536)
    except OSError:  # the other end is closed
        return b""


def test_states_have_a_colour_on_a_terminal_and_none_elsewhere(spawn, cli, ledger, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    colour = re.compile(r"\x1b\[(?:\d+;)*3\d")
    assert colour.search(on_a_terminal(spawn, "actions", *LEDGER))
    assert "\x1b" not in cli("actions", *LEDGER).out


def test_no_color_is_respected_on_a_terminal(spawn, ledger, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    seen = on_a_terminal(spawn, "actions", *LEDGER)
    assert not re.search(r"\x1b\[(?:\d+;)*[34]\d", seen)
    assert ledger["unknown"] in seen


def test_a_reader_that_leaves_is_no_error_message(spawn, ledger):
    line = f"{ASCERTAIN} actions {' '.join(LEDGER)} | true; echo ${{PIPESTATUS[0]}}"
    out, err = spawn("-c", line, command="/bin/bash").communicate(timeout=20)
    assert err == ""
    assert out.strip() in ("0", "141")
