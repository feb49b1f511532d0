"""Asking the provider for its record: what is open goes on, what is settled is only compared."""

import pytest

from ascertain.errors import LedgerBusy
from ascertain.flow.effects import Ask, Inquire, Invoke, Permit
from ascertain.flow.recount import recount
from ascertain.model.operations import Advance, Take
from ascertain.model.outcome import Evidence
from ascertain.model.tables import State
from tests.flow.stage import (
    ME,
    NO_RECORD,
    NOW,
    Stage,
    found,
    free,
    meanwhile,
    prepared,
    sent,
    unknown,
)

ELSEWHERE = {"lease_owner": "there", "lease_until": NOW + 20, "due_at": NOW + 20}


def settled(state=State.CONFIRMED, **changes):
    return prepared(
        state=state, attempt=1, provider_ref="T900", n=3, last_possible_at=NOW - 60, final=0
    )._replace(**changes)  # fmt: skip


def counted(stage):
    return stage.play(recount(stage.setting, stage.held))


# ---------------------------------------------------------------------------------- what is settled


def test_that_all_is_as_it_was_known_is_no_news():
    stage = Stage(held=settled()).on(Ask, found())
    record, answer = counted(stage)
    assert stage.story == ["ask, 5 s"]
    assert (record, answer.found, answer.provider_ref) == (stage.held, True, "T900")


def test_evidence_against_it_is_written_once():
    stage = Stage(held=settled()).on(Ask, NO_RECORD)
    record, answer = counted(stage)
    assert stage.story == ["ask, 5 s", "write: confirmed_but_absent"]
    assert (record.state, record.disputed, answer.evidence) == (
        State.CONFIRMED, 1, Evidence.ABSENT,
    )  # fmt: skip
    again = Stage(held=record).on(Ask, NO_RECORD)
    assert counted(again).record == record
    assert again.story == ["ask, 5 s"], "it is on record already"


# ------------------------------------------------------------------------------------- what is open


def test_what_is_open_is_leased_and_settled_by_what_the_provider_says():
    stage = Stage(held=free(unknown())).on(Ask, found())
    record, answer = counted(stage)
    assert stage.story == ["take", "ask, 5 s", "write: confirm", "write: lease and times"]
    (took,) = stage.all(Take)
    assert (took.owner, took.action_id, took.lease_until) == (ME, "a1", NOW + 12)
    assert (record.state, record.provider_ref, answer.found) == (State.CONFIRMED, "T900", True)


def test_what_is_heard_is_the_last_thing_the_provider_said_and_nothing_is_sent():
    stage = Stage(held=sent(lease_owner=None, lease_until=None)).on(Ask, NO_RECORD)
    record, answer = counted(stage)
    assert stage.story == [
        "take", "write: lose", "ask, 5 s", "write: absent", "write: lease and times",
    ]  # fmt: skip
    assert (record.state, answer.evidence) == (State.UNKNOWN, Evidence.ABSENT)
    assert not stage.all(Invoke) + stage.all(Permit)


def test_what_somebody_works_on_is_left_to_them_and_nobody_is_asked():
    stage = Stage(held=unknown(**ELSEWHERE))
    assert counted(stage) == (stage.held, None)
    assert stage.story == ["inquire: there", "take"]


def test_whoever_held_it_and_is_gone_is_not_waited_for():
    stage = Stage(held=unknown(**ELSEWHERE)).on(Inquire, frozenset({"there"})).on(Ask, found())
    assert counted(stage).record.state is State.CONFIRMED
    assert stage.story[:3] == ["inquire: there", "take", "ask, 5 s"]


def test_what_closed_itself_just_before_has_nothing_to_tell():
    """The lease had run out; its sender came back before anybody was asked."""
    held = sent(**{**ELSEWHERE, "lease_until": NOW - 1, "due_at": NOW - 1})
    stage = Stage(held=held).on(
        Advance, meanwhile(lambda stage: stage.somebody(state=State.CONFIRMED))
    )
    _, answer = counted(stage)
    assert stage.story[-1] == "write: lose (lost)"
    assert answer is None


def test_a_ledger_that_does_not_take_the_answer_is_the_askers_error():
    """Nothing is told of an answer that is not on record."""
    stage = Stage(held=free(unknown())).on(Ask, NO_RECORD).on(Advance, LedgerBusy("full"))
    with pytest.raises(LedgerBusy):
        counted(stage)
    assert stage.story == ["take", "ask, 5 s", "write: absent (LedgerBusy)"]
    assert stage.held.state is State.UNKNOWN
