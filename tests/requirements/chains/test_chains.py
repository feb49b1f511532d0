"""P, where one wish takes several actions: order and weight, refusal, undoing, stopping."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from ascertain import NotAllowed, State
from ascertain.errors import ContractError
from ascertain.model.chain import Direction
from ascertain.rules.project import WorkflowState
from tests.requirements.order import Shop, settle, states

pytestmark = pytest.mark.every_ledger

NO = ["error_body_2xx"]  # the provider's "REFUSED_BY_POLICY" in a 2xx


def test_req_P03_fulfilled_while_the_notice_is_awaiting_confirmation(shop, world, order):
    """Stock, payment and shipment confirmed, notice unknown: partial, said in two languages."""
    world.script("notice", {"order": order}, ["reply_lost"])
    wish = shop.fulfil(order)
    assert wish.state is WorkflowState.PARTIALLY_COMPLETED
    assert wish.say() == "fulfilled, notice awaiting confirmation"
    assert wish.say("zh-CN") == "履约完成、notice待确认"
    assert wish.direction is Direction.FORWARD, "a best-effort unknown never undoes anything"
    shop.app.recover()
    assert states(wish)["reserve_stock"] is State.CONFIRMED


def test_req_P03_the_facts_of_a_chain_are_derived_from_its_actions(shop, order):
    wish = shop.fulfil(order)
    facts = wish.facts()
    assert facts["workflow_state"] == "completed"
    assert [action["step"] for action in facts["actions"]] == [
        "reserve_stock", "charge_card", "create_shipment", "send_notice",
    ]  # fmt: skip
    assert facts["next_allowed"] == []


def test_a_chain_that_has_been_undone_offers_only_what_can_still_be_done(shop, world, order):
    """Payment refused, stock undone: nobody waits for a shipment that will never be made."""
    world.script("payment", {"order": order}, NO)
    session = shop.app.session("shop", principal="u7")
    with session, session.chain(order) as wish:
        shop.reserve(order_id=order)
        shop.charge(order_id=order)
        shipment = shop.ship(order_id=order)
    settle(shop.app, lambda: wish.state is WorkflowState.COMPENSATED)
    assert wish.facts()["next_allowed"] == ["ask_person"]
    assert shipment.facts()["next_allowed"] == ["ask_person"]
    with session:
        assert session.facts()["next_allowed"] == ["ask_person"]
        with pytest.raises(NotAllowed):
            session.take("wait", shipment.id)


def test_a_step_that_waits_is_offered_what_helps_as_the_one_before_it_stands(
    app, client, world, order
):
    """While that one is unknown one waits; once it is confirmed the call is made again."""
    shop = Shop(app, client, asked=("payment",))
    world.script("payment", {"order": order}, ["reply_lost"], lookup=["error_500"] * 15)
    wish = shop.fulfil(order)
    assert "wait" in wish.facts()["next_allowed"]
    assert "call_again" not in wish.facts()["next_allowed"]
    settle(shop.app, lambda: states(wish)["charge_card"] is State.CONFIRMED)
    assert wish.facts()["next_allowed"] == ["call_again", "ask_person"]
    again = shop.fulfil(order)
    assert again.facts()["next_allowed"] == [], "what was tried before it was time counts no more"


def test_a_completed_wish_says_its_own_word(shop, order):
    wish = shop.fulfil(order)
    assert (wish.say(), wish.say("zh-CN")) == ("Fulfilled.", "履约已完成。")
    assert shop.fulfil(f"{order}-2", wish=None).say() == "Done."


def test_req_P07_a_re_run_in_another_turn_finds_its_chain_and_sends_nothing_twice(
    shop, world, order
):
    """The code is the plan: run again, the same wish finds its recorded actions."""
    first = shop.fulfil(order)
    session = shop.app.session("shop", principal="u7", turn="later")
    with session, session.chain(f"fulfil {order}") as again:
        shop.steps(order)
    assert again.id == first.id
    for part in ("stock", "payment", "shipment", "notice"):
        assert len(world.arrivals(part, method="POST", order=order)) == 1


def test_req_P08_a_refusal_ends_what_depends_on_it_and_the_dependent_says_why(shop, world, order):
    """Payment refused: the shipment is never started, and its record names what it waited for."""
    world.script("payment", {"order": order}, NO)
    with shop.app.session("shop", principal="u7") as session, session.chain(order) as wish:
        shop.reserve(order_id=order)
        refused = shop.charge(order_id=order)
        shipment = shop.ship(order_id=order)
    assert (refused.state, refused.kind) == (State.REJECTED, "business")
    assert (shipment.state, shipment.reason) == (State.REJECTED, "waits_for:charge_card")
    assert shipment.say() == "The shipment has not been started: it waits for charge_card."
    assert not world.arrivals("shipment", method="POST", order=order)
    assert wish.direction is Direction.BACKWARD


def test_req_P08_an_unknown_essential_stops_later_steps_and_undoes_nothing(
    app, client, world, order
):
    shop = Shop(app, client, asked=("payment",))
    world.script("payment", {"order": order}, ["reply_lost"], lookup=["error_500"] * 15)
    wish = shop.fulfil(order)
    assert states(wish)["charge_card"] is State.UNKNOWN
    assert not world.arrivals("shipment", method="POST", order=order)
    assert wish.direction is Direction.FORWARD
    assert wish.state is WorkflowState.AWAITING_CONFIRMATION
    settle(shop.app, lambda: states(wish)["charge_card"] is State.CONFIRMED)
    assert shop.fulfil(order).state is WorkflowState.COMPLETED, "run again, it goes on"
    assert world.count("payment", order=order) == 1


def test_req_P08_a_corrected_call_keeps_the_chain_going_forward(app, order):
    """Bad arguments are no refusal of the wish: the block ends with a corrected step."""

    @app.tool(identity=["order_id"])
    def book(order_id: str, seats: int) -> dict:
        from ascertain import Refused

        if seats > 4:
            raise Refused("TOO_MANY", kind="invalid")
        return {"id": "B1"}

    with app.session("s", principal="u7") as session, session.chain(order) as wish:
        assert book(order_id=order, seats=9).state is State.REJECTED
        assert book(order_id=order, seats=4).state is State.CONFIRMED
    assert (wish.direction, wish.state) == (Direction.FORWARD, WorkflowState.COMPLETED)
    with app.session("s", principal="u7") as session, session.chain("other") as wrong:
        book(order_id="other", seats=9)
    assert wrong.direction is Direction.BACKWARD, "nobody corrected it before the block was left"


def test_req_P16_a_refusal_undoes_what_is_confirmed_in_reverse_each_as_an_action(
    shop, world, order
):
    """Own keys, own states; the original is compensated once its undo is confirmed."""
    world.script("shipment", {"order": order}, NO)
    wish = shop.fulfil(order)
    assert wish.state is WorkflowState.COMPENSATING
    with shop.app.session("shop", principal="u7") as session:
        assert session.facts()["workflow_state"] == "compensating", "the turn says so, too"
        settle(shop.app, lambda: wish.state is WorkflowState.COMPENSATED)
        assert session.facts()["workflow_state"] == "compensated"
    assert wish.say("zh-CN") == "已撤销。"
    around = wish.around()
    records = {member.step: record for member, record in around.members}
    assert records["reserve_stock"].state is State.COMPENSATED
    assert records["charge_card"].state is State.COMPENSATED
    undone = [records["undo:charge_card"], records["undo:reserve_stock"]]
    assert undone[0].last_sent_at < undone[1].first_sent_at, "what came last is undone first"
    assert len({record.key for record in records.values() if record.attempt}) == 5
    for part in ("stock", "payment"):
        (arrival,) = world.arrivals(f"undo-{part}", method="POST", order=order)
        assert arrival.args["reverses"].startswith("T9")


def test_req_P16_a_compensation_whose_answer_is_lost_is_unknown_and_asked_for(shop, world, order):
    """It is looked up by its own key; there is one reversal, and until then no "compensated"."""
    world.script("payment", {"order": order}, NO)
    world.script("undo-stock", {"order": order}, ["reply_lost"], lookup=["error_500"] * 2)
    wish = shop.fulfil(order)
    shop.app.recover()
    if states(wish).get("undo:reserve_stock") is not State.CONFIRMED:
        assert states(wish)["reserve_stock"] is State.CONFIRMED
    settle(shop.app, lambda: wish.state is WorkflowState.COMPENSATED)
    assert world.count("undo-stock", order=order) == 1


def test_req_P16_an_unknown_is_never_resent_in_a_chain_that_goes_back(app, client, world, order):
    """Looked up; found, it is undone like what was known; absent, it is closed."""
    shop = Shop(app, client, asked=("payment",))
    world.script("payment", {"order": order}, ["request_lost"], lookup=["error_500"] * 15)
    wish = shop.fulfil(order)
    assert states(wish)["charge_card"] is State.UNKNOWN
    sent = len(world.arrivals("payment", method="POST", order=order))
    wish.turn_back("the person changed their mind")
    settle(shop.app, lambda: wish.state is WorkflowState.COMPENSATED)
    assert states(wish)["charge_card"] is State.REJECTED
    assert len(world.arrivals("payment", method="POST", order=order)) == sent
    assert not world.arrivals("undo-payment", method="POST", order=order)


def test_req_P16_an_unknown_is_reversed_by_our_key_where_the_contract_says_so(
    app, client, world, order
):
    """Whether or not it happened: cancelled by key, and compensated."""
    shop = Shop(app, client, payment={"by": "key"}, asked=("payment",))
    world.script("payment", {"order": order}, ["reply_lost"], lookup=["error_500"] * 99)
    wish = shop.fulfil(order)
    assert states(wish)["charge_card"] is State.UNKNOWN
    wish.turn_back()
    settle(app, lambda: wish.state is WorkflowState.COMPENSATED)
    assert states(wish)["charge_card"] is State.COMPENSATED
    (arrival,) = world.arrivals("undo-payment", method="POST", order=order)
    assert arrival.args["reverses"] == "", "nobody knows a reference"


def test_req_P14_a_refused_compensation_keeps_record_error_and_snapshot_and_never_widens(
    shop, world, order
):
    """A case with everything a person needs; what came before is not undone by itself."""
    world.script("shipment", {"order": order}, NO)
    world.script("undo-payment", {"order": order}, NO)
    wish = shop.fulfil(order)
    settle(shop.app, lambda: wish.state is WorkflowState.NEEDS_REVIEW)
    records = {member.step: record for member, record in wish.around().members}
    payment = records["charge_card"]
    assert (payment.state, payment.review) == (State.CONFIRMED, "undo_stuck")
    case = json.loads(shop.app.ledger.events(payment.id)[-1].detail)
    assert case["original"]["ref"] == payment.provider_ref
    assert (case["undo"]["kind"], case["undo"]["code"]) == ("business", "REFUSED_BY_POLICY")
    assert case["snapshot"] == {"records": [payment.provider_ref]}
    assert case["verdicts"] == ["kept"]
    assert case["review_by"] > payment.review_at
    for _ in range(3):
        shop.app.recover()
    assert records["reserve_stock"].state is State.CONFIRMED
    assert not world.arrivals("undo-stock", method="POST", order=order)

    shop.app.resolve(payment.id, kept=True, evidence="the customer keeps it, case 7")
    settle(shop.app, lambda: wish.state is WorkflowState.COMPENSATED)
    assert states(wish)["charge_card"] is State.CONFIRMED, "what is known is not rewritten"
    assert world.count("undo-stock", order=order) == 1


def test_req_P14_a_snapshot_that_cannot_be_read_is_said(shop, world, order):
    world.script("shipment", {"order": order}, NO)
    world.script("undo-payment", {"order": order}, NO)
    world.script("payment", {"order": order}, ["ok"], lookup=["error_500"] * 9)
    wish = shop.fulfil(order)
    settle(shop.app, lambda: wish.state is WorkflowState.NEEDS_REVIEW)
    payment = wish.around().steps()["charge_card"][1]
    case = json.loads(shop.app.ledger.events(payment.id)[-1].detail)
    assert case["snapshot"] == "could not be read"


def test_req_P09_what_cannot_be_reversed_goes_to_a_person(app, client, world, order):
    """No automatic reversal is assumed: neither of the irreversible nor of what came before."""
    shop = Shop(app, client, payment=None)
    world.script("shipment", {"order": order}, NO)
    wish = shop.fulfil(order)
    settle(app, lambda: wish.state is WorkflowState.NEEDS_REVIEW)
    assert wish.around().steps()["charge_card"][1].review == "irreversible"
    assert states(wish)["reserve_stock"] is State.CONFIRMED
    assert not world.arrivals("undo-stock", method="POST", order=order)


def test_req_P09_a_deadline_for_undoing_is_respected(app, client, world, order):
    shop = Shop(app, client, payment={"within": 0.001})
    world.script("shipment", {"order": order}, NO)
    wish = shop.fulfil(order)
    settle(app, lambda: wish.state is WorkflowState.NEEDS_REVIEW)
    assert wish.around().steps()["charge_card"][1].review == "undo_too_late"
    assert not world.arrivals("undo-payment", method="POST", order=order)


def test_req_P16_an_undo_without_permission_is_not_made_and_a_person_decides(
    app, client, world, order
):
    shop = Shop(app, client, payment={"permission": lambda action: False})
    world.script("shipment", {"order": order}, NO)
    wish = shop.fulfil(order)
    settle(app, lambda: wish.state is WorkflowState.NEEDS_REVIEW)
    assert wish.around().steps()["charge_card"][1].review == "undo_stuck"
    assert not world.arrivals("undo-payment", method="POST", order=order)


def test_req_F22_a_stopped_chain_sends_nothing_more_and_others_go_on(app, client, world, order):
    """Not even what was to be sent again; nothing is undone; another chain is not touched."""
    shop = Shop(app, client, asked=("payment",))
    world.script("payment", {"order": order}, ["request_lost"], lookup=["error_500"] * 15)
    wish = shop.fulfil(order)
    sent = len(world.arrivals("payment", method="POST", order=order))
    wish.stop("the person said stop")
    settle(shop.app, lambda: states(wish)["charge_card"] is State.REJECTED)
    assert len(world.arrivals("payment", method="POST", order=order)) == sent
    with shop.app.session("shop", principal="u7") as session, session.chain(f"fulfil {order}"):
        shipment = shop.ship(order_id=order)
    assert shipment.reason in ("chain_stopped", "waits_for:charge_card")
    with shop.app.session("shop", principal="u7") as session, session.chain("x", ordered=False):
        assert shop.notify(order_id=f"{order}-x").state is State.CONFIRMED
    assert states(wish)["reserve_stock"] is State.CONFIRMED, "stopping undoes nothing"


def test_req_F22_a_turned_chain_never_sends_forward_again(shop, world, order):
    wish = shop.fulfil(order, ordered=False)
    wish.turn_back()
    session = shop.app.session("shop", principal="u7")
    with session, session.chain(f"fulfil {order}", ordered=False) as again:
        late = again.step("late", shop.notify)(order_id=f"{order}-late")
    assert (late.state, late.reason) == (State.REJECTED, "chain_turned_back")
    assert not world.arrivals("notice", method="POST", order=f"{order}-late")


def test_req_P01_a_read_in_a_chain_is_recorded_with_its_result(app, order):
    @app.read()
    def find_order(order_id: str) -> dict:
        return {"id": order_id, "state": "paid"}

    with app.session("s", principal="u7") as session, session.chain(order) as wish:
        find_order(order_id=order)
    ((member, record),) = wish.around().members
    assert (member.step, record.state, record.mode) == ("find_order", State.CONFIRMED, "read")
    assert json.loads(app.ledger.result(record.id)) == {"id": order, "state": "paid"}
    wish.turn_back()
    app.recover()
    after = app.ledger.get(record.id)
    assert (after.n, after.review) == (record.n, None), "a read is never undone"


def test_a_write_in_a_chain_is_two_commits_a_read_one_and_the_end_of_the_block_one(app, order):
    """The chain, its member and its direction are written beside the action's own two writes."""
    commits, submit = [], app.ledger.submit

    def counting(operations, **how):
        commits.append([type(one).__name__ for one in operations])
        return submit(operations, **how)

    @app.tool(identity=["order_id"])
    def reserve(order_id: str) -> dict:
        return {"id": "S1"}

    @app.read()
    def find_order(order_id: str) -> dict:
        return {"id": order_id}

    app.ledger.submit = counting
    with app.session("s", principal="u7") as session, session.chain(order):
        reserve(order_id=order)
        find_order(order_id=order)
    assert commits == [["Reserve"], ["Advance"], ["Reserve"], ["EndChain"]]
    with app.session("s", principal="u7") as session, session.chain("nothing in it"):
        pass
    assert len(commits) == 4, "where nothing was called, nothing is written"


def test_req_S05_parallel_tasks_join_the_chain_and_wait_only_for_what_they_name(app, order):
    """Context variables carry it; what depends on nothing waits for nothing."""
    seen = []

    @app.tool(identity=["part"])
    async def pack(part: str) -> dict:
        seen.append(part)
        return {"id": part}

    async def run():
        async with app.session("s", principal="u7") as session:
            async with session.chain(order, ordered=False) as wish:
                names = ["a", "b", "c"]
                await asyncio.gather(*(wish.step(name, pack)(part=name) for name in names))
                last = await wish.step("d", pack, after=["a", "b"])(part="d")
            return wish, last

    wish, last = asyncio.run(run())
    assert last.state is State.CONFIRMED
    assert sorted(seen) == ["a", "b", "c", "d"]
    after = {member.step: member.after for member, _ in wish.around().members}
    assert after == {"a": (), "b": (), "c": (), "d": ("a", "b")}
    assert {record.chain for _, record in wish.around().members} == {wish.id}


def test_req_P16_async_steps_are_undone_by_async_compensations(app, order):
    from ascertain import Refused, Undone

    log = []

    @app.tool(identity=["order_id"])
    async def reserve(order_id: str) -> dict:
        return {"id": "S1"}

    @reserve.compensate()
    async def release(undone: Undone) -> dict:
        log.append((undone.tool, undone.provider_ref, undone.arguments))
        return {"id": "R1"}

    @app.tool(identity=["order_id"])
    async def charge(order_id: str) -> dict:
        raise Refused("NO_MONEY")

    async def run():
        session = app.session("s", principal="u7")
        async with session, session.chain(order) as wish:
            await reserve(order_id=order)
            await charge(order_id=order)
        return wish

    wish = asyncio.run(run())
    app.recover()
    assert wish.state is WorkflowState.COMPENSATED
    assert log == [("reserve", "S1", {"order_id": order})]
    assert release.contract.undoes == "reserve"


def test_a_dependency_that_no_step_has_is_an_error_before_anything_is_sent(shop, world, order):
    with shop.app.session("shop", principal="u7") as session, session.chain(order) as wish:
        with pytest.raises(ContractError, match="no earlier step"):
            wish.step("ship", shop.ship, after=["packing"])(order_id=order)
        with pytest.raises(ContractError, match="no earlier step"):
            wish.step("ship", shop.ship, after=["ship"])(order_id=order)
    assert not world.arrivals("shipment", method="POST", order=order)


def test_bad_compensations_are_refused_when_they_are_declared(app):
    from ascertain import Undone

    @app.tool()
    def reserve(order_id: str) -> dict:
        return {}

    @app.read()
    def look(order_id: str) -> dict:
        return {}

    def undo(undone: Undone) -> dict:
        return {}

    def nothing() -> dict:
        return {}

    with pytest.raises(ContractError, match="nothing to undo"):
        look.compensate()(undo)
    with pytest.raises(ContractError, match="cannot reverse itself"):
        reserve.compensate(name="reserve")(undo)
    with pytest.raises(ContractError, match="by 'reference' or 'key'"):
        reserve.compensate(by="magic")(undo)
    with pytest.raises(ContractError, match="one parameter"):
        reserve.compensate()(nothing)
    release = reserve.compensate()(undo)
    with pytest.raises(ContractError, match="has no compensation"):
        release.compensate()(undo)
    with pytest.raises(ContractError, match="already"):
        reserve.compensate(name="another")(undo)


def test_no_model_calls_a_compensation(shop):
    session = shop.app.session("shop", principal="u7")
    with session, pytest.raises(NotAllowed, match="recovery only"):
        session.call("undo_stock", {"undone": {}})


def test_req_S05_an_agents_call_by_its_session_joins_the_chain_or_turn_that_is_entered(app):
    @app.tool(identity=["to"], key_lifetime="24h")
    def send_mail(to: str) -> dict:
        return {"id": f"M-{to}"}

    with app.session("chat-42", principal="u7") as session:
        with session.chain("tell everybody") as chain:
            joined = session.call("send_mail", {"to": "ann"})
        with session.turn("later"):
            later = session.call("send_mail", {"to": "bob"})
        outside = session.call("send_mail", {"to": "carl"})
    assert (joined.record.chain, later.record.turn) == (chain.id, "later")
    assert (outside.record.chain, outside.record.turn) == ("", "")


def test_an_agents_calls_from_other_threads_are_its_sessions(app):
    @app.tool(identity=["to"], key_lifetime="24h")
    def send_mail(to: str) -> dict:
        return {"id": f"M-{to}"}

    with (
        app.session("chat-42", principal="u7") as session,
        ThreadPoolExecutor(4) as pool,
    ):
        calls = [pool.submit(session.call, "send_mail", {"to": str(n)}) for n in range(8)]
        assert all(call.result().confirmed for call in calls)
    assert {action.record.session for action in session.actions()} == {"chat-42"}
