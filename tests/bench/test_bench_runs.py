"""The bench runs, says what it compared, and does not call a missed bar a good run."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bench import floor

BENCH = Path(floor.__file__).parent


def bench(*arguments):
    return subprocess.run(
        [sys.executable, BENCH / "run.py", *arguments], capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """One quick run of the two parts that take the least time."""
    folder = tmp_path_factory.mktemp("results")
    done = bench("--quick", "--only", "footprint,sessions", "--results", folder)
    assert done.returncode in (0, 1), done.stderr
    return done, folder, json.loads((folder / "bench.json").read_text())


def test_every_bar_is_told_with_its_ratio_and_the_exit_code_says_whether_all_were_met(results):
    done, _, found = results
    said = [ratio for ratio in found["ratios"] if ratio["bar"] is not None]
    assert len(said) == 4
    for ratio in said:
        met = ratio["value"] <= ratio["bar"]
        assert ratio["met"] is met, ratio
        (line,) = [line for line in done.stdout.splitlines() if line.startswith(ratio["what"])]
        assert line.endswith("ok" if met else "ABOVE THE BAR"), line
    assert done.returncode == (0 if all(ratio["met"] for ratio in said) else 1)


def test_a_verb_of_the_session_store_is_one_round_trip_by_the_servers_own_count(results):
    _, _, found = results
    assert found["settings"]["round trips of a verb of the session store"] == "1.00"


def test_the_run_is_written_as_json_as_a_page_and_as_a_plot(results):
    _, folder, found = results
    page = (folder / "bench.md").read_text()
    for ratio in found["ratios"]:
        assert f"| {ratio['what']} | {ratio['value']:.2f}{ratio['unit']} |" in page
    plot = ET.fromstring((folder / "rates.svg").read_text())
    drawn = [text.text for text in plot.iter("{http://www.w3.org/2000/svg}text")]
    assert "context commit, 64 sessions" in drawn


def test_a_part_that_does_not_exist_is_refused_with_those_that_do():
    done = bench("--only", "coffee")
    assert done.returncode == 2
    assert "no part coffee; there are calls, " in done.stderr
