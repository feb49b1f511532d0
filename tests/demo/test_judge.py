"""The demo's judge finds each kind of disagreement by itself, and nothing where there is none."""

from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest

from ascertain.demo.account import strangers
from ascertain.demo.judge import Deed, judge
from ascertain.demo.places import PAYMENT
from ascertain.demo.stories import STORIES, Intent, Story
from ascertain.demo.telling import Told
from ascertain.model.action import ActionRecord, EventRecord
from ascertain.model.chain import Around, ChainRecord, Direction, Member
from ascertain.model.outcome import Kind
from ascertain.model.tables import State
from ascertain.testing.world import Arrival, Effect, Provider, World

INTENT = Intent(order="A1", tool="create_ticket", provider="aftersales", collection="tickets")
STORY = Story(id="x", title="One ticket", what="", intents=(INTENT,))
RECORD = ActionRecord(
    id="act", tenant="t", tool="create_ticket", principal="u7", session="chat-x", opening="o",
    turn="1", slot="1", chain="", call_id=None, parent=None, replaces=None, intent="i", ordinal="",
    exact="e", wording="", key="k1", contract="c", mode="guard", created_at=0.0, send_by_at=9.0,
    state=State.CONFIRMED, provider_ref="T900", attempt=1, sends=1, n=3,
)  # fmt: skip


def event(n, start, name, end, *, attempt=1, by="call"):
    return EventRecord(
        action_id="act", n=n, start=start, event=name, end=end, by=by, reason="r", attempt=attempt,
        fence=0, at=float(n), detail="{}", hash=b"",
    )  # fmt: skip


EVENTS = (
    event(1, None, "prepare", "prepared", attempt=0),
    event(2, "prepared", "send", "sent"),
    event(3, "sent", "confirm", "confirmed"),
)


def effect(ref="T900", key="k1", arrival=1):
    return Effect(
        collection="tickets", ref=ref, key=key, args={"order_id": "A1"}, received_at=1.0,
        executed_at=1.0, delivery=1, arrival=arrival,
    )  # fmt: skip


def arrival(number=1, key="k1"):
    return Arrival(
        number=number, connection=1, received_at=1.0, method="POST", target="/tickets",
        collection="tickets", key=key, args={"order_id": "A1"}, behaviour="ok", answered="201",
        answered_at=1.0, code=None, retry_after_s=None,
    )  # fmt: skip


def told(say="Submitted: T900.", next_allowed=(), workflow="completed", **action):
    said = {"name": "create_ticket", "state": "confirmed", "provider_ref": "T900", **action}
    facts = {
        "workflow_state": workflow,
        "actions": [said],
        "next_allowed": list(next_allowed),
        "say": {"en": say, "zh-CN": say},
    }
    return Told(story="x", order="A1", asked="please", facts=facts)


DEED = Deed(
    intent=INTENT,
    records=(RECORD,),
    events=EVENTS,
    effects=(effect(),),
    posts=(arrival(),),
    lookups=(),
    told=(told(),),
    placed=frozenset(),
    taken_over=False,
)


def named(deed, story=STORY):
    return [finding.invariant for finding in judge(story, [deed])]


def with_record(**changes):
    return replace(DEED, records=(RECORD._replace(**changes),))


def test_where_all_agrees_nothing_is_found():
    assert named(DEED) == []


def test_two_effects_of_two_sendings_are_a_duplicate():
    deed = replace(DEED, effects=(effect(), effect("T901", arrival=2)))
    assert [str(one) for one in judge(STORY, [deed])] == [
        "NoDuplicateEffect: 2 effects for 1 intent (A1): T900, T901"
    ]


def test_another_key_on_the_wire_is_found():
    deed = replace(DEED, posts=(arrival(key="k2"),))
    assert named(deed) == ["KeyStability"]


def test_an_intent_without_an_action_is_lost():
    deed = replace(DEED, records=(), events=())
    assert named(deed) == ["NoLostAction"]


def test_a_ledger_that_names_another_reference_lies():
    assert "NoLie" in named(with_record(provider_ref="T901"))


def test_a_ledger_that_says_rejected_where_something_happened_lies():
    deed = replace(
        with_record(state=State.REJECTED, final=1, kind=Kind.BUSINESS, provider_ref=None),
        events=(*EVENTS[:2], event(3, "sent", "reject", "rejected")),
    )
    assert named(deed) == ["NoLie", "RequiredEnd"]


def test_an_open_action_that_nobody_comes_back_to_is_lost():
    deed = replace(
        with_record(state=State.UNKNOWN, provider_ref=None),
        events=(*EVENTS[:2], event(3, "sent", "lose", "unknown")),
    )
    assert named(deed) == ["NoLostAction", "BoundedResolution"]


def test_an_open_action_that_is_due_has_not_come_to_rest():
    deed = replace(
        with_record(state=State.UNKNOWN, provider_ref=None, due_at=99.0),
        events=(*EVENTS[:2], event(3, "sent", "lose", "unknown")),
    )
    assert named(deed) == ["BoundedResolution"]


def test_an_event_that_no_row_allows_is_found():
    deed = replace(DEED, events=(*EVENTS, event(4, "confirmed", "lose", "unknown")))
    assert "Projection" in named(deed)


def test_an_attempt_that_ends_twice_has_two_winners():
    twice = (*EVENTS[:2], event(3, "sent", "lose", "unknown"), event(4, "sent", "lose", "unknown"))
    assert "SingleWinner" in named(replace(DEED, events=twice))


def test_a_send_that_is_not_on_record_is_found():
    deed = replace(DEED, posts=(arrival(), arrival(2)))
    assert named(deed) == ["SingleWinner"]


def test_an_action_that_forgets_an_attempt_is_found():
    again = (
        *EVENTS[:2],
        event(3, "sent", "lose", "unknown"),
        event(4, "unknown", "send", "sent", attempt=2),
        event(5, "sent", "confirm", "confirmed", attempt=2),
    )
    assert named(replace(DEED, events=again)) == ["SingleWinner"]


def test_what_was_left_by_a_stopped_sender_must_have_been_taken_over():
    assert named(replace(DEED, taken_over=True)) == ["SingleWinner"]


@pytest.mark.parametrize(
    "said",
    [
        told(provider_ref="T901", say="Submitted."),
        told(state="rejected", provider_ref=None, say="It was declined."),
        told(related_ref="T850", say="There already is one."),
        told(say="Submitted: T901."),
    ],
    ids=["another reference", "rejected", "a record that is not there", "an invented reference"],
)
def test_a_false_statement_to_the_model_or_the_person_is_found(said):
    assert named(replace(DEED, told=(said,))) == ["ModelTruth"]


def test_a_refusal_that_is_not_final_is_no_false_statement():
    said = told(state="rejected", provider_ref=None, say="Later.", next_allowed=["wait"])
    assert named(replace(DEED, told=(said, told()))) == []


def test_a_sentence_that_was_due_and_was_not_said_is_found():
    story = replace(STORY, must_hear=(("A1", "Thank you."),))
    assert named(DEED, story) == ["RequiredEnd"]


def test_nobody_may_be_left_without_a_word():
    assert named(replace(DEED, told=())) == ["RequiredEnd"]


# ---------------------------------------------------------------------------- chains and contexts

UNDO = Intent(
    order="A1", tool="close_ticket", provider="aftersales", collection="closings",
    undoes="create_ticket",
)  # fmt: skip


def member(action_id, step, undoes=""):
    return Member("c1", action_id, step, 1, undoes=undoes)


def chain(*members, turned_at=None):
    record = ChainRecord(
        "c1", "t", "u7", "chat-x", "wish", "", "", "", "", 0.0, turned_at=turned_at,
        direction=Direction.FORWARD if turned_at is None else Direction.BACKWARD,
    )  # fmt: skip
    return Around(record, members)


def of_chain(around, *deeds):
    return [str(finding) for finding in judge(STORY, deeds, around)]


def undone():
    """A ticket that was closed again, each on record and in the provider's books."""
    made = RECORD._replace(state=State.COMPENSATED, n=4)
    closed = RECORD._replace(id="undo", tool="close_ticket", key="k2", provider_ref="C1")
    there = replace(
        DEED, records=(made,), intent=replace(INTENT, state=State.COMPENSATED),
        events=(*EVENTS, event(4, "confirmed", "compensate", "compensated", by="worker")),
    )  # fmt: skip
    back = replace(
        DEED, records=(closed,), intent=UNDO, posts=(replace(arrival(2), key="k2"),),
        effects=(replace(effect("C1", "k2", 2), executed_at=2.0),),
        events=tuple(one._replace(action_id="undo") for one in EVENTS),
    )  # fmt: skip
    members = (member("act", "ticket"), made), (member("undo", "undo:ticket", "act"), closed)
    return there, back, members


def test_an_effect_that_was_reversed_once_agrees():
    there, back, members = undone()
    assert of_chain(chain(*members, turned_at=3.5), there, back) == []


def test_a_send_that_reaches_a_provider_after_the_turn_is_found():
    there, back, members = undone()
    late = replace(there, posts=(replace(arrival(), received_at=4.0),))
    assert of_chain(chain(*members, turned_at=3.5), late, back) == [
        "NoForwardSend: aftersales had 1 forward send after the chain had turned (A1)"
    ]


def test_a_send_on_record_after_the_turn_is_found():
    there, back, members = undone()
    assert of_chain(chain(*members, turned_at=1.5), there, back) == [
        "NoForwardSend: by the ledger, create_ticket: sent forward after its chain had turned"
    ]


def test_compensated_without_a_confirmed_undo_is_found():
    there, back, members = undone()
    (first, (place, closed)) = members
    lost = closed._replace(state=State.UNKNOWN, review="cannot_ask")
    found = of_chain(chain(first, (place, lost), turned_at=3.5), there, back)
    story = "compensated, and no undo is confirmed"
    assert found == [f"CompensatedMeansUndone: by the ledger, create_ticket: {story}"]


def test_what_was_done_first_and_reversed_first_is_found():
    there, back, members = undone()
    second = replace(
        there, intent=replace(there.intent, tool="other"),
        effects=(replace(effect(), executed_at=1.5),), records=(), events=(), told=(),
    )  # fmt: skip
    its_undo = replace(
        back, intent=replace(UNDO, tool="undo_other", undoes="other"), records=(), events=(),
        effects=(replace(effect("C2", "k2", 3), executed_at=3.0),), told=(),
    )  # fmt: skip
    found = of_chain(chain(*members, turned_at=3.5), there, second, back, its_undo)
    assert "UndoneInReverse: 2 effects reversed in the order create_ticket, other" in found


def test_an_effect_for_an_order_that_nobody_meant_is_found():
    found = judge(STORY, [DEED], strangers=[replace(effect("R1", "k9"), args={"order_id": "P9"})])
    assert [str(one) for one in found] == [
        "NeverStaleContext: 1 effect for an order that nobody meant: P9"
    ]


def test_only_what_the_story_asked_for_is_looked_for_in_the_providers_books():
    """A refund of the order that was spoken of before belongs to nobody in the story."""
    with World({"refunds": Provider(first_ref="R100")}) as world:
        for order in ("I801", "P801"):
            httpx.post(f"{world.url}/refunds", json={"order_id": order}).raise_for_status()
        stage = SimpleNamespace(worlds={PAYMENT: world})
        found = strangers(stage, STORIES["i"])
        assert [effect.args["order_id"] for effect in found] == ["P801"]
        assert strangers(stage, STORIES["g"]) == [], "what others do there is its own affair"
