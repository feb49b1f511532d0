"""The main job, played once: each story is looked at in the providers' own books."""

import re

import pytest

from tests.demo.parts import play


@pytest.fixture(scope="module")
def played():
    return play(as_json=True)


@pytest.fixture(scope="module")
def report(played):
    assert played.code in (0, 1), played.errors
    return played.report


@pytest.fixture(scope="module")
def story(report):
    stories = {one["id"]: one for one in report["stories"]}
    return stories.__getitem__


def facts(story, turn=-1):
    return story["told"][turn]["facts"]


def says(story, turn=-1, language="en"):
    return facts(story, turn)["say"][language]


def effects(story):
    return [effect["ref"] for one in story["provider"] for effect in one["effects"]]


def creates(story):
    return [
        came for one in story["provider"] for came in one["requests"] if came["method"] == "POST"
    ]


def moves(action):
    return [(one["event"], one["end"], one["by"]) for one in action["timeline"]]


def test_everything_agrees_within_a_minute(played, report):
    assert played.code == 0, played.errors
    assert report["findings"] == []
    assert report["agrees"] is True
    assert report["took_s"] < 60
    assert [one["id"] for one in report["stories"]] == [
        "a1", "a2", "a3", "a4", "a5", "a6", "b", "c", "d", "f", "g", "h", "i",
    ]  # fmt: skip


def test_the_totals_hide_no_open_end(report):
    assert report["totals"] == {
        "duplicates": 0,
        "false_statements": 0,
        "lost_actions": 0,
        "other": 0,
        "left_open": 2,
        "left_to_person": 1,
        "left_to_contract": 1,
        "left_to_nobody": 0,
    }


def test_progress_is_told_while_it_works(played):
    assert "starting 5 providers" in played.errors
    assert "kill -9" in played.errors


def test_req_F01_F18_a_lost_reply_ends_in_the_one_ticket_that_was_made(story):
    lost = story("a1")
    (action,) = lost["ledger"]
    assert effects(lost) == ["T900"]
    assert len(creates(lost)) == 1
    assert (action["intent"], action["provider_ref"]) == ("R7", "T900")
    assert moves(action)[2:] == [("lose", "unknown", "call"), ("confirm", "confirmed", "lookup")]
    assert says(lost) == "Your inspection request is submitted: ticket T900, result pending."
    assert "refund" not in says(lost)


def test_req_F18_a_look_up_that_misses_at_first_issues_no_new_key(story):
    missed = story("a2")
    assert len(effects(missed)) == 1
    assert len(creates(missed)) == 2
    assert len({came["key"] for came in creates(missed)}) == 1
    assert facts(missed)["actions"][0]["attempt"] == 2


def test_req_F06_a_ticket_that_is_open_already_is_the_callers(story):
    exists = story("a3")
    assert effects(exists) == []
    said = facts(exists)["actions"][0]
    assert (said["state"], said["reason"], said["related_ref"]) == (
        "rejected", "already_exists", "T850",
    )  # fmt: skip
    assert "T850" in says(exists, language="zh-CN")


def test_req_F02_a_wait_beyond_the_budget_ends_the_turn_and_the_background_goes_on(story):
    wait = story("a4")
    first = facts(wait, 0)
    assert first["workflow_state"] == "awaiting_confirmation"
    assert first["actions"][0]["retry_after_s"] > 1.2, "beyond what the turn may last"
    assert says(wait, 0) == "Not confirmed as submitted yet; it is being checked."
    assert says(wait, 0, "zh-CN") == "暂未确认提交"
    (action,) = wait["ledger"]
    assert ("send", "sent", "worker") in moves(action)
    assert len({came["key"] for came in creates(wait)}) == 1
    assert effects(wait) == [facts(wait)["actions"][0]["provider_ref"]]


def test_req_F04_who_is_not_authorised_is_told_so_and_nothing_else_is_tried(story):
    denied = story("a5")
    assert effects(denied) == []
    assert [came["answered"] for came in creates(denied)] == ["403"]
    assert "log in or be authorised" in says(denied)
    assert facts(denied)["next_allowed"] == ["ask_person"]


def test_req_U02_a_refusal_after_a_lost_reply_goes_to_a_person(story):
    doubt = story("a6")
    assert effects(doubt) == ["X100"]
    assert facts(doubt)["actions"][0]["state"] == "unknown"
    assert doubt["ledger"][0]["review"] is not None
    assert says(doubt, language="zh-CN") == "申请状态暂时未确认，会人工核查"


def test_req_P03_P05_a_notice_without_an_answer_makes_the_wish_partial(story):
    partial = story("b")
    assert facts(partial)["workflow_state"] == "partially_completed"
    assert says(partial) == "fulfilled, notice awaiting confirmation"
    assert says(partial, language="zh-CN") == "履约完成、通知待确认"
    states = {one["name"]: one["state"] for one in facts(partial)["actions"]}
    assert states == {
        "reserve_stock": "confirmed", "create_shipment": "confirmed", "send_notice": "unknown",
    }  # fmt: skip
    assert effects(partial) == ["inv-700", "ship-310", "N500"]
    assert len(creates(partial)) == 3, "nothing is sent twice"


def test_req_U01_a_killed_agent_leaves_one_effect_and_a_true_statement(story):
    killed = story("c")
    happened, lost = killed["ledger"]
    assert moves(happened)[2:] == [
        ("lose", "unknown", "worker"), ("confirm", "confirmed", "lookup"),
    ]  # fmt: skip
    assert ("send", "sent", "worker") in moves(lost)
    assert (happened["attempt"], lost["attempt"]) == (1, 2)
    for one, action in zip(killed["provider"], killed["ledger"], strict=True):
        assert [effect["ref"] for effect in one["effects"]] == [action["provider_ref"]]
    assert any("kill -9" in note for note in killed["notes"])


def test_req_P12_of_two_workers_exactly_one_advances_each_action(story):
    race = story("d")
    assert len(race["ledger"]) == 20
    assert len(effects(race)) == len(set(effects(race))) == 20
    for action in race["ledger"]:
        lost = [one for one in action["timeline"] if one["event"] == "lose"]
        ended = [one for one in action["timeline"] if one["event"] == "confirm"]
        assert [one["attempt"] for one in lost] == sorted({one["attempt"] for one in lost})
        assert len(ended) == 1
    took = [int(found[1]) for note in race["notes"] if (found := re.search(r"took (\d+)", note))]
    assert len(took) == 2
    assert sum(took) >= 20
    assert min(took) > 0, "it was a race"


def test_req_F24_what_a_frozen_agent_brings_late_changes_nothing_that_others_did(story):
    frozen = story("f")
    (action,) = frozen["ledger"]
    assert len(effects(frozen)) == 1
    assert action["state"] == "confirmed"
    assert action["provider_ref"] == effects(frozen)[0]
    assert "late_refused" in [one["reason"] for one in action["timeline"]]
    assert facts(frozen, 0)["actions"][0]["state"] == "sent"
    assert facts(frozen)["actions"][0]["state"] == "confirmed"


def shown_order(story):
    """All effects of a story, as the providers' books have them: collection to references."""
    return {one["tool"]: [effect["ref"] for effect in one["effects"]] for one in story["provider"]}


def test_req_P07_P16_an_essential_refusal_undoes_what_was_done_in_reverse(story):
    undone = story("g")
    assert undone["chain"] == {
        "name": "fulfil G600", "direction": "backward", "reason": "refused:create_shipment",
    }  # fmt: skip
    made = shown_order(undone)
    assert {tool: len(refs) for tool, refs in made.items()} == {
        "reserve_stock": 1, "charge_card": 1, "create_shipment": 0, "send_notice": 0,
        "void_payment": 1, "release_stock": 1,
    }  # fmt: skip
    done_at = {action["tool"]: action["timeline"][-1]["at"] for action in undone["ledger"]}
    assert done_at["void_payment"] < done_at["release_stock"], "the last is undone first"
    states = {action["tool"]: action["state"] for action in undone["ledger"]}
    assert states == {
        "reserve_stock": "compensated", "charge_card": "compensated",
        "create_shipment": "rejected", "send_notice": "rejected",
        "void_payment": "confirmed", "release_stock": "confirmed",
    }  # fmt: skip
    assert len({action["key"] for action in undone["ledger"]}) == 6, "each under its own key"
    assert facts(undone, 0)["workflow_state"] == "compensating"
    assert says(undone) == "It has been undone."
    assert says(undone, language="zh-CN") == "已撤销。"


def test_req_P16_an_undo_whose_reply_is_lost_is_looked_up_and_not_done_again(story):
    (void,) = [one for one in story("g")["ledger"] if one["tool"] == "void_payment"]
    assert moves(void)[2:] == [("lose", "unknown", "call"), ("confirm", "confirmed", "lookup")]
    sent = [came for came in creates(story("g")) if came["key"] == void["key"]]
    assert [came["answered"] for came in sent] == ["hang"], "sent once, and no answer came"


def test_req_P05_a_half_finished_order_is_finished_by_a_worker_without_sending_twice(story):
    resumed = story("h")
    assert {tool: len(refs) for tool, refs in shown_order(resumed).items()} == {
        "reserve_stock": 1, "charge_card": 1, "create_shipment": 1, "send_notice": 1,
    }  # fmt: skip
    assert len(creates(resumed)) == 4, "each of the four steps was sent once, in all"
    actions = {one["tool"]: one for one in resumed["ledger"]}
    assert ("lose", "unknown", "worker") in moves(actions["charge_card"])
    assert ("confirm", "confirmed", "lookup") in moves(actions["charge_card"])
    killed_at = actions["charge_card"]["timeline"][-1]["at"]
    for later in ("create_shipment", "send_notice"):
        assert actions[later]["timeline"][0]["at"] >= killed_at, "begun after the kill"
    assert any("kill -9" in note for note in resumed["notes"])
    assert facts(resumed)["workflow_state"] == "completed"


def test_req_S13_said_once_the_right_order_is_refunded_in_every_conversation(story):
    refunded = story("i")
    assert len(refunded["ledger"]) == len(set(effects(refunded))) == 40
    for one, action in zip(refunded["provider"], refunded["ledger"], strict=True):
        assert action["state"] == "confirmed"
        assert [effect["ref"] for effect in one["effects"]] == [action["provider_ref"]]
    assert all("refunded" not in told["facts"]["say"]["en"] for told in refunded["told"])
    healed = [one for one in refunded["ledger"] if ("lose", "unknown", "call") in moves(one)]
    assert len(healed) == 4, "every tenth answer was lost"


def test_req_S18_the_control_beside_it_goes_wrong_visibly(story):
    control = story("i")["control"]
    assert sum(control.values()) == 40
    assert control["wrong"] + control["missing"] >= 2
    assert control["wrong"] >= 1, "an order was refunded that nobody meant"
    assert story("i")["agrees"], "what the control does is no finding of ours"


def test_recorded_calls_are_replayed_with_faults(report):
    replayed = report["replay"]
    assert replayed["violations"] == []
    assert replayed["as_recorded"] == replayed["intents"] == 13
    assert sum(replayed["faults"].values()) > 10
    assert len(replayed["repeats"]) == 3
