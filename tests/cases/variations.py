"""Cases of our own, of the kinds that people report: other orders, two faults, other promises."""

from __future__ import annotations

from dataclasses import replace

from ascertain import Absent, Found, Processing
from ascertain.testing.world import Behaviour
from tests.cases.tables import (
    BUDGET,
    HASTY,
    LOST,
    TIMED_OUT,
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
    Take,
    Together,
    Told,
    Tool,
    Verdict,
)

EVIDENCE = "evidence misread"

ASKING = (
    Case(
        id="V01", kind=EVIDENCE,
        story="A look-up sees nothing and promises nothing. It is asked again and again, but ever "
        "more seldom, and its silence is no proof.",
        tools=(
            Tool(
                name="create_token", look="scripted", asked=(Absent,), settling_s=None,
                meets=("reply_lost",),
                budget=replace(BUDGET, turn_s=1.0, backoff_s=0.05, backoff_max_s=60.0),
            ),
        ),
        play=(
            Call(tool="create_token", then=Told(state="unknown")),
            Recover(for_s=2.0),
        ),
        effects={"create_token": 1}, posts={"create_token": 1},
        ledger=(Row(tool="create_token", state="unknown", asked_at_most=9),),
    ),
)  # fmt: skip

HIDDEN = "hidden layers that repeat"

LAYERS = (
    Case(
        id="V02", kind=HIDDEN,
        story="The repeats hide in the transport: the session's own policy sends three times. The "
        "budget has two, and a third never leaves.",
        tools=(
            Tool(
                name="operate", at="keyed", body="post_requests", client="repeating",
                meets=("unavailable_503_before",) * 9, budget=replace(BUDGET, sends=2),
            ),
        ),
        play=(
            Call(tool="operate", then=Told(state="unknown")),
            Recover(until=("operate", "review")),
        ),
        effects={"operate": 0}, posts={"operate": 2},
        ledger=(Row(tool="operate", state="unknown", sends=2, review="budget_spent"),),
    ),
    Case(
        id="V03", kind=HIDDEN,
        story="A budget of five, a client of three: the second attempt gets the two that are left, "
        "and the last of them is answered.",
        tools=(
            Tool(
                name="operate", at="keyed", body="sdk", meets=("unavailable_503_after",) * 4,
                budget=replace(BUDGET, sends=5),
            ),
        ),
        play=(Call(tool="operate", then=Told(state="confirmed", ref=True)),),
        effects={"operate": 1}, posts={"operate": 5},
        ledger=(Row(tool="operate", state="confirmed", attempts=2, sends=5),),
    ),
    Case(
        id="V04", kind=HIDDEN,
        story="Two declared writes in one body are no repeats of one another, and are not held "
        "back, however small the budget is.",
        tools=(Tool(name="check_in", body="two_writes", budget=replace(BUDGET, sends=1)),),
        play=(Call(tool="check_in", then=Told(state="confirmed", ref=True)),),
        effects={"check_in": 2}, posts={"check_in": 2},
        ledger=(Row(tool="check_in", state="confirmed", attempts=1, review=None),),
    ),
)  # fmt: skip

LOSSES = "a lost answer taken for a no, and repeated"
RERUN = "work done again on resume, recovery or replay"
SENDERS = "two senders for one action"
PROVIDERS_KEYS = "a provider's keys, not as was thought"
CANCELLED = "cancelled, late and lost results"
TWICE = "the same wish comes in twice"
UNTRUE = "somebody is told something untrue"

DONE = Told(state="confirmed", ref=True)
ONE_SEND = replace(BUDGET, turn_sends=1)
BLIND_NEXT = ("mark_pending", "manual_review")
SLOW = Behaviour("slow_deadline", seconds=0.8)

MORE_LOSSES = (
    Case(
        id="V05", kind=LOSSES,
        story="The first request is lost and so is the answer of its repeat: one key, one effect.",
        tools=(Tool(name="pay", at="keyed", meets=("request_lost", LOST)),),
        play=(
            Call(tool="pay", then=Told(state="unknown")),
            Recover(until=("pay", "confirmed")),
        ),
        effects={"pay": 1}, posts={"pay": 3},
        ledger=(Row(tool="pay", state="confirmed", attempts=3, ref=True),),
    ),
    Case(
        id="V06", kind=LOSSES,
        story="The answer is lost, and then its repeat is refused. The refusal speaks for the "
        "repeat only; the key's record is ours.",
        tools=(
            Tool(name="pay", at="known", meets=(LOST, "business_refusal"), asked=("miss", "ok")),
        ),
        play=(
            Call(tool="pay"),
            Recover(until=("pay", "confirmed")),
        ),
        effects={"pay": 1}, ledger=(Row(tool="pay", state="confirmed", ref=True, kind=None),),
    ),
    Case(
        id="V07", kind=LOSSES,
        story="Neither key nor look-up, and a repeat would be tempting: after a 503 nothing is "
        "sent again, whether it had happened or not.",
        tools=(
            Tool(
                name="pay",
                meets={"yes": ("unavailable_503_after",), "no": ("unavailable_503_before",)},
            ),
        ),
        play=(
            Call(tool="pay", order="yes", then=Told(state="unknown", next=BLIND_NEXT)),
            Call(tool="pay", order="no", then=Told(state="unknown", next=BLIND_NEXT)),
        ),
        effects={"pay/yes": 1, "pay/no": 0}, posts={"pay": 2},
        ledger=(Row(tool="pay", state="unknown", review="cannot_ask", count=2),),
    ),
    Case(
        id="V08", kind=LOSSES,
        story="The answer breaks off in its middle. It is found by key, and not taken for done.",
        tools=(Tool(name="pay", at="listed", meets=("truncated",)),),
        play=(Call(tool="pay", then=Told(state="confirmed", ref=True)),),
        effects={"pay": 1}, posts={"pay": 1},
        ledger=(Row(tool="pay", state="confirmed", events=("found_by_lookup",)),),
    ),
    Case(
        id="V09", kind=LOSSES,
        story="The tool's own code breaks after the provider has answered. Without proof that "
        "nothing left it is asked, and found.",
        tools=(Tool(name="pay", at="listed", body="broken_after"),),
        play=(Call(tool="pay", then=Told(state="confirmed", ref=True)),),
        effects={"pay": 1}, posts={"pay": 1},
        ledger=(Row(tool="pay", state="confirmed", sends=1),),
    ),
    Case(
        id="V10", kind=LOSSES,
        story="It breaks before anything is sent, and the hooks prove that: not done, no doubt.",
        tools=(Tool(name="pay", at="listed", body="broken_before"),),
        play=(Call(tool="pay", then=Told(state="rejected", kind="tool_error")),),
        effects={"pay": 0}, posts={"pay": 0},
        ledger=(Row(tool="pay", state="rejected", kind="tool_error"),),
    ),
    Case(
        id="V11", kind=LOSSES,
        story="A request lost under a look-up that fences: it is closed there, a new call is a new "
        "action, and it is done once.",
        tools=(Tool(name="pay", at="fenced", meets=("request_lost",)),),
        play=(
            Call(tool="pay", then=Told(state="rejected")),
            Call(tool="pay", then=Told(state="confirmed", how="new")),
        ),
        effects={"pay": 1}, posts={"pay": 2},
        ledger=(Row(tool="pay", count=2),),
    ),
)  # fmt: skip

MORE_RERUNS = (
    Case(
        id="V12", kind=RERUN,
        story="Killed before the send, and again while it recovers. The third process does it, "
        "under the one key.",
        tools=(Tool(name="transfer", at="keyed"),),
        play=(
            Die(step=Call(tool="transfer"), at="invoke.before"),
            Die(step=Recover(once=False, until=("transfer", "confirmed")), at="invoke.after"),
            Recover(until=("transfer", "confirmed")),
        ),
        effects={"transfer": 1},
        ledger=(Row(tool="transfer", state="confirmed", ref=True),),
    ),
    Case(
        id="V13", kind=RERUN,
        story="The process dies while the provider works; the script is run again at once, and its "
        "call recovers what the first one left.",
        tools=(
            Tool(name="transfer", at="listed", meets=(Behaviour("slow_deadline", seconds=0.6),)),
        ),
        play=(
            Die(step=Call(tool="transfer"), when=("transfer", 1)),
            Call(tool="transfer", then=Told(how="joined")),
            Recover(until=("transfer", "confirmed")),
        ),
        effects={"transfer": 1}, posts={"transfer": 1},
        ledger=(Row(tool="transfer", state="confirmed", events=("lose:lease_expired",)),),
    ),
    Case(
        id="V14", kind=RERUN,
        story="A wish of the whole tenant, resumed by another agent in another session and turn.",
        tools=(Tool(name="transfer", said={"once_per": "tenant"}),),
        play=(
            Call(tool="transfer", turn="m1", name="first", then=Told(state="confirmed")),
            Restart(),
            Call(
                tool="transfer", session="other", principal="u8", turn="m7",
                then=Told(state="confirmed", how="replayed", same_as="first"),
            ),
        ),
        effects={"transfer": 1}, posts={"transfer": 1},
        ledger=(Row(tool="transfer", state="confirmed", sends=1),),
    ),
    Case(
        id="V15", kind=RERUN,
        story="The same words in another turn are a new wish, where the tool is once per session; "
        "but not while the first one is in doubt.",
        tools=(Tool(name="send_mail", meets={"A1": (), "B1": (LOST,)}),),
        play=(
            Call(tool="send_mail", order="A1", turn="m1", then=Told(state="confirmed")),
            Call(tool="send_mail", order="A1", turn="m2", then=Told(state="confirmed", how="new")),
            Call(tool="send_mail", order="B1", turn="m1", name="lost", then=Told(state="unknown")),
            Call(tool="send_mail", order="B1", turn="m2", then=Told(same_as="lost")),
        ),
        effects={"send_mail/A1": 2, "send_mail/B1": 1}, posts={"send_mail": 3},
        ledger=(
            Row(tool="send_mail", order="A1", state="confirmed", count=2),
            Row(tool="send_mail", order="B1", state="unknown"),
        ),
    ),
)  # fmt: skip

MORE_SENDERS = (
    Case(
        id="V16", kind=SENDERS,
        story="A lost answer, and four workers that want to recover it at once.",
        tools=(Tool(name="export", at="keyed", meets=(LOST,), budget=ONE_SEND),),
        play=(
            Call(tool="export", then=Told(state="unknown")),
            Together(tuple(Recover(until=("export", "confirmed")) for _ in range(4))),
        ),
        effects={"export": 1}, posts={"export": 2},
        ledger=(Row(tool="export", state="confirmed", attempts=2, sends=2),),
    ),
    Case(
        id="V17", kind=SENDERS,
        story="The late sender is refused after somebody else has found the effect of its attempt.",
        tools=(
            Tool(
                name="export", body="stubborn", look="scripted", budget=HASTY,
                meets=(Behaviour("slow_lease", seconds=2.0),), asked=(Found("E7"),),
            ),
        ),
        play=(
            Together(
                (
                    Call(tool="export", then=Told(state="confirmed")),
                    Recover(until=("export", "confirmed"), when=("export", 1)),
                )
            ),
        ),
        effects={"export": 1}, posts={"export": 1},
        ledger=(Row(tool="export", ref=True, disputed=True, review="duplicate_effect"),),
    ),
    Case(
        id="V18", kind=SENDERS,
        story="A person says that it was not done while the sender is still at work: refused.",
        tools=(Tool(name="export", meets=(SLOW,)),),
        play=(
            Together(
                (
                    Call(tool="export", then=Told(state="confirmed")),
                    Seen(tool="export", state="sent"),
                )
            ),
            Verdict(action="export", not_done=True, then=Told(error="NotAllowed")),
        ),
        effects={"export": 1}, posts={"export": 1},
        ledger=(Row(tool="export", state="confirmed", disputed=False),),
    ),
)  # fmt: skip

MORE_KEYS = (
    Case(
        id="V19", kind=PROVIDERS_KEYS,
        story="The provider says that the key was used with other arguments. It is no refusal of "
        "what was sent before, and not sent on and on.",
        tools=(
            Tool(
                name="update_account", at="known",
                meets=(LOST, Behaviour("validation_422", code="idempotency_mismatch")),
                asked=("miss",),
            ),
        ),
        play=(Call(tool="update_account"), Recover(until=("update_account", "confirmed"))),
        effects={"update_account": 1}, at_most_posts={"update_account": 3},
        ledger=(Row(tool="update_account", state="confirmed", ref=True),),
    ),
    Case(
        id="V20", kind=PROVIDERS_KEYS,
        story="The key's life is over before the answer is known: it is not sent once more.",
        tools=(
            Tool(
                name="update_account", at="keyed", meets=(Behaviour("throttled", retry_after_s=2),),
                said={"key_lifetime": "1.2s", "key_margin": "200ms"},
            ),
        ),
        play=(
            Call(tool="update_account", then=Told(state="unknown")),
            Recover(until=("update_account", "review")),
        ),
        effects={"update_account": 0}, posts={"update_account": 1},
        ledger=(Row(tool="update_account", state="unknown", review="budget_spent"),),
    ),
)  # fmt: skip

MORE_EVIDENCE = (
    Case(
        id="V21", kind=EVIDENCE,
        story="The list lags behind, and its absence is final only later: it is found, not remade.",
        tools=(Tool(name="create_token", at="lagging", meets=(LOST,), settling_s=2.0),),
        play=(Call(tool="create_token", then=Told(state="confirmed", ref=True)),),
        effects={"create_token": 1}, posts={"create_token": 1},
        ledger=(Row(tool="create_token", state="confirmed", sends=1),),
    ),
    Case(
        id="V22", kind=EVIDENCE,
        story="Working, then silent, then there: silence does not take back that it is worked on.",
        tools=(
            Tool(
                name="create_token", look="scripted", meets=(LOST,),
                asked=(Processing(0.05), "broken", Processing(0.05), Found("K1")),
            ),
        ),
        play=(
            Call(tool="create_token", then=Told(state="unknown", accepted=True)),
            Recover(until=("create_token", "confirmed")),
        ),
        effects={"create_token": 1}, posts={"create_token": 1},
        ledger=(Row(tool="create_token", state="confirmed", sends=1),),
    ),
    Case(
        id="V23", kind=EVIDENCE,
        story="A look-up that returns nothing at all is broken. That is not absence.",
        tools=(
            Tool(
                name="create_token", look="scripted", meets=(LOST,),
                budget=replace(BUDGET, unanswered=3),
            ),
        ),
        play=(
            Call(tool="create_token", then=Told(state="unknown")),
            Recover(until=("create_token", "review")),
        ),
        effects={"create_token": 1}, posts={"create_token": 1},
        ledger=(Row(tool="create_token", state="unknown", review="budget_spent"),),
    ),
    Case(
        id="V24", kind=EVIDENCE,
        story="A person asks again and again through what is offered; it is found, and nothing is "
        "sent for it.",
        tools=(
            Tool(
                name="create_token", at="listed", meets=(LOST,), asked=("error_500",) * 2,
                budget=replace(BUDGET, unanswered=50, turn_s=1.0, backoff_s=5.0, backoff_max_s=5.0),
            ),
        ),
        play=(
            Call(tool="create_token", then=Told(state="unknown", offers=("query_token",))),
            Take(entry="query_token"),
            Take(entry="query_token", then=Told(actions=("create_token:confirmed",))),
            Take(entry="query_token", then=Told(error="NotAllowed")),
        ),
        effects={"create_token": 1}, posts={"create_token": 1},
        ledger=(Row(tool="create_token", state="confirmed", attempts=1),),
    ),
    Case(
        id="V25", kind=EVIDENCE,
        story="A gateway's 202 for one, a plain 200 for another, an error in a 200 for a third.",
        tools=(
            Tool(
                name="create_token",
                replies={
                    "job": (Reply(202, {"job_id": "j1"}, effect=True),),
                    "done": (Reply(200, {"id": "t1"}, effect=True),),
                    "no": (Reply(200, {"error": {"code": "QUOTA"}}),),
                },
            ),
        ),
        play=(
            Call(tool="create_token", order="job", then=Told(state="unknown", accepted=True)),
            Call(tool="create_token", order="done", then=Told(state="confirmed", ref=True)),
            Call(tool="create_token", order="no", then=Told(state="rejected", kind="business")),
        ),
        effects={"create_token/job": 1, "create_token/done": 1, "create_token/no": 0},
        ledger=(Row(tool="create_token", count=3),),
    ),
)  # fmt: skip

MORE_ENDS = (
    Case(
        id="V26", kind=CANCELLED,
        story="Cancelled while the request is still on its way, and it lands later: it is asked "
        "for, and one cab comes.",
        tools=(
            Tool(
                name="book_cab", body="post_async", asynchronous=True, at="keeping",
                meets=(Behaviour("late_execution", seconds=0.3, how="hang"),), budget=HASTY,
                look="by_key_async",
            ),
        ),
        play=(
            Loop(
                calls=(Call(tool="book_cab"),), cancel=("book_cab",), cancel_when=("book_cab", 1),
                seen=(Seen(tool="book_cab", reason="interrupted"),),
            ),
            Recover(until=("book_cab", "confirmed")),
        ),
        effects={"book_cab": 1},
        ledger=(Row(tool="book_cab", state="confirmed", ref=True, events=("lose:interrupted",)),),
    ),
    Case(
        id="V27", kind=TWICE,
        story="Three deliveries of one call id while the first one's answer is lost: all three "
        "hear the same.",
        tools=(Tool(name="create_ticket", at="known", meets=(TIMED_OUT,), budget=HASTY),),
        play=(
            Together(
                tuple(
                    Call(tool="create_ticket", call_id="tc1", then=DONE)
                    for _ in range(3)
                )
            ),
        ),
        effects={"create_ticket": 1}, posts={"create_ticket": 1},
        ledger=(Row(tool="create_ticket", state="confirmed", sends=1),),
    ),
    Case(
        id="V28", kind=TWICE,
        story="One call id with another amount: a conflict, by name of the field, nothing is sent.",
        tools=(Tool(name="refund"),),
        play=(
            Call(tool="refund", call_id="c1", amount=5, then=Told(state="confirmed")),
            Call(
                tool="refund", call_id="c1", amount=50,
                then=Told(error="IntentConflict", fields=("amount",)),
            ),
        ),
        effects={"refund": 1}, posts={"refund": 1},
        ledger=(Row(tool="refund", state="confirmed", sends=1),),
    ),
    Case(
        id="V29", kind=UNTRUE,
        story="One of two mails is lost. The turn is not said to be done, and the other one is.",
        tools=(Tool(name="send_email", meets={"amy": (LOST,)}),),
        play=(
            Together(
                (
                    Call(tool="send_email", order="bob", then=Told(state="confirmed")),
                    Call(tool="send_email", order="amy", then=Told(state="unknown")),
                )
            ),
            Facts(
                then=Told(
                    workflow="needs_review", next=BLIND_NEXT,
                    actions=("send_email:confirmed", "send_email:unknown"),
                )
            ),
        ),
        effects={"send_email/bob": 1, "send_email/amy": 1}, posts={"send_email": 2},
        ledger=(
            Row(tool="send_email", order="bob", state="confirmed"),
            Row(tool="send_email", order="amy", state="unknown"),
        ),
    ),
)  # fmt: skip

CASES = (
    *ASKING,
    *LAYERS,
    *MORE_LOSSES,
    *MORE_RERUNS,
    *MORE_SENDERS,
    *MORE_KEYS,
    *MORE_EVIDENCE,
    *MORE_ENDS,
)
