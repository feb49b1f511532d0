"""The examples run offline, and their provider has one ticket at the end, whose number was told."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SHARED = ("desk", "scripted", "scripted_chat", "mcp_server")
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "LANGCHAIN_MODEL", "PYDANTIC_AI_MODEL")
RUNS = [
    ("anthropic_loop.py",), ("openai_loop.py",), ("openai_loop.py", "responses"),
    ("langchain_agent.py",), ("langgraph_node.py",),
    ("pydantic_ai_agent.py",), ("openai_agents_agent.py",),
]  # fmt: skip


def doors_of(folder):
    return {path.name for path in folder.glob("*.py") if path.stem not in SHARED}


@pytest.mark.parametrize("command", RUNS, ids=" ".join)
def test_an_example_makes_one_ticket_and_says_so(command, monkeypatch, capsys):
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", list(command))
    for name in SHARED:
        monkeypatch.delitem(sys.modules, name, raising=False)
    runpy.run_path(str(EXAMPLES / command[0]), run_name="__main__")
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == ["fact:     confirmed T900"] * 2
    assert told[-1] == "provider: 1 ticket: T900"


def test_every_example_is_run():
    assert doors_of(EXAMPLES) == {command[0] for command in RUNS} | {"mcp_proxy.py"}


def test_the_proxys_example_runs_as_processes():
    """A host starts the proxy, and the proxy its server."""
    command = [sys.executable, str(EXAMPLES / "mcp_proxy.py")]
    told = subprocess.run(command, capture_output=True, text=True, timeout=55).stdout.splitlines()
    assert told == ["fact:     confirmed T900"] * 2 + ["provider: 1 ticket: T900"]
