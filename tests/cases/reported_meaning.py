"""Reports about meaning: keys, evidence, batches, duplicates, and what people are told."""

from __future__ import annotations

from dataclasses import replace

from ascertain import Absent, KeyFormat, RefusalRule
from ascertain.testing.world import Behaviour
from tests.cases.tables import (
    BUDGET,
    LOST,
    Call,
    Case,
    Die,
    Facts,
    Loop,
    Recover,
    Reply,
    Row,
    Seen,
    Take,
    Together,
    Told,
    Tool,
)

BATCH = "partial success inside a batch"
KEYS = "an idempotency key misused by its caller"
SERVER_KEYS = "a provider's keys, not as was thought"
EVIDENCE = "evidence misread"
UNTRUE = "somebody is told something untrue"
TWICE = "the same wish comes in twice"

DONE = Told(state="confirmed", ref=True)
BLIND_NEXT = ("mark_pending", "manual_review")
QUICK_TURN = replace(BUDGET, turn_s=0.6)
LONG_TENANT = "a-very-long-name-of-a-tenant-" * 4

BATCHES = (
    Case(
        id="K05-1", kind=BATCH, source="https://github.com/langchain-ai/langgraph/issues/7412",
        story="Of three calls in one batch one cannot even connect. The two others end as they "
        "end, and each has a result of its own.",
        tools=(
            Tool(name="reserve_stock", body="post_async", asynchronous=True),
            Tool(
                name="get_weather", read=True, body="read", budget=replace(BUDGET, sends=1),
                replies=(Reply(503),),
            ),
            Tool(
                name="write_file", body="post_async", asynchronous=True,
                meets=(Behaviour("slow_deadline", seconds=0.8),),
            ),
        ),
        play=(
            Loop(
                calls=(
                    Call(tool="reserve_stock", then=Told(state="confirmed")),
                    Call(tool="get_weather", then=Told(state="rejected", kind="unavailable")),
                    Call(tool="write_file", then=Told(state="confirmed")),
                )
            ),
            Facts(then=Told(actions=("reserve_stock:confirmed", "write_file:confirmed"))),
        ),
        effects={"reserve_stock": 1, "write_file": 1},
        ledger=(
            Row(tool="reserve_stock", state="confirmed", sends=1),
            Row(tool="write_file", state="confirmed", sends=1),
        ),
    ),
    Case(
        id="K05-2", kind=BATCH, source="https://github.com/anthropics/claude-code/issues/64346",
        story="A search that finds nothing is an answer, and no failure of all that is beside it.",
        tools=(
            Tool(name="grep_log", at="", read=True, body="command"),
            Tool(name="append_line"),
        ),
        play=(
            Together(
                (
                    Call(tool="grep_log", then=Told(state="confirmed", value="no match")),
                    Call(tool="append_line", then=Told(state="confirmed")),
                )
            ),
        ),
        effects={"append_line": 1}, posts={"append_line": 1},
        ledger=(Row(tool="append_line", state="confirmed", sends=1),),
    ),
    Case(
        id="K05-2-group", kind=BATCH,
        source="https://github.com/anthropics/claude-code/issues/64346",
        story="A call that fails takes its task group down while another one's write is in "
        "flight. That one was not refused: its own answer lands.",
        tools=(
            Tool(
                name="check_rate", read=True, body="read", budget=replace(BUDGET, sends=1),
                replies=(Reply(503),),
            ),
            Tool(
                name="append_line", body="post_async", asynchronous=True,
                meets=(Behaviour("slow_deadline", seconds=0.8),),
            ),
        ),
        play=(
            Loop(
                calls=(
                    Call(tool="append_line"),
                    Call(tool="check_rate", when=("append_line", 1)),
                ),
                group=True, seen=(Seen(tool="append_line", state="confirmed"),),
            ),
        ),
        effects={"append_line": 1}, posts={"append_line": 1},
        ledger=(
            Row(tool="append_line", state="confirmed", sends=1, events=("lose:interrupted",)),
        ),
    ),
    Case(
        id="K05-3", kind=BATCH, source="https://github.com/google/adk-python/issues/7108",
        story="Killed between the two calls of a batch. The batch is run again: one is told from "
        "the record, the other is done.",
        tools=(Tool(name="tell_anna"), Tool(name="tell_bert")),
        play=(
            Call(tool="tell_anna", name="first", then=Told(state="confirmed")),
            Die(step=Call(tool="tell_bert"), at="reserve.before"),
            Facts(then=Told(actions=("tell_anna:confirmed",))),
            Call(tool="tell_anna", then=Told(state="confirmed", how="replayed", same_as="first")),
            Call(tool="tell_bert", then=Told(state="confirmed", how="new")),
        ),
        effects={"tell_anna": 1, "tell_bert": 1}, posts={"tell_anna": 1, "tell_bert": 1},
        ledger=(
            Row(tool="tell_anna", state="confirmed", sends=1),
            Row(tool="tell_bert", state="confirmed", sends=1),
        ),
    ),
)  # fmt: skip

CALLERS_KEYS = (
    Case(
        id="K06-1", kind=KEYS, source="https://github.com/tempoxyz/pympp/pull/155",
        story="Each sending needs a fresh credential. It belongs neither to the key nor to the "
        "intent: the repeat has the first one's key, and one charge is made.",
        tools=(Tool(name="charge", at="keyed", body="fresh_credential", meets=(LOST,)),),
        play=(
            Call(tool="charge", text="spt_1", name="first", then=Told(state="confirmed", ref=True)),
            Call(
                tool="charge", text="spt_2",
                then=Told(state="confirmed", how="replayed", same_as="first"),
            ),
        ),
        effects={"charge": 1}, posts={"charge": 2},
        ledger=(Row(tool="charge", state="confirmed", sends=2, ref=True),),
    ),
    Case(
        id="K06-2", kind=KEYS, source="https://github.com/KeeperHub/keeperhub/issues/2207",
        story="A write that has neither key nor look-up is taken as it is: it is never repeated, "
        "and its lost answer goes to a person.",
        tools=(Tool(name="execute_action", meets=(LOST,)),),
        play=(
            Call(tool="execute_action", then=Told(state="unknown", next=BLIND_NEXT)),
            Call(tool="execute_action", then=Told(state="unknown", next=BLIND_NEXT)),
        ),
        effects={"execute_action": 1}, posts={"execute_action": 1},
        ledger=(Row(tool="execute_action", state="unknown", review="cannot_ask"),),
    ),
    Case(
        id="K06-3", kind=KEYS, source="https://github.com/trustabl/trustabl-rulebook/pull/29",
        story="A model fills in a new key each time. The parameter is not its to fill: whatever "
        "it says, the key is ours, and the second call is answered from the first.",
        tools=(Tool(name="refund", at="known", body="key_as_argument", meets=(LOST,)),),
        play=(
            Call(
                tool="refund", raw={"order": "A1", "idempotency_key": "uuid-1"}, name="first",
                then=Told(state="confirmed", ref=True),
            ),
            Call(
                tool="refund", raw='{"order": "A1", "idempotency_key": "uuid-2"}',
                then=Told(state="confirmed", how="replayed", same_as="first"),
            ),
        ),
        effects={"refund": 1}, posts={"refund": 1},
        ledger=(Row(tool="refund", state="confirmed", ref=True, sends=1),),
    ),
    Case(
        id="K06-3-wording", kind=KEYS,
        source="https://github.com/trustabl/trustabl-rulebook/pull/29",
        story="The same where the function keeps its parameter, declared as mere wording.",
        tools=(
            Tool(
                name="refund", at="known", body="keeps_its_own_key", meets=(LOST,),
                said={"wording": ["text", "idempotency_key"]},
            ),
        ),
        play=(
            Call(
                tool="refund", raw={"order": "A1", "idempotency_key": "uuid-1"}, name="first",
                then=Told(state="confirmed"),
            ),
            Call(
                tool="refund", raw={"order": "A1", "idempotency_key": "uuid-2"},
                then=Told(state="confirmed", how="replayed", same_as="first"),
            ),
        ),
        effects={"refund": 1}, posts={"refund": 1},
        ledger=(Row(tool="refund", state="confirmed", ref=True, sends=1),),
    ),
    Case(
        id="K06-4", kind=KEYS, source="https://github.com/ubicloud/ubicloud/pull/5898",
        story="No machines of one family are left, and another family is asked for. That is a "
        "request of its own, with its own key, that names the one it replaces.",
        tools=(
            Tool(
                name="create_vm",
                replies=(Reply(400, {"error": {"code": "InsufficientCapacity"}}),),
            ),
        ),
        play=(
            Call(tool="create_vm", variant="c6", then=Told(state="rejected")),
            Call(tool="create_vm", variant="m6", then=Told(state="confirmed", how="new", ref=True)),
        ),
        effects={"create_vm": 1}, posts={"create_vm": 2},
        ledger=(
            Row(tool="create_vm", variant="c6", state="rejected", sends=1),
            Row(tool="create_vm", variant="m6", state="confirmed", sends=1, replaces=True),
        ),
    ),
    Case(
        id="K06-4-unknown", kind=KEYS, source="https://github.com/ubicloud/ubicloud/pull/5898",
        story="What became of the first family is not known: the second one is not asked for.",
        tools=(Tool(name="create_vm", meets=(LOST,)),),
        play=(
            Call(tool="create_vm", variant="c6", then=Told(state="unknown")),
            Call(
                tool="create_vm", variant="m6",
                then=Told(error="IntentConflict", fields=("variant",)),
            ),
        ),
        effects={"create_vm": 1}, posts={"create_vm": 1},
        ledger=(Row(tool="create_vm", state="unknown"),),
    ),
    Case(
        id="K06-6", kind=KEYS, source="https://github.com/larksuite/cli/issues/1774",
        story="A provider takes keys of fifty characters. Two tenants whose long names differ in "
        "their last letter have short keys that differ.",
        tools=(
            Tool(name="send_message", at="keyed", said={"key_format": KeyFormat(length=50)}),
        ),
        play=(
            Call(tool="send_message", tenant=f"{LONG_TENANT}a", then=Told(state="confirmed")),
            Call(tool="send_message", tenant=f"{LONG_TENANT}b", then=Told(state="confirmed")),
        ),
        effects={"send_message": 2}, posts={"send_message": 2}, key_at_most={"send_message": 50},
        ledger=(Row(tool="send_message", state="confirmed", count=2),),
    ),
)  # fmt: skip

PROVIDERS_KEYS = (
    Case(
        id="K07-1", kind=SERVER_KEYS, source="https://github.com/stripe/stripe-ruby/issues/431",
        story="The repeat meets our own first sending, still being worked on. That is no refusal: "
        "it stays unknown until it is found, under one key.",
        tools=(
            Tool(
                name="update_account", at="known", asked=("miss",),
                meets=(Behaviour("slow_lease", seconds=2.0),),
                budget=replace(BUDGET, turn_s=1.5, send_deadline_s=0.9, unanswered=20),
            ),
        ),
        play=(
            Call(tool="update_account", then=Told(state="unknown")),
            Recover(until=("update_account", "confirmed")),
        ),
        effects={"update_account": 1},
        ledger=(
            Row(
                tool="update_account", state="confirmed", ref=True,
                events=("refused_by_contract",),
            ),
        ),
    ),
    Case(
        id="K07-1-undeclared", kind=SERVER_KEYS,
        source="https://github.com/stripe/stripe-ruby/issues/431",
        story="The same where the contract says nothing of that code.",
        tools=(
            Tool(
                name="update_account", at="known", asked=("miss",), said={"refusals": []},
                meets=(
                    Behaviour("late_execution", seconds=0.6),
                    Behaviour("in_progress_409", code="idempotency_key_in_use"),
                ),
                budget=replace(BUDGET, turn_s=0.3), settling_s=1.2,
            ),
        ),
        play=(
            Call(tool="update_account", then=Told(state="unknown")),
            Recover(until=("update_account", "confirmed")),
        ),
        effects={"update_account": 1},
        ledger=(
            Row(tool="update_account", state="confirmed", ref=True, events=("duplicate_refusal",)),
        ),
    ),
    Case(
        id="K07-4", kind=SERVER_KEYS, source="https://github.com/Noveum/orbit/pull/455",
        story="A worker is killed after the issue was made. That nobody has stored an answer, and "
        "that a look-up sees nothing, are no proof: it is not made again.",
        tools=(
            Tool(
                name="create_issue", look="scripted", asked=(Absent,), settling_s=None,
                budget=replace(BUDGET, unanswered=3),
            ),
        ),
        play=(
            Die(step=Call(tool="create_issue"), at="invoke.after"),
            Recover(until=("create_issue", "unknown")),
            Recover(once=True),
            Call(
                tool="create_issue", deadline_s=0.4,
                then=Told(
                    state="unknown", how="joined",
                    next=("query_issue", "mark_pending", "manual_review"),
                ),
            ),
        ),
        effects={"create_issue": 1}, posts={"create_issue": 1},
        ledger=(Row(tool="create_issue", state="unknown", events=("lose:lease_expired",)),),
    ),
    Case(
        id="K07-5", kind=SERVER_KEYS, source="https://github.com/kortix-ai/suna/pull/5267",
        story="Two tenants, each with the same wish in the same words. They have two records, and "
        "neither learns of the other's.",
        tools=(Tool(name="create_space", at="keyed"),),
        play=(
            Call(tool="create_space", tenant="a", text="secret of a", then=Told(state="confirmed")),
            Call(
                tool="create_space", tenant="b", amount=7,
                then=Told(state="confirmed", how="new"),
            ),
        ),
        effects={"create_space": 2}, posts={"create_space": 2}, unsaid=("secret of a",),
        ledger=(
            Row(tool="create_space", tenant="a", state="confirmed"),
            Row(tool="create_space", tenant="b", state="confirmed"),
        ),
    ),
)  # fmt: skip

NO_SUCH_SESSION = RefusalRule(
    code="session_not_found", kind="unavailable", http_status=404, code_path="code"
)

READINGS = (
    Case(
        id="K10-5", kind=EVIDENCE,
        source="https://github.com/rollbar/terraform-provider-rollbar/issues/437",
        story="A token was made and its reference received; the list does not show it yet. It "
        "stays confirmed, and no second one is made.",
        tools=(
            Tool(
                name="create_token", at="lagging", settling_s=None, said={"recount_after": "200ms"}
            ),
        ),
        play=(
            Call(tool="create_token", name="first", then=Told(state="confirmed", ref=True)),
            Recover(until=("create_token", "counted")),
            Call(tool="create_token", then=Told(state="confirmed", same_as="first")),
        ),
        effects={"create_token": 1}, posts={"create_token": 1},
        ledger=(Row(tool="create_token", state="confirmed", ref=True, disputed=False),),
    ),
    Case(
        id="K10-6", kind=EVIDENCE, source="https://github.com/golemcloud/golem/pull/3764",
        story="It was read before it was deleted, and the answer is lost: what is gone now is our "
        "doing. What was not there before is not deleted at all.",
        tools=(
            Tool(
                name="delete_agent", at="listed", meets=(LOST,),
                said={"preconditions": {"it exists": lambda call: call.arguments["order"] == "x"}},
            ),
        ),
        play=(
            Call(tool="delete_agent", order="x", then=Told(state="confirmed")),
            Call(tool="delete_agent", order="ghost", then=Told(state="rejected", kind="business")),
        ),
        effects={"delete_agent/x": 1, "delete_agent/ghost": 0}, posts={"delete_agent": 1},
        ledger=(
            Row(tool="delete_agent", order="x", state="confirmed", sends=1),
            Row(
                tool="delete_agent", order="ghost", state="rejected", sends=0, attempts=0,
                reason="precondition: it exists",
            ),
        ),
    ),
    Case(
        id="K10-7", kind=EVIDENCE,
        source="https://github.com/modelcontextprotocol/python-sdk/issues/1676",
        story="A server turns a call away at its door, before any handler ran, and the contract "
        "says so: it is sent again, blind as it is. Another 404 is not that.",
        tools=(
            Tool(
                name="create_doc", said={"refusals": [NO_SUCH_SESSION]},
                replies={
                    "d1": (Reply(404, {"code": "session_not_found"}),),
                    "d2": (Reply(404, {"code": "no_such_folder"}),),
                },
            ),
        ),
        play=(
            Call(tool="create_doc", order="d1", then=Told(state="confirmed", ref=True)),
            Call(tool="create_doc", order="d2", then=Told(state="rejected")),
        ),
        effects={"create_doc/d1": 1, "create_doc/d2": 0}, posts={"create_doc": 3},
        ledger=(
            Row(tool="create_doc", order="d1", state="confirmed", sends=2, attempts=2),
            Row(tool="create_doc", order="d2", state="rejected", sends=1),
        ),
    ),
    Case(
        id="K10-8", kind=EVIDENCE, source="https://github.com/voygr-tech/placecall/pull/34",
        story="A gateway error, and only a list of recent calls to look into. While the list is "
        "away nobody dials; then the one that fits who and when is ours.",
        tools=(
            Tool(
                name="place_call", at="listed", look="by_fields", meets=("error_500_after",),
                asked=("broken", None),
            ),
        ),
        play=(Call(tool="place_call", then=Told(state="confirmed", ref=True)),),
        effects={"place_call": 1}, posts={"place_call": 1},
        ledger=(Row(tool="place_call", state="confirmed", ref=True, sends=1),),
    ),
    Case(
        id="K10-8-claimed", kind=EVIDENCE, source="https://github.com/voygr-tech/placecall/pull/34",
        story="The one that fits was there before this one was sent: it is another action's, and "
        "no evidence for this one.",
        tools=(
            Tool(
                name="place_call", at="listed", look="by_fields", meets=("ok", "request_lost"),
                budget=replace(QUICK_TURN, unanswered=2), settling_s=None,
            ),
        ),
        play=(
            Call(tool="place_call", then=Told(state="confirmed", ref=True)),
            Call(tool="place_call", ordinal=2, then=Told(state="unknown", ref=False)),
        ),
        effects={"place_call": 1}, posts={"place_call": 2},
        ledger=(Row(tool="place_call", count=2),),
    ),
    Case(
        id="K10-8-full", kind=EVIDENCE, source="https://github.com/voygr-tech/placecall/pull/34",
        story="The page is full, and ours is not on it. That is no answer, and no absence.",
        tools=(
            Tool(
                name="place_call", at="listed", look="by_fields", meets=(LOST,),
                asked=("page full",), budget=replace(BUDGET, unanswered=2),
            ),
        ),
        play=(
            Call(tool="place_call", then=Told(state="unknown", offers=("manual_review",))),
            Recover(until=("place_call", "review")),
        ),
        effects={"place_call": 1}, posts={"place_call": 1},
        ledger=(Row(tool="place_call", state="unknown", sends=1),),
    ),
    Case(
        id="K15-1", kind="undone without proof", source="https://github.com/cashubtc/cdk/pull/2306",
        story="The answer of a payment is lost and its look-up is away for a while. Nothing is "
        "said to be undone or not done; then it is found.",
        tools=(
            Tool(
                name="melt_pay", at="listed", meets=(LOST,), asked=("error_500", "reset") * 8,
                budget=replace(BUDGET, turn_s=1.0, unanswered=100, backoff_s=0.2),
            ),
        ),
        play=(
            Call(tool="melt_pay", then=Told(state="unknown")),
            Recover(until=("melt_pay", "confirmed")),
        ),
        effects={"melt_pay": 1}, posts={"melt_pay": 1},
        ledger=(Row(tool="melt_pay", state="confirmed", ref=True),),
    ),
)  # fmt: skip

TOLD = (
    Case(
        id="K13-2", kind=UNTRUE, source="https://github.com/amd/gaia/issues/2914",
        story="A model says that the draft is there, and has called nothing. The record says that "
        "nothing was started, and there is nothing to ask the provider about.",
        tools=(Tool(name="create_draft", at="known"),),
        play=(
            Facts(then=Told(actions=(), workflow="not_started", next=())),
            Take(entry="query_draft", then=Told(error="NotAllowed")),
        ),
        effects={"create_draft": 0}, posts={"create_draft": 0},
        ledger=(Row(tool="create_draft", count=0),),
    ),
    Case(
        id="K13-4", kind=UNTRUE, source="https://github.com/naftiko/ikanos/issues/685",
        story="An answer without a body is done; an empty object that hides a 400 is not; and a "
        "200 that says no is a no where the contract knows it, else it is unknown.",
        tools=(
            Tool(name="dispatch", body="quiet_post", replies=(Reply(204, effect=True),)),
            Tool(name="setup", body="swallowing", replies=(Reply(400, {"error": "bad"}),)),
            Tool(
                name="apply_patch", replies=(Reply(200, {"ok": False, "why": "LOCKED"}),),
                said={"refusals": [RefusalRule(code="LOCKED", code_path="why")]},
            ),
            Tool(name="move_file", replies=(Reply(200, {"ok": False}),)),
        ),
        play=(
            Call(tool="dispatch", then=Told(state="confirmed", ref=False)),
            Call(tool="setup", then=Told(state="rejected", kind="invalid")),
            Call(tool="apply_patch", then=Told(state="rejected", kind="business")),
            Call(tool="move_file", then=Told(state="unknown")),
        ),
        effects={"dispatch": 1, "setup": 0, "apply_patch": 0, "move_file": 0},
        ledger=(
            Row(tool="dispatch", state="confirmed", ref=False),
            Row(tool="setup", state="rejected"),
            Row(tool="apply_patch", state="rejected"),
            Row(tool="move_file", state="unknown"),
        ),
    ),
)  # fmt: skip


def one_space(text: str) -> str:
    return " ".join(text.split())


DOUBLES = (
    Case(
        id="K17-1", kind=TWICE, source="https://github.com/n8n-io/n8n/issues/14585",
        story="One call of a voice platform is delivered three times within moments. One ticket; "
        "all three hear of it.",
        tools=(
            Tool(name="create_ticket", meets=(Behaviour("slow_deadline", seconds=0.4),)),
        ),
        play=(
            Together(
                (
                    Call(tool="create_ticket", call_id="tc1", then=DONE),
                    Call(tool="create_ticket", call_id="tc1", then=DONE),
                    Call(
                        tool="create_ticket", call_id="tc1", when=("create_ticket", 1),
                        then=DONE,
                    ),
                )
            ),
        ),
        effects={"create_ticket": 1}, posts={"create_ticket": 1},
        ledger=(Row(tool="create_ticket", state="confirmed", sends=1),),
    ),
    Case(
        id="K17-2", kind=TWICE, source="https://github.com/n8n-io/n8n/issues/19600",
        story="Two deliveries of one note differ in a line break only. They are one; a note in "
        "other words is another.",
        tools=(
            Tool(
                name="save_note", at="keyed",
                said={
                    "identity": ["order", "text"], "wording": [],
                    "normalise": {"text": one_space},
                },
            ),
        ),
        play=(
            Call(tool="save_note", text="a  b", call_id="e1", name="first"),
            Call(tool="save_note", text="a\nb", call_id="e1", then=Told(same_as="first")),
            Call(tool="save_note", text="a\nb", then=Told(same_as="first", how="replayed")),
            Call(tool="save_note", text="a c", then=Told(state="confirmed", how="new")),
        ),
        effects={"save_note": 2}, posts={"save_note": 2},
        ledger=(Row(tool="save_note", state="confirmed", count=2),),
    ),
    Case(
        id="K17-3", kind=TWICE, source="https://github.com/langchain-ai/langchain/pull/38969",
        story="A model calls twice in one message. One refund, both calls answered; two coffees "
        "only where the second is named as one.",
        tools=(Tool(name="refund"), Tool(name="order_coffee"), Tool(name="order_tea")),
        play=(
            Together(
                (
                    Call(tool="refund", call_id="c1", then=Told(state="confirmed", ref=True)),
                    Call(tool="refund", call_id="c2", then=Told(state="confirmed", ref=True)),
                )
            ),
            Together(
                (
                    Call(tool="order_coffee", call_id="c3", then=Told(state="confirmed")),
                    Call(tool="order_coffee", call_id="c4", ordinal=2, then=DONE),
                    Call(tool="order_tea", call_id="c5", then=Told(state="confirmed")),
                    Call(tool="order_tea", call_id="c6", then=Told(state="confirmed")),
                )
            ),
        ),
        effects={"refund": 1, "order_coffee": 2, "order_tea": 1},
        ledger=(
            Row(tool="refund", state="confirmed", sends=1),
            Row(tool="order_coffee", state="confirmed", count=2),
            Row(tool="order_tea", state="confirmed", sends=1),
        ),
    ),
    Case(
        id="K17-4", kind=TWICE, source="https://github.com/crewAIInc/crewAI/issues/3489",
        story="A framework runs the function a second time for the same call. It is told what the "
        "first time came to.",
        tools=(Tool(name="send_email"),),
        play=(
            Call(tool="send_email", call_id="c1", name="first", then=Told(state="confirmed")),
            Call(
                tool="send_email", call_id="c1",
                then=Told(state="confirmed", how="replayed", same_as="first", ref=True),
            ),
        ),
        effects={"send_email": 1}, posts={"send_email": 1},
        ledger=(Row(tool="send_email", state="confirmed", sends=1),),
    ),
)  # fmt: skip

CASES = (*BATCHES, *CALLERS_KEYS, *PROVIDERS_KEYS, *READINGS, *TOLD, *DOUBLES)
