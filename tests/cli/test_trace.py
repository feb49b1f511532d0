"""`ascertain trace`: the five questions, answered from what the ledger holds."""

import json

import pytest

from ascertain.model.contract import Contract
from ascertain.model.outcome import Kind
from ascertain.model.tables import Event, State
from ascertain.report.trace import QUESTIONS, trace
from ascertain.report.wishes import find_wish
from ascertain.store.ledger import Advanced, Reserved
from ascertain.store.open import open_ledger
from ascertain.testing.conformance import samples
from tests.cli import shop as shops

LEDGER = ("--ledger", "sqlite:///ledger.db")
NOW = samples.NOW
TICKETS = Contract(tool="create_ticket", noun="ticket", identity=("order_id",))
FILLED = {"order_id": {"key": "order_id", "version": 3, "from": "find_order", "age_s": 2.0}}


@pytest.fixture
def ledger(tmp_path):
    ledger = open_ledger(f"sqlite:///{tmp_path}/ledger.db")
    yield ledger
    ledger.close()


def store(ledger, intent, *more, at=NOW, prepare=None, **changes):
    """An action of the chain, whose first event has these details."""
    record = samples.wanted(intent, chain="c1", created_at=at, updated_at=at, **changes)
    operation = samples.reserve(record, *more)
    first = samples.PREPARE._replace(detail=prepare or {})
    operation = type(operation)(
        record=operation.record, drafts=(first, *operation.drafts[1:]),
        arguments=operation.arguments, contract_json=TICKETS.as_json(),
    )  # fmt: skip
    return samples.submit(ledger, operation, Reserved).record


def confirmed(ledger, intent, at=NOW, **changes):
    record = store(ledger, intent, samples.SEND, at=at, attempt=1, **changes)
    operation = samples.confirm(record, ref=f"T-{intent}")
    return samples.submit(ledger, operation, Advanced).record


def answers(ledger, place=0):
    wish = find_wish(ledger, "c1", NOW - 60)
    traced = trace(ledger, wish, NOW + 60)[place]
    return {answer.about: (answer.fine, answer.sentence) for answer in traced.answers}


def test_req_S14_a_call_that_took_its_argument_from_the_context(ledger):
    confirmed(ledger, "1", prepare={"context": FILLED})
    told = answers(ledger)
    assert told["input"] == (True, "Yes: issue from the call and order_id from the context.")
    assert told["context"] == (
        True, "Yes: order_id is order_id version 3 of find_order, 2 s old."
    )  # fmt: skip
    assert told["arguments"][0]
    assert "never changed; sent once with these. Digest exact-1." in told["arguments"][1]
    assert told["overwritten"] == (True, "No.")
    assert told["written"][0]
    assert "after the call was stored" in told["written"][1]


def test_req_S14_a_tier_that_was_taken_is_told_with_its_cause(ledger):
    gate = [{"tier": "wait", "key": "order_id", "cause": "pending", "waited_s": 0.5}]
    confirmed(ledger, "1", prepare={"context": FILLED, "gate": gate})
    assert "wait order_id for 500 ms (pending)" in answers(ledger)["context"][1]


def test_req_S14_what_was_too_old_and_read_anew_is_found(ledger):
    gate = [{"tier": "requery", "key": "order_state", "cause": "stale", "waited_s": 0.1}]
    confirmed(ledger, "1", prepare={"gate": gate})
    fine, sentence = answers(ledger)["overwritten"]
    assert fine is False
    assert "order_state was too old or had changed" in sentence


def test_req_S14_what_is_written_down_by_key_is_read_too(ledger):
    told = {
        "context": {"order_id": 3},
        "writers": {"order_id": "a-1"},
        "filled": ["order_id"],
        "tiers": [["wait", "order_id", 500], ["read", "order_id", "find_order", "confirmed"],
                  ["again", "stale_context"]],
    }  # fmt: skip
    confirmed(ledger, "1", prepare=told)
    said = answers(ledger)
    assert said["input"] == (True, "Yes: issue from the call and order_id from the context.")
    assert said["context"] == (
        True,
        (
            "Yes: order_id version 3 of a-1; wait order_id for 500 ms (pending); read order_id "
            "(find_order confirmed); again (stale_context)."
        ),
    )
    assert said["overwritten"][0] is False


def test_req_S14_a_call_that_was_held_says_for_which_keys(ledger):
    withdraw = samples.draft(
        State.PREPARED, Event.WITHDRAW, State.REJECTED, reason="context_pending"
    )
    held = {"held": {"reason": "context_pending", "keys": ["order_id", "order_state"]}}
    store(ledger, "1", withdraw, final=1, kind=Kind.WITHDRAWN, reason="context_pending",
          prepare=held)  # fmt: skip
    assert answers(ledger)["context"] == (
        False, "No: hold order_id, order_state (context_pending)."
    )  # fmt: skip


@pytest.mark.parametrize("detail", [{"context": 3}, {"gate": {}}, {"tiers": [[], "x", ["odd"]]},
                                    {"held": []}, {"context": {"a": {}}}])  # fmt: skip
def test_details_that_nobody_expects_harm_nothing(ledger, detail):
    confirmed(ledger, "1", prepare=detail)
    assert len(answers(ledger)) == 5


def test_req_S14_a_value_that_changed_later_is_told_and_no_fault_of_the_call(ledger):
    confirmed(ledger, "1", prepare={"context": FILLED})
    later = {"order_id": {**FILLED["order_id"], "version": 4}}
    confirmed(ledger, "2", at=NOW + 5, prepare={"context": later})
    assert answers(ledger)["overwritten"] == (
        True, "Not before the call; since then: order_id was version 3 here and 4 later."
    )  # fmt: skip


def test_req_S14_a_call_that_was_blocked_says_why(ledger):
    withdraw = samples.draft(
        State.PREPARED, Event.WITHDRAW, State.REJECTED, reason="context_missing"
    )
    gate = [{"tier": "ask", "key": "order_id", "cause": "missing"}]
    store(ledger, "1", withdraw, final=1, kind=Kind.WITHDRAWN, reason="context_missing",
          prepare={"gate": gate})  # fmt: skip
    told = answers(ledger)
    assert told["input"][0] is False
    assert told["context"] == (False, "No: ask order_id (missing).")
    assert told["overwritten"][0] is True


def test_req_S14_a_result_written_after_the_next_call_began_is_late(ledger):
    confirmed(ledger, "1")
    confirmed(ledger, "2", at=NOW + 0.5)
    fine, sentence = answers(ledger)["written"]
    assert fine is False
    assert "the next call had begun 500 ms before" in sentence
    assert answers(ledger, 1)["written"][0] is True


def test_req_S14_what_is_not_written_back_yet_is_said(ledger):
    record = store(ledger, "1", samples.SEND, attempt=1)
    samples.submit(ledger, samples.lose(record), Advanced)
    assert answers(ledger)["written"] == (None, "Not yet: it is unknown.")


def test_req_S14_one_command_follows_a_chain(cli, here):
    shop = shops.make()
    with shop.app.session("chat-42", principal="u7", turn="t1"):
        shop.create_ticket("A123")
        shop.send_note("hello")
    shop.app.close()
    done = cli("trace", "chat-42/t1", *LEDGER)
    assert done.code == 0, done.complained
    assert all(question in done.said for question in QUESTIONS.values())
    assert "1. create_ticket confirmed" in done.said
    told = json.loads(cli("trace", "chat-42/t1", *LEDGER, "--json").out)
    assert [len(call["answers"]) for call in told["calls"]] == [5, 5]
    assert told["calls"][0]["late_s"] > 0
    assert told["calls"][1]["written_at"] is None
