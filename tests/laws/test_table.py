"""The transition table: what the design says, what `step` does, and who makes each move."""

from itertools import product

import pytest

from ascertain.model.contract import Contract, LookupPromise
from ascertain.model.outcome import Answer, Effect, Kind, Outcome
from ascertain.model.tables import NOTES, RULES, By, Event, State, rule_of, step, terminal
from ascertain.rules import evidence, fold
from tests.laws.records import NOW, record

# The table of the design, written out a second time: (start, event): end.
DESIGN = {
    (None, "prepare"): "prepared",
    ("prepared", "send"): "sent",
    ("prepared", "withdraw"): "rejected",
    ("sent", "confirm"): "confirmed",
    ("sent", "reject"): "rejected",
    ("sent", "unsend"): "prepared",
    ("sent", "lose"): "unknown",
    ("unknown", "confirm"): "confirmed",
    ("unknown", "reject"): "rejected",
    ("unknown", "send"): "sent",
    ("unknown", "compensate"): "compensated",
    ("rejected", "send"): "sent",
    ("rejected", "withdraw"): "rejected",
    ("confirmed", "compensate"): "compensated",
}
CONTRACT = Contract(tool="t", noun="t", lookup=LookupPromise(absence_final_after_s=1.0))
REFUSED = Outcome(effect=Effect.REFUSED, reason="no", kind=Kind.BUSINESS)


def sent(**more):
    return record(state=State.SENT, attempt=1, first_sent_at=NOW, last_possible_at=NOW, **more)


def unknown(**more):
    return record(state=State.UNKNOWN, attempt=1, doubt=1, first_sent_at=NOW, **more)


def settle(outcome):
    return fold.settle(sent(), CONTRACT, outcome, now=NOW, wait_s=1.0)


def answered(answer):
    return evidence.answered(unknown(), CONTRACT, answer, asked_at=NOW, now=NOW, wait_s=1.0)


def send(start):
    return fold.send(start, CONTRACT, sender="p", lease_until=NOW + 5, now=NOW, by=By.WORKER)


# Who makes each move. Compensation is not built yet: its rows have no maker.
MAKERS = {
    ("prepared", "send"): lambda: send(record()),
    ("prepared", "withdraw"): lambda: fold.withdraw(record(), by=By.CALL, reason="late", now=NOW),
    ("sent", "confirm"): lambda: settle(Outcome(effect=Effect.CONFIRMED, reason="ok")),
    ("sent", "reject"): lambda: settle(REFUSED),
    ("sent", "unsend"): lambda: settle(
        Outcome(effect=Effect.NOT_SENT, reason="refused_connection", retryable=True)
    ),
    ("sent", "lose"): lambda: settle(Outcome(effect=Effect.UNKNOWN, reason="timeout")),
    ("unknown", "confirm"): lambda: answered(Answer(found=True, provider_ref="T900")),
    ("unknown", "reject"): lambda: answered(Answer(refused=True)),
    ("unknown", "send"): lambda: send(unknown()),
    ("rejected", "send"): lambda: send(record(state=State.REJECTED, attempt=1)),
    ("rejected", "withdraw"): lambda: evidence.verdict_not_done(
        record(state=State.REJECTED, attempt=1), evidence="no longer wanted", now=NOW
    ),
}
COMPENSATION = {("unknown", "compensate"), ("confirmed", "compensate")}
BIRTH = {(None, "prepare")}


def pairs():
    return list(product([None, *State], Event))


@pytest.mark.parametrize("start, event", pairs())
@pytest.mark.parametrize("final", [False, True])
def test_step_obeys_the_table_for_every_state_and_event(start, event, final):
    expected = DESIGN.get((start, event))
    if event is Event.NOTE:
        expected = start
    elif start is State.REJECTED and final:
        expected = None
    assert step(start, event, final=final) == expected


def test_the_table_has_the_rows_of_the_design_and_no_others():
    assert {(rule.start, rule.event): rule.end for rule in RULES} == DESIGN
    assert [rule.start for rule in NOTES] == list(State)


@pytest.mark.parametrize("rule", RULES + NOTES, ids=lambda rule: rule.name)
def test_every_row_says_who_and_why(rule):
    assert rule.by
    assert rule.why
    assert rule_of(rule.start, rule.event) is rule
    assert rule.unless_final == (rule.start is State.REJECTED and rule.event is not Event.NOTE)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_row_is_made_by_a_rule_as_its_row_says(rule):
    pair = (rule.start, rule.event)
    if pair in COMPENSATION | BIRTH:
        assert pair not in MAKERS
        return
    made = MAKERS[pair]()
    draft = made.drafts[0]
    assert (draft.start, draft.event, draft.end) == (rule.start, rule.event, rule.end)
    assert made.after.state is rule.end
    assert draft.by in rule.by


@pytest.mark.parametrize("event", [event for event in Event if event is not Event.NOTE])
@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("final", [False, True])
def test_nothing_but_a_compensation_leads_out_of_what_is_settled(state, event, final):
    if terminal(state, final=final):
        out = step(state, event, final=final)
        assert out is None or (event, out) == (Event.COMPENSATE, State.COMPENSATED)
