"""The reference page is true: every command on it runs, and its tables are those of the code."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import ascertain.demo
from ascertain import Ascertain, Breaker, Budget
from ascertain.cli.exits import MEANING
from ascertain.cli.run import COMMANDS
from ascertain.store.archive import Archive
from ascertain.store.open import open_ledger
from tests.cli import shop as shops
from tests.cli.conftest import ASCERTAIN, ROOT
from tests.cli.test_worker import hear
from tests.replay.test_formats import copy_recordings

PAGE = (ROOT / "docs" / "reference" / "cli.md").read_text()
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
LINES = [line.removeprefix("$ ") for block in BLOCKS for line in block.splitlines()]
DOCUMENTED = [line for line in LINES if line.startswith("ascertain ")]
SERVING = [line for line in DOCUMENTED if line.startswith("ascertain mcp -- ")]
LISTENING = [line for line in DOCUMENTED if line.startswith("ascertain mcp --listen ")]
FOR_EVER = [line for line in DOCUMENTED if " worker " in line and "--once" not in line]
RECORDING = Path(ascertain.demo.__file__).parent / "recording.jsonl"


SERVER = """\
from mcp.server.mcpserver import MCPServer

server = MCPServer("small")


@server.tool()
def greet(name: str) -> str:
    return f"Hello {name}"


server.run("stdio")
"""


def command_of(line):
    """The command that a line runs: one word, or two."""
    words = line.split()[1:3]
    return " ".join(words) if " ".join(words) in COMMANDS else words[0]


def table(title):
    """The rows of a table on the page by its first column."""
    rows = re.search(rf"\| {title} \|.*?\n\| ---.*?\n(.*?)\n\n", PAGE, re.DOTALL)[1]
    cells = [row.strip("| ").split(" | ", 1) for row in rows.splitlines()]
    return {name.strip("`"): text for name, text in cells}


@pytest.fixture
def project(here, ledger, monkeypatch):
    """A folder as the page means it: a package with an app, a ledger, a recording."""
    (here / "shop").mkdir()
    (here / "shop" / "tools.py").write_text(shops.MODULE)
    shutil.copy(RECORDING, here / "calls.jsonl")
    copy_recordings(here)
    (here / "server.py").write_text(SERVER)
    monkeypatch.setenv("PATH", f"{Path(ASCERTAIN).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ASCERTAIN_LEDGER", "sqlite:///ledger.db")
    monkeypatch.setenv("ID", ledger["review"])
    archive(here / "archive.jsonl")
    for name, value in waiting().items():
        monkeypatch.setenv(name, value)
    return here


def archive(path):
    """Of what is old in the ledger, as an earlier run has left it."""
    ledger = open_ledger("sqlite:///ledger.db")
    with Archive(path, secret=ledger.secret()) as keep:
        (batch,) = ledger.retain(closed_before=time.time(), keep=keep, at=time.time())
    assert batch.removed
    ledger.close()


def waiting():
    """A call that waits for approval, one that was taken as manual work, and an open breaker."""
    app = Ascertain("sqlite:///ledger.db", worker="none")
    once = Budget(turn_sends=1, turn_s=1.0, send_deadline_s=0.5)

    @app.tool(approval=True)
    def refund(order: str) -> dict:
        raise AssertionError("never sent")

    def silent(name):
        @app.tool(name=name, breaker=Breaker(after=1, group=name), budget=once)
        def silent(n: int) -> dict:
            raise TimeoutError

        return silent

    crm, post = silent("crm"), silent("post")
    with app.session("chat-1", principal="u7"):
        waits = refund(order="A123").id
        crm(n=1)
        post(n=1)
        manual = post(n=2).id
    app.hands.breaking.close("post", "li")
    digest = app.approval_digest(waits)
    app.close()
    return {"WAITS": waits, "DIGEST": digest, "MANUAL": manual}


@pytest.mark.parametrize(
    "line", [line for line in DOCUMENTED if line not in (*FOR_EVER, *SERVING, *LISTENING)]
)
def test_a_documented_command_runs(project, cli, line):
    _, *words = shlex.split(os.path.expandvars(line))
    if words[0] == "demo":
        words.append("--help")  # the demo has tests of its own, which play it
    done = cli(*words)
    assert done.code in (0, 1), done.complained
    assert done.out or done.err


@pytest.mark.parametrize("line", FOR_EVER)
def test_a_documented_worker_runs_until_it_is_told_to_stop(project, spawn, line):
    worker = spawn(*line.split()[1:])
    hear(worker, "started")
    worker.terminate()
    assert worker.wait(timeout=20) == 0


@pytest.mark.parametrize("line", SERVING)
def test_a_documented_proxy_serves_until_its_host_leaves(project, spawn, line):
    proxy = spawn(*shlex.split(line)[1:], stdin=subprocess.PIPE)
    proxy.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}\n')
    proxy.stdin.flush()
    assert '"id":1' in proxy.stdout.readline()
    proxy.stdin.close()
    proxy.stdin = None
    assert proxy.wait(timeout=20) == 0


def test_every_command_is_documented_in_a_section_of_its_own():
    assert {command_of(line) for line in DOCUMENTED} == set(COMMANDS)
    assert re.findall(r"^## ([a-z -]+)$", PAGE, re.MULTILINE) == list(
        dict.fromkeys(command_of(line) for line in DOCUMENTED)
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_examples_within_80_columns(cli, name):
    done = cli(name, "--help")
    assert done.code == 0
    assert "Examples:" in done.out
    assert f"  ascertain {name}" in done.out
    assert "--json" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_the_exit_codes_are_those_of_the_code():
    assert table("exit code") == {str(int(code)): text for code, text in MEANING.items()}


def test_the_lint_rules_are_those_of_the_code():
    found = set()
    for path in (ROOT / "src" / "ascertain" / "report").glob("lint*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="Finding"), keywords=keywords):
                    values = [k.value for k in keywords if k.arg == "rule"]
                case ast.Call(func=ast.Name(id="_finding" | "_repeats"), args=args):
                    values = args
                case _:
                    continue
            texts = [v.value for v in values if isinstance(v, ast.Constant)]
            found |= {text for text in texts[:1] if re.fullmatch(r"[a-z]+(-[a-z]+)*", text)}
    assert set(table("rule")) == found


def test_the_doctor_s_checks_are_those_of_the_code():
    found = set()
    for path in (ROOT / "src" / "ascertain" / "report").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="ok"), args=[ast.Constant(value=name), *_]):
                    found.add(name)
    assert set(table("check")) == found


def test_the_page_names_the_way_to_install():
    assert 'pip install "ascertain[cli]"' in LINES
    assert subprocess.run([ASCERTAIN, "--version"], capture_output=True).returncode == 0
