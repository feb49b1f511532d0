"""P17: what every kind of call came to, on file, and played again.

A sample that differs is a change of what the library does or says: if it is meant, write the files
anew (the command stands in the failure) and read the difference.
"""

from __future__ import annotations

import pytest

from ascertain import State
from ascertain.rules.decide import Decision, Reason, What, decide
from tests import ledgers
from tests.acceptance import golden
from tests.acceptance.samples import (
    CALLS,
    LOOKUPS,
    TOOLS,
    UNDOS,
    Sample,
    all_samples,
    left_out,
)
from tests.laws.golden import difference

EVERY = [sample for tool in TOOLS for sample in all_samples(tool)]


@pytest.mark.parametrize(
    "call, ledger_kind",
    ledgers.chosen(CALLS, also_on=lambda call: call == "lost_reply"),
    indirect=["ledger_kind"],
)
@pytest.mark.parametrize("tool", TOOLS)
def test_req_P17_a_sample_comes_to_what_is_on_file(tool, call):
    kept = golden.kept_texts(tool)
    changed = []
    for sample in all_samples(tool):
        if sample.call == call:
            changed += _changes(kept, sample)
    story = "\n".join([f"{tool} has changed:", *changed, f"If that is meant: {golden.COMMAND}"])
    assert not changed, story


def _changes(kept, sample):
    old, new = kept[sample.name], golden.played_text(sample)
    lines = difference(old.rstrip("\n"), new.rstrip("\n"))
    return [sample.name, *lines] if lines else []


@pytest.mark.parametrize("tool", TOOLS)
def test_req_P17_every_combination_is_kept_or_left_out_for_a_reason(tool):
    names = [sample.name for sample in all_samples(tool)]
    assert list(golden.kept_texts(tool)) == names
    every = len(CALLS) * len(LOOKUPS) * len(UNDOS)
    assert len(names) + sum(left_out(tool).values()) == every == 90
    text = golden.file_of(tool).read_text(encoding="utf-8")
    assert text.startswith(golden.head(tool))


def test_req_P17_a_compensation_is_called_exactly_where_there_is_something_to_undo():
    for sample in EVERY:
        called = f"undo_{sample.tool} is" in golden.kept_texts(sample.tool)[sample.name]
        assert called == (sample.undo in UNDOS), sample


def test_req_P17_the_files_hold_keys_and_receipts_and_nothing_personal():
    for tool in TOOLS:
        text = golden.file_of(tool).read_text(encoding="utf-8")
        assert "example.org" not in text
        assert text.count('"person": "[masked]"') == len(golden.kept_texts(tool))
        assert text.count("key K1 receipt") == len(golden.kept_texts(tool))
        assert "key K1 receipt R1" in text
        assert "BROKEN" not in text


def test_req_P17_nowhere_on_file_was_anything_done_twice():
    for sample in EVERY:
        told = golden.kept_texts(sample.tool)[sample.name]
        assert "did R1, R2" not in told, sample
        assert told.count("undid") <= 1


BLIND = Sample("charge_card", "lost_reply", "found", "confirmed")
STUCK = Sample("reserve_stock", "confirmed", "found", "refused")


def _repeats_blindly(view):
    said = decide(view)
    asks = view.state is State.UNKNOWN and said.what is What.LOOK_UP
    return Decision(What.RESEND, Reason.SAME_KEY) if asks else said


def _never_undoes(view):
    said = decide(view)
    return Decision(What.DONE, Reason.SETTLED) if said.what is What.COMPENSATE else said


@pytest.mark.parametrize(
    "sample, wrong, shows",
    [
        (BLIND, _repeats_blindly, "did R1, R2"),
        (STUCK, _never_undoes, "reserve_stock is confirmed (receipt)"),
    ],
    ids=["a blind repeat", "no compensation"],
)
def test_req_P17_a_rule_made_wrong_is_noticed(monkeypatch, sample, wrong, shows):
    kept = golden.kept_texts(sample.tool)
    assert not _changes(kept, sample)
    monkeypatch.setattr("ascertain.flow.pursue.decide", wrong)
    changed = _changes(kept, sample)
    assert any(line.startswith("+") and shows in line for line in changed), changed


def test_req_P17_a_mask_that_is_lost_is_noticed(monkeypatch):
    kept = golden.kept_texts(BLIND.tool)
    monkeypatch.setattr("tests.acceptance.play.REDACTED", ())
    assert any("ann@example.org" in line for line in _changes(kept, BLIND))
