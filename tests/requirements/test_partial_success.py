"""P: what a half-finished wish must come to."""

from __future__ import annotations

import itertools
import json
import threading
from dataclasses import replace

import pytest

from ascertain import Action, NotAllowed, State
from ascertain.model.tables import RULES, Event
from ascertain.report.export import Selection, exported
from ascertain.rules.project import Part, WorkflowState, workflow_say, workflow_state
from ascertain.rules.texts import MASK
from ascertain.store.ledger import Filter
from tests.requirements.conftest import QUICK

pytestmark = pytest.mark.every_ledger


def test_req_P01_a_write_is_on_record_before_anything_is_sent(desk, order):
    """When the body begins, another reader of the ledger already sees the attempt."""
    seen = []

    @desk.app.tool(identity=["order_id"])
    def ship_parcel(order_id: str) -> dict:
        seen.extend(desk.app.ledger.find(Filter()))
        return {"id": "S1"}

    with desk.session():
        ship_parcel(order_id=order)
    (record,) = seen
    assert (record.state, record.attempt, record.tool) == (State.SENT, 1, "ship_parcel")
    assert record.key, "the key is stored before it is used"


def test_req_P02_the_six_states_and_a_lost_answer_is_unknown(desk, world, order):
    """Unknown means: no definite answer. It never means: did not happen."""
    assert [str(state) for state in State] == [
        "prepared", "sent", "confirmed", "rejected", "unknown", "compensated",
    ]  # fmt: skip
    world.script("blind", {"order": order}, ["reply_lost"])
    create = desk.tool("blind")
    with desk.session():
        action = create(order_id=order)
    assert action.state is State.UNKNOWN
    assert world.count("blind", order=order) == 1, "it did happen"
    open_ends = {(rule.event, rule.end) for rule in RULES if rule.start is State.REJECTED}
    assert open_ends == {(Event.SEND, State.SENT), (Event.WITHDRAW, State.REJECTED)}, (
        "a rejection is final, is sent again, or is withdrawn; nothing else"
    )
    assert all(rule.unless_final for rule in RULES if rule.start is State.REJECTED)


def test_req_P03_the_wish_is_partial_when_only_the_notice_is_unknown():
    """Stock and shipment confirmed, notice unknown: fulfilled, notice awaiting confirmation."""
    english = [
        Part("stock", State.CONFIRMED),
        Part("shipment", State.CONFIRMED),
        Part("notice", State.UNKNOWN, essential=False),
    ]
    chinese = [
        part._replace(name=name) for part, name in zip(english, ["库", "运", "通知"], strict=True)
    ]
    assert workflow_state(english) is WorkflowState.PARTIALLY_COMPLETED
    assert workflow_say(english, "en", ("fulfilled", "履约")) == (
        "fulfilled, notice awaiting confirmation"
    )
    assert workflow_say(chinese, "zh-CN", ("fulfilled", "履约")) == "履约完成、通知待确认"


def test_req_P03_the_workflow_state_is_total_and_never_an_action_state():
    """Every combination of three parts has a workflow state, of a type of its own."""
    parts = [
        Part("x", state, final=final, essential=essential)
        for state in State
        for final in (False, True)
        for essential in (False, True)
    ]
    for wish in itertools.product(parts, repeat=3):
        assert isinstance(workflow_state(wish), WorkflowState)
    assert not isinstance(WorkflowState.RUNNING, State)


def test_req_P04_a_record_carries_what_a_person_needs_to_judge(desk, order):
    """Id, tool, state, key, reference, attempts, and the evidence behind the state."""
    create = desk.tool()
    with desk.session():
        action = create(order_id=order)
    record = desk.only()
    assert (record.id, record.tool, record.state) == (action.id, "create_ticket", State.CONFIRMED)
    assert (record.key, record.provider_ref, record.attempt) == (action.key, action.provider_ref, 1)
    evidence = desk.app.ledger.events(record.id)[-1]
    assert (evidence.event, evidence.reason) == ("confirm", "receipt")
    assert action.provider_ref in evidence.detail


@pytest.mark.parametrize(
    "past, attempts",
    [("request_lost", 2), ("reply_lost", 1), ("lookup_misses_first", 2)],
)
def test_req_P05_three_pasts_behind_one_timeout_end_differently(desk, world, order, past, attempts):
    """The same key is looked up first; only what is absent is sent again; one effect in the end."""
    world.script("tickets", {"order": order}, [past])
    create = desk.tool()
    with desk.session():
        action = create(order_id=order)
    assert action.state is State.CONFIRMED
    assert desk.looked_up, "evidence first"
    assert action.attempt == attempts
    assert world.count("tickets", order=order) == 1
    lost = next(e for e in desk.app.ledger.events(action.id) if e.event == "lose")
    assert lost.reason == "connection_lost", "all three look the same to the caller"


def test_req_P05_a_lookup_without_an_answer_leaves_it_unknown_and_due(desk, world, order):
    """No answer to the look-up either: still unknown, in the recovery queue, nothing repeated."""
    world.script("listed", {"order": order}, ["reply_lost"], lookup=["error_500"] * 50)
    create = desk.tool("listed", budget=replace(QUICK, unanswered=500, send_deadline_s=2.0))
    with desk.session():
        action = create(order_id=order)
    assert action.state is State.UNKNOWN
    assert desk.only().due_at is not None
    assert len(world.arrivals("listed", method="POST", order=order)) == 1


def test_req_P06_what_comes_next_follows_from_the_contract_not_from_the_status(desk, world, order):
    """One and the same 500: asked and found, or handed to a person; never "failed"."""
    for collection in ("tickets", "blind"):
        world.script(collection, {"order": order}, ["error_500_after"])
    with_lookup, blind = desk.tool(), desk.tool("blind", name="send_mail")
    with desk.session():
        asked = with_lookup(order_id=order)
        handed = blind(order_id=order)
    assert (asked.state, asked.attempt) == (State.CONFIRMED, 1)
    assert (handed.state, handed.record.review) == (State.UNKNOWN, "cannot_ask")


def test_req_P07_what_is_confirmed_is_never_sent_again(desk, world, order):
    """A re-run of the whole conversation meets the recorded fact."""
    create = desk.tool()
    for _ in range(3):
        with desk.session():
            action = create(order_id=order)
    assert action.replayed
    assert len(world.arrivals("tickets", method="POST", order=order)) == 1


def test_req_P08_a_business_refusal_ends_it_and_only_corrected_arguments_go_again(
    desk, world, order
):
    """The same refused call is answered from the record; a corrected one is a new action."""
    world.script("tickets", {"order": order}, ["error_body_2xx"])
    create = desk.tool()
    with desk.session():
        refused = create(order_id=order, amount=5)
        again = create(order_id=order, amount=5)
        assert (refused.state, refused.kind, again.how) == (State.REJECTED, "business", "bound")
        assert len(world.arrivals("tickets", method="POST", order=order)) == 1
        corrected = create(order_id=order, amount=4)
    assert corrected.state is State.CONFIRMED
    assert corrected.record.replaces == refused.id


def test_req_P08_a_temporary_refusal_before_processing_is_tried_again(desk, world, order):
    """The contract says that 503 means "refused before processing": the same key goes again."""
    world.script("tickets", {"order": order}, ["unavailable_503_before"])
    create = desk.tool(unprocessed=[503])
    with desk.session():
        action = create(order_id=order)
    assert (action.state, action.attempt) == (State.CONFIRMED, 2)
    keys = {arrival.key for arrival in world.arrivals("tickets", method="POST", order=order)}
    assert keys == {action.key}


def test_req_P08_a_temporary_refusal_without_sends_left_is_ended_by_a_person(desk, world, order):
    """The budget is spent: a case, nothing that waits; a person ends it, and it is wished anew."""
    world.script("tickets", {"order": order}, ["unavailable_503_before"] * 2)
    create = desk.tool(unprocessed=[503], budget=replace(QUICK, sends=2))
    with desk.session() as session:
        create(order_id=order)
        record = desk.recover(lambda record: record.review is not None)
        assert (record.state, record.final, record.review) == (State.REJECTED, 0, "budget_spent")
        facts = session.facts()
        assert facts["next_allowed"] == ["mark_pending", "manual_review"]
        assert facts["workflow_state"] == "needs_review"
        assert "a person will check it" in facts["say"]["en"]
        assert create(order_id=order).id == record.id, "calling again does not try it again"
        with pytest.raises(NotAllowed, match="it was not done"):
            desk.app.resolve(record.id, confirmed="T1")
        ended = desk.app.resolve(record.id, not_done=True, evidence="they are closed today")
        assert (ended.state, ended.record.final, ended.kind) == (State.REJECTED, 1, "withdrawn")
        assert ended.facts()["next_allowed"] == ["call_again", "ask_person"]
        anew = create(order_id=order)
    assert (anew.state, anew.record.replaces) == (State.CONFIRMED, record.id)
    assert world.count("tickets", order=order) == 1
    assert list(desk.app.ledger.verify()) == []


def test_req_P09_a_side_effect_that_nobody_can_undo_or_ask_about_goes_to_a_person(
    desk, world, order
):
    """No automatic reversal, no repeat: a case with the evidence."""
    world.script("blind", {"order": order}, ["reply_lost"])
    create = desk.tool("blind")
    with desk.session() as session:
        action = create(order_id=order)
        assert action.facts()["next_allowed"] == ["mark_pending", "manual_review"]
        assert session.facts()["workflow_state"] == "needs_review"
    assert action.say("zh-CN") == "申请状态暂时未确认，会人工核查"


def test_req_P10_the_model_gets_facts_and_a_closed_list(desk, world, order):
    """No exception text, no stack; each entry can be taken."""
    world.script("listed", {"order": order}, ["reply_lost"], lookup=["error_500"] * 999)
    create = desk.tool("listed", budget=replace(QUICK, unanswered=500))
    with desk.session() as session:
        action = create(order_id=order)
        facts = session.facts()
        assert facts["workflow_state"] == "awaiting_confirmation"
        (told,) = facts["actions"]
        assert told.keys() >= {"name", "state", "attempt", "reason"}
        assert facts["next_allowed"] == ["query_ticket", "mark_pending", "manual_review"]
        assert "Error" not in str(facts)
        assert "Traceback" not in str(facts)
        for entry in facts["next_allowed"]:
            assert session.take(entry)["actions"][0]["name"] == "create_ticket"
    assert action.state is State.UNKNOWN


def test_req_P11_what_the_model_asks_for_is_checked_again(desk, order):
    """Outside next_allowed nothing happens, and it says why."""
    create = desk.tool()
    with desk.session() as session:
        create(order_id=order)
        before = desk.only()
        for entry in ("query_ticket", "manual_review", "refund_everything"):
            with pytest.raises(NotAllowed, match="no effect"):
                session.take(entry)
    assert desk.only() == before


def test_req_P12_two_workers_one_action_one_winner(desk, world, order):
    """The same due action in two hands: one advances it, the other leaves."""
    world.script("listed", {"order": order}, ["reply_lost"], lookup=["error_500"])
    create = desk.tool(
        "listed", budget=replace(QUICK, turn_s=0.6, backoff_s=1.0, backoff_max_s=1.0)
    )
    with desk.session():
        create(order_id=order)
    start = threading.Barrier(2)
    counts: list[int] = []

    def work() -> None:
        start.wait(5)
        counts.extend(desk.app.recover() for _ in range(20))

    hands = [threading.Thread(target=work) for _ in range(2)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join(20)
    record = desk.recover(lambda record: record.state is State.CONFIRMED)
    confirms = [e for e in desk.app.ledger.events(record.id) if e.event == "confirm"]
    assert len(confirms) == 1
    assert world.count("listed", order=order) == 1


def test_req_P13_after_recovery_person_ledger_and_provider_agree_and_a_command_checks_it(
    desk, world, order
):
    """The lost reply is found, and then all three say the same; the recount says that they do."""
    world.script("tickets", {"order": order}, ["reply_lost"], lookup=["error_500"])
    create = desk.tool(budget=replace(QUICK, turn_sends=1))
    with desk.session():
        create(order_id=order)
    record = desk.recover(lambda record: record.state is State.CONFIRMED)
    (effect,) = world.effects("tickets", order=order)
    told = desk.app.action(record.id).say()
    assert (record.provider_ref, effect.ref in told) == (effect.ref, True)
    found = desk.app.recount()
    (row,) = found.rows
    assert found.agrees
    assert (row.provider_ref, row.told, row.count) == (effect.ref, told, 1)
    assert world.count("tickets", order=order) == 1, "nothing was sent"


def test_req_P13_an_extra_effect_at_the_provider_is_found(desk, world, order):
    """A provider that carried it out twice, and answered once."""
    world.script("listed", {"order": order}, ["duplicate_delivery"])
    create = desk.tool("listed", recount_after="0s")
    with desk.session():
        action = create(order_id=order)
    assert (action.state, action.record.disputed) == (State.CONFIRMED, 0)
    world.wait_idle()
    assert world.count("listed", order=order) == 2
    found = desk.app.recount()
    assert [str(rule) for rule in found.rows[0].differences] == ["extra_effects"]
    after = desk.app.action(action.id)
    assert (after.state, after.record.disputed) == (State.CONFIRMED, 1), "told, never rewritten"
    assert "contradict" in after.say()


def test_req_P15_log_keys_and_receipts_leave_without_personal_data(desk, order):
    """One object for each action, with its key, its receipt and its events."""
    create = desk.tool(redact=["issue"])
    with desk.session():
        action = create(order_id=order, issue="my secret illness")
    lines = list(exported(desk.app.ledger, Selection(query=Filter()), desk.app.hands.clock()))
    (line,) = lines
    assert (line["key"], line["provider_ref"]) == (action.key, action.provider_ref)
    assert line["arguments"]["order_id"] == order
    assert line["arguments"]["issue"] == MASK
    assert [event["event"] for event in line["events"]] == ["prepare", "send", "confirm"]
    text = json.dumps(lines)
    assert "secret" not in text
    assert '"u7"' not in text


def test_req_P18_undeclared_reversibility_is_irreversible(desk):
    """Nothing is assumed to be undoable; declared, it names the tool and the deadline."""
    silent = desk.tool()
    declared = desk.tool("keyed", name="book_room", undo="cancel_room", undo_within="2h")
    assert silent.contract.undo is None
    assert (declared.contract.undo, declared.contract.undo_within_s) == ("cancel_room", 7200.0)


def test_facts_type_is_what_a_caller_expects(desk, order):
    """A call returns an Action, typed by the body's own annotation."""
    create = desk.tool()
    with desk.session():
        action = create(order_id=order)
    assert isinstance(action, Action)
    assert action.unwrap()["order"] == order
