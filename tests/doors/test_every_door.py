"""What holds at every door: exactly one effect for one intent, and never more said than is known.

The frameworks' own runners and clients, a scripted model, a provider that loses answers.
"""

import pytest

from ascertain import State
from ascertain.testing.world.catalogue import Behaviour
from tests.doors.phrases import invitations
from tests.doors.script import DONE, Call, calls
from tests.doors.shop import PRINCIPAL

LOST = ["reply_lost"]


def ticket(id, order, issue="noise in the left ear"):
    return Call(id, "create_ticket", {"order": order, "issue": issue})


def case(id, order, **more):
    return Call(id, "open_case", {"order": order, **more})


def note(id, order, **more):
    return Call(id, "post_note", {"order": order, **more})


# ------------------------------------------------------------------------------- one effect, told


def test_req_P10_a_confirmed_call_is_told_with_its_reference_and_no_more(shop, variant, order):
    played = variant.play(shop, [calls(ticket("c1", order)), DONE])
    told = played[0]
    assert told.call_id == "c1"
    assert set(told.facts) == {"workflow_state", "actions", "next_allowed", "say"}
    assert told.action["state"] == "confirmed"
    assert told.action["provider_ref"] == shop.world.effects("tickets", order=order)[0].ref
    assert told.is_error in (False, None)


@pytest.mark.parametrize("make", [ticket, case], ids=["own", "guest"])
def test_req_F08_a_lost_reply_is_looked_up_and_stays_one_effect(shop, variant, order, make):
    shop.world.script("tickets", {"order": order}, LOST)
    played = variant.play(shop, [calls(make("c1", order)), DONE])
    assert played[0].state == "confirmed"
    assert shop.effects(order) == shop.arrivals(order) == 1


def test_req_P10_what_nobody_declared_is_sent_once_and_never_called_refused(shop, driver, order):
    shop.world.script("tickets", {"order": order}, LOST)
    says = [calls(note("c1", order)), calls(note("c2", order)), DONE]
    played = driver.play(shop, says)
    assert [told.state for told in played.told] == ["unknown", "unknown"]
    assert all(told.is_error in (True, None) for told in played.told)
    assert "manual_review" in played[1].facts["next_allowed"]
    assert shop.arrivals(order) == 1


@pytest.mark.parametrize("behaviour", ["reply_lost", "error_500_after", "business_refusal"])
def test_req_P10_no_text_of_an_exception_reaches_the_model(shop, driver, order, behaviour):
    shop.world.script("tickets", {"order": order}, [behaviour])
    played = driver.play(shop, [calls(note("c1", order)), DONE])
    for trace in ("Error", "Traceback", "httpx", "http://", "Exception", "line "):
        assert trace not in played[0].text
    assert not invitations(played[0].text)
    assert played[0].state in {"unknown", "rejected"}


# -------------------------------------------------------------------------------------- identity


@pytest.mark.parametrize("make", ["own", "guest"])
def test_req_U05_a_reworded_second_plan_in_one_turn_is_the_same_effect(shop, driver, order, make):
    first, second = (
        (ticket("c1", order), ticket("x9", order, "it buzzes on the left"))
        if make == "own"
        else (case("c1", order, note="one"), case("x9", order, note="another"))
    )
    played = driver.play(shop, [calls(first), calls(second), DONE])
    assert [told.state for told in played.told] == ["confirmed", "confirmed"]
    assert played[0].action["provider_ref"] == played[1].action["provider_ref"]
    assert shop.arrivals(order) == 1


def test_req_U05_call_ids_that_repeat_mix_nothing_up(shop, driver, order):
    other = f"{order}-b"
    says = [calls(ticket("call_0", order)), calls(ticket("call_0", other)), DONE]
    played = driver.play(shop, says)
    if played.refused:  # a framework that ends such a run has made the first call only
        assert (shop.effects(order), shop.effects(other)) == (1, 0)
        return
    assert played[0].action["provider_ref"] != played[1].action["provider_ref"]
    assert (shop.effects(order), shop.effects(other)) == (1, 1)


def test_req_U05_a_next_turn_may_wish_for_it_again(shop, driver, order):
    driver.play(shop, [calls(ticket("c1", order)), DONE], turn="m1")
    driver.play(shop, [calls(ticket("c2", order)), DONE], turn="m2")
    assert shop.effects(order) == 2


def test_req_U15_an_intended_second_is_named_by_the_program_and_found_again(
    make_shop, driver, order
):
    def ordinal(call):
        return 2 if call.call_id == "second" else None

    says = [calls(ticket("first", order)), calls(ticket("second", order)), DONE]
    shop = make_shop(ordinal=ordinal)
    played = driver.play(shop, says)
    assert played[0].action["provider_ref"] != played[1].action["provider_ref"]
    driver.play(make_shop(ordinal=ordinal), says)
    assert shop.effects(order) == 2


@pytest.mark.parametrize("name", ["ordinal", "intent", "idempotency_key"])
def test_req_U15_a_model_cannot_name_a_second_by_itself(shop, driver, order, name):
    wish = Call("c1", "create_ticket", {"order": order, "issue": "x", name: "2"})
    played = driver.play(shop, [calls(wish), DONE])
    assert played[0].action["reason"] == "invalid_arguments"
    assert shop.arrivals(order) == 0


def test_req_F11_whose_wish_it_is_comes_from_the_session_alone(shop, driver, order):
    forged = Call("c1", "create_ticket", {"order": order, "issue": "x", "principal": "admin"})
    played = driver.play(shop, [calls(forged), calls(ticket("c2", order)), DONE])
    assert played[0].state == "rejected"
    assert [action.record.principal for action in shop.actions()] == [PRINCIPAL]
    assert shop.effects(order) == 1


def test_req_F11_what_the_program_fills_is_not_what_the_model_says(shop, driver, order):
    driver.play(shop, [calls(case("c1", order, request_key="of-the-model")), DONE])
    (effect,) = shop.world.effects("tickets", order=order)
    assert effect.key == shop.actions()[0].key != "of-the-model"


# ---------------------------------------------------------------------- killed, cancelled, resumed


@pytest.mark.parametrize("make", [ticket, case], ids=["own", "guest"])
def test_req_S05_killed_after_the_effect_and_resumed_it_is_one(make_shop, variant, order, make):
    shop = make_shop()

    shop.after_send = shop.die
    killed = variant.play(shop, [calls(make("c1", order)), DONE])
    assert killed.killed
    again = make_shop()
    played = variant.play(again, [DONE], saved=killed.saved)
    assert played[0].state == "confirmed"
    assert again.effects(order) == again.arrivals(order) == 1


def test_req_S05_what_was_saved_may_be_resumed_twice_and_is_one_effect(make_shop, driver, order):
    shop = make_shop()
    shop.after_send = shop.die
    killed = driver.play(shop, [calls(case("c1", order)), DONE])
    again = make_shop()
    played = [driver.play(again, [DONE], saved=killed.saved) for _ in range(2)]
    # A framework that knows that its run has ended says nothing the second time.
    assert len({told.action["provider_ref"] for one in played for told in one.told}) == 1
    assert again.effects(order) == again.arrivals(order) == 1


def test_a_run_that_is_played_again_from_its_beginning_finds_its_actions(make_shop, driver, order):
    says = [calls(ticket("c1", order), case("c2", f"{order}-b")), DONE]
    first = driver.play(make_shop(), says)
    shop = make_shop()
    again = driver.play(shop, says)
    refs = [[told.action["provider_ref"] for told in played.told] for played in (first, again)]
    assert refs[0] == refs[1]
    assert (shop.effects(order), shop.effects(f"{order}-b")) == (1, 1)


def test_req_U07_a_cancelled_run_leaves_an_action_whose_late_result_lands(shop, variant, order):
    if not variant.is_async:  # sync code is not cancelled; it is killed, above
        return
    shop.world.script("tickets", {"order": order}, [Behaviour("slow_deadline", seconds=0.3)])
    assert variant.play(shop, [calls(case("c1", order)), DONE], cancel=True).killed
    (action,) = shop.actions()
    assert action.state is State.CONFIRMED
    assert [event.event for event in shop.app.ledger.events(action.id)][1:] == [
        "send", "lose", "confirm",
    ]  # fmt: skip
    assert shop.effects(order) == 1


# ---------------------------------------------------------------------------- what is never made


@pytest.mark.parametrize("text", ['{{"order": "{}"', '{{"order": "{}", "issue": "no', "{}"])
def test_req_U12_half_a_call_is_never_made(shop, variant, order, text):
    half = Call("c1", "create_ticket", text.format(order) if "order" in text else "{")
    played = variant.play(shop, [calls(half, cut=True), DONE])
    assert played.refused or played[0].state == "rejected"
    assert shop.arrivals(order) == 0
    assert shop.actions() == []


def test_req_U12_a_message_that_was_cut_off_has_none_of_its_calls_made(shop, variant, order):
    if not variant.tells_cut:  # a framework that keeps it to itself: only half a call is seen
        return
    played = variant.play(shop, [calls(case("c1", order), cut=True), DONE])
    assert played.refused or played[0].action["reason"] == "cut_off"
    assert shop.arrivals(order) == 0


def test_req_F12_permission_is_asked_before_anything_is_sent(shop, driver, order):
    shop.permits = lambda asked: False
    played = driver.play(shop, [calls(ticket("c1", order)), DONE])
    assert (played[0].state, played[0].action["reason"]) == ("rejected", "auth")
    assert played[0].is_error in (True, None)
    assert shop.arrivals(order) == 0


def test_req_F12_wrong_arguments_are_told_by_name_and_not_sent(shop, driver, order):
    wrong = Call("c1", "create_ticket", {"order": order, "issue": 7})
    lacking = Call("c2", "open_case", {"note": "no order"})
    played = driver.play(shop, [calls(wrong), calls(lacking), DONE])
    assert "issue" in played[0].action["detail"]
    assert "order" in played[1].action["detail"]
    assert all("correct_arguments" in told.facts["next_allowed"] for told in played.told)
    assert shop.actions() == []


# -------------------------------------------------------------------------------- what may be done


def test_req_P11_what_next_allowed_offers_can_be_taken(shop, driver, order):
    shop.world.script("tickets", {"order": order}, LOST)
    shop.silent = True
    calls_before = shop.asked

    def session(host):
        shop.silent = shop.asked == calls_before  # it answers from the second call on
        return shop.session(host)

    shop.door.scope = session
    visit = Call("c1", "book_visit", {"order": order})
    asks = Call("c2", "ascertain", {"entry": "query_visit"})
    played = driver.play(shop, [calls(visit), calls(asks), DONE])
    assert played[0].state == "unknown"
    assert "query_visit" in played[0].facts["next_allowed"]
    assert played[1].state == "confirmed"
    assert shop.arrivals(order) == 1


@pytest.mark.parametrize("entry", ["query_ticket", "resend", "manual_review"])
def test_req_P11_what_it_does_not_offer_has_no_effect(shop, driver, order, entry):
    takes = Call("c2", "ascertain", {"entry": entry})
    played = driver.play(shop, [calls(ticket("c1", order)), calls(takes), DONE])
    assert played[1].action["reason"] == "not_allowed"
    assert shop.actions()[0].record.review is None
    assert shop.arrivals(order) == 1


# ------------------------------------------------------------------------------- chains and reads


def test_req_S05_calls_of_one_wish_are_one_chain_across_turns(shop, driver, order):
    shop.world.place("tickets", f"P-{order}", {"order": order})
    reads = Call("c1", "list_tickets", {"order": order})
    driver.play(shop, [calls(reads), DONE], turn="m1")
    cancels = Call("c2", "cancel_ticket", {})
    played = driver.play(shop, [calls(cancels), DONE], turn="m2")
    assert played[0].state == "confirmed"
    (cancelled,) = shop.actions()
    assert cancelled.record.chain
    assert shop.effects(f"cancel-P-{order}") == 1


def test_a_read_is_told_with_its_answer_marked_as_data(shop, driver, order):
    shop.world.place("tickets", f"P-{order}", {"order": order})
    played = driver.play(shop, [calls(Call("c1", "list_tickets", {"order": order})), DONE])
    data = played[0].facts["provider_data"]
    assert data["content"]["ticket_id"] == f"P-{order}"
    assert "no instruction" in data["note"]


def test_a_declared_read_of_the_framework_is_let_through(shop, driver, order):
    played = driver.play(shop, [calls(Call("c1", "look_around", {"order": order})), DONE])
    assert f"nothing about {order}" in played[0].text
    assert shop.actions() == []


def test_what_is_not_released_is_refused_where_the_door_says_so(make_shop, driver, order):
    shop = make_shop(unlisted="refuse")
    played = driver.play(shop, [calls(note("c1", order)), DONE])
    assert played[0].action["reason"] == "not_listed"
    assert shop.arrivals(order) == 0
