"""Doors and examples of frameworks that need an environment of their own: `make examples`.

    .venv/bin/python scripts/examples.py [NAME ...]

Each is built below `.envs`, once. There its door is tried, with the framework's own runner, and its
examples run, offline and with their client on an endpoint that speaks the provider's wire format.
"""

import os
import sys
from typing import NamedTuple

from environments import ROOT, NotBuiltError, built, tests

EVERY = "tests/doors/test_every_door.py"


class Framework(NamedTuple):
    """What is installed, which drivers of doors there are, and what is tried."""

    extra: str
    doors: str
    tests: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


APART = {
    "strands": Framework(
        "strands", "strands", (EVERY, "tests/doors/test_strands.py"),
        ("strands-agents[anthropic,openai]",),
    ),
    "google-adk": Framework(
        "google-adk", "google_adk", (EVERY, "tests/doors/test_google_adk.py")
    ),
    "claude-agent": Framework(
        "claude-agent", "claude_agent", (EVERY, "tests/doors/test_claude_agent.py")
    ),
    "langchain-mcp": Framework(
        "langchain", "langgraph", (), ("langchain-mcp-adapters", "langchain-openai")
    ),
}  # fmt: skip


def passed(name):
    """Whether all of a framework holds."""
    one = APART[name]
    print(f"\n=== {name}", flush=True)
    try:
        python = built(name, one.extra, *one.more)
    except NotBuiltError:
        return False
    # The proxy's example runs where the proxy is installed.
    return tests(python, one.doors, *one.tests, "tests/doors/test_examples.py", "-k", "not proxys")


def main(names):
    unknown = [name for name in names if name not in APART]
    if unknown:
        sys.exit(f"no such framework: {', '.join(unknown)}; there are: {', '.join(APART)}")
    os.environ["ASCERTAIN"] = str(ROOT / ".venv" / "bin" / "ascertain")
    found = {name: passed(name) for name in names or APART}
    for name, well in found.items():
        print(f"{name:14} {'passed' if well else 'FAILED'}")
    sys.exit(not all(found.values()))


if __name__ == "__main__":
    main(sys.argv[1:])
