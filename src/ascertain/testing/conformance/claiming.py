"""Claims: one reference confirms one action, where a record does not say whose it is."""

from __future__ import annotations

import threading

import pytest

from ascertain.model.action import ActionRecord
from ascertain.model.tables import Event, State
from ascertain.store.ledger import (
    Advanced,
    ClaimBy,
    Contested,
    Filter,
    Ledger,
    Lost,
    Reply,
    Reserved,
)
from ascertain.testing.conformance import children
from ascertain.testing.conformance.crowd import in_processes, in_threads
from ascertain.testing.conformance.place import Place
from ascertain.testing.conformance.samples import (
    NOW,
    advance,
    claim,
    lose,
    must,
    note,
    reserve_sent,
    submit,
    wanted,
)

LOOKUP, ANSWER, VERDICT = ClaimBy.LOOKUP, ClaimBy.ANSWER, ClaimBy.VERDICT
_ENDS: dict[str, tuple[Event, State]] = {
    "rejected": (Event.REJECT, State.REJECTED),
    "unsent": (Event.UNSEND, State.PREPARED),
}


class ClaimRules:
    """What :class:`~ascertain.store.ledger.Advance` promises of a ``claim``."""

    def test_a_reference_that_nobody_has_is_ours(self, ledger: Ledger) -> None:
        """On whose word ever; and what we have may be claimed again."""
        for n, by in enumerate(ClaimBy):
            mine = _in_doubt(ledger, f"i{n}", fields=f"f{n}")
            done = submit(ledger, claim(mine, f"T{n}", by), Advanced).record
            assert ledger.get(mine.id) == done
            again = note(done)._replace(claim=claim(mine, f"T{n}", VERDICT).claim)
            submit(ledger, again, Advanced)
        assert list(ledger.verify()) == []

    @pytest.mark.parametrize("held", list(ClaimBy))
    def test_a_look_up_never_takes_what_another_has(self, ledger: Ledger, held: ClaimBy) -> None:
        """Nothing is written, and the reply says who has it, on whose word, since when."""
        holder = submit(ledger, claim(_sent(ledger, "one"), "T1", held), Advanced).record
        mine = _in_doubt(ledger, "two")
        refused = submit(ledger, claim(mine, "T1", LOOKUP), Contested)
        assert refused == Contested(record=mine, other=holder, by=held, claimed_at=NOW + 1)
        assert ledger.get(mine.id) == mine
        assert ledger.result(mine.id) is None
        disputed = submit(ledger, note(holder, disputed=1), Advanced).record
        assert submit(ledger, claim(mine, "T1", LOOKUP), Contested).other == disputed

    @pytest.mark.parametrize("held", [LOOKUP, VERDICT])
    def test_an_answer_takes_it_from_whom_less_gave_it_once_that_one_is_disputed(
        self, ledger: Ledger, held: ClaimBy
    ) -> None:
        """Evidence against it is never dropped; from then on it is the other's."""
        holder = submit(ledger, claim(_sent(ledger, "one"), "T1", held), Advanced).record
        mine = _sent(ledger, "two")
        assert submit(ledger, claim(mine, "T1", ANSWER), Contested).other == holder
        submit(ledger, note(holder, disputed=1), Advanced)
        done = submit(ledger, claim(mine, "T1", ANSWER), Advanced).record
        third = _in_doubt(ledger, "three")
        refused = submit(ledger, claim(third, "T1", LOOKUP), Contested)
        assert (refused.other, refused.by) == (done, ANSWER)

    def test_of_two_answers_with_one_reference_both_are_written(self, ledger: Ledger) -> None:
        """The provider says so; the first keeps it."""
        first = submit(ledger, claim(_sent(ledger, "one"), "T1", ANSWER), Advanced).record
        submit(ledger, claim(_sent(ledger, "two"), "T1", ANSWER), Advanced)
        third = _in_doubt(ledger, "three")
        assert submit(ledger, claim(third, "T1", LOOKUP), Contested).other == first

    @pytest.mark.parametrize("held", list(ClaimBy))
    def test_a_person_takes_it_only_from_whom_is_disputed(
        self, ledger: Ledger, held: ClaimBy
    ) -> None:
        """Whoever gave it."""
        holder = submit(ledger, claim(_sent(ledger, "one"), "T1", held), Advanced).record
        mine = _in_doubt(ledger, "two")
        assert submit(ledger, claim(mine, "T1", VERDICT), Contested).by == held
        submit(ledger, note(holder, disputed=1), Advanced)
        submit(ledger, claim(mine, "T1", VERDICT), Advanced)

    def test_a_rival_in_flight_or_in_doubt_keeps_a_look_up_from_confirming(
        self, ledger: Ledger
    ) -> None:
        """Either may have caused the one record; each is told of the other."""
        flying, doubtful = _sent(ledger, "one"), _in_doubt(ledger, "two")
        refused = submit(ledger, claim(doubtful, "T1", LOOKUP), Contested)
        assert refused == Contested(record=doubtful, other=flying)
        lost = submit(ledger, lose(flying), Advanced).record
        refused = submit(ledger, claim(doubtful, "T1", LOOKUP), Contested)
        assert refused == Contested(record=doubtful, other=lost)
        assert submit(ledger, claim(lost, "T1", LOOKUP), Contested).other == doubtful

    def test_an_answer_and_a_person_know_of_no_rivals(self, ledger: Ledger) -> None:
        """They say which of the two it was; then the other one is alone."""
        one, two, three = (_in_doubt(ledger, name) for name in ("one", "two", "three"))
        submit(ledger, claim(one, "T1", ANSWER), Advanced)
        submit(ledger, claim(two, "T2", VERDICT), Advanced)
        submit(ledger, claim(three, "T3", LOOKUP), Advanced)

    @pytest.mark.parametrize("how", list(_ENDS))
    def test_what_had_no_effect_is_no_rival(self, ledger: Ledger, how: str) -> None:
        """It was refused, or nothing of it was sent."""
        event, end = _ENDS[how]
        submit(ledger, advance(_sent(ledger, "one"), event, end), Advanced)
        submit(ledger, claim(_in_doubt(ledger, "two"), "T1", LOOKUP), Advanced)

    def test_what_looks_different_is_no_rival(self, ledger: Ledger) -> None:
        """Other fields, another tool, another tenant; nor a tool whose look-up goes by key."""
        _in_doubt(ledger, "one", fields="other")
        _in_doubt(ledger, "two", tool="send_notice")
        _in_doubt(ledger, "three", tenant="t2")
        _in_doubt(ledger, "four", fields="")
        submit(ledger, claim(_in_doubt(ledger, "five"), "T1", LOOKUP), Advanced)

    def test_references_are_the_tool_s_and_the_tenant_s_own(self, ledger: Ledger) -> None:
        """T1 of one is not T1 of another."""
        for n, tool in enumerate(("create_ticket", "send_notice")):
            for tenant in ("", "t2"):
                mine = _in_doubt(ledger, f"i{n}{tenant}", tool=tool, tenant=tenant)
                submit(ledger, claim(mine, "T1", LOOKUP), Advanced)

    @pytest.mark.parametrize("before_us", [True, False])
    def test_one_confirmed_without_a_reference_is_a_rival(
        self, ledger: Ledger, before_us: bool
    ) -> None:
        """The record may be its; not if it was confirmed before we were first sent."""
        nameless = advance(_sent(ledger, "one"), Event.CONFIRM, State.CONFIRMED)
        done = submit(ledger, nameless, Advanced).record
        at = done.updated_at + (0.5 if before_us else -0.5)
        mine = _in_doubt(ledger, "two", at=at)
        if before_us:
            submit(ledger, claim(mine, "T1", LOOKUP), Advanced)
        else:
            assert submit(ledger, claim(mine, "T1", LOOKUP), Contested).other == done

    def test_one_that_does_not_know_what_it_looks_like_may_be_taken_for_any(
        self, ledger: Ledger
    ) -> None:
        """Stored before its contract said that its look-up goes by fields."""
        other, mine = _in_doubt(ledger, "one"), _in_doubt(ledger, "two", fields="")
        assert submit(ledger, claim(mine, "T1", LOOKUP), Contested).other == other

    def test_who_has_moved_on_has_lost_whoever_has_the_reference(self, ledger: Ledger) -> None:
        """Being late comes before being contested."""
        submit(ledger, claim(_sent(ledger, "one"), "T1", ANSWER), Advanced)
        flying = _sent(ledger, "two")
        lost = submit(ledger, lose(flying), Advanced).record
        assert submit(ledger, claim(flying, "T1", LOOKUP), Lost).record == lost

    def test_two_claims_in_one_batch_have_one_winner(self, ledger: Ledger) -> None:
        """The second is told of the first, as it stands by then."""
        one, two = _in_doubt(ledger, "one", fields="a"), _in_doubt(ledger, "two", fields="b")
        first, second = ledger.submit([claim(one, "T1", LOOKUP), claim(two, "T1", LOOKUP)])
        assert must(second, Contested).other == must(first, Advanced).record
        assert list(ledger.verify()) == []

    def test_a_buried_action_keeps_its_reference(self, ledger: Ledger) -> None:
        """What is old is still not somebody else's."""
        done = submit(ledger, claim(_sent(ledger, "one"), "T1", LOOKUP), Advanced).record
        assert ledger.bury(closed_before=NOW + 99) == 1
        mine = _in_doubt(ledger, "two")
        assert submit(ledger, claim(mine, "T1", LOOKUP), Contested).other.id == done.id

    def test_threads_that_claim_one_reference_have_one_winner(self, ledger: Ledger) -> None:
        """Eight actions at one instant; seven are told who has it."""
        mine = [_in_doubt(ledger, f"i{n}", fields=f"f{n}") for n in range(8)]
        start, replies = threading.Barrier(8), list[Reply]()

        def work() -> None:
            record = mine[start.wait()]
            replies.extend(ledger.submit([claim(record, "T1", LOOKUP)]))

        in_threads(work, 8)
        (won,) = (reply.record.id for reply in replies if isinstance(reply, Advanced))
        refused = [reply for reply in replies if isinstance(reply, Contested)]
        assert [reply.other.id for reply in refused] == [won] * 7
        assert [one.id for one in ledger.find(Filter(state=State.CONFIRMED))] == [won]

    def test_processes_that_claim_the_same_references_have_one_winner_each(
        self, place: Place, ledger: Ledger
    ) -> None:
        """Four processes, twenty references, the same order."""
        mine = [
            [_in_doubt(ledger, f"{who}-{n}", fields=f"{who}-{n}") for n in range(20)]
            for who in range(4)
        ]
        told = in_processes(4, children.claim_all, place, (mine,))
        assert sorted(n for won in told for n in won) == list(range(20))
        refs = [one.provider_ref for one in ledger.find(Filter(state=State.CONFIRMED))]
        assert sorted(map(str, refs)) == sorted(f"T{n}" for n in range(20))
        assert list(ledger.verify()) == []


def _sent(
    ledger: Ledger, intent: str, *, fields: str = "same", at: float = NOW, tool: str = "",
    tenant: str = "",
) -> ActionRecord:  # fmt: skip
    record = wanted(intent, tool=tool or "create_ticket", tenant=tenant)
    sent: ActionRecord = submit(ledger, reserve_sent(record, fields=fields, at=at), Reserved).record
    return sent


def _in_doubt(
    ledger: Ledger, intent: str, *, fields: str = "same", at: float = NOW, tool: str = "",
    tenant: str = "",
) -> ActionRecord:  # fmt: skip
    sent = _sent(ledger, intent, fields=fields, at=at, tool=tool, tenant=tenant)
    lost: ActionRecord = submit(ledger, lose(sent), Advanced).record
    return lost
