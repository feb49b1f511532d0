"""P14: what could not be undone by itself, and a person reversed by hand, has been undone."""

from __future__ import annotations

import json

import pytest
from temporalio.testing import ActivityEnvironment

from ascertain import NotAllowed, State
from ascertain.cli import main
from ascertain.errors import ContractError
from ascertain.model.tables import By
from ascertain.report.cases import cases
from ascertain.rules.project import WorkflowState
from ascertain.temporal.activities import Activities
from ascertain.temporal.words import Said, Verdict
from ascertain.testing.invariants import HONEST_UNDO, UNDONE_ONCE, chain_holds
from tests.requirements.order import Shop, settle, states

pytestmark = pytest.mark.every_ledger

NO = ["error_body_2xx"]
SEEN = "refunded by hand, receipt 118"


@pytest.fixture
def stuck(shop, world, order):
    """A wish of which the payment could not be undone; a person has to decide."""
    world.script("shipment", {"order": order}, NO)
    world.script("undo-payment", {"order": order}, NO)
    wish = shop.fulfil(order)
    settle(shop.app, lambda: wish.state is WorkflowState.NEEDS_REVIEW)
    return wish


def payment(wish):
    return wish.around().steps()["charge_card"][1]


def events(wish):
    ledger = wish.hands.ledger
    return {record.id: ledger.events(record.id) for _, record in wish.around().members}


def test_req_P14_what_a_person_reversed_by_hand_is_compensated_and_said_to_be_undone(
    app, stuck, world, order
):
    """With the evidence on record, and by whom; what came before it is undone by itself then."""
    (case,) = cases(app.ledger, app.hands.clock())
    assert case.verdicts == ("undone", "kept")
    told = app.resolve(payment(stuck).id, undone=True, evidence=SEEN)
    assert (told.state, told.reason) == (State.COMPENSATED, "undone_by_hand")
    assert (told.say(), told.say("zh-CN")) == ("The payment has been reversed.", "payment已撤销。")
    event = app.ledger.events(told.id)[-1]
    assert (event.by, json.loads(event.detail)) == (By.PERSON, {"evidence": SEEN})
    assert list(cases(app.ledger, app.hands.clock())) == []

    settle(app, lambda: stuck.state is WorkflowState.COMPENSATED)
    assert states(stuck)["reserve_stock"] is State.COMPENSATED
    assert world.count("undo-stock", order=order) == 1
    assert stuck.say() == "It has been undone."
    assert chain_holds(stuck.around(), events(stuck)) == []
    assert list(app.ledger.verify()) == []


def test_req_P14_what_was_kept_first_may_be_reversed_by_hand_later(app, stuck):
    app.resolve(payment(stuck).id, kept=True, evidence="the customer wants to think about it")
    assert payment(stuck).state is State.CONFIRMED
    assert app.resolve(payment(stuck).id, undone=True, evidence=SEEN).state is State.COMPENSATED


async def test_whoever_says_it_again_because_the_answer_was_lost_is_not_refused(app, stuck):
    """A durable engine runs what wrote the verdict once more where it has not heard the end."""
    hear, run = Activities(app).verdict, ActivityEnvironment().run
    said = Said(action=payment(stuck).id, verdict=Verdict(undone=True, evidence=SEEN))
    for _ in range(2):
        heard = await run(hear, said)
        assert (heard.refused, heard.stand.state) == ("", "compensated")
    other = Said(action=said.action, verdict=Verdict(undone=True, evidence="seen elsewhere"))
    assert (await run(hear, other)).refused == "not_allowed"


def test_nobody_reverses_by_hand_what_its_own_undo_may_still_reverse(app, client, world, order):
    """First it is said what became of that one; else both take effect."""
    shop = Shop(app, client, payment={"repeat": "never"})
    world.script("shipment", {"order": order}, NO)
    world.script("undo-payment", {"order": order}, ["reply_lost"], lookup=["error_500"] * 99)
    wish = shop.fulfil(order)
    settle(app, lambda: wish.around().undo_of(payment(wish).id) is not None)
    undo = wish.around().undo_of(payment(wish).id)
    assert undo.state is State.UNKNOWN
    with pytest.raises(NotAllowed, match=undo.id):
        app.resolve(payment(wish).id, undone=True, evidence=SEEN)
    assert payment(wish).state is State.CONFIRMED


def test_nobody_reverses_by_hand_what_is_no_step_of_a_chain_that_goes_back(app, shop, order):
    wish = shop.fulfil(order)
    with pytest.raises(NotAllowed, match="goes back"):
        app.resolve(payment(wish).id, undone=True, evidence=SEEN)
    with shop.app.session("other", principal="u7"):
        alone = shop.charge(order_id=f"{order}-alone")
    with pytest.raises(NotAllowed, match="goes back"):
        app.resolve(alone.id, undone=True, evidence=SEEN)


@pytest.mark.parametrize(
    "said",
    [
        {"undone": True},
        {"undone": True, "evidence": "  "},
        {"undone": True, "kept": True, "evidence": SEEN},
        {"undone": True, "confirmed": "R1", "evidence": SEEN},
    ],
)
def test_a_word_that_lacks_something_changes_nothing(app, stuck, said):
    with pytest.raises(ContractError):
        app.resolve(payment(stuck).id, **said)
    assert payment(stuck).review == "undo_stuck"


def test_a_worker_that_rested_does_not_undo_what_a_person_reversed_meanwhile(
    app, shop, world, order
):
    """It comes back after its lease, about to begin the undo: the ledger does not let it."""
    world.script("shipment", {"order": order}, NO)
    wish = shop.fulfil(order)
    begun = []

    def rests(side, effect):
        if (side, type(effect).__name__) == ("before", "Undo") and not begun:
            begun.append(effect.record.tool)
            app.hands.clock.ahead_s += 60  # longer than its lease
            app.resolve(effect.record.id, undone=True, evidence=SEEN)

    app.hands.clock = Ahead(app.hands.clock)
    app.hands.on_effect = rests
    settle(app, lambda: wish.state is WorkflowState.COMPENSATED)
    assert begun == ["charge_card"]
    assert payment(wish).reason == "undone_by_hand"
    assert not world.arrivals("undo-payment", method="POST", order=order)
    undo = wish.around().undo_of(payment(wish).id)
    assert (undo.state, undo.reason) == (State.REJECTED, "undo_not_wanted")
    assert chain_holds(wish.around(), events(wish)) == []


class Ahead:
    """The ledger's clock, which somebody may put ahead; it goes on from there."""

    def __init__(self, clock):
        self.clock, self.ahead_s = clock, 0.0

    def __call__(self):
        return self.clock() + self.ahead_s


def test_the_invariant_sees_an_undo_without_evidence_and_one_too_many(app, stuck):
    told = app.resolve(payment(stuck).id, undone=True, evidence=SEEN)
    settle(app, lambda: stuck.state is WorkflowState.COMPENSATED)
    around, seen = stuck.around(), events(stuck)
    quiet = {**seen, told.id: [e._replace(detail="{}") for e in seen[told.id]]}
    assert [one.invariant for one in chain_holds(around, quiet)] == [HONEST_UNDO]
    members = tuple(
        (member, record.changed(state=State.CONFIRMED) if member.undoes == told.id else record)
        for member, record in around.members
    )
    twice = chain_holds(around._replace(members=members), seen)
    assert [one.invariant for one in twice] == [UNDONE_ONCE]


@pytest.mark.parametrize("command", [["resolve"], ["review", "verdict"]], ids=" ".join)
def test_both_commands_take_the_same_verdicts(app, stuck, command, capsys):
    asked = [*command, payment(stuck).id, "--ledger", app.url]
    assert main([*asked, "--undone"]) == 2
    assert main([*asked, "--too-many", "--evidence", "x"]) == 4
    assert main([*asked, "--undone", "--kept", "--evidence", "x"]) == 2
    assert main([*asked, "--undone", "--evidence", SEEN]) == 0
    assert "a person reversed it by hand" in " ".join(capsys.readouterr().out.split())
    assert payment(stuck).state is State.COMPENSATED
