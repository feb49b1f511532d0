"""Approvals as rules: what a digest covers, and which event is an approval that holds."""

import json

import pytest

from ascertain.model.action import EventRecord
from ascertain.model.contract import Approval, Contract
from ascertain.rules.approval import (
    Granted,
    NotGranted,
    asked_for,
    digest_of,
    granted,
    is_last_word,
)
from ascertain.rules.identity import intent_mac
from tests.laws.records import NOW, record

MAC = intent_mac(b"a secret of the tests")
WAITS = record()
ARGUMENTS = '{"amount":5,"order":"A1"}'
DIGEST = digest_of(MAC, WAITS, ARGUMENTS)


def event(n, reason="approved", *, what="note", by="person", **detail):
    said = {"approval": DIGEST, "who": "li", "until": NOW + 10} | detail
    return EventRecord(
        "a1", n, "prepared", what, "prepared", by, reason, 0, 0, NOW, json.dumps(said), b""
    )


@pytest.mark.parametrize(
    "change",
    [
        {"id": "other"}, {"tool": "other"}, {"tenant": "other"}, {"principal": "other"},
        {"session": "other"}, {"key": "other"}, {"contract": "other"},
    ],
    ids=str,
)  # fmt: skip
def test_req_U10_the_digest_names_one_exact_call_of_one_person(change):
    assert digest_of(MAC, WAITS._replace(**change), ARGUMENTS) != DIGEST


def test_req_U10_the_digest_covers_every_argument_and_nothing_that_changes_later():
    assert digest_of(MAC, WAITS, ARGUMENTS.replace("5", "50")) != DIGEST
    later = WAITS._replace(due_at=9.0, review="approval", send_by_at=1.0, n=7, head=b"x")
    assert digest_of(MAC, later, ARGUMENTS) == DIGEST


def test_a_digest_cannot_be_guessed_without_the_secret():
    assert digest_of(intent_mac(b"another secret of tests"), WAITS, ARGUMENTS) != DIGEST


@pytest.mark.parametrize(
    "events, found",
    [
        ([], NotGranted(why="approval")),
        ([event(2)], Granted(2, "li", NOW + 10)),
        ([event(2, until=NOW)], NotGranted(why="approval_expired")),
        ([event(2, until=NOW - 1), event(5)], Granted(5, "li", NOW + 10)),
        ([event(2, approval="other")], NotGranted(why="approval_invalid")),
        ([event(2), event(3, approval="other")], Granted(2, "li", NOW + 10)),
        ([event(2, until="soon")], NotGranted(why="approval_invalid")),
        ([event(2, who=None)], NotGranted(why="approval_invalid")),
        ([event(2, by="call")], NotGranted(why="approval")),
        ([event(2, by="worker")], NotGranted(why="approval")),
        ([event(2, "asked")], NotGranted(why="approval")),
        ([event(2, what="confirm")], NotGranted(why="approval")),
    ],
)
def test_req_U10_only_a_persons_word_on_this_call_that_still_holds_is_an_approval(events, found):
    born = event(1, "approval", what="prepare", by="call")
    assert granted([born, *events], DIGEST, now=NOW) == found


@pytest.mark.parametrize("detail", ["", "approved!", '["approved"]', "null", f'"{DIGEST}"'])
def test_an_event_that_cannot_be_read_approves_nothing_and_hides_no_other(detail):
    unreadable = event(3)._replace(detail=detail)
    assert granted([event(1), unreadable], DIGEST, now=NOW) == Granted(1, "li", NOW + 10)
    assert granted([unreadable], DIGEST, now=NOW) == NotGranted(why="approval_invalid")


@pytest.mark.parametrize(
    "contract, detail, needs",
    [
        (Approval.NONE, {"approval": DIGEST}, False),
        (Approval.ALWAYS, {}, True),
        (Approval.BY_RULE, {"approval": DIGEST}, True),
        (Approval.BY_RULE, {}, False),
    ],
)
def test_req_U10_whether_it_is_needed_is_said_by_the_contract_or_the_first_event(
    contract, detail, needs
):
    first = event(1)._replace(detail=json.dumps(detail))
    said = Contract(tool="t", noun="t", approval=contract)
    assert asked_for(said, [first]) is needs
    assert asked_for(said, []) is (contract is not Approval.NONE)


@pytest.mark.parametrize(
    "events, heard",
    [
        ([], False),
        ([event(2, by="call")], False),
        ([event(2)], True),
        ([event(2), event(3, by="worker")], True),
        ([event(2, "declined", what="withdraw")], False),
        ([event(2), event(3, "declined", what="withdraw")], False),
        ([event(2, who="wang")], False),
        ([event(2, approval="other")], False),
    ],
)
def test_what_a_person_said_last_is_known_when_it_is_said_again(events, heard):
    """The answer to the first time may have been lost."""
    assert is_last_word(events, "approved", by="li", digest=DIGEST) is heard


def test_a_word_that_names_no_call_is_known_by_who_said_it():
    said = [event(2, "declined", what="withdraw", approval=None)]
    assert is_last_word(said, "declined", by="li")
    assert not is_last_word(said, "declined", by="wang")
