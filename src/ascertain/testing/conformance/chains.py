"""What a store must do for chains: one direction, looked at in the write of each send."""

from __future__ import annotations

from ascertain.model.action import ActionRecord
from ascertain.model.chain import (
    Around,
    ChainRecord,
    Direction,
    EndChain,
    Joins,
    Keeps,
    Member,
    OpenChain,
    ScheduleChain,
    Steers,
    StopChain,
    TakeChains,
    TurnChain,
    Weight,
)
from ascertain.model.operations import Advance, Advanced, Blocked, Lost, Reserve, Reserved, Told
from ascertain.model.outcome import Kind
from ascertain.model.tables import Event, State
from ascertain.store.ledger import Ledger
from ascertain.testing.conformance.samples import (
    NOW,
    advance,
    confirm,
    reserve_sent,
    submit,
    wanted,
)

CHAIN = ChainRecord("c1", "", "u7", "chat-42", "fulfil", "", "done", "", "", NOW)


class ChainStoreRules:
    """Chains, their members and their direction."""

    def test_a_chain_is_written_with_its_first_step(self, ledger: Ledger) -> None:
        """Nothing is known of it before; then it, its member and the action are."""
        assert ledger.chains.around("c1") is None
        record = _step(ledger, "stock")
        around = _around(ledger)
        assert around.chain == CHAIN
        assert [(m.step, m.weight, r.id) for m, r in around.members] == [
            ("stock", Weight.ESSENTIAL, record.id)
        ]
        assert ledger.chains.of_session("chat-42", "") == [CHAIN]
        assert ledger.chains.recent(before=NOW + 1) == [CHAIN]

    def test_an_essential_refusal_turns_the_chain_in_its_own_write(self, ledger: Ledger) -> None:
        """And what is confirmed in it falls due in the same transaction."""
        done = _told(ledger, confirm(_step(ledger, "stock")))
        assert done.due_at is None
        _refused(ledger, _step(ledger, "payment"))
        chain = _around(ledger).chain
        assert (chain.direction, chain.reason) == (Direction.BACKWARD, "refused:payment")
        woken = ledger.get(done.id)
        assert woken is not None
        assert woken.due_at is not None

    def test_a_best_effort_refusal_turns_nothing(self, ledger: Ledger) -> None:
        """The wish is worth something without it."""
        _refused(ledger, _step(ledger, "notice", weight=Weight.BEST_EFFORT))
        assert _around(ledger).chain.direction is Direction.FORWARD

    def test_nothing_is_sent_forward_in_a_chain_that_goes_back(self, ledger: Ledger) -> None:
        """Neither a new step nor one that is sent again; what undoes goes on."""
        lost = _told(ledger, advance(_step(ledger, "stock"), Event.LOSE, State.UNKNOWN))
        submit(ledger, TurnChain(chain="c1", reason="asked", now=NOW), Told)
        blocked: Blocked = submit(ledger, _joining("ship"), Blocked)
        assert blocked.why == "chain_turned_back"
        again = advance(lost, Event.SEND, State.SENT, attempt=2)
        refused: Lost = submit(ledger, _beside(again, sends=True), Lost)
        assert refused.blocked == "chain_turned_back"
        submit(ledger, _joining("undo:stock", undoes=lost.id), Reserved)

    def test_no_undo_is_begun_of_what_a_person_has_settled(self, ledger: Ledger) -> None:
        """Reversed by hand, or kept; looked at in the statement that would store it."""
        made = {step: _confirmed(ledger, _step(ledger, step)) for step in ("stock", "pay", "ship")}
        submit(ledger, TurnChain(chain="c1", reason="asked", now=NOW), Told)
        woken = {step: ledger.get(record.id) for step, record in made.items()}
        stock, pay = woken["stock"], woken["pay"]
        assert stock is not None
        assert pay is not None
        _told(ledger, advance(stock, Event.COMPENSATE, State.COMPENSATED))
        said = advance(pay, Event.NOTE, State.CONFIRMED)
        keeps = Advance(
            before=said.before, after=said.after, drafts=said.drafts, beside=(Keeps(chain="c1"),)
        )
        submit(ledger, keeps, Advanced)
        for step in ("stock", "pay"):
            undo = _joining(f"undo:{step}", undoes=made[step].id)
            assert submit(ledger, undo, Blocked).why == "undo_not_wanted"
        submit(ledger, _joining("undo:ship", undoes=made["ship"].id), Reserved)

    def test_a_chain_turns_once_and_stays_stopped(self, ledger: Ledger) -> None:
        """A second turn changes nothing, and a stop holds for what undoes, too."""
        _step(ledger, "stock")
        for reason in ("first", "second"):
            submit(ledger, TurnChain(chain="c1", reason=reason, now=NOW), Told)
        assert _around(ledger).chain.reason == "first"
        submit(ledger, StopChain(chain="c1", reason="stop", now=NOW), Told)
        blocked: Blocked = submit(ledger, _joining("undo:stock", undoes="a"), Blocked)
        assert blocked.why == "chain_stopped"

    def test_a_plan_is_taken_when_it_is_due_or_its_runner_is_gone(self, ledger: Ledger) -> None:
        """By one of those who come; and not before."""
        planned = CHAIN._replace(plan="{}", due_at=NOW + 10, owner="runner")
        submit(ledger, OpenChain(chain=planned), Told)
        assert ledger.chains.owners() == ["runner"]
        assert ledger.chains.next_due_at() == NOW + 10
        early = TakeChains(owner="w", now=NOW, until=NOW + 60)
        assert submit(ledger, early, Told).value == ()
        gone = TakeChains(owner="w", now=NOW, until=NOW + 60, gone=frozenset({"runner"}))
        (taken,) = submit(ledger, gone, Told).value
        assert (taken.owner, taken.due_at) == ("w", NOW + 60)
        assert submit(ledger, gone, Told).value == ()
        submit(ledger, ScheduleChain(chain="c1", due_at=None), Told)
        assert ledger.chains.next_due_at() is None

    def test_a_chain_without_a_plan_is_taken_when_it_is_due_and_keeps_its_owner(
        self, ledger: Ledger
    ) -> None:
        """That its process is gone is no reason to look early: its code may be run again."""
        left = CHAIN._replace(due_at=NOW + 10, owner="runner")
        submit(ledger, OpenChain(chain=left), Told)
        assert ledger.chains.owners() == []
        gone = frozenset({"runner"})
        early = TakeChains(owner="w", now=NOW, until=NOW + 60, gone=gone)
        assert submit(ledger, early, Told).value == ()
        due = TakeChains(owner="w", now=NOW + 10, until=NOW + 60, gone=gone)
        (taken,) = submit(ledger, due, Told).value
        assert (taken.owner, taken.due_at) == ("runner", NOW + 60)
        submit(ledger, EndChain(chain="c1"), Told)
        assert ledger.chains.next_due_at() is None


def _around(ledger: Ledger) -> Around:
    around = ledger.chains.around("c1")
    assert around is not None
    return around


def _joining(step: str, *, weight: Weight = Weight.ESSENTIAL, undoes: str = "") -> Reserve:
    sent = reserve_sent(wanted(f"intent-{step}", chain="c1"))
    member = Member("c1", sent.record.id, step, 1, weight, (), undoes)
    return Reserve(
        record=sent.record,
        drafts=sent.drafts,
        arguments=sent.arguments,
        contract_json=sent.contract_json,
        beside=(Joins(chain=CHAIN, member=member),),
    )


def _step(ledger: Ledger, step: str, *, weight: Weight = Weight.ESSENTIAL) -> ActionRecord:
    record: ActionRecord = submit(ledger, _joining(step, weight=weight), Reserved).record
    return record


def _beside(operation: Advance, *, sends: bool = False) -> Advance:
    return Advance(
        before=operation.before,
        after=operation.after,
        drafts=operation.drafts,
        beside=(Steers(chain="c1", sends=sends),),
    )


def _told(ledger: Ledger, operation: Advance) -> ActionRecord:
    record: ActionRecord = submit(ledger, _beside(operation), Advanced).record
    return record


def _confirmed(ledger: Ledger, record: ActionRecord) -> ActionRecord:
    return _told(ledger, advance(record, Event.CONFIRM, State.CONFIRMED))


def _refused(ledger: Ledger, record: ActionRecord) -> ActionRecord:
    refusal = advance(record, Event.REJECT, State.REJECTED, final=1, kind=Kind.BUSINESS)
    return _told(ledger, refusal)
