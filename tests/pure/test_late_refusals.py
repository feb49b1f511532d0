"""A refusal of a repeat that was sent late enough speaks for the key, where that is promised."""

from dataclasses import replace

import pytest

from ascertain.model.contract import Contract, LookupPromise, Repeat
from ascertain.model.outcome import Effect, Evidence, Kind, Outcome
from ascertain.model.tables import By, State
from ascertain.rules import budget, evidence, fold
from ascertain.rules.decide import Reason, What, decide
from ascertain.rules.facts import action_facts
from ascertain.rules.view import view_of
from ascertain.runtime.hands import stricter
from tests.laws.records import NOW, record

AFTER_S = 10.0
KEYED = Contract(tool="t", noun="t", repeat=Repeat.BY_KEY)
LATE = replace(KEYED, refusal_final_after_s=AFTER_S)
# Attempt 1 was given up at NOW - 20; attempt 2 left ten seconds later, and is answered now.
AGAIN = record(
    state=State.SENT, attempt=2, doubt=1, sends=1, first_sent_at=NOW - 30,
    last_possible_at=NOW - 20, last_sent_at=NOW - 10, lease_owner="p", lease_until=NOW + 9,
    due_at=NOW + 9, fence=1,
)  # fmt: skip
NO = Outcome(effect=Effect.REFUSED, reason="no", kind=Kind.BUSINESS, code="NO")
IN_DOUBT = record(
    state=State.UNKNOWN, attempt=2, doubt=1, sends=2, refused=1, kind=Kind.BUSINESS,
    first_sent_at=NOW - 30, last_possible_at=NOW - 3,
)  # fmt: skip


def settled(before, contract=LATE, outcome=NO):
    return fold.settle(before, contract, outcome, now=NOW, wait_s=1.0).after


def test_req_U02_a_refusal_of_a_repeat_that_was_sent_late_enough_speaks_for_the_key():
    after = settled(AGAIN)
    assert (after.state, after.final, after.kind, after.doubt) == ("rejected", 1, Kind.BUSINESS, 0)


@pytest.mark.parametrize("kind", [Kind.AUTH, Kind.INVALID, Kind.ALREADY_EXISTS])
def test_so_does_every_refusal_for_good_of_a_provider_that_looks_at_the_key_first(kind):
    assert settled(AGAIN, outcome=NO._replace(kind=kind)).state is State.REJECTED


@pytest.mark.parametrize(
    "before, contract, outcome",
    [
        (AGAIN, KEYED, NO),
        (AGAIN._replace(last_sent_at=NOW - 10.1), LATE, NO),
        (AGAIN._replace(last_possible_at=None), LATE, NO),
        (AGAIN._replace(suspect="q#1"), LATE, NO),
        (AGAIN, replace(LATE, repeat=Repeat.NEVER), NO),
        (AGAIN, LATE, NO._replace(sends=2)),
        (AGAIN, LATE, NO._replace(kind=Kind.THROTTLED, retryable=True)),
        (AGAIN, LATE, NO._replace(kind=Kind.KEY_REUSE)),
    ],
    ids=[
        "nothing is promised", "sent a moment too early", "nobody knows since when",
        "a sender may still live", "no repeat by key", "the client sent by itself again",
        "refused for a while", "the key with other arguments",
    ],
)  # fmt: skip
def test_req_U02_else_it_speaks_for_its_own_attempt_only(before, contract, outcome):
    assert settled(before, contract, outcome).state is State.UNKNOWN


def test_while_a_repeat_is_under_way_it_is_remembered_when_the_doubt_began():
    def send(before):
        return fold.send(
            before, LATE, sender="p", lease_until=NOW + 9, now=NOW, by=By.WORKER
        ).after  # fmt: skip

    assert send(IN_DOUBT).last_possible_at == NOW - 3
    assert send(IN_DOUBT._replace(doubt=0)).last_possible_at is None


def test_a_late_word_of_another_attempt_renews_the_doubt():
    """Its sender was alive until now: a repeat sent before speaks no more."""
    outcome = Outcome(effect=Effect.UNKNOWN, reason="timeout")
    after = evidence.late(
        AGAIN._replace(suspect="q#1"), LATE, outcome, attempt=1, sender="q#1", now=NOW
    ).after
    assert (after.suspect, after.last_possible_at) == ("", NOW)
    assert settled(after).state is State.UNKNOWN


# --------------------------------------------------------------------------------- and until then


def test_a_refusal_in_doubt_is_repeated_as_soon_as_that_can_settle_it():
    said = decide(view_of(IN_DOUBT, LATE, NOW, None))
    assert (said.what, said.reason) == (What.RESEND, Reason.SAME_KEY)
    assert budget.resend_at(IN_DOUBT, LATE) == NOW + 7
    assert action_facts(IN_DOUBT, LATE, NOW)["retry_after_s"] == 7.0


@pytest.mark.parametrize(
    "not_before_at, at", [(None, NOW + 7), (NOW + 1, NOW + 7), (NOW + 60,) * 2]
)
def test_nor_before_the_provider_allows_it(not_before_at, at):
    assert budget.resend_at(IN_DOUBT._replace(not_before_at=not_before_at), LATE) == at


def test_without_a_refusal_a_repeat_waits_for_its_back_off_only():
    lost = IN_DOUBT._replace(refused=0, not_before_at=NOW + 1)
    assert budget.resend_at(lost, LATE) == NOW + 1
    assert budget.resend_at(IN_DOUBT._replace(not_before_at=NOW + 1), KEYED) == NOW + 1
    assert budget.resend_at(IN_DOUBT._replace(last_possible_at=None), LATE) is None


@pytest.mark.parametrize(
    "before, contract, reason",
    [
        (IN_DOUBT, KEYED, Reason.CANNOT_ASK),
        (IN_DOUBT._replace(suspect="q#1"), LATE, Reason.CANNOT_ASK),
        (IN_DOUBT._replace(kind=Kind.KEY_REUSE), LATE, Reason.CANNOT_ASK),
        (IN_DOUBT._replace(attempt=6, sends=6), LATE, Reason.BUDGET_SPENT),
    ],
)
def test_what_no_repeat_can_settle_goes_to_a_person(before, contract, reason):
    said = decide(view_of(before, contract, NOW, None))
    assert (said.what, said.reason) == (What.REVIEW, reason)


def test_who_can_be_asked_is_asked_instead():
    asked = replace(LATE, lookup=LookupPromise(absence_final_after_s=5.0))
    assert view_of(IN_DOUBT, asked, NOW, None).refused
    absent = IN_DOUBT._replace(evidence=Evidence.ABSENT_FINAL)
    assert decide(view_of(absent, asked, NOW, None)).what is What.CLOSE
    mute = IN_DOUBT._replace(unanswered=asked.budget.unanswered, evidence=Evidence.UNANSWERED)
    assert decide(view_of(mute, asked, NOW, None)).reason is Reason.SAME_KEY


@pytest.mark.parametrize(
    "stored_s, now_s, kept_s",
    [(5.0, 9.0, 9.0), (9.0, 5.0, 9.0), (None, 5.0, None), (5.0, None, None)],
)
def test_an_open_action_keeps_the_stricter_of_two_promises(stored_s, now_s, kept_s):
    stored = replace(KEYED, refusal_final_after_s=stored_s)
    now = replace(KEYED, refusal_final_after_s=now_s)
    assert stricter(stored, now).refusal_final_after_s == kept_s
