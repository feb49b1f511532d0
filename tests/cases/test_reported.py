"""Failures that people have reported of other systems, played against this one."""

from __future__ import annotations

import pytest

from ascertain import Ascertain, Budget, KeyFormat
from ascertain.errors import ContractError, WeakKey
from tests import ledgers
from tests.cases import reported_meaning, reported_sending
from tests.cases.tables import shares_its_ledger

CASES = (*reported_sending.CASES, *reported_meaning.CASES)
pytestmark = pytest.mark.timeout(240)  # the first test waits for all of them


@pytest.mark.parametrize(
    "case, ledger_kind", ledgers.chosen(CASES, also_on=shares_its_ledger), indirect=["ledger_kind"]
)
def test_a_reported_failure_does_not_happen_here(played, case):
    ended = played[case.id]
    assert not ended.wrong, "\n".join([*ended.wrong, "", ended.story])


@pytest.mark.parametrize(
    "bounds",
    [
        {"send_deadline_s": float("inf")}, {"send_deadline_s": 0}, {"send_deadline_s": None},
        {"turn_s": float("nan")}, {"horizon_s": float("inf")}, {"backoff_max_s": 0.0},
        {"sends": True},
    ],
)  # fmt: skip
def test_K18_1_a_tool_without_a_deadline_cannot_be_registered(tmp_path, bounds):
    """Nothing waits for ever, and nothing is repeated without a pause."""
    app = Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none")

    with pytest.raises(ContractError, match=f"{next(iter(bounds))}.*nothing waits for ever"):

        @app.tool(budget=Budget(**bounds))
        def hang_up(order_id: str) -> dict:
            return {"id": order_id}


@pytest.mark.parametrize("promise", ["key_lifetime", "send_by", "recount_after"])
def test_K18_1_a_promise_that_never_ends_is_refused(tmp_path, promise):
    """A duration is a number of seconds that passes."""
    app = Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none")

    with pytest.raises(ContractError, match=promise):
        app.tool(**{promise: float("inf")})(lambda order_id: {"id": order_id})


@pytest.mark.parametrize("characters", [10, 23])
def test_K06_6_a_key_too_short_to_tell_two_wishes_apart_is_refused(tmp_path, characters):
    """A mail service takes ten characters exactly: that is no key."""
    app = Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none")

    with pytest.raises(WeakKey, match=f"{characters} characters"):

        @app.tool(key_format=KeyFormat(length=characters), key_lifetime="24h")
        def send_mail(order_id: str) -> dict:
            return {"id": order_id}
