"""A reference that another action has or may have: a look-up gives way, an answer does not."""

from dataclasses import replace

from ascertain.errors import LedgerBusy
from ascertain.flow.call import call
from ascertain.flow.effects import Ask, Invoke
from ascertain.flow.pursue import look_up
from ascertain.model.contract import LookupPromise
from ascertain.model.operations import Advance, Advanced, Claim, ClaimBy, Contested, Lost
from ascertain.model.outcome import Evidence
from ascertain.model.tables import State
from tests.flow.stage import (
    AS_USUAL,
    ASKED,
    ME,
    NOW,
    Lands,
    Stage,
    found,
    ok,
    prepared,
    unknown,
    wanted,
)

BY_FIELDS = replace(ASKED, lookup=LookupPromise(by="fields", absence_final_after_s=10.0))
OTHER = prepared(
    id="a2", key="K2", ordinal="2", state=State.CONFIRMED, provider_ref="T900", attempt=1, n=7
)


def contested(by=ClaimBy.LOOKUP, **changes):
    """The ledger refuses what is claimed, and changes nothing."""

    def said(stage):
        assert stage.held is not None
        return Contested(
            record=stage.held, other=OTHER._replace(**changes), by=by,
            claimed_at=None if by is None else NOW - 1,
        )  # fmt: skip

    class Refuses(Lands):
        def __call__(self, stage):
            return said(stage)

    return Refuses(lambda stage: None)


def looked_up(stage):
    record, lost = stage.play(look_up(stage.setting, stage.held, None))
    return record, lost, stage.all(Advance)


def answered(stage):
    ended = stage.play(call(stage.setting, wanted(), stage.turn()))
    return ended.record, stage.all(Advance)


# ----------------------------------------------------------------------------------------- look-ups


def test_a_look_up_by_fields_claims_what_it_found():
    stage = Stage(BY_FIELDS, held=unknown()).on(Ask, found())
    record, lost, (write,) = looked_up(stage)
    assert (record.state, lost) == (State.CONFIRMED, False)
    assert write.claim == Claim(ClaimBy.LOOKUP, "T900")


def test_a_look_up_by_key_claims_nothing():
    _, _, (write,) = looked_up(Stage(held=unknown()).on(Ask, found()))
    assert write.claim is None


def test_a_contested_look_up_confirms_nothing_and_keeps_the_lease_and_the_result_out():
    held = unknown()
    stage = Stage(BY_FIELDS, held=held).on(Ask, found()).on(Advance, contested(None))
    record, lost, (refused, written) = looked_up(stage)
    assert (record.state, record.provider_ref, record.reason) == ("unknown", None, "rival_in_doubt")
    assert (record.evidence, record.unanswered, lost) == (Evidence.UNANSWERED, 1, False)
    assert (record.lease_owner, record.lease_until) == (ME, held.lease_until)
    assert (refused.result is None, written.result, written.claim) == (False, None, None)
    assert stage.story == ["ask, 5 s", "write: confirm", "write: rival_in_doubt"]


def test_what_is_anothers_by_its_answer_is_absence():
    stage = Stage(BY_FIELDS, held=unknown()).on(Ask, found())
    record, _, _ = looked_up(stage.on(Advance, contested(ClaimBy.ANSWER)))
    assert (record.evidence, record.unanswered) == (Evidence.ABSENT, 0)
    assert stage.story[-1] == "write: reference_taken, absent"


def test_who_is_overtaken_after_it_was_contested_has_lost():
    held = unknown()
    gone = Lost(record=held._replace(n=9, state=State.CONFIRMED))
    stage = Stage(BY_FIELDS, held=held).on(Ask, found()).on(Advance, contested(None), gone)
    record, lost, _ = looked_up(stage)
    assert (record.n, lost) == (9, True)


# ------------------------------------------------------------------------------------------ answers


def test_an_answer_of_its_own_claims_its_reference():
    record, (write,) = answered(Stage(BY_FIELDS).on(Invoke, ok()))
    assert (record.state, write.claim) == (State.CONFIRMED, Claim(ClaimBy.ANSWER, "T900"))


def test_whom_a_look_up_gave_it_is_disputed_before_the_answer_is_written():
    told = Advanced(record=OTHER._replace(disputed=1, n=8))
    stage = Stage(BY_FIELDS).on(Invoke, ok()).on(Advance, contested(), told, AS_USUAL)
    record, (first, dispute, again) = answered(stage)
    assert (record.state, record.provider_ref) == (State.CONFIRMED, "T900")
    assert (dispute.before, dispute.after.disputed, dispute.after.review) == (
        OTHER, 1, "reference_of_another",
    )  # fmt: skip
    assert dispute.drafts[0].detail == {"ref": "T900", "action": "a1"}
    assert (first.claim, dispute.claim, again.claim) == (again.claim, None, first.claim)


def test_who_moves_meanwhile_is_disputed_as_it_stands_then():
    moved = OTHER._replace(n=8)
    stage = Stage(BY_FIELDS).on(Invoke, ok()).on(
        Advance, contested(), Lost(record=moved), contested(n=8),
        Advanced(record=moved._replace(disputed=1)), AS_USUAL,
    )  # fmt: skip
    record, writes = answered(stage)
    assert record.state is State.CONFIRMED
    assert [write.before.n for write in writes if write.before.id == "a2"] == [7, 8]


def test_an_answer_that_is_contested_is_insisted_upon_while_the_ledger_is_busy():
    told = Advanced(record=OTHER._replace(disputed=1))
    stage = (
        Stage(BY_FIELDS)
        .on(Invoke, ok())
        .on(Advance, contested(), LedgerBusy(), contested(), contested(), told, AS_USUAL)
    )
    record, _ = answered(stage)
    assert record.state is State.CONFIRMED
    assert "pause, 0.025 s" in stage.story
