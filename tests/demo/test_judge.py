"""The demo's judge finds each kind of disagreement by itself, and nothing where there is none."""

from dataclasses import replace

import pytest

from ascertain.demo.judge import Deed, judge
from ascertain.demo.stories import Intent, Story
from ascertain.demo.telling import Told
from ascertain.model.action import ActionRecord, EventRecord
from ascertain.model.outcome import Kind
from ascertain.model.tables import State
from ascertain.testing.world import Arrival, Effect

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
