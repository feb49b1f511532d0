"""Try the oldest and the newest version of every library that an extra allows: `make versions`.

    .venv/bin/python scripts/door_versions.py [EXTRA ...]

Each extra is installed twice, with its oldest and with its newest versions, in an environment of
its own, and the tests of its door are run there. What passed stands in docs/reference/versions.md,
which a test compares with pyproject.toml. It takes about half an hour, and is not part of CI.
"""

import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

from environments import PLACE, NotBuiltError, built, tests, versions

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "versions.md"
EVERY = "tests/doors/test_every_door.py"


class Trial(NamedTuple):
    """How an extra is tried: the tests, the drivers of doors, and what the tests need besides."""

    tests: tuple[str, ...]
    doors: str = ""
    more: tuple[str, ...] = ()


TRIALS = {
    "anthropic": Trial((EVERY,), "anthropic"),
    "openai": Trial((EVERY,), "openai"),
    "langchain": Trial((EVERY, "tests/doors/test_langgraph.py"), "langgraph"),
    "pydantic-ai": Trial(
        (EVERY, "tests/doors/test_pydantic_ai.py"), "pydantic_ai", ("openai>=3.57",)
    ),
    "openai-agents": Trial((EVERY, "tests/doors/test_openai_agents.py"), "openai_agents"),
    "mcp": Trial(
        ("tests/mcp", "--ignore=tests/mcp/test_fastmcp.py"), "", ("typer>=0.20", "rich>=13.7")
    ),
    "fastmcp": Trial(("tests/mcp/test_fastmcp.py",)),
    "strands": Trial(
        (EVERY, "tests/doors/test_strands.py"), "strands", ("strands-agents[anthropic,openai]",)
    ),
    "google-adk": Trial((EVERY, "tests/doors/test_google_adk.py"), "google_adk"),
    "claude-agent": Trial((EVERY, "tests/doors/test_claude_agent.py"), "claude_agent"),
}  # fmt: skip


def ranges(extra):
    """Its requirements: name, extras in brackets, and specifiers as they stand."""
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for line in said["project"]["optional-dependencies"][extra]:
        yield re.fullmatch(r"([\w.-]+)(\[[\w,-]+\])?([<>=!~].*)", line).groups("")


def tried(extra, which, known=None):
    """The versions with which the tests passed; None: they did not. Those known to pass do."""
    trial = TRIALS[extra]
    asked = list(ranges(extra))
    pins = [
        f"{name}{brackets}=={re.search('>=([^,]+)', spec)[1]}" for name, brackets, spec in asked
    ]
    name = f"try-{extra}-{which}"
    try:
        python = built(name, extra, *trial.more, *(pins if which == "oldest" else ()))
        found = versions(python, [name for name, *_ in asked])
        print(f"{extra}, {which}: {found}", flush=True)
        if found == known:
            return found
        # What old libraries warn of in one another is not what is asked here.
        quiet = ("-W", "ignore::DeprecationWarning", "-W", "ignore::FutureWarning")
        return found if tests(python, trial.doors, *quiet, *trial.tests) else None
    except NotBuiltError:
        return None
    finally:
        shutil.rmtree(PLACE / name, ignore_errors=True)  # each takes hundreds of megabytes


def rows():
    """The table as it stands: (extra, library) -> cells."""
    cells = [
        [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
        if line.startswith("| `")
    ]
    return {(row[0], row[1]): row for row in cells}


def write(table):
    text = PAGE.read_text()
    head = ["| extra | library | range | oldest tried | newest tried |\n", f"{'| --- ' * 5}|\n"]
    lines = head + ["| " + " | ".join(f"`{cell}`" for cell in row) + " |\n" for row in table]
    between = re.compile(r"(?<=<!-- tried -->\n).*(?=<!-- /tried -->)", re.DOTALL)
    PAGE.write_text(between.sub(lambda _: "".join(lines), text))


def main(names):
    wanted = names or list(TRIALS)
    table = rows()
    broken = []
    for extra in wanted:
        oldest = tried(extra, "oldest")
        newest = tried(extra, "newest", oldest)
        if oldest is None or newest is None:
            broken.append(f"{extra} ({'oldest' if oldest is None else 'newest'})")
            continue
        table = {key: row for key, row in table.items() if key[0] != extra}
        for name, _, spec in ranges(extra):
            table[extra, name] = [extra, name, spec, oldest[name], newest[name]]
        write(table[key] for key in sorted(table, key=lambda key: list(TRIALS).index(key[0])))
    if broken:
        sys.exit(f"did not pass: {', '.join(broken)}")


if __name__ == "__main__":
    main(sys.argv[1:])
