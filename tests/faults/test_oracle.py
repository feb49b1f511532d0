"""The oracle itself: on provider files written by hand, good ends pass and bad ones are told.

Each provider file is a short list of what happened; times are seconds after `NOW`.
"""

import ast
import json
import sqlite3
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults import oracle
from tests.faults.evidence import Cell, Promise, Said, Statement, read_evidence
from tests.faults.oracle import faults, lost_actions, required_end

NOW = time.time() - 1000
KEY, ARGS = "key-7", {"order_id": "A123", "issue": "noise"}

KEY_AND_LOOKUP = Promise(key=True, key_lifetime_s=3600, lookup=True, absence_final_after_s=5)
KEY_ONLY = Promise(key=True, key_lifetime_s=3600)
LOOKUP_ONLY = Promise(lookup=True, absence_final_after_s=5)
FENCING = Promise(lookup=True, fences=True)
NEITHER = Promise()
FIVE = {
    "key_and_lookup": KEY_AND_LOOKUP,
    "key_only": KEY_ONLY,
    "lookup_only": LOOKUP_ONLY,
    "fencing": FENCING,
    "neither": NEITHER,
}


class ProviderFile:
    """A provider's file, written by hand."""

    def __init__(self, path: Path):
        self.path = path
        with closing(sqlite3.connect(path)) as db:
            db.executescript(
                "PRAGMA synchronous = OFF;"
                "CREATE TABLE arrivals (number INTEGER PRIMARY KEY, received_at, method,"
                " collection, key, args, behaviour, answered, answered_at, code, retry_after_s);"
                "CREATE TABLE effects (number INTEGER PRIMARY KEY, collection, ref, key,"
                " received_at, executed_at, arrival);"
                "CREATE TABLE due (arrival, collection, ended_at);"
                "CREATE TABLE placed (collection, ref);"
            )

    def _do(self, sql, *values):
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute("PRAGMA synchronous = OFF")  # nobody is killed here
            return db.execute(sql, values).lastrowid

    def post(self, at, answered, behaviour="ok", code=None, *, key=KEY, args=ARGS, took=0.01,
             retry_after_s=None):  # fmt: skip
        return self._do(
            "INSERT INTO arrivals (received_at, method, collection, key, args, behaviour, answered,"
            " answered_at, code, retry_after_s) VALUES (?, 'POST', 'tickets', ?, ?, ?, ?, ?, ?, ?)",
            NOW + at, key, args and json.dumps(args), behaviour, answered, NOW + at + took, code,
            retry_after_s,
        )  # fmt: skip

    def effect(self, arrival, at, ref="T900", *, key=KEY, received=None):
        self._do(
            "INSERT INTO effects (collection, ref, key, received_at, executed_at, arrival)"
            " VALUES ('tickets', ?, ?, ?, ?, ?)",
            ref, key, NOW + (at if received is None else received), NOW + at, arrival,
        )  # fmt: skip

    def created(self, at, answered="201", behaviour="ok", ref="T900", **more):
        """A create with its effect."""
        self.effect(self.post(at, answered, behaviour, **more), at, ref, key=more.get("key", KEY))

    def look(self, at, code, answered="200", *, key=KEY):
        self._do(
            "INSERT INTO arrivals (received_at, method, collection, key, behaviour, answered,"
            " answered_at, code) VALUES (?, 'GET', 'tickets', ?, 'ok', ?, ?, ?)",
            NOW + at, key, answered, NOW + at, code,
        )  # fmt: skip

    def landing(self, arrival):
        self._do("INSERT INTO due VALUES (?, 'tickets', NULL)", arrival)

    def place(self, ref):
        self._do("INSERT INTO placed VALUES ('tickets', ?)", ref)

    def evidence(self, key=KEY):
        return read_evidence(self.path, "tickets", {"order_id": "A123"}, key)


@pytest.fixture
def provider(tmp_path):
    return ProviderFile(tmp_path / "provider.db")


def said(state, ref=None, **more):
    return Said(state=state, provider_ref=ref, key=KEY, **more)


def told(at, state, ref=None, *, final=False):
    return Statement(
        asked_at=NOW + at, at=NOW + at, state=state, final=final, provider_ref=ref
    )  # fmt: skip


CONFIRMED = said("confirmed", "T900")
IN_REVIEW = said("unknown", review_open=True, review_opened=True)
ABSENT = said("rejected", final=True, kind="absent")


def refused(kind, **more):
    return said("rejected", final=True, kind=kind, **more)


def assert_good(cell, provider, end):
    assert faults(cell, provider.evidence(), end) == []


def assert_told(cell, provider, end, *words):
    """The oracle finds a fault, and its sentences say what it is about."""
    found = faults(cell, provider.evidence(), end)
    story = "\n".join(found) or "no fault found"
    assert found, story
    assert all(word in story for word in words), f"{words} not in:\n{story}"


# ------------------------------------------------------------------------------ independence


def test_the_oracle_imports_nothing_of_the_library():
    folder = Path(oracle.__file__).parent
    for name in ("oracle.py", "lessons.py", "evidence.py"):
        tree = ast.parse((folder / name).read_text())
        modules = {
            node.module if isinstance(node, ast.ImportFrom) else alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        foreign = {m for m in modules if m.partition(".")[0] not in sys.stdlib_module_names}
        assert foreign <= {"tests.faults.evidence", "tests.faults.lessons"}


# --------------------------------------------------------------------- the plain ends of a cell


@pytest.mark.parametrize("promise", FIVE.values(), ids=FIVE)
def test_a_definite_answer_must_be_confirmed(provider, promise):
    provider.created(1)
    cell = Cell(promise=promise)
    assert_good(cell, provider, CONFIRMED)
    assert_told(cell, provider, IN_REVIEW, "must be confirmed", "a person was asked")
    assert_told(cell, provider, refused("business"), "NoLie", "T900")
    assert_told(cell, provider, said("confirmed", "T901"), "NoLie", "T900")
    assert_told(cell, provider, said("confirmed"), "NoLie")


@pytest.mark.parametrize("promise", FIVE.values(), ids=FIVE)
def test_a_business_refusal_must_be_rejected(provider, promise):
    provider.post(1, "409", "business_refusal", "OPEN_TICKET_EXISTS")
    provider.place("T850")
    cell = Cell(promise=promise)
    assert_good(cell, provider, refused("already_exists", related_ref="T850"))
    assert_told(cell, provider, refused("already_exists", related_ref="T851"), "T851")
    assert_told(cell, provider, refused("auth"), "OPEN_TICKET_EXISTS")
    assert_told(cell, provider, IN_REVIEW, "must be rejected")
    assert_told(cell, provider, said("confirmed", "T850"), "nothing had happened")


@pytest.mark.parametrize(
    "promise, right",
    [
        (KEY_AND_LOOKUP, "confirmed"),
        (KEY_ONLY, "confirmed"),
        (LOOKUP_ONLY, "confirmed"),
        (FENCING, "confirmed"),
        (NEITHER, "unknown"),
    ],
    ids=FIVE,
)
def test_a_lost_reply_ends_in_what_could_be_learnt(provider, promise, right):
    provider.created(1, "reset", "reply_lost")
    cell = Cell(promise=promise, behaviours=("reply_lost",))
    good, bad = (CONFIRMED, IN_REVIEW) if right == "confirmed" else (IN_REVIEW, ABSENT)
    assert required_end(cell, provider.evidence()).states == {right}
    assert_good(cell, provider, good)
    assert_told(cell, provider, bad)
    assert_told(cell, provider, said("unknown"), "unknown")


@pytest.mark.parametrize(
    "promise, right",
    [
        (KEY_AND_LOOKUP, "confirmed"),
        (KEY_ONLY, "confirmed"),
        (LOOKUP_ONLY, "rejected"),
        (FENCING, "rejected"),
        (NEITHER, "unknown"),
    ],
    ids=FIVE,
)
def test_a_lost_request_must_be_repeated_or_proven_absent(provider, promise, right):
    provider.post(1, "reset", "request_lost")
    provider.look(7, "absent") if promise.lookup else None
    cell = Cell(promise=promise, behaviours=("request_lost",))
    assert required_end(cell, provider.evidence()).states == {right}
    end = {"rejected": ABSENT, "unknown": IN_REVIEW}.get(right)
    if end is None:  # with a key it must be sent again: any end without effect is a fault
        assert_told(cell, provider, IN_REVIEW, "the same key should have been sent again")
        provider.created(8)
        end = CONFIRMED
    assert_good(cell, provider, end)


def test_a_stranded_unknown_is_a_fault_and_a_best_effort_one_is_none(provider):
    provider.created(1, "reset", "reply_lost")
    cell = Cell(promise=NEITHER)
    assert_told(cell, provider, said("unknown"), "stranded")
    assert_told(cell, provider, said("unknown", planned=True), "stranded")
    assert_told(cell, provider, said("sent"), "must be unknown")
    assert_good(Cell(promise=replace(NEITHER, leave=True)), provider, said("unknown"))


# ----------------------------------------------------------------------------------- duplicates


@pytest.mark.parametrize("promise", [LOOKUP_ONLY, FENCING, NEITHER])
def test_a_blind_resend_is_a_fault_with_and_without_a_second_effect(provider, promise):
    provider.post(1, "reset", "request_lost")
    provider.created(2)
    cell = Cell(promise=promise, behaviours=("request_lost",))
    assert_told(cell, provider, CONFIRMED, "blind resend")
    provider.created(3, ref="T901")
    assert_told(cell, provider, CONFIRMED, "NoDuplicateEffect: 2 effects by our doing", "T901")


def test_a_new_key_is_a_fault_with_its_story(provider):
    provider.created(1, "reset", "reply_lost")
    provider.created(2, ref="T901", key="key-8")
    cell = Cell(promise=KEY_AND_LOOKUP)
    end = Said(state="confirmed", provider_ref="T901", key="key-8")
    assert_told(cell, provider, end, "KeyStability", "key-8", "NoDuplicateEffect: 2 effects")


def test_the_same_key_with_another_amount_is_a_fault(provider):
    provider.created(1, "reset", "reply_lost")
    provider.post(2, "422", code="key_reused", args={**ARGS, "amount": 2})
    assert_told(Cell(promise=KEY_ONLY), provider, CONFIRMED, "changing arguments")


def test_a_create_whose_body_was_cut_off_has_no_other_arguments(provider):
    """The caller gave up while it was still being sent; the same is sent again."""
    provider.post(1, "reset", "request_lost", args=None)
    provider.created(2)
    assert_good(Cell(promise=KEY_AND_LOOKUP), provider, CONFIRMED)


def test_a_key_is_not_sent_after_its_lifetime(provider):
    provider.created(1, "reset", "reply_lost")
    provider.created(4000, ref="T901")
    assert_told(Cell(promise=KEY_ONLY), provider, CONFIRMED, "lifetime", "by our doing")


def test_a_key_that_ran_out_ends_in_review(provider):
    provider.created(1, "reset", "reply_lost")
    cell = Cell(promise=replace(KEY_ONLY, key_lifetime_s=60))
    assert_good(cell, provider, IN_REVIEW)


@pytest.mark.parametrize("promise", [LOOKUP_ONLY, FENCING])
def test_a_double_of_the_network_must_be_noticed_where_one_can_look(provider, promise):
    arrival = provider.post(1, "201", "duplicate_delivery")
    provider.effect(arrival, 1)
    provider.effect(arrival, 1.1, "T901")
    cell = Cell(promise=promise, behaviours=("duplicate_delivery",))
    assert_told(cell, provider, CONFIRMED, "no notice")
    assert_good(cell, provider, replace(CONFIRMED, noticed=True))
    assert_good(cell, provider, replace(CONFIRMED, noticed=True, review_opened=True))
    assert_good(Cell(promise=NEITHER), provider, CONFIRMED)


def test_a_broken_settling_promise_is_the_providers_fault_if_it_is_noticed(provider):
    first = provider.post(1, "reset", "late_execution")
    provider.look(3, "absent")  # settling 1 s
    provider.created(3.1)
    provider.effect(first, 4, "T901", received=1)
    one, five = (replace(LOOKUP_ONLY, absence_final_after_s=s) for s in (1, 5))
    assert_told(Cell(promise=one), provider, CONFIRMED, "no notice")
    assert_good(Cell(promise=one), provider, replace(CONFIRMED, noticed=True))
    # With 5 s promised the look-up after 2 s proved nothing: the double is ours.
    noticed = replace(CONFIRMED, noticed=True)
    assert_told(Cell(promise=five), provider, noticed, "blind resend", "by our doing")


def test_a_key_that_does_not_deduplicate_is_the_providers_fault(provider):
    provider.created(1, "reset", "reply_lost")
    provider.created(2, ref="T901")
    assert_told(Cell(promise=KEY_AND_LOOKUP), provider, CONFIRMED, "no notice")
    assert_good(Cell(promise=KEY_AND_LOOKUP), provider, replace(CONFIRMED, noticed=True))
    assert_good(Cell(promise=KEY_ONLY), provider, CONFIRMED)


# --------------------------------------------------------------------------- absence as a proof


def test_an_early_absence_proves_nothing(provider):
    provider.post(1, "reset", "request_lost")
    provider.look(3, "absent")
    cell = Cell(promise=LOOKUP_ONLY)
    assert_told(cell, provider, ABSENT, "evidence that proves nothing")
    provider.look(6.5, "absent")
    assert_good(cell, provider, ABSENT)


def test_a_look_up_after_the_resend_does_not_excuse_it(provider):
    provider.post(1, "reset", "request_lost")
    provider.created(7)
    provider.look(8, "absent")
    assert_told(Cell(promise=LOOKUP_ONLY), provider, CONFIRMED, "blind resend")


def test_an_absence_without_settling_time_proves_nothing(provider):
    provider.post(1, "reset", "request_lost")
    provider.look(500, "absent")
    cell = Cell(promise=replace(LOOKUP_ONLY, absence_final_after_s=None))
    assert_told(cell, provider, ABSENT, "must be unknown", "proves nothing")
    assert_good(cell, provider, IN_REVIEW)


def test_a_fence_proves_absence_at_once_even_with_the_sender_alive(provider):
    provider.post(1, "reset", "request_lost")
    provider.look(1.1, "absent")
    assert_good(Cell(promise=FENCING, sender="killed"), provider, ABSENT)
    assert_told(Cell(promise=FENCING, sender="killed"), provider, IN_REVIEW, "must be rejected")


def test_a_look_up_that_says_refused_is_a_proof(provider):
    provider.post(1, "reset", "request_lost")
    provider.look(2, "refused")
    assert_good(Cell(promise=LOOKUP_ONLY), provider, refused("business"))


def test_a_resend_after_final_absence_is_right(provider):
    provider.post(1, "reset", "request_lost")
    provider.look(6.5, "absent")
    provider.created(7)
    assert_good(Cell(promise=LOOKUP_ONLY, sender="gone"), provider, CONFIRMED)
    assert_told(Cell(promise=LOOKUP_ONLY, sender="killed"), provider, CONFIRMED, "blind resend")


def test_giving_up_while_the_look_up_would_have_answered_is_a_fault(provider):
    provider.created(1, "reset", "reply_lost")
    provider.look(2, "INTERNAL", answered="500")
    cell = Cell(promise=LOOKUP_ONLY, lookups=("error_500",))
    assert_told(cell, provider, IN_REVIEW, "the look-up finds it")
    dead = Cell(promise=LOOKUP_ONLY, lookups=("error_500", "hang"))
    assert_good(dead, provider, IN_REVIEW)
    spent = Cell(promise=replace(LOOKUP_ONLY, unanswered=1), lookups=("error_500", "hang"))
    assert_good(spent, provider, IN_REVIEW)
    unspent = Cell(promise=replace(LOOKUP_ONLY, unanswered=3), lookups=("error_500", "hang"))
    assert_told(unspent, provider, IN_REVIEW, "must be confirmed")


# ------------------------------------------------------------------------- refusals and doubt


def test_a_refusal_after_a_lost_reply_does_not_prove_absence(provider):
    provider.created(1, "reset", "reply_lost")
    provider.post(2, "403", "forbidden_403", "FORBIDDEN")
    cell = Cell(promise=KEY_ONLY, behaviours=("reply_lost", "forbidden_403"))
    assert_told(cell, provider, refused("auth"), "NoLie", "T900")
    assert_good(cell, provider, IN_REVIEW)
    assert_good(Cell(promise=KEY_AND_LOOKUP), provider, CONFIRMED)


def test_a_refusal_after_a_lost_request_is_no_proof_even_if_it_happens_to_be_right(provider):
    provider.post(1, "reset", "request_lost")
    provider.post(2, "403", "forbidden_403", "FORBIDDEN")
    assert_told(Cell(promise=KEY_ONLY), provider, refused("auth"), "must be unknown")
    covering = Cell(promise=replace(KEY_ONLY, refusal_covers_key=True))
    assert_good(covering, provider, refused("auth"))
    assert_told(covering, provider, IN_REVIEW, "must be rejected")


def test_a_refusal_heard_by_nobody_allows_no_second_send_without_a_key(provider):
    provider.post(1, "403", "forbidden_403", "FORBIDDEN")
    provider.post(2, "403", "forbidden_403", "FORBIDDEN")
    cell = Cell(promise=NEITHER, sender="gone", died_at=NOW + 1.5)
    assert_told(cell, provider, refused("auth"), "blind resend")
    assert_good(Cell(promise=KEY_ONLY, sender="gone", died_at=NOW + 1.5, behaviours=()), provider,
                IN_REVIEW)  # fmt: skip


def test_a_503_proves_nothing_unless_promised(provider):
    provider.post(1, "503", "unavailable_503_before", "UNAVAILABLE")
    promised = replace(NEITHER, refuses_unprocessed=True)
    assert_good(Cell(promise=NEITHER), provider, IN_REVIEW)
    assert_told(Cell(promise=NEITHER), provider, refused("unavailable"), "must be unknown")
    assert_told(Cell(promise=promised), provider, IN_REVIEW, "it should have been sent again")
    provider.created(2)
    assert_good(Cell(promise=promised), provider, CONFIRMED)
    assert_told(Cell(promise=NEITHER), provider, CONFIRMED, "blind resend")


def test_an_effect_behind_a_promised_refusal_must_be_noticed(provider):
    provider.created(1, "503", "unavailable_503_after", code="UNAVAILABLE")
    provider.created(2, ref="T901")
    promise = replace(LOOKUP_ONLY, refuses_unprocessed=True)
    assert_told(Cell(promise=promise), provider, said("confirmed", "T901"), "no notice")
    assert_good(Cell(promise=promise), provider, said("confirmed", "T901", noticed=True))


# ----------------------------------------------------------------------- killed and frozen senders


def test_a_frozen_sender_without_a_key_ends_in_review_with_one_effect(provider):
    cell = Cell(promise=LOOKUP_ONLY, sender="frozen", died_at=NOW + 1)
    provider.look(2, "absent")
    provider.look(8, "absent")
    assert_good(cell, provider, IN_REVIEW)
    assert_told(cell, provider, ABSENT, "must be unknown", "proves nothing")
    provider.created(20)  # it wakes up
    assert_good(replace(cell, unheard=1), provider, IN_REVIEW)
    assert_good(replace(cell, unheard=1), provider, replace(CONFIRMED, review_opened=True))
    assert_told(replace(cell, unheard=1), provider, CONFIRMED, "no review case")
    provider.created(21, ref="T901")
    assert_told(replace(cell, unheard=1), provider, IN_REVIEW, "blind resend", "by our doing")


def test_a_frozen_sender_whose_effect_can_be_found_needs_no_person(provider):
    provider.created(1)
    provider.look(3, "found")
    cell = Cell(promise=LOOKUP_ONLY, sender="frozen", died_at=NOW + 2)
    assert_good(cell, provider, CONFIRMED)
    assert_told(cell, provider, IN_REVIEW, "must be confirmed")


@pytest.mark.parametrize("promise", [KEY_AND_LOOKUP, KEY_ONLY])
def test_with_a_key_a_kill_heals_without_a_person(provider, promise):
    cell = Cell(promise=promise, sender="killed", died_at=NOW + 1)
    assert_told(cell, provider, IN_REVIEW, "should have been sent again")
    provider.created(2)
    assert_good(cell, provider, CONFIRMED)
    assert_told(cell, provider, replace(CONFIRMED, review_opened=True), "a person was asked")


def test_a_kill_after_the_answer_may_have_recorded_it_or_not(provider):
    provider.created(1)
    cell = Cell(promise=NEITHER, sender="gone", died_at=NOW + 2)
    assert_good(cell, provider, IN_REVIEW)
    assert_good(cell, provider, CONFIRMED)
    assert_told(cell, provider, said("unknown"), "stranded")


def test_a_kill_before_the_wire_with_a_plain_look_up(provider):
    provider.look(7, "absent")
    gone = Cell(promise=LOOKUP_ONLY, sender="gone", died_at=NOW + 1)
    assert_good(gone, provider, ABSENT)
    assert_told(gone, provider, IN_REVIEW, "the look-up proves absence")
    assert_good(replace(gone, sender="killed"), provider, IN_REVIEW)
    assert_good(Cell(promise=NEITHER, sender="gone"), provider, IN_REVIEW)


UNSENT = {"sender": "gone", "died_at": NOW + 1, "unsent_at": (NOW + 1,)}


def test_a_send_that_died_before_the_wire_needs_the_proof_of_one_that_was_lost(provider):
    """Nobody can know that it did not leave: settling counts from its sender's death."""
    cell = Cell(promise=LOOKUP_ONLY, **UNSENT)
    provider.look(3, "absent")
    assert_told(cell, provider, ABSENT, "evidence that proves nothing")
    assert_told(cell, provider, IN_REVIEW, "the look-up proves absence")
    provider.look(6.5, "absent")
    assert_good(cell, provider, ABSENT)
    provider.created(7)
    assert_good(cell, provider, CONFIRMED)


@pytest.mark.parametrize("promise", [LOOKUP_ONLY, NEITHER])
def test_a_resend_after_a_send_that_died_before_the_wire_is_blind_without_proof(provider, promise):
    provider.look(3, "absent")
    provider.created(4)
    assert_told(Cell(promise=promise, **UNSENT), provider, CONFIRMED, "blind resend")


@pytest.mark.parametrize("promise", [KEY_AND_LOOKUP, KEY_ONLY])
def test_a_send_that_died_before_the_wire_is_sent_again_by_its_key(provider, promise):
    cell = Cell(promise=promise, **UNSENT)
    assert_told(cell, provider, IN_REVIEW, "the same key should have been sent again")
    provider.created(2)
    assert_good(cell, provider, CONFIRMED)
    assert_told(cell, provider, replace(CONFIRMED, review_opened=True), "a person was asked")


def test_a_send_that_died_before_the_wire_with_nobody_to_ask_ends_before_a_person(provider):
    cell = Cell(promise=NEITHER, **UNSENT)
    assert_good(cell, provider, IN_REVIEW)
    assert_told(cell, provider, ABSENT, "must be unknown")
    assert_told(cell, provider, said("unknown"), "stranded")


def test_a_send_that_died_before_the_wire_counts_against_the_budget(provider):
    provider.created(2)
    cell = Cell(promise=replace(KEY_ONLY, sends=1), **UNSENT)
    assert_told(cell, provider, CONFIRMED, "Budget: 2 creates")
    assert_good(replace(cell, promise=replace(KEY_ONLY, sends=2)), provider, CONFIRMED)


def test_a_look_up_that_misses_after_settling_makes_a_double_that_must_be_noticed(provider):
    provider.created(1, "reset", "lookup_misses_first")
    provider.look(6.5, "absent")
    provider.created(7, ref="T901")
    cell = Cell(promise=LOOKUP_ONLY, sender="gone", died_at=NOW + 2)
    noticed = replace(CONFIRMED, provider_ref="T901", noticed=True)
    assert_told(cell, provider, replace(noticed, noticed=False), "no notice")
    assert_good(cell, provider, noticed)
    assert_good(cell, provider, replace(noticed, review_open=True, review_opened=True))
    patient = replace(cell, promise=replace(LOOKUP_ONLY, absence_final_after_s=6))
    assert_told(patient, provider, noticed, "blind resend", "by our doing")


def test_a_look_up_that_misses_after_settling_excuses_no_silence(provider):
    """Said absent for good, as the provider did; once it is known better, that has to be told."""
    provider.created(1, "reset", "lookup_misses_first")
    provider.look(6.5, "absent")
    cell = Cell(promise=LOOKUP_ONLY, sender="gone", died_at=NOW + 2)
    assert_told(cell, provider, ABSENT, "NoLie", "T900", "must be confirmed")
    assert_good(cell, provider, replace(ABSENT, noticed=True))


def test_a_refusal_that_nobody_lived_to_record_need_not_be_repeated_in_its_words(provider):
    provider.post(1, "403", "forbidden_403", "FORBIDDEN")
    provider.look(7, "absent")
    gone = Cell(promise=LOOKUP_ONLY, sender="gone", died_at=NOW + 2)
    assert_good(gone, provider, ABSENT)
    assert_good(gone, provider, refused("auth"))
    assert_told(Cell(promise=LOOKUP_ONLY), provider, ABSENT, "the provider said FORBIDDEN")


def test_a_person_may_decide_but_not_against_the_truth(provider):
    provider.created(1, "reset", "reply_lost")
    cell = Cell(promise=NEITHER, person=True)
    by_person = {"by_person": True, "review_opened": True}
    assert_good(cell, provider, said("confirmed", "T900", **by_person))
    assert_told(cell, provider, said("rejected", final=True, **by_person), "NoLie")
    assert_told(Cell(promise=NEITHER), provider, said("confirmed", "T900", **by_person))


# ------------------------------------------------------------------------------------- patience


def test_a_retry_after_that_runs_may_be_waited_for_but_not_ignored(provider):
    promise = KEY_ONLY
    provider.post(1, "429", "throttled", "THROTTLED", retry_after_s=5000)
    cell = Cell(promise=promise, behaviours=("throttled",))
    assert_good(cell, provider, said("unknown", planned=True))
    assert_told(cell, provider, said("unknown"), "stranded")
    assert_told(cell, provider, ABSENT, "proves nothing")
    provider.created(3)
    assert_told(cell, provider, CONFIRMED, "Retry-After 5000 s")


def test_a_retry_after_that_has_passed_excuses_nothing(provider):
    provider.post(1, "429", "throttled", "THROTTLED", retry_after_s=60)
    cell = Cell(promise=KEY_ONLY, behaviours=("throttled",))
    assert_told(cell, provider, said("unknown", planned=True), "should have been sent again")


def test_what_is_accepted_is_not_sent_again_meanwhile(provider):
    first = provider.post(1, "202", "accepted_202")
    provider.landing(first)
    cell = Cell(promise=KEY_AND_LOOKUP)
    assert_good(cell, provider, said("unknown", planned=True))
    assert_told(cell, provider, refused("business"), "must be unknown")
    provider.post(2, "202", "ok")
    assert_told(cell, provider, said("unknown", planned=True), "was working on it")


def test_a_slow_reply_has_reached_nobody(provider):
    provider.created(1, "201", "slow_deadline", took=5)
    cell = Cell(promise=replace(NEITHER, send_deadline_s=3))
    assert_good(cell, provider, IN_REVIEW)
    assert_told(Cell(promise=NEITHER), provider, IN_REVIEW, "the provider said so")


def test_the_budget_for_sends_is_counted_at_the_provider(provider):
    for at in (1, 2, 3):
        provider.post(at, "reset", "request_lost")
    lost = ("request_lost",) * 3
    spent = Cell(promise=replace(KEY_ONLY, sends=3), behaviours=lost)
    assert_good(spent, provider, IN_REVIEW)
    overspent = Cell(promise=replace(KEY_ONLY, sends=2), behaviours=lost)
    assert_told(overspent, provider, IN_REVIEW, "Budget: 3 creates")
    unspent = Cell(promise=replace(KEY_ONLY, sends=4), behaviours=lost)
    assert_told(unspent, provider, IN_REVIEW, "should have been sent again")
    unscripted = Cell(promise=replace(KEY_ONLY, sends=3), behaviours=lost[:2])
    assert_told(unscripted, provider, IN_REVIEW, "should have been sent again")


# ----------------------------------------------------------------------- what was said on the way


def test_confirmed_before_it_happened_is_a_lie_even_if_it_comes_true(provider):
    provider.created(5)
    end = replace(CONFIRMED, told=(told(2, "confirmed", "T900"),))
    assert_told(Cell(promise=KEY_ONLY), provider, end, "NoLie: in turn 1", "nothing had happened")


def test_not_done_is_a_lie_if_it_happens_later(provider):
    first = provider.post(1, "reset", "late_execution")
    provider.effect(first, 9, received=1)
    cell = Cell(promise=KEY_ONLY)
    for_good = replace(CONFIRMED, told=(told(2, "rejected", final=True),))
    for_now = replace(CONFIRMED, told=(told(2, "rejected"),))
    unsent = replace(CONFIRMED, told=(told(2, "prepared"),))
    assert_told(cell, provider, for_good, "NoLie: in turn 1", "for good", "SingleWinner")
    assert_told(cell, provider, for_now, "NoLie: in turn 1", "on its way")
    assert_told(cell, provider, unsent, "NoLie: in turn 1")
    assert_good(cell, provider, replace(CONFIRMED, told=(told(2, "unknown"),)))


def test_a_retryable_refusal_before_the_send_that_works_is_no_lie(provider):
    provider.post(1, "429", "throttled", "THROTTLED")
    provider.created(4)
    cell = Cell(promise=replace(KEY_ONLY, refuses_unprocessed=True))
    assert_good(cell, provider, replace(CONFIRMED, told=(told(2, "rejected"),)))


def test_nothing_is_sent_or_said_otherwise_after_the_last_word(provider):
    provider.created(1)
    provider.post(5, "201")
    end = replace(CONFIRMED, told=(told(2, "confirmed", "T900"),))
    assert_told(Cell(promise=KEY_ONLY), provider, end, "SingleWinner: sent after confirmed")
    end = replace(CONFIRMED, told=(told(2, "confirmed", "T900"), told(3, "unknown")))
    assert_told(Cell(promise=KEY_ONLY), provider, end, "unknown was said after confirmed")


# --------------------------------------------------------------------------------- lost actions


def test_an_effect_without_an_action_is_a_lost_action(provider):
    provider.created(1)
    assert_told(Cell(promise=KEY_ONLY), provider, None, "NoLostAction", "T900")
    evidence = provider.evidence()
    assert lost_actions(evidence.effects, [KEY]) == []
    assert "T900" in lost_actions(evidence.effects, ["other"])[0]
    assert "key-9 is gone" in lost_actions((), [KEY], acknowledged=[KEY, "key-9"])[0]


def test_a_create_without_an_action_is_a_lost_action_and_nothing_at_all_is_none(provider):
    assert faults(Cell(promise=KEY_ONLY, sender="gone"), provider.evidence(None), None) == []
    provider.post(1, "reset", "request_lost")
    assert_told(Cell(promise=KEY_ONLY), provider, None, "no action has it")


def test_what_never_reached_the_provider_may_be_withdrawn(provider):
    assert_good(Cell(promise=NEITHER), provider, refused("withdrawn"))
    assert_good(Cell(promise=NEITHER), provider, said("prepared", planned=True))
    assert_told(Cell(promise=NEITHER), provider, said("prepared"), "stranded")
    assert_told(Cell(promise=NEITHER), provider, CONFIRMED, "nothing had happened")


def test_evidence_is_found_by_arguments_and_by_key(provider):
    provider.post(1, "201", args={"order_id": "A999"}, key="other")
    provider.look(2, "absent", key="other")
    provider._do(
        "INSERT INTO arrivals (method, collection, key, answered)"
        " VALUES ('POST', 'tickets', ?, 'body_cut')",
        "cut",
    )
    assert provider.evidence().posts == ()
    provider.post(3, "422", key=KEY, args={"order_id": "A998"})
    provider.post(4, "201", key="key-8")
    provider.look(5, "found", key="key-8")
    evidence = provider.evidence()
    assert [post.key for post in evidence.posts] == [KEY, "key-8"]
    assert [look.key for look in evidence.lookups] == ["key-8"]


def test_a_create_that_met_a_fence_is_proven_dead(provider):
    provider.post(1, "reset", "late_execution")
    provider.look(1.5, "absent")
    provider.post(2, "409", code="fenced")
    assert_good(Cell(promise=FENCING), provider, ABSENT)
    assert_told(Cell(promise=FENCING), provider, IN_REVIEW, "the provider refused")


def test_a_doubt_that_was_real_for_a_while_may_have_been_before_a_person(provider):
    provider.look(2, "absent")
    provider.created(20)  # the frozen sender wakes up
    provider.look(30, "found")
    cell = Cell(promise=LOOKUP_ONLY, sender="frozen", unheard=1)
    assert_good(cell, provider, CONFIRMED)
    assert_good(cell, provider, replace(CONFIRMED, review_opened=True))
    assert_told(cell, provider, IN_REVIEW, "must be confirmed")


def test_a_refusal_that_does_not_cover_its_key_is_the_providers_fault(provider):
    first = provider.post(1, "reset", "late_execution")
    provider.post(2, "403", "forbidden_403", "FORBIDDEN")
    provider.effect(first, 5, received=1)
    promise = replace(KEY_AND_LOOKUP, refusal_covers_key=True)
    end = refused("auth", noticed=True)
    assert_good(Cell(promise=promise), provider, end)
    assert_told(Cell(promise=promise), provider, refused("auth"), "NoLie", "T900")
    assert_told(Cell(promise=KEY_AND_LOOKUP), provider, end, "NoLie", "T900")


def test_what_was_compensated_later_was_confirmed_before(provider):
    provider.created(1)
    told_before = (told(2, "confirmed", "T900"),)
    end = replace(
        CONFIRMED, told=(*told_before, told(3, "compensated", "T900"), told(4, "unknown"))
    )
    found = faults(Cell(promise=KEY_ONLY), provider.evidence(), end)
    assert not [sentence for sentence in found if "in turn 2" in sentence]
    assert [sentence for sentence in found if "in turn 3" in sentence]


def test_a_promise_can_be_given_as_plain_data():
    spec = {"key": True, "refusals": ["CLOSED"], "sends": 3}
    assert Promise.of(spec) == Promise(key=True, refusals=frozenset({"CLOSED"}), sends=3)
    with pytest.raises(TypeError, match="honours"):
        Promise.of({"honours": True})
