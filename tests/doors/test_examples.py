"""The examples run, and their provider has one ticket at the end, whose number was told.

Offline each has a scripted model; online the same code asks a real one, here an endpoint that
speaks its wire format.
"""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doors.endpoint import Endpoint
from tests.doors.script import Call, Say, calls

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SHARED = ("desk", "scripted", "scripted_chat", "mcp_config", "mcp_server")
ANTHROPIC = {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": "{url}"}
OPENAI = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "{url}/v1"}
GOOGLE = {
    "GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "{url}", "GOOGLE_MODEL": "gemini-scripted",
}  # fmt: skip
CLAUDE = {
    **ANTHROPIC, "CLAUDE_CONFIG_DIR": "{folder}", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}  # fmt: skip
LANGCHAIN = {**OPENAI, "LANGCHAIN_MODEL": "openai:gpt-5"}
# What runs where the tests run, and in environments of their own; and how each asks a real model.
HERE = {
    ("anthropic_loop.py",): ANTHROPIC,
    ("openai_loop.py",): OPENAI,
    ("openai_loop.py", "responses"): OPENAI,
    ("pydantic_ai_agent.py",): {**OPENAI, "PYDANTIC_AI_MODEL": "openai:gpt-5"},
    ("openai_agents_agent.py",): OPENAI,
    ("langchain_agent.py",): None,
    ("langgraph_node.py",): None,
}
APART = {
    "strands": {("strands_agent.py",): ANTHROPIC},
    "google_adk": {("google_adk_agent.py",): GOOGLE},
    "claude_agent": {("claude_agent.py",): CLAUDE},
    "langgraph": {
        ("langchain_agent.py",): LANGCHAIN, ("langgraph_node.py",): LANGCHAIN,
        ("langchain_mcp.py",): LANGCHAIN,
    },
}  # fmt: skip
asked = os.environ.get("DOORS", "").split()
RUNS = {run: real for name in asked for run, real in APART[name].items()} if asked else HERE
ONLINE = [run for run, real in RUNS.items() if real is not None]


def doors_of(folder):
    return {path.name for path in folder.glob("*.py") if path.stem not in SHARED}


def run_it(command, monkeypatch, capsys):
    told = (process if asked else here)(command, monkeypatch, capsys).splitlines()
    assert told[:2] == ["fact:     confirmed T900"] * 2
    assert told[-1] == "provider: 1 ticket: T900"


def process(command, *_fixtures):
    """As a person runs it."""
    program = [sys.executable, str(EXAMPLES / command[0]), *command[1:]]
    return subprocess.run(program, stdout=subprocess.PIPE, text=True, timeout=55).stdout


def here(command, monkeypatch, capsys):
    """In this process: to import a framework once more takes seconds."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", list(command))
    for name in [path.stem for path in EXAMPLES.glob("*.py")]:
        monkeypatch.delitem(sys.modules, name, raising=False)
    runpy.run_path(str(EXAMPLES / command[0]), run_name="__main__")
    return capsys.readouterr().out


@pytest.fixture
def no_keys(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "OPENAI_", "GOOGLE_", "LANGCHAIN_", "PYDANTIC_AI_")):
            monkeypatch.delenv(name)


@pytest.mark.parametrize("command", RUNS, ids=" ".join)
def test_an_example_makes_one_ticket_and_says_so(command, no_keys, monkeypatch, capsys):
    run_it(command, monkeypatch, capsys)


@pytest.mark.parametrize("command", ONLINE, ids=" ".join)
def test_with_a_key_it_asks_a_real_model(command, no_keys, monkeypatch, capsys, tmp_path):
    model = Endpoint()
    name = "mcp__desk__open_ticket" if command == ("claude_agent.py",) else "open_ticket"
    order = "order" if command == ("langchain_mcp.py",) else "order_id"
    plans = [("call_1", "noise in the left ear"), ("call_2", "it buzzes")]
    asks = [Call(call_id, name, {order: "A123", "issue": issue}) for call_id, issue in plans]
    model.script([*(calls(ask) for ask in asks), Say(text="Your ticket is T900.")])
    for key, value in RUNS[command].items():
        monkeypatch.setenv(key, value.format(url=model.url, folder=tmp_path))
    try:
        run_it(command, monkeypatch, capsys)
        assert len(model.requests) == 3
    finally:
        model.close()


def test_every_example_is_run():
    apart = [command[0] for runs in APART.values() for command in runs]
    assert doors_of(EXAMPLES) == {*apart, *(command[0] for command in HERE), "mcp_proxy.py"}


def test_the_proxys_example_runs_as_processes():
    """A host starts the proxy, and the proxy its server."""
    command = [sys.executable, str(EXAMPLES / "mcp_proxy.py")]
    told = subprocess.run(command, capture_output=True, text=True, timeout=55).stdout.splitlines()
    assert told == ["fact:     confirmed T900"] * 2 + ["provider: 1 ticket: T900"]
