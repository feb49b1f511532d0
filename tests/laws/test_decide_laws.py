"""Laws of `decide` that hold for every view, whatever the policy."""

import pytest

from ascertain.model.chain import Course
from ascertain.model.outcome import Evidence
from ascertain.model.tables import State, terminal
from ascertain.rules.decide import SENTENCES, Decision, Held, Lookup, Reason, What, decide
from tests.laws.golden import IMPOSSIBLE, every_view, possible_views, why_impossible

VIEWS = [(view, decide(view)) for view in possible_views()]
SENDS = (What.SEND, What.RESEND)


def breaking(law):
    """Up to five views that break a law, to be read."""
    return [(view, said) for view, said in VIEWS if not law(view, said)][:5]


def test_every_view_even_an_impossible_one_is_decided_with_a_reason():
    said = {decide(view) for view in every_view()}
    assert all(isinstance(one, Decision) and one.reason in SENTENCES for one in said)


def test_the_same_view_is_always_decided_alike():
    assert [decide(view) for view, _ in VIEWS] == [said for _, said in VIEWS]


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_reached(reason):
    assert any(said.reason is reason for _, said in VIEWS)


@pytest.mark.parametrize("what", What)
def test_every_decision_is_reached(what):
    assert any(said.what is what for _, said in VIEWS)


@pytest.mark.parametrize("rule", IMPOSSIBLE, ids=lambda rule: rule.__name__)
def test_every_predicate_excludes_something_and_says_why(rule):
    assert rule.__doc__
    assert any(why_impossible(view) == rule.__name__ for view in every_view())


def test_req_U02_nothing_is_sent_again_while_a_refusal_is_in_hand():
    assert not breaking(lambda view, said: not (view.refused and said.what in SENDS))


def test_req_P05_the_provider_is_asked_before_anything_is_sent_again():
    def law(view, said):
        can_ask = view.lookup is Lookup.OPEN and view.evidence is Evidence.NOT_ASKED
        return not (view.state is State.UNKNOWN and can_ask) or said.what is What.LOOK_UP

    assert not breaking(law)


def test_req_F01_an_unknown_is_sent_again_only_where_that_is_safe_or_its_absence_is_final():
    def law(view, said):
        safe = view.repeat or view.evidence is Evidence.ABSENT_FINAL
        return not (view.state is State.UNKNOWN and said.what in SENDS) or safe

    assert not breaking(law)


def test_req_P07_what_is_settled_is_never_sent():
    def law(view, said):
        return not (terminal(view.state, final=view.final) and said.what in SENDS)

    assert not breaking(law)


def test_what_is_under_way_is_left_alone():
    assert not breaking(lambda view, said: view.state is not State.SENT or said.what is What.HOLD)


def test_req_F13_nothing_is_sent_beyond_the_budget_of_the_action_or_of_the_turn():
    def law(view, said):
        return said.what not in SENDS or (view.sends_left and view.turn)

    assert not breaking(law)


def test_req_F13_the_background_never_stops_for_a_turn():
    assert not breaking(lambda view, said: not view.turn or said.reason is not Reason.TURN_SPENT)


def test_best_effort_asks_no_person_unless_evidence_contradicts_what_was_settled():
    """Or nothing may be sent before a person has said so."""

    def law(view, said):
        undo = said.reason in (Reason.UNDO_STUCK, Reason.UNDO_TOO_LATE)
        asks = view.leave and said.what is What.REVIEW
        return not asks or view.disputed or undo or view.held is not Held.NO

    assert not breaking(law)


def test_req_U10_req_F17_what_is_held_is_not_sent_whatever_else_is_known():
    assert not breaking(lambda view, said: view.held is Held.NO or said.what not in SENDS)


def test_req_U10_what_waits_for_approval_is_withdrawn_when_its_time_has_passed():
    def law(view, said):
        waits = view.state is State.PREPARED and view.held is Held.APPROVAL
        return not waits or view.wanted or said.what is What.WITHDRAW

    assert not breaking(law)


def test_req_F17_an_open_breaker_stops_no_look_up():
    def law(view, said):
        if view.held is not Held.CIRCUIT or view.state is not State.UNKNOWN:
            return True
        free = decide(view._replace(held=Held.NO))
        return free.what in SENDS or said == free

    assert not breaking(law)


def test_req_F24_a_contradiction_always_goes_to_a_person():
    def law(view, said):
        return not view.disputed or said == Decision(What.REVIEW, Reason.CONTRADICTION)

    assert not breaking(law)


def test_req_F10_a_look_up_is_decided_only_where_the_provider_can_be_asked():
    assert not breaking(
        lambda view, said: said.what is not What.LOOK_UP or view.lookup is Lookup.OPEN
    )


def test_req_U18_accepted_work_is_watched_while_the_provider_can_be_asked():
    def law(view, said):
        works = view.state is State.UNKNOWN and view.evidence is Evidence.WORKING
        return not (works and view.lookup is Lookup.OPEN) or said.reason is Reason.BY_SCHEDULE

    assert not breaking(law)


def test_absence_closes_only_what_is_absent_for_good():
    def law(view, said):
        return said.what is not What.CLOSE or view.evidence is Evidence.ABSENT_FINAL

    assert not breaking(law)


def test_only_what_was_never_sent_is_withdrawn_or_in_a_chain_what_was_refused_for_a_while():
    def law(view, said):
        refused = view.state is State.REJECTED and view.course is not Course.FORWARD
        return said.what is not What.WITHDRAW or view.state is State.PREPARED or refused

    assert not breaking(law)


def test_req_P09_nothing_is_sent_for_a_chain_that_goes_back_or_was_stopped():
    def law(view, said):
        return view.course is Course.FORWARD or said.what not in SENDS

    assert not breaking(law)


def test_req_P09_a_confirmed_action_is_undone_only_where_that_was_declared_and_is_its_turn():
    def law(view, said):
        may = view.course in (Course.UNDO, Course.UNDO_BY_KEY)
        return said.what is not What.COMPENSATE or may

    assert not breaking(law)


def test_req_P16_an_unknown_is_reversed_only_where_that_works_whether_or_not_it_happened():
    def law(view, said):
        reversed_ = said.what is What.COMPENSATE and view.state is State.UNKNOWN
        return not reversed_ or view.course is Course.UNDO_BY_KEY

    assert not breaking(law)


def test_what_is_in_no_chain_is_decided_as_if_there_were_none():
    """The forward course is the default of a view: no decision there speaks of a chain."""
    of_chains = {
        Reason.CHAIN_TURNED, Reason.CHAIN_STOPPED, Reason.UNDO_WAITS, Reason.UNDO,
        Reason.UNDO_BY_KEY, Reason.UNDO_STUCK, Reason.IRREVERSIBLE, Reason.UNDO_TOO_LATE,
    }  # fmt: skip
    assert not breaking(
        lambda view, said: view.course is not Course.FORWARD or said.reason not in of_chains
    )


def test_spending_more_never_allows_more():
    """Without sends left, nothing is decided that would not be decided with some, but for sends."""
    for view, said in VIEWS:
        if said.what in SENDS:
            spent = decide(view._replace(sends_left=False))
            assert spent.what not in SENDS, (view, spent)
