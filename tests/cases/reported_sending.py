"""Reports about sending: a lost answer, a second run, a second sender, hidden repeats, waits."""

from __future__ import annotations

from dataclasses import replace

from ascertain import Found, Processing
from ascertain.testing.world import Behaviour
from tests.cases.tables import (
    BUDGET,
    HASTY,
    LOST,
    TIMED_OUT,
    UNHEARD,
    Call,
    Case,
    Die,
    Facts,
    Loop,
    Recover,
    Reply,
    Restart,
    Row,
    Seen,
    Together,
    Told,
    Tool,
)

REPEATED = "a lost answer taken for a no, and repeated"
RERUN = "work done again on resume, recovery or replay"
TWO_SENDERS = "two senders for one action"
HIDDEN = "hidden layers that repeat"
WAITS = "what a provider says about waiting"
DEADLINES = "no deadline: stuck, or stranded"
CANCELLED = "cancelled, late and lost results"

BLIND_NEXT = ("mark_pending", "manual_review")
ONCE = replace(BUDGET, sends=1)

LOST_ANSWERS = (
    Case(
        id="K01-1", kind=REPEATED,
        source="https://github.com/langchain-ai/langchain/issues/40688",
        story="A charge times out after it was sent. It can neither be asked for nor repeated: it "
        "is left unknown for a person, whoever asks again. A search that times out is read again.",
        tools=(
            Tool(name="charge_card", meets=(TIMED_OUT,), budget=HASTY),
            Tool(
                name="search", read=True, body="read",
                replies=(Reply(0), Reply(200, {"hits": 2})),
            ),
        ),
        play=(
            Call(tool="charge_card", amount=20, then=Told(state="unknown", next=BLIND_NEXT)),
            Call(tool="search", then=Told(state="confirmed", value={"hits": 2})),
            Call(tool="charge_card", amount=20, then=Told(state="unknown", next=BLIND_NEXT)),
        ),
        effects={"charge_card": 1}, posts={"charge_card": 1, "search": 2},
        ledger=(Row(tool="charge_card", state="unknown", sends=1, in_review=True),),
    ),
    Case(
        id="K01-2", kind=REPEATED, source="https://skyaiapp.com/blog/agent-runtime-reliability",
        story="A carrier takes the booking and its answer is lost. It is asked by key, and the "
        "confirmation goes out once; the session tells both in their order.",
        tools=(
            Tool(name="book_shipment", at="known", meets=(TIMED_OUT,), budget=HASTY),
            Tool(name="send_confirmation", at="keyed"),
        ),
        play=(
            Call(tool="book_shipment", order="S9", then=Told(state="confirmed", ref=True)),
            Call(tool="send_confirmation", order="S9", then=Told(state="confirmed")),
            Facts(
                then=Told(
                    workflow="completed",
                    actions=("book_shipment:confirmed", "send_confirmation:confirmed"),
                )
            ),
        ),
        effects={"book_shipment": 1, "send_confirmation": 1},
        ledger=(
            Row(tool="book_shipment", state="confirmed", sends=1, ref=True),
            Row(tool="send_confirmation", state="confirmed", sends=1),
        ),
    ),
    Case(
        id="K01-3", kind=REPEATED,
        source="https://technewstoday.info/why-an-idempotency-key-isnt-an-idempotency-guarantee/",
        story="A payment lands a second after the caller has given up. The first look-up finds "
        "nothing yet; it is one payment in the ledger and one at the provider, under one key.",
        tools=(
            Tool(
                name="pay", at="listed", meets=(Behaviour("late_execution", seconds=1.0),),
                settling_s=1.6, budget=replace(BUDGET, turn_s=0.5),
            ),
        ),
        play=(
            Call(tool="pay", amount=200, then=Told(state="unknown")),
            Recover(until=("pay", "confirmed")),
        ),
        effects={"pay": 1}, posts={"pay": 1},
        ledger=(Row(tool="pay", state="confirmed", ref=True, sends=1, events=("note:absent",)),),
    ),
)  # fmt: skip

RERUNS = (
    Case(
        id="K02-1", kind=RERUN, source="https://github.com/langchain-ai/langgraph/pull/3126",
        story="A step of two tools is run again, because one of them waited for a person. The "
        "other one's ticket is told from the record.",
        tools=(Tool(name="create_ticket"),),
        play=(
            Call(tool="create_ticket", call_id="c1", name="first", then=Told(state="confirmed")),
            Restart(),
            Call(
                tool="create_ticket", call_id="c1",
                then=Told(state="confirmed", how="replayed", same_as="first", ref=True),
            ),
        ),
        effects={"create_ticket": 1}, posts={"create_ticket": 1},
        ledger=(Row(tool="create_ticket", state="confirmed", sends=1, ref=True),),
    ),
    Case(
        id="K02-2", kind=RERUN, source="https://github.com/agno-agi/agno/issues/10366",
        story="A run is repeated twice because a model fails after the debit. Each run finds the "
        "debit in the record before it begins.",
        tools=(
            Tool(name="debit"),
            Tool(
                name="ask_model", read=True, body="read", budget=ONCE,
                replies=(Reply(500), Reply(500), Reply(200, {"text": "done"})),
            ),
        ),
        play=(
            Call(tool="debit", name="first", then=Told(state="confirmed", how="new")),
            Call(tool="ask_model", then=Told(state="rejected", kind="unavailable")),
            Call(tool="debit", then=Told(state="confirmed", how="replayed", same_as="first")),
            Call(tool="ask_model", then=Told(state="rejected", kind="unavailable")),
            Call(tool="debit", then=Told(state="confirmed", how="replayed", same_as="first")),
            Call(tool="ask_model", then=Told(state="confirmed")),
        ),
        effects={"debit": 1}, posts={"debit": 1, "ask_model": 3},
        ledger=(Row(tool="debit", state="confirmed", sends=1),),
    ),
    Case(
        id="K02-3", kind=RERUN, source="https://github.com/livekit/agents/issues/3702",
        story="A caller interrupts after the table was reserved, and the transcript loses the "
        "result. The ledger has it, and the second request is answered from there.",
        tools=(Tool(name="create_reservation", at="known"),),
        play=(
            Call(tool="create_reservation", name="first", then=Told(state="confirmed")),
            Facts(then=Told(actions=("create_reservation:confirmed",), workflow="completed")),
            Call(
                tool="create_reservation",
                then=Told(state="confirmed", how="replayed", same_as="first", ref=True),
            ),
        ),
        effects={"create_reservation": 1}, posts={"create_reservation": 1},
        ledger=(Row(tool="create_reservation", state="confirmed", ref=True),),
    ),
    Case(
        id="K02-4", kind=RERUN, source="https://github.com/langchain-ai/langgraph/issues/8458",
        story="A fork runs a charge again under a task id that nobody has seen. The intent is "
        "known, whatever the framework calls the task.",
        tools=(Tool(name="charge"),),
        play=(
            Call(tool="charge", turn="m1", call_id="task-1", name="first"),
            Restart(),
            Call(
                tool="charge", turn="m1", call_id="task-9",
                then=Told(state="confirmed", how="replayed", same_as="first"),
            ),
        ),
        effects={"charge": 1}, posts={"charge": 1},
        ledger=(Row(tool="charge", state="confirmed", sends=1),),
    ),
    Case(
        id="K02-6", kind=RERUN, source="https://github.com/langchain-ai/langgraph/issues/8039",
        story="Killed when the mail is out and its outcome is not written: it is unknown, and not "
        "sent again.",
        tools=(Tool(name="send_mail"),),
        play=(
            Die(step=Call(tool="send_mail"), at="invoke.after"),
            Call(tool="send_mail", then=Told(state="unknown", next=BLIND_NEXT)),
            Recover(until=("send_mail", "review")),
        ),
        effects={"send_mail": 1}, posts={"send_mail": 1},
        ledger=(Row(tool="send_mail", state="unknown", events=("lose:lease_expired",)),),
    ),
    Case(
        id="K02-6-after", kind=RERUN,
        source="https://github.com/langchain-ai/langgraph/issues/8039",
        story="Killed right after the outcome was written: it is confirmed, and told from there.",
        tools=(Tool(name="send_mail"),),
        play=(
            Die(step=Call(tool="send_mail"), at="advance.after"),
            Call(tool="send_mail", then=Told(state="confirmed", how="replayed", ref=True)),
        ),
        effects={"send_mail": 1}, posts={"send_mail": 1},
        ledger=(Row(tool="send_mail", state="confirmed", sends=1),),
    ),
    Case(
        id="K02-7", kind=RERUN, source="https://github.com/langchain-ai/langgraph/issues/8764",
        story="Killed when the transfer was recorded and nothing of it had left: whoever asks is "
        "told that there is one under way, and not that nobody knows of it.",
        tools=(Tool(name="transfer", at="known"),),
        play=(
            Die(step=Call(tool="transfer"), at="invoke.before"),
            Facts(
                then=Told(
                    actions=("transfer:sent",), workflow="running", next=("wait", "mark_pending")
                )
            ),
        ),
        effects={"transfer": 0}, posts={"transfer": 0},
        ledger=(Row(tool="transfer", state="sent", sends=0, ref=False),),
    ),
    Case(
        id="K02-7-later", kind=RERUN,
        source="https://github.com/langchain-ai/langgraph/issues/8764",
        story="The same, and a worker comes by: the accepted work is done, once.",
        tools=(Tool(name="transfer", at="known"),),
        play=(
            Die(step=Call(tool="transfer"), at="invoke.before"),
            Recover(until=("transfer", "confirmed")),
        ),
        effects={"transfer": 1}, posts={"transfer": 1},
        ledger=(Row(tool="transfer", state="confirmed", ref=True),),
    ),
)  # fmt: skip

SLOW = Behaviour("slow_deadline", seconds=1.0)

SENDERS = (
    Case(
        id="K03-1", kind=TWO_SENDERS,
        source="https://github.com/langchain-ai/langgraph/issues/7213",
        story="A write takes longer than a scheduler likes. The worker that is sent to help, and "
        "a second call, see the lease and send nothing.",
        tools=(Tool(name="slow_write", meets=(SLOW,)),),
        play=(
            Together(
                (
                    Call(tool="slow_write", name="first", then=Told(state="confirmed")),
                    Recover(once=True, when=("slow_write", 1)),
                    Call(
                        tool="slow_write", name="second", when=("slow_write", 1),
                        then=Told(state="confirmed", how="joined"),
                    ),
                )
            ),
        ),
        effects={"slow_write": 1}, posts={"slow_write": 1},
        ledger=(Row(tool="slow_write", state="confirmed", sends=1, attempts=1),),
    ),
    Case(
        id="K03-2", kind=TWO_SENDERS,
        source="https://github.com/dbos-inc/dbos-transact-java/issues/491",
        story="Recovery scans at start-up while the first call runs in the same process. It takes "
        "only what nobody holds.",
        tools=(Tool(name="run_once", meets=(SLOW,)),),
        play=(
            Together(
                (
                    Call(tool="run_once", then=Told(state="confirmed")),
                    Recover(once=True),
                    Recover(once=True, when=("run_once", 1)),
                    Recover(once=True, when=("run_once", 1)),
                )
            ),
        ),
        effects={"run_once": 1}, posts={"run_once": 1},
        ledger=(Row(tool="run_once", state="confirmed", sends=1, attempts=1),),
    ),
    Case(
        id="K03-4", kind=TWO_SENDERS, source="https://github.com/celery/kombu/issues/337",
        story="A charge that has to wait is delivered to several workers. One of them moves it "
        "from prepared to sent; the others look again and leave.",
        tools=(
            Tool(
                name="charge_later", body="comes_up", said={"send_by": "60s"},
                budget=replace(BUDGET, turn_sends=1, backoff_s=0.3, backoff_max_s=0.3),
            ),
        ),
        play=(
            Call(tool="charge_later", then=Told(state="prepared", next=("wait", "mark_pending"))),
            Together(tuple(Recover(until=("charge_later", "confirmed")) for _ in range(4))),
        ),
        effects={"charge_later": 1}, posts={"charge_later": 1},
        ledger=(Row(tool="charge_later", state="confirmed", attempts=2),),
    ),
    Case(
        id="K03-5", kind=TWO_SENDERS, source="https://github.com/PrefectHQ/prefect/issues/12509",
        story="Two pods run the same flow at once. The action is claimed once, and both hear of "
        "the one row.",
        tools=(Tool(name="insert_row", meets=(Behaviour("slow_deadline", seconds=0.4),)),),
        play=(
            Together(
                tuple(
                    Call(tool="insert_row", name=f"pod-{n}", then=Told(state="confirmed", ref=True))
                    for n in (1, 2, 3)
                )
            ),
        ),
        effects={"insert_row": 1}, posts={"insert_row": 1},
        ledger=(Row(tool="insert_row", state="confirmed", sends=1),),
    ),
    Case(
        id="K03-6", kind=TWO_SENDERS, source="https://github.com/dust-tt/dust/pull/5045",
        story="An export outlives its deadline. Whoever takes over only asks, and is told that it "
        "is being worked on; the late result is its own.",
        tools=(
            Tool(
                name="export", at="known", body="stubborn", budget=HASTY,
                meets=(Behaviour("slow_lease", seconds=2.2),), asked=("working",) * 40,
            ),
        ),
        play=(
            Together(
                (
                    Call(tool="export", then=Told(state="confirmed", ref=True)),
                    Seen(tool="export", state="unknown", reason="deadline"),
                )
            ),
        ),
        effects={"export": 1}, posts={"export": 1},
        ledger=(
            Row(tool="export", state="confirmed", ref=True, sends=1, events=("lose:deadline",)),
        ),
    ),
    Case(
        id="K03-7", kind=TWO_SENDERS,
        source="https://github.com/zeroclaw-labs/zeroclaw/issues/10408",
        story="A second message comes while the first one's commit is pushed, and its run wants "
        "the same. It joins the one under way.",
        tools=(Tool(name="push_commit", meets=(SLOW,)),),
        play=(
            Together(
                (
                    Call(tool="push_commit", turn="m1", name="first"),
                    Call(
                        tool="push_commit", turn="m2", name="second", when=("push_commit", 1),
                        then=Told(state="confirmed", how="joined"),
                    ),
                )
            ),
        ),
        effects={"push_commit": 1}, posts={"push_commit": 1},
        ledger=(Row(tool="push_commit", state="confirmed", sends=1),),
    ),
    Case(
        id="K04-4", kind="a result that nobody waits for any more",
        source="https://github.com/VRSEN/agency-swarm/issues/71",
        story="The conversation is over when the slow tool ends. Its result is in the ledger, and "
        "another conversation of the same person is told of it.",
        tools=(
            Tool(
                name="slow_tool", body="post_async", asynchronous=True, meets=(SLOW,),
                said={"once_per": "principal"},
            ),
        ),
        play=(
            Loop(
                calls=(Call(tool="slow_tool", session="old"),), cancel=("slow_tool",),
                cancel_when=("slow_tool", 1), seen=(Seen(tool="slow_tool", state="confirmed"),),
            ),
            Restart(),
            Loop(
                calls=(
                    Call(
                        tool="slow_tool", session="new", name="again",
                        then=Told(state="confirmed", how="replayed", ref=True),
                    ),
                )
            ),
            Facts(session="old", then=Told(actions=("slow_tool:confirmed",))),
        ),
        effects={"slow_tool": 1}, posts={"slow_tool": 1},
        ledger=(Row(tool="slow_tool", state="confirmed", ref=True, events=("lose:interrupted",)),),
    ),
)  # fmt: skip

LAYERS = (
    Case(
        id="K08-2", kind=HIDDEN, source="https://github.com/serverless-ca/terraform-aws-ca/pull/664",
        story="A client repeats a request by itself, and the authority refuses to use the same "
        "private key twice. That refusal is of the second sending; the certificate is found.",
        tools=(
            Tool(
                name="issue_cert", at="listed", body="post_requests", client="repeating",
                meets=(LOST, Behaviour("error_body_2xx", code="KEY_ALREADY_USED")),
            ),
        ),
        play=(Call(tool="issue_cert", then=Told(state="confirmed", ref=True)),),
        effects={"issue_cert": 1}, posts={"issue_cert": 2},
        ledger=(
            Row(
                tool="issue_cert", state="confirmed", sends=2, attempts=1, ref=True,
                events=("lose:refused_after_resend",),
            ),
        ),
    ),
    Case(
        id="K08-3", kind=HIDDEN, source="https://github.com/livekit/agents/pull/5335",
        story="A vendor's client tries three times within each attempt. The budget is of sends, "
        "whoever makes them.",
        tools=(
            Tool(
                name="operate", at="keyed", body="sdk", meets=("unavailable_503_before",) * 12,
                budget=replace(BUDGET, sends=2),
            ),
        ),
        play=(
            Call(tool="operate", then=Told(state="unknown", next=BLIND_NEXT)),
            Recover(until=("operate", "review")),
        ),
        effects={"operate": 0}, at_most_posts={"operate": 2},
        ledger=(Row(tool="operate", state="unknown", sends=2, review="budget_spent"),),
    ),
    Case(
        id="K08-4", kind=HIDDEN, source="https://github.com/openclaw/openclaw/issues/22780",
        story="A chat message is out and its answer lost. There is no key: the channel's list is "
        "searched, and the one message that fits is ours.",
        tools=(Tool(name="post_message", at="listed", look="by_fields", meets=(LOST,)),),
        play=(Call(tool="post_message", then=Told(state="confirmed", ref=True)),),
        effects={"post_message": 1}, posts={"post_message": 1},
        ledger=(Row(tool="post_message", state="confirmed", sends=1, ref=True),),
    ),
    Case(
        id="K08-4-two", kind=HIDDEN, source="https://github.com/openclaw/openclaw/issues/22780",
        story="The list has two that fit. Which one is ours cannot be told: a person looks.",
        tools=(
            Tool(
                name="post_message", at="listed", look="by_fields",
                meets=(Behaviour("duplicate_delivery", reply="lost"),),
                budget=replace(BUDGET, unanswered=2),
            ),
        ),
        play=(
            Call(tool="post_message", then=Told(state="unknown", offers=("manual_review",))),
            Recover(until=("post_message", "review")),
        ),
        effects={"post_message": 2}, posts={"post_message": 1}, broken="it delivered twice",
        ledger=(Row(tool="post_message", state="unknown", sends=1, ref=False),),
    ),
    Case(
        id="K08-6", kind=HIDDEN, source="https://github.com/jawah/urllib3.future/issues/280",
        story="The provider closes a kept connection after it has read the second request. One "
        "request came, and its end is unknown.",
        tools=(
            Tool(
                name="post_entry", body="post_requests", client="requests",
                meets={"n2": (Behaviour("reply_lost", how="fin"),)},
            ),
        ),
        play=(
            Call(tool="post_entry", order="n1", then=Told(state="confirmed")),
            Call(tool="post_entry", order="n2", then=Told(state="unknown", next=BLIND_NEXT)),
        ),
        effects={"post_entry/n1": 1, "post_entry/n2": 1}, posts={"post_entry": 2},
        ledger=(
            Row(tool="post_entry", order="n1", state="confirmed", sends=1),
            Row(tool="post_entry", order="n2", state="unknown", sends=1),
        ),
    ),
    Case(
        id="K08-8", kind=HIDDEN, source="https://github.com/pydantic/pydantic-ai/issues/6581",
        story="A model alternates between a tool that fails and others. The budget belongs to the "
        "intent, and lasts over calls and processes; another intent has its own.",
        tools=(
            Tool(
                name="submit", at="keyed", meets=("unavailable_503_before",) * 12,
                budget=replace(BUDGET, sends=2),
            ),
            Tool(name="note_down"),
        ),
        play=(
            Together(
                (
                    Call(tool="submit", order="A1", then=Told(state="unknown")),
                    Call(tool="submit", order="B1", then=Told(state="unknown")),
                )
            ),
            Call(tool="note_down", then=Told(state="confirmed")),
            Call(tool="submit", order="A1", then=Told(state="unknown", next=BLIND_NEXT)),
            Restart(),
            Call(tool="submit", order="A1", then=Told(state="unknown", next=BLIND_NEXT)),
            Recover(until=("submit", "review")),
        ),
        effects={"submit": 0}, posts={"submit": 4},
        ledger=(
            Row(tool="submit", order="A1", state="unknown", sends=2, review="budget_spent"),
            Row(tool="submit", order="B1", state="unknown", sends=2, review="budget_spent"),
        ),
    ),
)  # fmt: skip

HINTS: dict[str, tuple[tuple[tuple[str, str], ...], float]] = {
    "negative": ((("Retry-After", "-5"),), 0.1),
    "half": ((("Retry-After", "0.493"),), 1.0),
    "one and a half": ((("Retry-After", "1.5"),), 2.0),
    "nought": ((("Retry-After", "0"),), 0.1),
    "empty": ((("Retry-After", ""),), 0.1),
    "words": ((("Retry-After", "abc"),), 0.1),
    "infinite": ((("Retry-After", "inf"),), 0.1),
    "huge": ((("Retry-After", "1e400"),), 0.1),
    "blanks": ((("Retry-After", " 2 "),), 2.0),
    "long ago": ((("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"),), 0.1),
    "a date": ((("Retry-After", "@+3"),), 1.9),
    "no zone": ((("Retry-After", "Wed, 21 Oct 2015 07:28:00"),), 0.1),
    "twice": ((("Retry-After", "1"), ("Retry-After", "2")), 0.1),
    "nothing": ((), 0.1),
}

HINTED = (
    Case(
        id="K09-1", kind=WAITS, source="https://github.com/earendil-works/pi/pull/6912",
        story="A provider wants three days of patience. The call ends at once and says when; "
        "nobody sleeps, and nothing is sent before.",
        tools=(
            Tool(
                name="operate", at="gated", meets=(Behaviour("throttled", retry_after_s=277403),),
                said={"unprocessed": [429, 503]},
            ),
        ),
        play=(
            Call(
                tool="operate",
                then=Told(
                    state="rejected", kind="throttled", retry_after_s=(277300, 277403),
                    within_s=10.0, next=("wait", "mark_pending", "manual_review"),
                ),
            ),
            Recover(once=True),
        ),
        effects={"operate": 0}, posts={"operate": 1},
        ledger=(Row(tool="operate", state="rejected", kind="throttled", sends=1),),
    ),
    Case(
        id="K09-2", kind=WAITS, source="https://github.com/openai/openai-python/pull/3555",
        story="A wait that fits the budget is waited in full, and not replaced by a shorter one.",
        tools=(
            Tool(name="operate", at="keyed", meets=(Behaviour("throttled", retry_after_s=2),)),
        ),
        play=(Call(tool="operate", then=Told(state="confirmed", after_s=2.0)),),
        effects={"operate": 1}, posts={"operate": 2}, apart_s={"operate": 2.0},
        ledger=(Row(tool="operate", state="confirmed", sends=2),),
    ),
    Case(
        id="K09-2-short", kind=WAITS, source="https://github.com/openai/openai-python/pull/3555",
        story="The same wait beyond the budget: no second send now, and it is said when.",
        tools=(
            Tool(
                name="operate", at="keyed", meets=(Behaviour("throttled", retry_after_s=171),),
                budget=replace(BUDGET, turn_s=8.0),
            ),
        ),
        play=(
            Call(
                tool="operate",
                then=Told(state="unknown", retry_after_s=(160, 171), within_s=7.0),
            ),
            Recover(once=True),
        ),
        effects={"operate": 0}, posts={"operate": 1},
        ledger=(Row(tool="operate", state="unknown", sends=1),),
    ),
    Case(
        id="K09-3", kind=WAITS, source="https://github.com/apify/crawlee-python/pull/1995",
        story="Every way to write a waiting time: fractions are rounded up, what cannot be read "
        "falls back to the ordinary wait, nought and the past are no tight loop.",
        tools=(
            Tool(
                name="search", read=True, body="read",
                budget=replace(BUDGET, backoff_s=0.2, backoff_max_s=0.4),
                replies={
                    order: (Reply(429, headers=headers), Reply(200, {"hits": 1}))
                    for order, (headers, _) in HINTS.items()
                },
            ),
        ),
        play=(
            Together(
                tuple(
                    Call(
                        tool="search", order=order, name=order,
                        then=Told(state="confirmed", after_s=least_s),
                    )
                    for order, (_, least_s) in HINTS.items()
                )
            ),
        ),
        effects={"search": 0}, posts={"search": 2 * len(HINTS)}, ledger=(),
    ),
)  # fmt: skip

CANCELS = (
    Case(
        id="K12-1", kind=CANCELLED,
        source="https://github.com/modelcontextprotocol/python-sdk/issues/2507",
        story="The person stops while the query runs, and its answer never comes. It is unknown; "
        "it is not said to be cancelled.",
        tools=(
            Tool(
                name="run_query", body="post_async", asynchronous=True, budget=HASTY,
                meets=(Behaviour("slow_lease", seconds=1.6),),
            ),
        ),
        play=(
            Loop(
                calls=(Call(tool="run_query"),), cancel=("run_query",),
                cancel_when=("run_query", 1),
                seen=(Seen(tool="run_query", state="unknown", reason="interrupted"),),
            ),
            Facts(then=Told(actions=("run_query:unknown",), next=BLIND_NEXT)),
            Recover(until=("run_query", "review")),
        ),
        effects={"run_query": 1}, posts={"run_query": 1},
        ledger=(Row(tool="run_query", state="unknown", sends=1, events=("lose:interrupted",)),),
    ),
    Case(
        id="K12-1-before", kind=CANCELLED,
        source="https://github.com/modelcontextprotocol/python-sdk/issues/2507",
        story="The person stops while the send is being written down: nothing leaves, and that is "
        "known.",
        tools=(Tool(name="run_query", body="post_async", asynchronous=True),),
        play=(
            Loop(calls=(Call(tool="run_query"),), cancel_at="reserve.before"),
            Facts(then=Told(actions=("run_query:rejected",))),
        ),
        effects={"run_query": 0}, posts={"run_query": 0},
        ledger=(
            Row(tool="run_query", state="rejected", kind="withdrawn", sends=0, attempts=1),
        ),
    ),
    Case(
        id="K12-2", kind=CANCELLED, source="https://github.com/anthropics/claude-code/issues/87439",
        story="A command goes on in the background. It is said to be in progress, it is not "
        "started again, and it is asked for by its handle.",
        tools=(
            Tool(
                name="run_shell", at="listed", look="by_handle",
                meets=(Behaviour("accepted_202", seconds=1.2),),
            ),
        ),
        play=(
            Call(
                tool="run_shell", name="first",
                then=Told(
                    state="unknown", accepted=True, says="in progress",
                    next=("query_shell", "wait", "mark_pending", "manual_review"),
                ),
            ),
            Call(tool="run_shell", then=Told(state="unknown", accepted=True, same_as="first")),
            Recover(until=("run_shell", "confirmed")),
        ),
        effects={"run_shell": 1}, posts={"run_shell": 1},
        ledger=(Row(tool="run_shell", state="confirmed", sends=1, ref=True),),
    ),
    Case(
        id="K12-6", kind=CANCELLED, source="https://github.com/pipecat-ai/pipecat/issues/5779",
        story="The interruption is processed before the call begins. Nothing says that it is still "
        "running.",
        tools=(
            Tool(name="look_up_weather", read=True, body="read_async", asynchronous=True),
            Tool(name="book_cab", body="post_async", asynchronous=True),
        ),
        play=(
            Loop(
                calls=(Call(tool="look_up_weather"), Call(tool="book_cab")),
                cancel=("look_up_weather", "book_cab"),
            ),
            Facts(then=Told(actions=(), workflow="not_started")),
        ),
        effects={"book_cab": 0}, posts={"book_cab": 0},
        ledger=(Row(tool="book_cab", count=0), Row(tool="look_up_weather", count=0)),
    ),
)  # fmt: skip

BOUNDED = (
    Case(
        id="K18-1", kind=DEADLINES, source="https://github.com/mastra-ai/mastra/issues/18594",
        story="A provider never answers. The call ends at its deadline, and says unknown.",
        tools=(Tool(name="hang_up", meets=(UNHEARD,), budget=HASTY),),
        play=(
            Call(tool="hang_up", then=Told(state="unknown", next=BLIND_NEXT, within_s=6.0)),
        ),
        effects={"hang_up": 0}, posts={"hang_up": 1},
        ledger=(Row(tool="hang_up", state="unknown", sends=1, in_review=True),),
    ),
    Case(
        id="K18-2", kind=DEADLINES,
        source="https://github.com/CALLE-AI/awesome-phone-call-agents/pull/48",
        story="The callback of a phone call is lost. The provider is asked, and says how it ended.",
        tools=(
            Tool(
                name="call_customer", body="job", look="scripted",
                asked=(Processing(0.1), Found("call_1", {"outcome": "no_answer"})),
            ),
        ),
        play=(
            Call(tool="call_customer", then=Told(state="unknown", accepted=True)),
            Recover(until=("call_customer", "confirmed")),
            Call(
                tool="call_customer",
                then=Told(state="confirmed", how="replayed", value={"outcome": "no_answer"}),
            ),
        ),
        effects={"call_customer": 1}, posts={"call_customer": 1},
        ledger=(Row(tool="call_customer", state="confirmed", ref=True),),
    ),
    Case(
        id="K18-2-silent", kind=DEADLINES,
        source="https://github.com/CALLE-AI/awesome-phone-call-agents/pull/48",
        story="The provider does not answer the question either: a person has it before long.",
        tools=(Tool(name="call_customer", body="job", look="scripted", asked=("broken",)),),
        play=(
            Call(tool="call_customer", then=Told(state="unknown", accepted=True)),
            Recover(until=("call_customer", "review")),
        ),
        effects={"call_customer": 1}, posts={"call_customer": 1},
        ledger=(Row(tool="call_customer", state="unknown", review="budget_spent"),),
    ),
    Case(
        id="K18-3", kind=DEADLINES, source="https://github.com/temporalio/sdk-java/issues/256",
        story="The second of two waits for the only connection until its time is up. It was not "
        "sent, that is known, and it is sent later.",
        tools=(
            Tool(
                name="enlist", client="one line", said={"send_by": "60s"},
                meets={"n1": (Behaviour("slow_deadline", seconds=1.5),)},
            ),
        ),
        play=(
            Together(
                (
                    Call(tool="enlist", order="n1", then=Told(state="confirmed")),
                    Call(
                        tool="enlist", order="n2", deadline_s=0.6, when=("enlist", 1),
                        then=Told(state="prepared"),
                    ),
                )
            ),
            Recover(until=("enlist", "confirmed")),
        ),
        effects={"enlist/n1": 1, "enlist/n2": 1}, posts={"enlist": 2},
        ledger=(
            Row(tool="enlist", order="n1", state="confirmed", attempts=1),
            Row(tool="enlist", order="n2", state="confirmed", attempts=2),
        ),
    ),
)  # fmt: skip

CASES = (*LOST_ANSWERS, *RERUNS, *SENDERS, *LAYERS, *HINTED, *CANCELS, *BOUNDED)
