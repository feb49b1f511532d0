"""What is known of each item of a batch, and when a batch that was taken on is asked for."""

import pytest

from ascertain.model.contract import Contract
from ascertain.model.outcome import Effect, Report
from ascertain.model.words import Accepted, Found, FoundItems, Items, Receipt, Refused
from ascertain.rules.news.classify import classify
from ascertain.rules.news.items import item_facts
from tests.pure.stand_ins import NOW

ORDERS = Contract(tool="cancel_orders", noun="orders", items="orders")


def facts(said):
    (fact,) = item_facts(Items({"A": said}))
    assert fact.pop("item") == "A"
    return fact


def test_req_U08_an_item_is_told_with_its_own_reference():
    assert facts(Receipt("T1")) == {"state": "confirmed", "provider_ref": "T1"}
    assert facts(Receipt(7)) == {"state": "confirmed", "provider_ref": "7"}
    assert item_facts(FoundItems({"A": Found("T1")})) == [
        {"item": "A", "state": "confirmed", "provider_ref": "T1"}
    ]
    assert facts(Accepted("job-1")) == {"state": "accepted", "handle": "job-1"}


@pytest.mark.parametrize("no_reference", [None, "", " ", ["T1"], "x" * 10_000])
def test_req_U08_what_is_no_reference_is_not_told_as_one(no_reference):
    """A person would be told "ticket None"."""
    assert facts(Receipt(no_reference)) == {"state": "confirmed"}
    assert facts(Accepted(no_reference)) == {"state": "accepted"}


def test_req_U08_a_refusal_is_told_with_its_code_and_whether_it_may_be_tried_again():
    refused = {"state": "rejected", "error_code": "BUSY", "kind": "throttled"}
    assert facts(Refused("BUSY", kind="throttled", retryable=True)) == {
        **refused, "retryable": True,
    }  # fmt: skip
    assert facts(Refused("BUSY", kind="throttled")) == refused


@pytest.mark.parametrize(
    "times, asked_after_s", [((30, 3), 3.0), ((30, "soon"), 5.0), ((-1, 60), 5.0), ((2, None), 2.0)]
)
def test_req_U08_a_batch_that_was_taken_on_is_asked_for_when_its_first_item_may_be_done(
    times, asked_after_s
):
    """A time that is none is no defect of the call: it has been sent, and must end in the truth."""
    told = {f"A{n}": Accepted(f"job-{n}", ask_after_s=time) for n, time in enumerate(times)}
    outcome = classify(Report(value=Items(told)), ORDERS, now=NOW)
    assert (outcome.effect, outcome.handle, outcome.ask_after_s) == (
        Effect.ACCEPTED, "job-0", asked_after_s,
    )  # fmt: skip
