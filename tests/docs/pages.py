"""What the tests of the documentation share: pages, and the programs that stand on them."""

import os
import re
import subprocess
import sys
from pathlib import Path

from ascertain.testing.world import Provider

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
READMES = ("README.md", "README.zh-CN.md")
SOMEBODY = "https://crm.example"
ENOUGH_S = 55  # a process that goes on hangs; on a busy machine one may take half of that
# Deduplicates by key and can be asked by it, as the pages say of their provider.
PROVIDERS = {"tickets": Provider(first_ref="T900")}


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def python_blocks(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def block_with(name, words):
    """The one program on a page in which these words stand."""
    (block,) = [one for one in python_blocks(text_of(name)) if words in one]
    return block


def console_lines(text):
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def sections(text):
    """The parts of a page below its headings of the second level, by heading."""
    _, *parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def quickstart(name):
    (program,) = [block for block in python_blocks(text_of(name)) if "create_ticket" in block]
    return program


def unpack(text, folder, url=SOMEBODY):
    """Write the blocks of a part of a page; returns the names of those that are run.

    A block whose first line names a file is that file; any other is a program.
    """
    programs = []
    for number, block in enumerate(python_blocks(text)):
        named = re.match(r"# (\S+\.py)\n", block)
        name = named[1] if named else f"program_{number}.py"
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.replace(SOMEBODY, url))
        if not named:
            programs.append(name)
    return programs


def environment():
    """That of a reader: nothing of this test run's settings, the package from this checkout."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASCERTAIN_", "COV_"))}
    return {**kept, "PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}


def start(folder, *words):
    """A process in a folder."""
    return subprocess.Popen(
        [sys.executable, *words], cwd=folder, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def run(folder, *words):
    """What a process said; it must end well."""
    process = start(folder, *words)
    out, err = process.communicate(timeout=ENOUGH_S)
    assert process.returncode == 0, f"{words}: {err}"
    return out
