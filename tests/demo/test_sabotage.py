"""One rule of the library replaced: the demo notices, says which invariant, and counts."""

import re
from concurrent.futures import ThreadPoolExecutor
from unicodedata import east_asian_width

import pytest

from ascertain.demo import run_demo
from ascertain.demo.sabotage import SABOTAGES
from ascertain.demo.stories import STORIES
from ascertain.errors import ContractError
from tests.demo.parts import play

# Each is printed in another way, so that no run is needed only to look at the paper.
HOW = {
    "new-key": {"columns": 80},
    "blind-resend": {"columns": 120, "NO_COLOR": "1"},
    "say-failed": {"columns": 120, "colour": True},
    "forget-doubt": {"columns": 170},
    "drop-fence": {"as_json": True},
    "forget-direction": {"columns": 100},
    "stale-context": {"columns": 120},
}
FINDINGS = {
    "new-key": [
        r"^NoDuplicateEffect: 2 effects for 1 intent \(A124\): T900, T901$",
        r"^KeyStability: 2 keys for 1 intent \(A124\)$",
    ],
    "blind-resend": [r"^NoDuplicateEffect: 2 effects for 1 intent \(A200\): N500, N501$"],
    "say-failed": [
        r"^NoLie: 1 false entry .* T900 \(A123\)$",
        r"^ModelTruth: 1 false statement: told rejected, the provider has T900 \(A123\)$",
    ],
    "forget-doubt": [
        r"^NoLie: 1 false entry .* X100 \(A128\)$",
        r"^ModelTruth: 1 false statement: told rejected, the provider has X100 \(A128\)$",
    ],
    "drop-fence": [
        r"^NoLie: 1 false entry .* T900 \(F500\)$",
        r"^SingleWinner: 2 attempts, the action stands at 1 \(F500\)$",
        r"^ModelTruth: 1 false statement: told rejected, the provider has T900 \(F500\)$",
    ],
    "forget-direction": [
        r"^NoForwardSend: notice had 1 forward send after the chain had turned \(G600\)$",
        r"^NoForwardSend: by the ledger, send_notice: sent forward after its chain had turned$",
    ],
    "stale-context": [r"^NeverStaleContext: \d+ effects? for orders? that nobody meant: P"],
}
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def played():
    with ThreadPoolExecutor(2) as pool:
        runs = {name: pool.submit(play, name, **how) for name, how in HOW.items()}
        return {name: run.result() for name, run in runs.items()}


def lines(run):
    if run.out.startswith("{"):
        return [one["line"] for one in run.report["findings"]]
    return ESCAPE.sub("", run.out).splitlines()


def wide(line):
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in line)


@pytest.mark.parametrize("name", SABOTAGES)
def test_the_demo_notices_and_names_the_invariant_with_its_counts(played, name):
    run = played[name]
    assert run.code == 1, run.errors
    for pattern in FINDINGS[name]:
        assert any(re.search(pattern, line) for line in lines(run)), "\n".join(lines(run)[-12:])


@pytest.mark.parametrize("name", SABOTAGES)
def test_only_the_story_that_it_breaks_is_played(played, name):
    run, story = played[name], STORIES[SABOTAGES[name].story]
    if run.out.startswith("{"):
        assert [one["id"] for one in run.report["stories"]] == [story.id]
    else:
        heads = [line for line in lines(run) if line.startswith("── ")]
        assert [head.split()[1] for head in heads] == [story.id]
        assert heads[0].endswith("DISAGREES")


def test_the_last_line_has_the_totals(played):
    assert lines(played["new-key"])[-2].startswith("duplicates 1, false statements 1, lost ")
    assert lines(played["blind-resend"])[-1].startswith("duplicates 1, false statements 0, lost ")
    assert "this does NOT agree" in lines(played["forget-doubt"])[-1]
    assert played["drop-fence"].report["totals"]["false_statements"] == 2


def test_the_replaced_rule_is_said(played):
    for name in SABOTAGES.keys() - {"drop-fence"}:  # that one is JSON
        first = " ".join(lines(played[name])[:2])
        assert first.startswith(f"Sabotage {name}: {SABOTAGES[name].rule[:40]}")


@pytest.mark.parametrize(
    "name, columns", [("new-key", 80), ("forget-direction", 100), ("blind-resend", 120)]
)
def test_it_reads_at_this_width(played, name, columns):
    too_wide = [line for line in lines(played[name]) if wide(line) > columns]
    assert too_wide == []


def test_at_eighty_columns_the_views_are_stacked(played):
    assert "│" not in played["new-key"].out
    titles = ["THE MODEL WAS TOLD", "THE PERSON SEES", "THE LEDGER", "THE PROVIDER REALLY DID"]
    assert [line for line in lines(played["new-key"]) if line in titles] == titles


def test_with_room_the_views_are_side_by_side(played):
    two = [line for line in lines(played["blind-resend"]) if line.startswith("THE ")]
    assert [line.count("│") for line in two] == [1, 1]
    four = [line for line in lines(played["forget-doubt"]) if line.startswith("THE MODEL")]
    assert [line.count("│") for line in four] == [3]


def test_colour_is_there_when_asked_and_only_then(played):
    assert "\x1b[31m" in played["say-failed"].out
    for name in HOW.keys() - {"say-failed"}:
        assert "\x1b" not in played[name].out
        assert "\x1b" not in played[name].errors


def test_a_sabotage_that_does_not_exist_is_refused_with_the_list():
    with pytest.raises(ContractError, match="no sabotage 'all'") as caught:
        run_demo("all")
    assert all(name in caught.value.advice for name in SABOTAGES)
