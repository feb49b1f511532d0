"""The quickstart type-checks as a user's program, and the result has the body's type."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import READMES, ROOT, quickstart

BIN = Path(sys.executable).parent
IS = r"Action\[(builtins\.)?dict\[(Any|Unknown), (Any|Unknown)\]\]"


@pytest.fixture
def project(tmp_path):
    """A user's project: both quickstarts, each with a question at its end."""
    for number, name in enumerate(READMES):
        file = tmp_path / f"quickstart_{number}.py"
        file.write_text(quickstart(name) + "    reveal_type(ticket)\n")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT / "src")]}))
    return tmp_path


def check(project, *command):
    """What a type checker said of a project, with its settings as they come."""
    files = sorted(file.name for file in project.glob("*.py"))
    done = subprocess.run(
        [*map(str, command), *files],
        cwd=project, env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True, text=True,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return re.sub(r"ascertain\.runtime\.action\.", "", said)


def test_mypy_infers_an_action_of_the_bodys_own_type(project):
    cache = ROOT / ".mypy_cache" / "docs"
    said = check(project, BIN / "mypy", "--cache-dir", cache)
    assert len(re.findall(rf'Revealed type is "{IS}"', said)) == len(READMES), said


def test_pyright_infers_an_action_of_the_bodys_own_type(project):
    said = check(project, BIN / "pyright", "--pythonpath", sys.executable)
    assert len(re.findall(rf'Type of "ticket" is "{IS}"', said)) == len(READMES), said
