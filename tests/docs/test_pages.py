"""The programs and commands on the pages run as they stand."""

import importlib
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys

import pytest

from ascertain import Ascertain
from ascertain.adapters.door import Door
from ascertain.adapters.mcp.config import read_proxy_config
from ascertain.cli import main
from ascertain.runtime.wrapping import read_config
from ascertain.testing.world import Provider, World
from tests.docs.pages import (
    PAGES,
    ROOT,
    console_lines,
    environment,
    python_blocks,
    run,
    sections,
    start,
    text_of,
    unpack,
)
from tests.replay.test_formats import copy_recordings

ADOPT = sections(text_of("docs/adopt.md"))
WAYS = [title for title in ADOPT if title[0].isdigit()]
# What the provider of each way promises, and what it does first; how its first line then ends.
PLAYED = {
    "1": (Provider(honours_key=False, lookup=False), ["ok"], "T900"),
    "2": (Provider(honours_key=False), ["reply_lost"], "confirmed T900"),
    "3": (Provider(), ["request_lost"], "confirmed T900"),
    "4": (Provider(), [], "confirmed"),
    "5": (Provider(), ["reply_lost"], "T900"),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_in_runs_and_keeps_its_word(way, tmp_path):
    """Against a provider that promises no more than the way needs, and loses something."""
    provider, behaviours, expected = PLAYED[way[0]]
    with World({"tickets": provider}) as world:
        if behaviours:
            world.script("tickets", {"order": "A123"}, behaviours)
            world.script("tickets", {"order_id": "A123"}, behaviours)
        (program,) = unpack(ADOPT[way], tmp_path, world.url)
        lines = run(tmp_path, program).splitlines()
        assert expected in lines[0]
        assert world.count("tickets") == (0 if way[0] == "4" else 1)
    if way[0] == "5":
        made, again, listed, facts = lines
        assert made == again == facts
        assert "'ref': 'T900'" in listed


def test_the_programs_on_the_page_about_chains_say_what_it_says(tmp_path):
    page = text_of("docs/concepts/chains.md")
    programs = unpack(page, tmp_path)
    expected = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    assert [run(tmp_path, program) for program in programs] == expected


def test_the_door_on_the_page_lets_one_ticket_through(tmp_path):
    page = text_of("docs/how-to/doors.md")
    program, *_ = unpack(page, tmp_path)
    first, second = run(tmp_path, program).splitlines()
    assert first.startswith('confirmed {"workflow_state":"completed"')
    assert second == "confirmed 1"
    (tmp_path / "ascertain.toml").write_text(re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1])
    said = read_config(tmp_path / "ascertain.toml", targets=False)
    assert (said["search"], said["open_ticket"]["fills"]["user_id"]) == (
        {"access": "pass"}, "principal",
    )  # fmt: skip


@pytest.mark.parametrize("framework", ["pydantic_ai", "agents"])
def test_the_agents_on_the_page_about_doors_have_guarded_tools(framework, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "-")
    blocks = python_blocks(text_of("docs/how-to/doors.md"))
    (block,) = [block for block in blocks if f"from {framework} import Agent" in block]

    def open_ticket(order_id: str, issue: str) -> dict:
        """Open a ticket."""

    def send_mail(to: str) -> dict:
        """Send a mail."""

    with Ascertain(f"sqlite:///{tmp_path}/ledger.db") as app:
        app.tool(identity=["to"])(send_mail)
        (tmp_path / "agent.py").write_text(block)
        given = {"app": app, "Door": Door, "open_ticket": open_ticket}
        names = runpy.run_path(str(tmp_path / "agent.py"), init_globals=given)
    agent = names["agent"]
    if framework == "agents":
        assert [tool.name for tool in agent.tools] == ["open_ticket", "send_mail", "ascertain"]
    else:
        guard = agent.root_capability.capabilities[-1]
        assert set(guard.get_toolset().tools) == {"send_mail", "ascertain"}


def test_the_page_on_mcp_runs_and_its_configuration_fits_a_server(tmp_path):
    page = text_of("docs/how-to/mcp.md")
    (program,) = unpack(page, tmp_path)
    assert run(tmp_path, program).splitlines() == ["unknown 1"] * 3
    (tmp_path / "ascertain.toml").write_text(re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1])
    config = read_proxy_config(tmp_path / "ascertain.toml")
    tickets = config.tools["create_ticket"]
    assert tickets.key.hides
    assert tickets.lookup[0].tool == "find_tickets"
    assert tickets.undo[0].tool == "delete_ticket"


@pytest.mark.parametrize("name", ["own-database", "write-a-contract"])
def test_the_programs_of_a_how_to_run(name, tmp_path):
    with World({"tickets": Provider()}) as world:
        (program,) = unpack(text_of(f"docs/how-to/{name}.md"), tmp_path, world.url)
        said = run(tmp_path, program)
    assert said in ("confirmed\n", "Inspection requested: ticket T900.\n")


def test_the_conversation_on_the_page_about_sessions_goes_as_it_says(tmp_path):
    page = text_of("docs/concepts/sessions.md")
    (program,) = unpack(page, tmp_path)
    (said,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert run(tmp_path, program) == said


def test_a_ledger_is_backed_up_and_buried_as_the_page_says(tmp_path):
    backup, bury = python_blocks(text_of("docs/how-to/run-a-worker.md"))
    with World({"tickets": Provider()}) as world:
        (program,) = unpack(ADOPT["3 Guard a tool whose provider knows keys"], tmp_path, world.url)
        run(tmp_path, program)
    run(tmp_path, "-c", backup)
    assert run(tmp_path, "-c", bury) == "0\n"
    (tmp_path / "ledger.db.secret").rename(tmp_path / "backup.db.secret")
    said = run(tmp_path, "-m", "ascertain.cli", "actions", "--ledger", "sqlite:///backup.db")
    assert re.search(r"confirmed +create_ticket +T900", said)


def test_a_reply_is_held_against_the_record_as_the_page_says(tmp_path):
    (program,) = unpack(text_of("docs/how-to/verify-by-record.md"), tmp_path)
    lines = run(tmp_path, program).splitlines()
    assert lines == [
        "submitted_without_evidence",
        "The state of the ticket is not confirmed yet; a person will check it.",
        "state_differs",
    ]


def test_the_tests_on_the_testing_page_pass(tmp_path):
    assert unpack(text_of("docs/how-to/testing-your-tools.md"), tmp_path) == []
    said = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio")
    assert re.search(r"^2 passed", said, re.MULTILINE), said


# ------------------------------------------------------------------------------------- commands

TOLD = sorted(
    {
        line
        for page in PAGES
        if page.name != "cli.md"  # it has tests of its own
        for line in console_lines(page.read_text(encoding="utf-8"))
    }
)
TOLD = [line for line in TOLD if line not in console_lines(text_of("docs/reference/cli.md"))]
FOR_EVER = [line for line in TOLD if " worker " in line and "--once" not in line]
COMMANDS = [line for line in TOLD if line.startswith("ascertain ") and line not in FOR_EVER]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """The folder of way 5, with a ledger."""
    folder = tmp_path_factory.mktemp("shop")
    with World({"tickets": Provider()}) as world:
        (program,) = unpack(ADOPT["5 All writes of an agent"], folder, world.url)
        run(folder, program)
    copy_recordings(folder)
    return folder


@pytest.mark.parametrize("line", COMMANDS)
def test_a_documented_command_runs(shop, line, monkeypatch, capsys):
    monkeypatch.chdir(shop)
    monkeypatch.setattr(sys, "path", [str(shop), *sys.path])
    monkeypatch.setenv("ASCERTAIN_LEDGER", "sqlite:///ledger.db")
    code = main(shlex.split(line)[1:])
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    said = capsys.readouterr()
    assert code in (0, 1), said.err
    assert said.out or said.err


@pytest.mark.parametrize("line", FOR_EVER)
def test_a_documented_worker_runs_until_it_is_told_to_stop(shop, line):
    worker = start(shop, "-m", "ascertain.cli", *shlex.split(line)[1:])
    try:
        assert "started" in worker.stderr.readline()
        worker.send_signal(signal.SIGTERM)
        _, said = worker.communicate(timeout=20)
    finally:
        worker.kill()
    assert worker.returncode == 0
    assert "worker ended" in said


def test_what_is_to_be_installed_is_there():
    settings = (ROOT / "pyproject.toml").read_text()
    for line in [line for line in TOLD if line.startswith("pip ")]:
        for extra in re.search(r"ascertain\[(.*)\]", line)[1].split(","):
            assert re.search(rf"^{extra} = \[", settings, re.MULTILINE)
    assert len(TOLD) == len(COMMANDS) + len(FOR_EVER) + len([t for t in TOLD if t[:4] == "pip "])


BARE = re.findall(
    r"^```\n(.*?)^```$",
    "\n".join(
        text_of(name) for name in ("README.md", "README.zh-CN.md", "AGENTS.md", "CONTRIBUTING.md")
    ),
    re.DOTALL | re.MULTILINE,
)
MAKES = {
    re.match(r"(make( [\w=.]+)*)", line)[1]
    for block in BARE
    for line in block.splitlines()
    if line.startswith("make ")
}
PYTHONS = [
    line.partition("#")[0].split()
    for block in BARE
    for line in block.splitlines()
    if line.startswith(".venv/bin/python ")
]
# The same command, without writing to the repository, and short.
GENTLY = {
    "pytest": ["--collect-only"],
    "tests.laws.golden": [],
    "scripts/docs_blocks.py": ["--check"],
    "scripts/check.py": ["layers"],
    "tests.prove.search": ["--size", "small", "--limit", "200"],
}


@pytest.mark.parametrize("line", sorted(MAKES))
def test_a_documented_target_is_there(line):
    done = subprocess.run(
        ["make", "-n", *line.split()[1:]], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "words", PYTHONS, ids=lambda words: words[2] if words[1] == "-m" else words[1]
)
def test_a_documented_script_is_there(words):
    kept = words[1:3] if words[1] == "-m" else words[1:2]
    more = [word for word in words[1 + len(kept) :] if word.startswith("tests/")]
    done = subprocess.run(
        [sys.executable, *kept, *more, *GENTLY[kept[-1]]],
        cwd=ROOT, env={**os.environ, **environment()}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
