"""The runner finds what is wrong: an expectation that does not hold, a rule that is broken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ascertain.rules import budget
from tests.cases.reported_sending import CASES
from tests.cases.runner import play_all
from tests.cases.tables import Told

pytestmark = pytest.mark.timeout(120)
BY_ID = {case.id: case for case in CASES}
LOST = BY_ID["K08-6"]


def played(case, folder):
    return play_all([case], folder)[case.id]


def expecting(**row):
    """The case of the closed connection, with another expectation of its unknown action."""
    first, second = LOST.ledger
    return replace(LOST, ledger=(first, replace(second, **row)))


@pytest.mark.parametrize(
    "case, said",
    [
        (
            replace(LOST, effects={"post_entry/n2": 2}),
            "happened 1 times at the provider, must be 2",
        ),
        (replace(LOST, posts={"post_entry": 1}), "2 creates came to the provider, must be 1"),
        (expecting(state="confirmed"), "state is 'unknown' in the ledger, must be 'confirmed'"),
        (expecting(sends=2), "sends is 1 in the ledger, must be 2"),
        (expecting(count=2), "the ledger has 1 actions for post_entry/n2, must have 2"),
        (expecting(events=("rewritten",)), "no event 'rewritten'"),
        (
            replace(LOST, play=(replace(LOST.play[1], then=Told(state="rejected", how="bound")),)),
            "state is 'unknown' and must be 'rejected'",
        ),
    ],
    ids=["effects", "posts", "state", "sends", "count", "events", "told"],
)
def test_an_expectation_that_does_not_hold_is_named(tmp_path, case, said):
    ended = played(case, tmp_path)
    assert any(said in text for text in ended.wrong), ended
    assert "what really happened there:" in ended.story


def test_a_library_that_repeats_blindly_is_found_out(tmp_path, monkeypatch):
    """Two charges under one wish: the effects, the sends and the state are all named."""
    monkeypatch.setattr(budget, "repeatable", lambda contract: True)
    wrong = "\n".join(played(BY_ID["K01-1"], tmp_path).wrong)
    assert "charge_card happened 2 times at the provider, must be 1" in wrong
    assert "charge_card: 2 effects of the key" in wrong
