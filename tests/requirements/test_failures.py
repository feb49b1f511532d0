"""F: what a failed call must come to."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import replace

import httpx
import pytest

from ascertain import (
    IntentConflict,
    Refused,
    State,
    current_attempt,
)
from ascertain.errors import InvalidArguments, MissingArguments
from ascertain.report.cases import cases
from ascertain.rules.news.http import retry_after_s
from ascertain.testing.world import SIX, Behaviour
from tests.requirements.conftest import QUICK, SETTLING_S

pytestmark = pytest.mark.every_ledger


def posts(world, collection, order):
    return world.arrivals(collection, method="POST", order=order)


@pytest.mark.parametrize("lost", ["reply_lost", "request_lost", "slow_deadline"])
def test_req_F01_a_timeout_on_a_write_is_unknown_and_settled_by_the_same_key(
    desk, world, order, lost
):
    """Never failed, never a new key, one effect."""
    world.script(
        "keyed", {"order": order}, [Behaviour(lost, **({"seconds": 0.7} if "slow" in lost else {}))]
    )
    create = desk.tool("keyed", budget=replace(QUICK, turn_s=4.0))
    with desk.session():
        action = create(order_id=order)
    record = desk.recover(lambda record: record.state is State.CONFIRMED)
    assert {post.key for post in posts(world, "keyed", order)} == {action.key}
    assert world.count("keyed", order=order) == 1
    assert record.provider_ref == world.effects("keyed", order=order)[0].ref


def test_req_F01_without_a_promise_nothing_is_repeated(desk, world, order):
    """No idempotency, no look-up: stop, and hand to reconciliation."""
    world.script("blind", {"order": order}, ["request_lost"])
    create = desk.tool("blind")
    with desk.session():
        action = create(order_id=order)
    assert (action.state, action.record.review) == (State.UNKNOWN, "cannot_ask")
    assert len(posts(world, "blind", order)) == 1


def test_req_F02_throttled_beyond_the_budget_ends_the_turn_and_the_background_goes_on(
    desk, world, order
):
    """60 s do not fit: told honestly now; the worker holds the same key until then."""
    world.script("keyed", {"order": order}, [Behaviour("throttled", retry_after_s=60)])
    create = desk.tool("keyed")
    with desk.session():
        action = create(order_id=order)
    record = desk.only()
    assert action.state is State.UNKNOWN
    assert action.say("zh-CN") == "暂未确认提交"
    assert action.facts()["actions"][0]["retry_after_s"] > 50
    assert record.due_at == pytest.approx(record.updated_at + 60, abs=2)
    desk.app.recover()
    assert len(posts(world, "keyed", order)) == 1, "not before its time"


def test_req_F02_throttled_within_the_budget_waits_the_advised_time(desk, world, order):
    """One second fits: waited, then sent with the same key."""
    world.script("keyed", {"order": order}, [Behaviour("throttled", retry_after_s=1)])
    create = desk.tool("keyed", budget=replace(QUICK, turn_s=4.0))
    with desk.session():
        action = create(order_id=order)
    first, second = posts(world, "keyed", order)
    assert action.state is State.CONFIRMED
    assert second.received_at - first.received_at >= 1.0
    assert first.key == second.key


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("120", 120.0), ("0", 0.0), ("Mon, 30 Nov 2026 00:01:00 GMT", 60.0),
        ("Sun, 29 Nov 2026 00:00:00 GMT", 0.0), ("-1", None), ("1.5", 2.0), ("inf", None),
        ("soon", None), ("", None),
    ],
)  # fmt: skip
def test_req_F02_both_forms_of_retry_after_are_read_strictly(text, seconds):
    """Seconds (rounded up) or an HTTP date, never below zero; anything else is no advice."""
    midnight = 1795996800.0  # Mon, 30 Nov 2026 00:00:00 GMT
    assert retry_after_s(text, now=midnight) == seconds


def test_req_F03_a_503_proves_nothing_about_a_write_and_bounds_a_read(desk, world, order):
    """The effect behind a 503 is found; a read gives up in bounds and is no unknown."""
    world.script("tickets", {"order": order}, ["unavailable_503_after"])
    create = desk.tool()

    @desk.app.read(budget=replace(QUICK, turn_s=0.5))
    def read_status(order_id: str) -> dict:
        raise httpx.ConnectError("no route")

    with desk.session():
        action = create(order_id=order)
        looked = read_status(order_id=order)
    assert (action.state, action.attempt) == (State.CONFIRMED, 1)
    assert (looked.state, looked.kind) == (State.REJECTED, "unavailable")
    assert 1 < looked.attempt <= QUICK.sends


@pytest.mark.parametrize("refusal", ["unauthorised_401", "forbidden_403"])
def test_req_F04_an_auth_refusal_stops_and_asks_the_person(desk, world, order, refusal):
    """No other account, no other tool; the same call is not sent again in this session."""
    world.script("tickets", {"order": order}, [refusal])
    create = desk.tool()
    with desk.session():
        action = create(order_id=order)
        again = create(order_id=order)
    assert (action.state, action.kind, again.how) == (State.REJECTED, "auth", "bound")
    assert action.facts()["next_allowed"] == ["ask_person"]
    assert len(posts(world, "tickets", order)) == 1
    with desk.session():  # logged in: the session is opened anew
        assert create(order_id=order).state is State.CONFIRMED


def test_req_F05_missing_and_malformed_arguments_never_leave(desk, world, order):
    """A clear typed error with names, nothing recorded, nothing sent."""
    create = desk.tool()
    with desk.session() as session:
        with pytest.raises(MissingArguments, match="order_id"):
            session.call("create_ticket", {"issue": "noise"})
        with pytest.raises(InvalidArguments, match="amount"):
            session.call("create_ticket", {"order_id": order, "amount": "five"})
        world.script("tickets", {"order": order}, ["validation_422"])
        refused = create(order_id=order)
        again = create(order_id=order)
    assert (refused.kind, again.how) == ("invalid", "bound")
    assert refused.facts()["next_allowed"] == ["correct_arguments", "ask_person"]
    assert len(posts(world, "tickets", order)) == 1


def test_req_F06_already_exists_is_told_once_it_is_checked_to_be_the_callers(desk, world, order):
    """T850 is named to its owner and withheld from anybody else."""
    create = desk.tool()
    for who, related in (("u7", "T850"), ("u8", None)):
        name = f"{order}-{who}"
        world.script("tickets", {"order": name}, ["business_refusal"])
        with desk.app.session(f"chat-{who}", principal=who):
            action = create(order_id=name)
        assert (action.state, action.kind) == (State.REJECTED, "already_exists")
        assert action.related_ref == related


def test_req_F06_already_exists_after_a_lost_reply_is_our_own_success(desk, world, order):
    """The record carries our key: confirmed."""
    world.script(
        "listed", {"order": order}, ["reply_lost", "already_exists"], lookup=["miss", "miss"]
    )
    create = desk.tool("listed", budget=replace(QUICK, turn_s=4.0))
    with desk.session():
        create(order_id=order)
    record = desk.recover(lambda record: record.state is State.CONFIRMED)
    assert record.provider_ref == world.effects("listed", order=order)[0].ref


def test_req_F06_a_2xx_whose_body_says_error_is_a_refusal(desk, world, order):
    """The status is not believed before the body is read."""
    world.script("tickets", {"order": order}, ["error_body_2xx"])
    create = desk.tool()
    with desk.session():
        action = create(order_id=order)
    assert (action.state, action.record.code) == (State.REJECTED, "REFUSED_BY_POLICY")


def test_req_F07_every_tool_declares_which_it_is(desk):
    """A write unless it is declared a read; an unsafe method in a read is judged as a write."""
    assert desk.tool().contract.access == "write"

    @desk.app.read(budget=replace(QUICK, sends=1))
    def read_orders(order_id: str) -> dict:
        desk.client.post(
            "/tickets", json={"order": order_id}, headers={"Idempotency-Key": "k" * 20}
        )
        raise ConnectionError("lost")

    with desk.session():
        action = read_orders(order_id="A-unsafe")
    assert action.reason == "unsafe_read"


def test_req_F08_one_intent_one_key(desk, world, order):
    """Rewording, another call id and a re-run are one intent; another principal is another."""
    create = desk.tool()
    keys = set()
    with desk.session():
        keys.add(create.options(call_id="c1")(order_id=order, issue="noise in the left ear").key)
        keys.add(create.options(call_id="c2")(order_id=order, issue="left side crackles").key)
    with desk.session():
        keys.add(create(order_id=order, issue="noise").key)
    assert len(keys) == 1
    (sent,) = posts(world, "tickets", order)
    assert sent.args["issue"] == "noise in the left ear", "the first text is the one that was sent"
    with desk.app.session("chat-42", principal="u8"):
        assert create(order_id=order).key not in keys


def test_req_F08_a_call_id_that_belongs_to_another_call_never_tells_its_answer(desk, world, order):
    """Some frameworks count their calls anew: what they then repeat is the id, not the wish."""
    create = desk.tool()
    pay = desk.app.tool(name="pay", noun="payment")(lambda order_id: {"id": "P1"})
    with desk.session():
        first = create.options(call_id="call_0")(order_id=order)
        with pytest.raises(IntentConflict, match="belongs to another call, of create_ticket"):
            create.options(call_id="call_0")(order_id=f"{order}-other")
        with pytest.raises(IntentConflict, match="belongs to another call, of create_ticket"):
            pay.options(call_id="call_0")(order_id=order)
        assert create.options(call_id="call_0")(order_id=order).id == first.id
    assert len(posts(world, "tickets", order)) == 1
    assert posts(world, "tickets", f"{order}-other") == []


def test_req_F08_another_exact_value_on_a_live_intent_is_a_conflict(desk, world, order):
    """Nothing is sent, and the fields are named (not their values)."""
    create = desk.tool()
    with desk.session():
        create(order_id=order, amount=5)
        with pytest.raises(IntentConflict, match="Different: amount") as conflict:
            create(order_id=order, amount=98765432)
    assert conflict.value.context["fields"] == ["amount"]
    assert "98765432" not in str(conflict.value)
    assert len(posts(world, "tickets", order)) == 1


def test_req_F09_after_its_lifetime_the_key_is_never_sent_again(desk, world, order):
    """The key would be a new request to the provider by then: a person decides."""
    world.script("keyed", {"order": order}, [Behaviour("throttled", retry_after_s=1)] * 5)
    create = desk.tool("keyed", key_lifetime="0.9s", key_margin="0.2s")
    with desk.session():
        create(order_id=order)
    record = desk.recover(lambda record: record.review is not None)
    assert (record.state, record.review) == (State.UNKNOWN, "budget_spent")
    assert len(posts(world, "keyed", order)) == 1


def test_req_F10_absent_is_proof_only_after_the_settling_time(desk, world, order):
    """An effect on its way lands after the first "absent": still one effect."""
    world.script("listed", {"order": order}, [Behaviour("late_execution", seconds=0.2)])
    create = desk.tool("listed", budget=replace(QUICK, turn_s=0.5))
    with desk.session():
        create(order_id=order)
    record = desk.recover(lambda record: record.terminal)
    assert (record.state, record.attempt) == (State.CONFIRMED, 1)
    assert world.count("listed", order=order) == 1
    assert SETTLING_S > 0.2


def test_req_F10_a_lookup_may_say_working_and_refused(desk, world, order):
    """Working is waited for; a refusal found by key settles it."""

    @desk.app.tool(name="refund", noun="refund", budget=QUICK)
    def refund(order_id: str) -> dict:
        raise TimeoutError

    @refund.lookup()
    def find_refund(action):
        return Refused("POLICY", kind="business")

    with desk.session():
        action = refund(order_id=order)
    assert (action.state, action.kind, action.record.code) == (State.REJECTED, "business", "POLICY")


def test_req_F11_identity_comes_from_the_session_alone(desk, order):
    """A principal in the model's arguments is refused; the body sees the session's."""
    seen = []

    @desk.app.tool()
    def close_account(order_id: str) -> dict:
        seen.append(current_attempt().principal)
        return {"id": "C1"}

    with desk.session() as session:
        with pytest.raises(InvalidArguments):
            session.call("close_account", {"order_id": order, "principal": "admin"})
        session.call("close_account", {"order_id": order})
    assert seen == ["u7"]


def test_req_F12_permission_consent_and_preconditions_come_first(desk, order):
    """What may not be done is recorded as refused and never sent."""
    sent = []

    def tool(name, **said):
        @desk.app.tool(name=name, noun=name, **said)
        def body(order_id: str) -> dict:
            sent.append(name)
            return {"id": "X1"}

        return body

    no_permission = tool("a", permission=lambda call: call.principal == "admin")
    no_consent = tool("b", consent="refund")
    too_late = tool("c", preconditions={"received within 30 days": lambda call: False})
    allowed = tool("d", permission=lambda call: True, consent="inspection")
    with desk.app.session("s", principal="u7", consents=["inspection"]):
        ends = [made(order_id=order) for made in (no_permission, no_consent, too_late, allowed)]
    assert [(end.kind, end.reason) for end in ends[:3]] == [
        ("auth", "permission"), ("auth", "consent"),
        ("business", "precondition: received within 30 days"),
    ]  # fmt: skip
    assert all(end.state is State.REJECTED and end.record.final for end in ends[:3])
    assert sent == ["d"]


def test_req_F12_a_check_that_breaks_allows_nothing_and_binds_nothing(desk, order):
    """Its failure is logged; the call is withdrawn, recorded, and free to be made again."""
    works = []

    def permission(call):
        if not works:
            raise ConnectionError("the directory is down")
        return True

    @desk.app.tool(name="close", noun="account", permission=permission)
    def close(order_id: str) -> dict:
        return {"id": "C1"}

    with desk.session():
        action = close(order_id=order)
        works.append(True)
        again = close(order_id=order)
    assert (action.state, action.kind, action.reason) == (State.REJECTED, "withdrawn", "unchecked")
    assert again.state is State.CONFIRMED


def test_req_F12_permission_is_checked_again_before_a_late_send(desk, world, order):
    """Revoked between the lost attempt and its repeat: not sent again, a person decides."""
    allowed = [True, False]
    world.script("keyed", {"order": order}, ["request_lost"])
    create = desk.tool("keyed", permission=lambda call: allowed.pop(0) if allowed else False)
    with desk.session():
        action = create(order_id=order)
    assert (action.state, action.record.review) == (State.UNKNOWN, "permission")
    assert len(posts(world, "keyed", order)) == 1


def test_req_F13_both_halves_of_the_budget_hold_across_restarts(desk, world, order, tmp_path):
    """Two sends in the turn; four in all, whoever sends them; then a person."""
    world.script("keyed", {"order": order}, ["request_lost"] * 20)
    create = desk.tool("keyed")
    with desk.session():
        create(order_id=order)
    assert len(posts(world, "keyed", order)) == QUICK.turn_sends
    record = desk.recover(lambda record: record.review is not None)
    assert len(posts(world, "keyed", order)) == QUICK.sends
    assert record.review == "budget_spent"


def test_req_F15_was_it_submitted_is_answered_from_the_record(desk, world, order):
    """Asking makes no new intent; it may ask the provider."""
    world.script("listed", {"order": order}, ["reply_lost"], lookup=["error_500"] * 3)
    create = desk.tool("listed", budget=replace(QUICK, turn_s=0.3, backoff_s=0.5, unanswered=50))
    with desk.session() as session:
        create(order_id=order)
        assert desk.only().state is State.UNKNOWN
        for _ in range(6):
            if "query_ticket" not in session.facts()["next_allowed"]:
                break
            session.take("query_ticket")
        assert session.facts()["actions"][0]["state"] == "confirmed"
    assert desk.only().attempt == 1


@pytest.mark.parametrize("which", SIX._fields)
def test_req_F18_the_six_outcomes(desk, world, order, which):
    """One ticket at most, the person hears T9xx or the honest rest, no new key."""
    world.script("tickets", {"order": order}, [getattr(SIX, which)])
    create = desk.tool(budget=replace(QUICK, turn_s=2.5))
    with desk.session():
        action = create(order_id=order)
    effects = world.effects("tickets", order=order)
    assert len(effects) <= 1
    assert len({post.key for post in posts(world, "tickets", order)}) == 1
    if effects:
        assert (action.state, action.provider_ref) == (State.CONFIRMED, effects[0].ref)
    else:
        assert action.state in (State.UNKNOWN, State.REJECTED)
        assert action.state is State.UNKNOWN or action.kind in ("auth", "already_exists")


def test_req_F18_a_lookup_that_misses_at_first_issues_no_new_id(desk, world, order):
    """The first miss is not absence."""
    world.script("listed", {"order": order}, ["lookup_misses_first"])
    create = desk.tool("listed")
    with desk.session():
        create(order_id=order)
    record = desk.recover(lambda record: record.terminal)
    assert record.state is State.CONFIRMED
    assert world.count("listed", order=order) == 1
    assert len(posts(world, "listed", order)) == 1


def test_req_F16_a_case_carries_ids_trail_deadline_and_permitted_verdicts(desk, world, order):
    """Neither key nor look-up: a person decides, with all that is known."""
    world.script("blind", {"order": order}, ["reply_lost"])
    create = desk.tool("blind")
    with desk.session():
        action = create(order_id=order)
    desk.recover(lambda record: record.review is not None)
    (case,) = cases(desk.app.ledger, desk.app.hands.clock())
    told = case.as_dict(trail=True)
    assert (told["request_id"], told["about"]) == (action.key, {"order_id": order})
    assert told["verdicts"] == ["confirmed", "not_done"]
    assert (told["owner"], told["overdue"]) == (None, False)
    assert told["by_at"] > told["opened_at"]
    assert "lose" in [event["event"] for event in told["story"]["events"]]
    (effect,) = world.effects("blind", order=order)
    after = desk.app.resolve(action.id, confirmed=effect.ref, evidence="seen in the CRM")
    assert effect.ref in after.say()
    assert list(cases(desk.app.ledger, desk.app.hands.clock())) == []


def test_req_F19_the_provider_s_final_count_is_logged(desk, order, caplog):
    """Ids, codes and the count; no argument."""
    create = desk.tool()
    with desk.session():
        action = create(order_id=order, issue="my secret illness")
    with caplog.at_level(logging.INFO, logger="ascertain"):
        desk.app.recount()
    (line,) = [json.loads(r.message) for r in caplog.records if '"recount"' in r.message]
    assert (line["action"], line["key"], line["count"]) == (action.id, action.key, 1)
    assert (line["said"], line["differences"]) == ("found", [])
    assert "secret" not in caplog.text
    assert order not in caplog.text


def test_req_F19_each_step_is_logged_without_personal_data(desk, world, order, caplog):
    """Tool, digest, key, the provider's id, failure kind, attempts; not the argument's text."""
    world.script("keyed", {"order": order}, [Behaviour("throttled", retry_after_s=60)])
    create = desk.tool("keyed")
    with caplog.at_level(logging.INFO, logger="ascertain"), desk.session():
        create(order_id=order, issue="my secret illness")
    lines = [json.loads(r.message) for r in caplog.records if r.message.startswith("{")]
    lost = next(line for line in lines if line["event"] == "lose")
    assert lost.keys() >= {"action", "tool", "key", "arguments", "attempt", "http", "retry_after_s"}
    assert "secret" not in caplog.text
    assert order not in caplog.text


def test_req_F20_what_is_said_never_exceeds_the_receipt(desk, world, order):
    """Submitted with its reference and pending result; and not "failed" while unknown."""
    create = desk.tool()
    blind = desk.tool("blind", name="send_mail")
    world.script("blind", {"order": order}, ["reply_lost"])
    with desk.session():
        done, lost = create(order_id=order), blind(order_id=order)
    assert done.provider_ref in done.say()
    assert "pending" in done.say()
    for language in ("en", "zh-CN"):
        for word in ("fail", "失败", "refunded", "已退款"):
            assert word not in lost.say(language).lower()


@pytest.mark.parametrize(
    "said, rule",
    [
        ("Your ticket has been submitted.", "submitted_without_evidence"),
        ("The ticket could not be created.", "not_done_while_unknown"),
        ("Please submit it again.", "invites_repeat"),
        ("工单已提交。", "submitted_without_evidence"),
        ("提交失败。", "not_done_while_unknown"),
    ],
)
def test_req_F20_a_reply_that_contradicts_the_ledger_is_found_before_it_is_said(
    desk, world, order, said, rule
):
    """And what is offered instead contradicts nothing, in the same language."""
    world.script("blind", {"order": order}, ["reply_lost"])
    create = desk.tool("blind")
    with desk.session() as session:
        action = create(order_id=order)
        (finding,) = session.check_reply(said)
        assert (finding.rule, finding.actions) == (rule, (action.id,))
        assert session.check_reply(finding.say) == []
        claim = {"actions": [{"name": "create_ticket", "state": "confirmed"}]}
        assert [f.rule for f in session.verify_claims(claim)] == ["state_differs"]


def test_req_F20_what_the_person_is_told_and_what_the_provider_holds_agree(desk, world, order):
    """Submitted, with the very reference that the provider gave, and nothing of a refund."""
    create = desk.tool()
    with desk.session() as session:
        create(order_id=order)
        (effect,) = world.effects("tickets", order=order)
        assert (
            session.check_reply(f"Ticket {effect.ref} is submitted, its result is pending.") == []
        )
        (finding,) = session.check_reply("Your order has been refunded.")
        assert finding.rule == "more_than_receipt"
        assert effect.ref in finding.say


def test_req_F21_a_corrected_call_names_the_one_it_replaces(desk, world, order):
    """A new action with a key of its own, linked to the refused one."""
    world.script("tickets", {"order": order}, ["validation_422"])
    create = desk.tool()
    with desk.session():
        wrong = create(order_id=order, amount=0)
        right = create(order_id=order, amount=1)
    assert right.record.replaces == wrong.id
    assert right.key != wrong.key
    assert right.state is State.CONFIRMED


def test_req_F22_stop_is_scoped_to_the_intent(desk, world, order):
    """One action waits for a person; another tool of the same session goes on."""
    world.script("blind", {"order": order}, ["reply_lost"])
    stuck, fine = desk.tool("blind", name="send_mail"), desk.tool()
    with desk.session():
        assert stuck(order_id=order).record.review == "cannot_ask"
        assert stuck(order_id=order).record.attempt == 1, "sends nothing more"
        assert fine(order_id=order).state is State.CONFIRMED


def test_req_F23_several_writes_in_one_body_are_steps_or_are_reported(desk, world, order):
    """Declared steps have sub-keys; undeclared distinct targets are reported."""

    @desk.app.tool(name="undeclared", noun="undeclared", via=[desk.client], budget=QUICK)
    def undeclared(order_id: str) -> dict:
        for collection in ("tickets", "keyed"):
            desk.client.post(
                f"/{collection}", json={"order": order_id},
                headers={"Idempotency-Key": current_attempt().key},
            )  # fmt: skip
        return {"id": "U1"}

    @desk.app.tool(name="declared", noun="declared", via=[desk.client], budget=QUICK)
    def declared(order_id: str) -> dict:
        for collection in ("tickets", "keyed"):
            sub_key = current_attempt().step(collection)
            desk.client.post(
                f"/{collection}", json={"order": f"{order_id}-steps"},
                headers={"Idempotency-Key": sub_key},
            )  # fmt: skip
        return {"id": "D1"}

    with desk.session():
        reported, clean = undeclared(order_id=order), declared(order_id=order)
    assert reported.record.review == "several_effects"
    assert clean.record.review is None
    keys = {e.key for e in world.effects(order=f"{order}-steps")}
    assert len(keys) == 2
    assert clean.key not in keys


def test_req_F24_contradicting_evidence_never_rewrites_and_is_never_dropped(desk, world, order):
    """A late second receipt opens a case and changes what is said; the state stays."""
    sent, release = threading.Event(), threading.Event()
    refs = iter(["T1", "T2"])

    @desk.app.tool(
        name="pay", noun="payment", budget=replace(QUICK, send_deadline_s=0.3, turn_s=0.4)
    )
    def pay(order_id: str) -> dict:
        ref = next(refs)
        if ref == "T1":
            sent.set()
            assert release.wait(10)
        return {"id": ref}

    def first() -> None:
        with desk.session():
            pay(order_id=order)

    sender = threading.Thread(target=first)
    sender.start()
    assert sent.wait(10)
    record = desk.recover(lambda record: record.state is State.UNKNOWN)
    desk.app.resolve(record.id, confirmed="T9")
    release.set()
    sender.join(10)
    record = desk.only()
    assert (record.state, record.provider_ref, record.disputed) == (State.CONFIRMED, "T9", 1)
    assert record.review == "duplicate_effect"
    assert "contradict" in desk.app.action(record.id).say()
