"""Each extra of a door was tried with the oldest and the newest version of its range."""

import re
import tomllib

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tests.tidy.sources import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
PAGE = (ROOT / "docs" / "reference" / "versions.md").read_text()
# What stands behind these is no door: its tests run with what an environment gets.
NO_DOOR = {
    "bench", "cli", "dev", "httpx", "postgres", "requests", "sqlalchemy", "temporal", "testing",
    "valkey",
}  # fmt: skip
DOORS = sorted(set(EXTRAS) - NO_DOOR)
ROWS = [re.findall(r"`([^`]*)`", line) for line in PAGE.splitlines() if line.startswith("| `")]


def ranges(extra):
    return [
        re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?([<>=].*)", line).groups() for line in EXTRAS[extra]
    ]


@pytest.mark.parametrize("extra", DOORS)
def test_the_range_of_a_door_was_tried_at_both_ends(extra):
    tried = {row[1]: row[2:] for row in ROWS if row[0] == extra}
    assert {(name, said) for name, said in ranges(extra)} == {
        (name, said) for name, (said, *_) in tried.items()
    }, f"run: make versions ARGS={extra}"
    for said, oldest, newest in tried.values():
        lowest = re.search(r">=([^,]+)", said)[1]
        assert Version(oldest) == Version(lowest), f"run: make versions ARGS={extra}"
        assert Version(newest) in SpecifierSet(said)


def test_no_row_is_of_an_extra_that_is_gone():
    assert {row[0] for row in ROWS} == set(DOORS)
