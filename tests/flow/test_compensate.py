"""Undoing what is confirmed in a chain that goes back: by an action of its own, or by a person."""

from dataclasses import replace

import pytest

from ascertain.errors import UnknownTool
from ascertain.flow.compensate import MOST_CHARACTERS, NO_PICTURE
from ascertain.flow.effects import Picture, Survey, Undo
from ascertain.flow.recover import recover
from ascertain.model.chain import Around, ChainRecord, Direction, Member
from ascertain.model.operations import Advance
from ascertain.model.outcome import Kind, Report
from ascertain.model.tables import By, State
from tests.flow.stage import BUDGET, KEYED, LOST_ANSWER, ME, NOW, STILL_RUNNING, Stage, prepared

STOCK = replace(KEYED, tool="reserve_stock", undo="undo_stock", recount_after_s=0)
BY_KEY = replace(STOCK, undo_by="key")
BACK = ChainRecord(
    "c", "t", "u7", "s", "order", "", "", "", "", NOW, direction=Direction.BACKWARD, turned_at=NOW
)
STOPPED = BACK._replace(stopped_at=NOW)
WITHDRAWN = {"state": State.REJECTED, "final": 1, "kind": Kind.WITHDRAWN}
REFUSED = {**WITHDRAWN, "kind": Kind.BUSINESS, "code": "SHIPPED"}
UNDONE = {"state": State.CONFIRMED, "provider_ref": "U1"}
KNOWN_BY_NOBODY = UnknownTool("No tool that reverses reserve_stock is registered here.")
SHELF = Report(value={"records": ["R5"]})


def made(**changes):
    """The stock, reserved and under our lease."""
    return prepared(
        state=State.CONFIRMED, attempt=1, provider_ref="R5", chain="c", lease_owner=ME,
        lease_until=NOW + 20, due_at=NOW + 20, fence=1, n=3, last_sent_at=NOW,
    )._replace(**changes)  # fmt: skip


def undo(**changes):
    """What reverses it, as it stands."""
    return prepared(id="b1", key="K2", chain="c", attempt=1)._replace(**changes)


def around(held, reversing=None, chain=BACK):
    members = [(Member("c", held.id, "stock", 1), held)]
    if reversing is not None:
        members.append((Member("c", "b1", "undo_stock", 2, undoes=held.id), reversing))
    return Around(chain, tuple(members))


def stage(contract=STOCK, reversing=None, chain=BACK, **changes):
    held = made(**changes)
    return Stage(contract, held=held).on(Survey, around(held, reversing, chain))


def recovered(stage):
    return stage.play(recover(stage.setting, stage.held, None))


def case_of(stage):
    """What the person reads who gets the case."""
    (written,) = stage.all(Advance)
    (draft,) = written.drafts
    assert draft.by is By.WORKER
    return draft.detail


# ----------------------------------------------------------------------------- by its own action


def test_req_P05_it_is_compensated_only_when_what_reverses_it_is_confirmed():
    play = stage().on(Undo, undo(**UNDONE))
    record = recovered(play)
    assert play.story == ["survey", "undo", "write: compensate"]
    assert (record.state, record.lease_owner, record.due_at) == (State.COMPENSATED, None, None)
    assert case_of(play) == {"undo": "b1", "ref": "U1"}


@pytest.mark.parametrize("how", [{"state": State.SENT}, {"state": State.UNKNOWN}])
def test_while_the_undo_is_open_nothing_is_claimed_and_it_is_looked_at_again(how):
    play = stage(reversing=undo(**how)).on(Undo, undo(**how))
    record = recovered(play)
    assert play.story == ["survey", "undo", "write: lease and times"]
    assert (record.state, record.review, record.due_at) == (State.CONFIRMED, None, NOW + 5)
    assert record.lease_owner is None


@pytest.mark.parametrize("chain", [BACK, STOPPED], ids=["back", "stopped"])
def test_an_undo_that_ended_by_itself_is_written_down_and_not_begun_again(chain):
    """Its own recovery confirmed it; a stop that came afterwards does not make it unsaid."""
    play = stage(reversing=undo(**UNDONE), chain=chain)
    record = recovered(play)
    assert play.story == ["survey", "write: compensate"]
    assert record.state is State.COMPENSATED


def test_what_is_unknown_is_compensated_where_the_reversal_works_by_our_key():
    play = stage(BY_KEY, state=State.UNKNOWN, provider_ref=None, doubt=1, sends=1)
    record = recovered(play.on(Undo, undo(**UNDONE)))
    assert play.story == ["survey", "undo", "write: compensate"]
    assert (record.state, record.doubt) == (State.COMPENSATED, 0)


def test_an_undo_whose_permission_cannot_be_checked_is_begun_later_and_is_no_case():
    play = stage().on(Undo, None)
    record = recovered(play)
    assert play.story == ["survey", "undo", "write: lease and times"]
    assert (record.state, record.review, record.due_at) == (State.CONFIRMED, None, NOW + 60)


@pytest.mark.parametrize("reason", ["chain_stopped", "chain_turned_back"])
def test_a_chain_that_was_stopped_while_the_undo_began_leaves_it_as_it_is(reason):
    """The undo is on record as withdrawn: nobody decides, nothing wakes it, it is not undone."""
    play = stage().on(Undo, undo(**WITHDRAWN, reason=reason))
    record = recovered(play)
    assert play.story == ["survey", "undo", "write: lease and times"]
    assert (record.state, record.review, record.due_at) == (State.CONFIRMED, None, None)


# --------------------------------------------------------------------------------- by a person


def test_req_P05_an_undo_that_is_refused_as_it_begins_is_a_persons_case_at_once():
    play = stage().on(Undo, undo(**REFUSED)).on(Picture, SHELF)
    record = recovered(play)
    assert play.story == ["survey", "undo", "picture", "write: review:undo_stuck"]
    assert (record.state, record.review) == (State.CONFIRMED, "undo_stuck")
    assert (record.lease_owner, record.due_at) == (None, None)
    told = case_of(play)
    assert told["original"] == {"id": "a1", "key": "K", "ref": "R5", "state": "confirmed"}
    assert (told["undo"]["id"], told["undo"]["code"]) == ("b1", "SHIPPED")
    assert told["snapshot"] == {"records": ["R5"]}


def test_one_that_was_refused_before_is_a_case_and_is_not_begun_again():
    play = stage(reversing=undo(**REFUSED)).on(Picture, SHELF)
    recovered(play)
    assert play.story == ["survey", "picture", "write: review:undo_stuck"]


def test_an_undo_that_is_with_a_person_and_begun_again_opens_no_second_case():
    """The original has its case already, and somebody stands behind it."""
    waits = undo(state=State.UNKNOWN)
    play = stage(reversing=waits, review="tool_unknown", review_at=NOW - 60)
    record = recovered(play.on(Undo, waits._replace(review="cannot_ask")))
    assert play.story == ["survey", "undo", "write: lease and times"]
    assert (record.review, record.review_at) == ("tool_unknown", NOW - 60)
    assert record.due_at == NOW + 5, "a verdict on the undo may end it"


@pytest.mark.parametrize(
    "reversing, known", [(None, None), (undo(state=State.UNKNOWN), "b1")],
    ids=["not begun", "begun elsewhere"],
)  # fmt: skip
def test_where_no_process_knows_how_to_undo_it_somebody_is_told(reversing, known):
    play = stage(reversing=reversing).on(Undo, KNOWN_BY_NOBODY).on(Picture, SHELF)
    record = recovered(play)
    assert play.story == [
        "survey", "undo (UnknownTool)", "picture", "write: review:tool_unknown",
    ]  # fmt: skip
    assert (record.state, record.review) == (State.CONFIRMED, "tool_unknown")
    assert (case_of(play)["undo"] or {}).get("id") == known


def test_and_is_told_once():
    play = stage(review="tool_unknown", review_at=NOW - 60).on(Undo, KNOWN_BY_NOBODY)
    record = recovered(play)
    assert play.story == ["survey", "undo (UnknownTool)", "write: lease and times"]
    assert (record.review, record.review_at) == ("tool_unknown", NOW - 60)
    assert (record.lease_owner, record.due_at) == (None, None)


def test_what_nothing_reverses_is_a_case_with_what_the_provider_shows():
    play = stage(replace(STOCK, undo=None)).on(Picture, SHELF)
    recovered(play)
    assert play.story == ["survey", "picture", "write: review:irreversible"]
    assert case_of(play)["undo"] is None


# -------------------------------------------------------------------------- what the provider shows


@pytest.mark.parametrize(
    "report, shown",
    [
        (SHELF, {"records": ["R5"]}),
        (Report(value=("R5", 7)), ["R5", 7]),
        (Report(value=None), None),
        (None, NO_PICTURE),
        (LOST_ANSWER, NO_PICTURE),
        (STILL_RUNNING, NO_PICTURE),
        (Report(value={"records": []}, live=True), NO_PICTURE),
        (Report(value={"R5"}), NO_PICTURE),
        (Report(value=float("nan")), NO_PICTURE),
        (Report(value="x" * (MOST_CHARACTERS - 2)), "x" * (MOST_CHARACTERS - 2)),
        (Report(value="x" * MOST_CHARACTERS), '"' + "x" * (MOST_CHARACTERS - 1)),
    ],
    ids=[
        "data", "a tuple", "nothing", "no such read", "no answer", "given up", "too late",
        "no data", "no JSON", "just short enough", "too long",
    ],
)  # fmt: skip
def test_the_picture_is_data_and_that_there_is_none_is_said(report, shown):
    play = stage(replace(STOCK, undo=None)).on(Picture, report)
    recovered(play)
    assert case_of(play)["snapshot"] == shown
    (asked,) = play.all(Picture)
    assert asked.deadline_s == BUDGET.send_deadline_s
