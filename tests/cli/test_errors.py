"""Every error that reaches the top says what is wrong, what to do next, and its code."""

import json
import os
import resource
import subprocess
import sys

import pytest

from ascertain import errors
from ascertain.cli.exits import Exit, exit_of
from tests.cli.conftest import ASCERTAIN

LEDGER = ("--ledger", "sqlite:///ledger.db")
HELP_MS = 250


def every_error():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    return [kind for kind in kinds if issubclass(kind, errors.AscertainError)]


def test_each_error_of_the_library_has_its_exit_code():
    codes = {kind.__name__: exit_of(kind()) for kind in every_error()}
    assert codes["ActionNotFound"] == codes["UnknownTool"] == Exit.NOT_FOUND == 3
    assert codes["NotAllowed"] == codes["SenderMayBeAlive"] == Exit.REFUSED == 4
    assert codes["LedgerLocked"] == codes["LedgerNewer"] == Exit.LEDGER == 5
    assert codes["ContractError"] == codes["InvalidArguments"] == Exit.USAGE == 2
    assert set(codes.values()) == {2, 3, 4, 5}


def test_an_error_is_told_with_message_next_step_and_code(cli, ledger):
    done = cli("show", "no id", *LEDGER)
    assert done.out == ""
    assert done.err == (
        "ascertain: 'no id' cannot be the id of an action.\n"
        "  next: `ascertain actions` lists them.\n"
        "  code: action_not_found\n"
    )


def test_an_error_is_told_as_json_to_programs(cli, ledger):
    done = cli("show", "no id", *LEDGER, "--json")
    assert done.err == ""
    assert json.loads(done.out) == {
        "error": "action_not_found",
        "message": "'no id' cannot be the id of an action.",
        "next": "`ascertain actions` lists them.",
    }


def test_a_traceback_is_shown_only_when_asked_for(cli, ledger):
    assert "Traceback" not in cli("show", "ffff", *LEDGER).err
    for words in (("--debug", "show", "ffff"), ("show", "ffff", "--debug")):
        done = cli(*words, *LEDGER)
        assert done.code == 3
        assert done.err.startswith("Traceback")


def test_a_long_message_is_wrapped(cli, here):
    done = cli("actions", "--ledger", f"sqlite:///{'long/' * 30}ledger.db")
    assert done.err.count("\n") >= 4
    assert max(len(line) for line in done.err.splitlines() if " " in line.strip()) <= 240


def test_a_message_with_a_provider_s_words_does_not_steer_a_terminal(cli, ledger):
    done = cli("show", "\x1b[2Jffff", *LEDGER)
    assert done.code == 3
    assert "\x1b" not in done.err


@pytest.mark.parametrize(
    "words, says, asked",
    [
        (("shw",), "No such command 'shw'", "ascertain --help"),
        (("show",), "Missing argument", "ascertain show --help"),
        (("actions", "--stat", "sent"), "No such option", "ascertain actions --help"),
        (("actions", "--limit", "0"), "Invalid value for '--limit'", "ascertain actions --help"),
        (("actions", "--limit", "many"), "Invalid value for '--limit'", "ascertain actions --help"),
        (("why", "1", "2"), "unexpected extra argument", "ascertain why --help"),
    ],
)
def test_wrong_usage_is_answered_with_where_to_read(cli, here, words, says, asked):
    done = cli(*words)
    assert done.code == 2
    assert says in done.complained
    assert f"next: {asked}" in done.complained
    assert json.loads(cli(*words, "--json").out)["error"] == "usage"


def test_no_command_at_all_shows_the_commands(cli, here):
    done = cli()
    assert done.code == 2
    assert done.out.startswith("Usage: ascertain")


def test_the_version_is_told(cli, here):
    done = cli("--version")
    assert done.code == 0
    assert done.out.startswith("ascertain 0.")


@pytest.mark.parametrize(
    "name, source, says, then",
    [
        ("shop", "", "'shop' does not name an app.", "Name it as MODULE:APP"),
        ("shop.py:app", "", "is a file, not a module", "such as shop:app"),
        ("nowhere:app", "", "There is no module 'nowhere'", "Start from the project's folder"),
        ("shop.inner:app", "", "There is no module 'shop.inner'", "Start from"),
        ("shop:nothing", "app = Ascertain()", "shop has no 'nothing'", "There: shop:app."),
        ("shop:thing", "thing = 3", "is a builtins.int, not an Ascertain app", "Make one there"),
        ("shop:make", "def make(): pass", "is a builtins.function", "Make one there"),
        ("shop:app", "import nosuchthing", "imports 'nosuchthing', which is not installed", "Inst"),
        ("shop:app", "1 / 0", "broke while it was imported: ZeroDivisionError", "--debug"),
        ("shop:app", "x = (", "SyntaxError", "--debug"),
        ("shop:app", "raise SystemExit(0)", "broke while it was imported: SystemExit", "--debug"),
        (
            "shop:app",
            "app = Ascertain()\n@app.tool(identity=['nope'])\ndef f(x: int) -> None: ...",
            "declares what cannot be kept: f: identity=['nope'] are not parameters",
            "ascertain lint",
        ),
    ],
)
def test_an_app_that_cannot_be_loaded_says_what_is_wrong(cli, here, name, source, says, then):
    (here / "shop.py").write_text(f"from ascertain import Ascertain\n{source}\n")
    for command in ("lint", "worker"):
        done = cli(command, name)
        assert done.code == 2
        assert says in done.complained
        assert f"next: {then}" in done.complained or then in done.complained
        assert "code: app_not_loaded" in done.err


def test_an_error_in_an_app_names_its_line(cli, here):
    (here / "shop.py").write_text("from ascertain import Ascertain\n\n\n1 / 0\n")
    assert "shop.py, line 4)" in cli("lint", "shop:app").complained


def test_an_app_in_a_package_is_found_from_here(cli, here):
    (here / "pack").mkdir()
    (here / "pack" / "tools.py").write_text(
        "from ascertain import Ascertain\n\n\nclass Place:\n    app = Ascertain()\n"
    )
    assert cli("lint", "pack.tools:Place.app").code == 1, "it has no tools"


def test_a_secret_that_is_too_short_is_said(cli, ledger, monkeypatch):
    monkeypatch.setenv("ASCERTAIN_SECRET", "short")
    done = cli("actions", *LEDGER)
    assert done.code == 2
    assert "code: weak_key" in done.err


def test_another_secret_than_the_ledger_s_is_said(cli, ledger, monkeypatch):
    monkeypatch.setenv("ASCERTAIN_SECRET", "a secret of another ledger altogether")
    done = cli("actions", *LEDGER)
    assert done.code == 5
    assert "This is not the secret of the ledger" in done.complained


def test_a_defect_is_called_one(cli, here, monkeypatch):
    def broken(*_):
        raise RuntimeError("\x1b[31mboom")

    (here / "ledger.db").write_text("x")
    monkeypatch.setattr("ascertain.cli.ledgers.open_ledger", broken)
    done = cli("actions", *LEDGER)
    assert done.code == 70
    assert done.err.startswith("ascertain: A defect: RuntimeError: [31mboom\n")
    assert "--debug shows" in done.complained


WITHOUT = """
import sys
sys.modules[{name!r}] = None  # as if it were not installed
from ascertain.cli import main
sys.exit(main(["actions"]))
"""


@pytest.mark.parametrize("name", ["typer", "rich"])
def test_without_its_extra_the_command_says_how_to_install_it(here, name):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(name=name)], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert 'next: pip install "ascertain[cli]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_help_is_there_at_once(here, capsys):
    """Measured as the processor's time, which others on the machine do not lengthen."""

    bare = {name: text for name, text in os.environ.items() if not name.startswith("COVERAGE")}

    def took_ms():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([ASCERTAIN, "--help"], capture_output=True, text=True, env=bare)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 0
        assert max(map(len, done.stdout.splitlines())) <= 80
        used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return used_s * 1e3

    least = min(took_ms() for _ in range(5))
    with capsys.disabled():
        print(f"\nascertain --help: {least:.0f} ms of the processor (the least of 5)")
    assert least < HELP_MS


def test_it_can_be_run_as_a_module(here):
    done = subprocess.run(
        [sys.executable, "-m", "ascertain.cli", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout[:10]) == (0, "ascertain ")
