"""P07: a chain whose code did not come to its end, and is not run again, is for a person."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import contextmanager, suppress

import httpx
import pytest

from ascertain import Ascertain, NotAllowed, Refused, State, Undone
from ascertain.cli import main
from ascertain.model.chain import Direction
from ascertain.model.operations import Reserve
from ascertain.report.cases import cases
from ascertain.rules.project import WorkflowState
from ascertain.testing.crash import run_killed
from ascertain.testing.invariants import chain_holds
from tests.requirements.order import Shop, settle, states

pytestmark = pytest.mark.every_ledger

SOON_S = 0.05


@pytest.fixture
def app(url):
    app = Ascertain(url, worker="none", lease_s=0.3, chain_left_after=SOON_S)
    yield app
    app.close()


@contextmanager
def broken(session, chain):
    """A block of a chain whose code breaks at its end."""
    with suppress(KeyError), session, chain:
        yield chain
        raise KeyError("a defect in the code")


def left(url, world, order):
    """A wish whose process died before its shipment was begun; stock and payment are confirmed."""

    def fulfil(plan):
        begun = []

        def dies(side, effect):
            plan(side, effect)
            if side == "before" and isinstance(effect, Reserve):
                begun.append(effect)
                if len(begun) == 3:
                    os.kill(os.getpid(), signal.SIGKILL)

        app = Ascertain(url, worker="none", lease_s=0.3, chain_left_after=SOON_S)
        app.hands.on_effect = dies
        with httpx.Client(base_url=world.url) as client:
            Shop(app, app.watch(client)).fulfil(order)
        app.close()

    assert run_killed(fulfil, 0)[-1] == "reserve.before"


def wish_of(app, order):
    return app.session("shop", principal="u7").chain(f"fulfil {order}", wish=("fulfilled", "履约"))


def test_req_P07_code_that_died_and_is_never_run_again_becomes_a_persons_case_once(
    url, app, shop, world, order
):
    """It says what happened and which steps are confirmed; until then it is not called done."""
    left(url, world, order)
    wish = wish_of(app, order)
    assert wish.state is WorkflowState.RUNNING, "nobody says done of what did not come to its end"
    settle(app, lambda: wish.state is WorkflowState.NEEDS_REVIEW)
    (case,) = [one for one in cases(app.ledger, app.hands.clock()) if one.record.chain == wish.id]
    assert (case.record.tool, case.reason) == ("charge_card", "chain_left")
    assert case.sentence == (
        "The code of its chain did not come to its end, and nobody ran it again."
    )
    assert case.verdicts == ("turn_back", "kept")
    event = app.ledger.events(case.record.id)[-1]
    assert json.loads(event.detail)["steps"] == {
        "reserve_stock": "confirmed", "charge_card": "confirmed",
    }  # fmt: skip
    assert wish.say() == ("It was broken off before its end; what was made so far: stock, payment.")
    assert wish.say("zh-CN") == "办理中途中断，目前已提交：stock、payment。"
    with app.session("shop", principal="u7") as session:
        for language in ("en", "zh-CN"):
            assert session.check_reply(wish.say(language)) == []
    for _ in range(3):
        app.recover()
    assert len(app.ledger.events(case.record.id)) == event.n, "one case, and no other"
    assert not world.arrivals("shipment", method="POST", order=order)
    assert not world.arrivals("undo-payment", method="POST", order=order), "nobody was asked yet"


def test_req_P07_a_person_has_what_is_confirmed_undone(url, app, shop, world, order):
    left(url, world, order)
    wish = wish_of(app, order)
    settle(app, lambda: wish.state is WorkflowState.NEEDS_REVIEW)
    (case,) = [one for one in cases(app.ledger, app.hands.clock()) if one.record.chain == wish.id]
    app.resolve(case.record.id, turn_back=True, evidence="the customer has given up")
    assert wish.direction is Direction.BACKWARD
    settle(app, lambda: wish.state is WorkflowState.COMPENSATED)
    assert set(states(wish).values()) >= {State.COMPENSATED}
    assert world.count("undo-stock", order=order) == world.count("undo-payment", order=order) == 1
    events = {r.id: app.ledger.events(r.id) for _, r in wish.around().members}
    assert chain_holds(wish.around(), events) == []
    assert list(app.ledger.verify()) == []


def test_req_P07_what_a_person_leaves_as_it_is_is_never_called_done(url, app, shop, world, order):
    left(url, world, order)
    wish = wish_of(app, order)
    settle(app, lambda: wish.state is WorkflowState.NEEDS_REVIEW)
    (case,) = [one for one in cases(app.ledger, app.hands.clock()) if one.record.chain == wish.id]
    app.resolve(case.record.id, kept=True, evidence="shipped by hand")
    assert wish.state is WorkflowState.PARTIALLY_COMPLETED
    assert "broken off" in wish.say()
    with pytest.raises(NotAllowed):
        app.resolve(case.record.id, turn_back=True, evidence="changed my mind")
    wish.turn_back("changed my mind")
    settle(app, lambda: wish.state is WorkflowState.COMPENSATED)


def test_req_P07_code_that_is_run_again_goes_on_and_nobody_is_asked(url, app, shop, world, order):
    """Before anybody looks, or when a person has the case already: then that is closed."""
    for late in (False, True):
        name = f"{order}-{late}"
        left(url, world, name)
        wish = wish_of(app, name)
        if late:
            settle(app, lambda wish=wish: wish.state is WorkflowState.NEEDS_REVIEW)
        shop.fulfil(name)
        assert wish.state is WorkflowState.COMPLETED
        assert wish.say() == "Fulfilled."
        for _ in range(3):
            app.recover()
        found = [one for one in cases(app.ledger, app.hands.clock()) if one.record.chain == wish.id]
        assert found == []
        for part in ("stock", "payment", "shipment"):
            assert world.count(part, order=name) == 1


def test_req_P07_a_block_that_is_left_by_an_exception_may_be_run_again_for_a_while(
    app, shop, world, order
):
    session = app.session("shop", principal="u7")
    with broken(session, session.chain(f"fulfil {order}")) as wish:
        shop.reserve(order_id=order)
    assert wish.state is WorkflowState.RUNNING
    settle(app, lambda: wish.state is WorkflowState.NEEDS_REVIEW)
    assert wish.around().steps()["reserve_stock"][1].review == "chain_left"


def test_req_P07_a_refusal_that_the_dead_code_left_uncorrected_turns_the_chain(app, order):
    """As leaving the block would have: what is confirmed is undone, and nobody is asked."""

    @app.tool(identity=["order_id"])
    def reserve(order_id: str) -> dict:
        return {"id": "S1"}

    @reserve.compensate()
    def release(undone: Undone) -> dict:
        return {"id": "R1"}

    @app.tool(identity=["order_id"])
    def book(order_id: str) -> dict:
        raise Refused("WRONG_SEAT", kind="invalid")

    session = app.session("shop", principal="u7")
    with broken(session, session.chain(order)) as wish:
        reserve(order_id=order)
        book(order_id=order)
    assert wish.direction is Direction.FORWARD
    settle(app, lambda: wish.state is WorkflowState.COMPENSATED)
    assert wish.around().chain.reason == "refused:book"


def test_req_P07_a_chain_whose_process_lives_is_nobodys_case(app, shop, order):
    """However long its block stays open: a conversation takes its time."""
    session = app.session("shop", principal="u7")
    with session, session.chain(f"fulfil {order}") as wish:
        shop.reserve(order_id=order)
        for _ in range(5):
            app.hands.clock = Later(app.hands.clock, 10 * SOON_S)
            app.recover()
        assert wish.state is WorkflowState.RUNNING
        assert wish.around().steps()["reserve_stock"][1].review is None
    assert wish.state is WorkflowState.COMPLETED


def test_req_P07_after_a_day_without_a_step_even_that_is_looked_at(app, shop, order):
    session = app.session("shop", principal="u7")
    with session, session.chain(f"fulfil {order}") as wish:
        shop.reserve(order_id=order)
        app.hands.clock = Later(app.hands.clock, 86_401.0)
        app.recover()
        assert wish.state is WorkflowState.NEEDS_REVIEW
    assert wish.state is WorkflowState.COMPLETED, "and it came to its end all the same"
    assert list(cases(app.ledger, app.hands.clock())) == []


class Later:
    """The ledger's clock, put ahead."""

    def __init__(self, clock, by_s):
        self.clock, self.by_s = clock, by_s

    def __call__(self):
        return self.clock() + self.by_s


def test_req_P07_what_was_left_while_nothing_was_confirmed_ends_by_itself(app, world, order):
    @app.tool(identity=["order_id"])
    def tell(order_id: str) -> dict:
        raise Refused("NO_ADDRESS")

    session = app.session("shop", principal="u7")
    with broken(session, session.chain(order)) as wish:
        wish.step("notice", tell, best_effort=True)(order_id=order)
    settle(app, lambda: app.ledger.chains.next_due_at() is None)
    assert list(cases(app.ledger, app.hands.clock())) == []
    assert wish.state is WorkflowState.REFUSED


def test_req_P07_an_async_block_is_treated_alike(app, order):
    @app.tool(identity=["order_id"])
    async def reserve(order_id: str) -> dict:
        return {"id": "S1"}

    async def run(*, breaks):
        session = app.session("shop", principal="u7")
        async with session, session.chain(order) as wish:
            await reserve(order_id=order)
            if breaks:
                raise KeyError("a defect")
        return wish

    with pytest.raises(KeyError):
        asyncio.run(run(breaks=True))
    wish = wish_of(app, order)
    wish = app.session("shop", principal="u7").chain(order)
    settle(app, lambda: wish.state is WorkflowState.NEEDS_REVIEW)
    assert asyncio.run(run(breaks=False)).state is WorkflowState.COMPLETED
    assert list(cases(app.ledger, app.hands.clock())) == []


def test_req_P07_the_commands_show_what_was_left_and_take_the_verdict(
    url, app, shop, world, order, capsys
):
    left(url, world, order)
    wish = wish_of(app, order)
    settle(app, lambda: wish.state is WorkflowState.NEEDS_REVIEW)

    def said(*words):
        main([*words, "--ledger", app.url])
        return " ".join(capsys.readouterr().out.split())

    assert "needs_review" in said("chains")
    assert "its code did not come to its end" in said("chain", wish.id)
    doctor = said("doctor")
    assert "1 chain was left before its end" in doctor
    case = wish.around().steps()["charge_card"][1]
    shown = said("review", "show", case.id)
    assert "verdicts --turn-back --evidence TEXT, --kept --evidence TEXT" in shown
    assert "reserve_stock" in shown
    assert "is undone" in said("resolve", case.id, "--turn-back", "--evidence", "given up")
    assert wish.direction is Direction.BACKWARD
    assert "No chain was left before its end." in said("doctor")
