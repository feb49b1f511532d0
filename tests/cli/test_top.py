"""`ascertain top`: one page of how a ledger stands, drawn anew each second on a terminal."""

import contextlib
import json
import os
import pty
import re
import signal

import pytest

from tests.cli import shop as shops

URL = "sqlite:///ledger.db"
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def test_a_page_for_people_in_80_columns(cli, ledger):
    done = cli("top", URL)
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    assert "\x1b" not in done.out, "plain where there is no terminal"
    for words in ("queue", "due now", "in review", "TOOL", "CONF", "RECOV"):
        assert words in done.out
    assert "unknown  the oldest for" in done.out
    assert "create_ticket" in done.out
    assert "No worker was seen within an hour. next: ascertain worker MODULE:APP" in done.said
    assert table(cli("top", URL, "--once").out) == table(done.out) != []


def table(page):
    return [line for line in page.splitlines() if line.startswith(("TOOL", "create_", "send_"))]


def test_the_same_for_programs(cli, ledger):
    told = json.loads(cli("top", URL, "--json").out)
    queue = told["queue"]
    assert sum(queue[what] for what in ("due", "leased", "later", "waiting")) > 0
    assert queue["review"] > 0
    assert told["oldest_unknown"]["age_s"] > 0
    tickets = next(tool for tool in told["tools"] if tool["tool"] == "create_ticket")
    assert tickets["last_minute"]["confirmed"] + tickets["last_minute"]["unknown"] >= 0
    assert set(tickets["last_minute"]) == {"confirmed", "rejected", "unknown", "recovered"}
    assert told["workers"] == []


def test_what_happened_within_the_last_minute_is_counted(cli, here):
    shop = shops.make()
    with shop.app, shop.app.session("chat-42", principal="u7"):
        shop.create_ticket("A1")
        shop.create_ticket("A2")
        shop.create_ticket("REFUSED-1")
        shop.create_ticket.options(deadline=0.1)("LOST-1")
    told = json.loads(cli("top", URL, "--json").out)
    (tickets,) = told["tools"]
    assert tickets["last_minute"] == {
        "confirmed": 3, "rejected": 1, "unknown": 1, "recovered": 1,
    }  # fmt: skip
    row = next(line for line in cli("top", URL).out.splitlines() if line.startswith("create_"))
    assert row.split()[-4:] == ["3", "1", "1", "1"], "it was lost, and found by its look-up"


def test_an_app_names_its_ledger(cli, shop, ledger):
    told = json.loads(cli("top", shop, "--json").out)
    assert told["ledger"].endswith("/ledger.db")


def test_an_empty_ledger_has_nothing_to_show(cli, here):
    shops.make().app.open().close()
    done = cli("top", URL)
    assert "queue    0 due now; 0 leased, 0 due later" in done.out
    assert "nothing is unknown" in done.out
    assert "Nothing is open, and nothing has happened within a minute." in done.out


@pytest.mark.parametrize(
    "where, code, says",
    [
        ("sqlite:///nowhere.db", 5, "ledger_missing"),
        ("nowhere", 2, "app_not_loaded"),
        ("nowhere:app", 2, "app_not_loaded"),
    ],
)
def test_what_is_not_there_is_said_to_be_so(cli, here, where, code, says):
    done = cli("top", where)
    assert (done.code, done.out) == (code, "")
    assert f"code: {says}" in done.err
    assert "next:" in done.err
    assert list(here.iterdir()) == [], "nothing is created by looking"


def rest_of(terminal):
    """What is still said before the other end is closed."""
    seen = b""
    with contextlib.suppress(OSError):  # which is how Linux says that it is closed
        while more := os.read(terminal, 4096):
            seen += more
    return seen.decode()


@pytest.mark.parametrize("colour", [True, False])
def test_on_a_terminal_it_is_drawn_anew_until_it_is_told_to_stop(
    spawn, ledger, monkeypatch, colour
):
    if not colour:
        monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    control, end = pty.openpty()
    watching = spawn("top", URL, stdout=end, stderr=end)
    os.close(end)
    seen = ""
    while seen.count("\x1b[H") < 3:
        seen += os.read(control, 4096).decode()
    watching.send_signal(signal.SIGINT)
    seen += rest_of(control)
    assert watching.wait(timeout=20) == 0
    os.close(control)
    drawn = seen.split("\x1b[H")[1]
    assert "ascertain top" in ESCAPE.sub("", drawn)
    assert ("\x1b[1;33m" in drawn) == colour, "the unknown is yellow"
    assert seen.index("\x1b[?1049h") < seen.index("\x1b[H"), "on a screen of its own"
    assert "TOOL" in seen.split("\x1b[?1049l")[1], "and the last page stays"


def test_a_screen_that_is_too_low_says_how_much_there_is_more():
    from ascertain.cli import top

    page = "".join(f"line {n}\n" for n in range(100))
    drawn = ESCAPE.sub("", top._screen(page)).splitlines()
    assert len(drawn) < 100
    assert drawn[-1] == f"... {100 - len(drawn) + 1} more lines"
