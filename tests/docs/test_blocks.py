"""What is printed from the code is current, and all of it is printed somewhere."""

import re
import subprocess
import sys

import pytest

from scripts.docs_blocks import BLOCK, BLOCKS, filled
from tests.docs.pages import PAGES, ROOT


def name(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_generated_blocks_are_current(page):
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text, "run: .venv/bin/python scripts/docs_blocks.py --write"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_that_begins_has_an_end(page):
    text = page.read_text(encoding="utf-8")
    assert len(BLOCK.findall(text)) == text.count("<!-- generated:") == text.count("<!-- end -->")


def test_everything_that_can_be_printed_is_on_a_page():
    used = [found[1] for page in PAGES for found in BLOCK.findall(page.read_text())]
    assert set(used) == set(BLOCKS)


@pytest.mark.parametrize("block", BLOCKS)
def test_no_block_is_empty_or_breaks_a_table(block):
    lines = BLOCKS[block]().splitlines()
    assert all(lines[:1])
    rows = [re.sub(r"\\\|", "", line) for line in lines if line.startswith("| ")]
    assert len({row.count("|") for row in rows}) <= 1


def test_the_command_says_what_is_not_current(tmp_path):
    """A copy of a page with a block that somebody wrote by hand."""
    done = subprocess.run(
        [sys.executable, "scripts/docs_blocks.py", "--check"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ""), done.stdout
    by_hand = "<!-- generated: kinds -->\nnothing\n<!-- end -->\n"
    assert filled(by_hand) != by_hand
    with pytest.raises(KeyError):
        filled("<!-- generated: no-such -->\n<!-- end -->\n")
