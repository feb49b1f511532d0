"""Blocks that come from the rules: states, decisions, evidence, facts."""

import itertools
import typing

from ascertain.model.action import ActionRecord
from ascertain.model.breaker import TURNS
from ascertain.model.contract import Contract, LookupPromise
from ascertain.model.outcome import RETRYABLE_KINDS, Evidence, Kind
from ascertain.model.tables import RULES, State
from ascertain.replay.formats import FORMATS
from ascertain.report.reasons import PROTOCOL
from ascertain.rules import decide, facts, texts
from ascertain.rules.news import exceptions, http
from ascertain.rules.news.reasons import REASONS
from ascertain.rules.recount import SENTENCES
from ascertain.rules.replies.check import ALLOWED
from ascertain.rules.replies.finding import WHY
from ascertain.rules.replies.words import Claim
from scripts.docs_words import block, code, params, table

# ---- state and event


@block("states")
def states():
    rows = []
    for rule in RULES:
        start = f"`{rule.start}`" if rule.start else "(nothing)"
        start += ", not final" if rule.unless_final else ""
        rows.append([start, f"`{rule.event}`", f"`{rule.end}`", ", ".join(rule.by), rule.why])
    return table(["from", "event", "to", "by", "why"], rows)


@block("diagram")
def diagram():
    arrows = [f"    {rule.start or '[*]'} --> {rule.end}: {rule.event}" for rule in RULES]
    return "\n".join(["```mermaid", "stateDiagram-v2", *arrows, "```"])


@block("breaker")
def breaker():
    rows = [[f"`{r.start}`", f"`{r.turn}`", f"`{r.end}`", r.why] for r in TURNS]
    arrows = [f"    {r.start} --> {r.end}: {r.turn}" for r in TURNS]
    diagram = ["```mermaid", "stateDiagram-v2", "    [*] --> closed", *arrows, "```"]
    return "\n".join([table(["from", "turn", "to", "why"], rows), "", *diagram])


KINDS = {
    Kind.BUSINESS: "the provider's rules say no",
    Kind.INVALID: "the arguments are wrong",
    Kind.AUTH: "not logged in, not permitted, or no consent",
    Kind.ALREADY_EXISTS: "there is such a record already, and it is not ours",
    Kind.KEY_REUSE: "the provider knows the key with other arguments",
    Kind.TOOL_ERROR: "the tool's own code broke, with proof that nothing had left",
    Kind.ABSENT: "it is proven, or found by a person, that it was not done",
    Kind.WITHDRAWN: "nothing was sent, and nobody waits for it any more",
    Kind.THROTTLED: "asked too often, and nothing was processed",
    Kind.UNAVAILABLE: "not available, and nothing was processed; for a read: no answer",
    Kind.IN_PROGRESS: "the provider is still at work on it",
}


@block("kinds")
def kinds():
    return table(
        ["kind", "means", "by itself"],
        [
            [f"`{kind}`", KINDS[kind], "may be sent again" if kind in RETRYABLE_KINDS else "final"]
            for kind in Kind
        ],
    )


# ---- decisions


DECISIONS = {
    decide.What.SEND: "send for the first time",
    decide.What.RESEND: "send again: the same key, the same stored arguments",
    decide.What.LOOK_UP: "ask the provider by the key",
    decide.What.HOLD: "do nothing now",
    decide.What.CLOSE: "reject as absent, for good",
    decide.What.WITHDRAW: "reject as withdrawn: nothing was done, and nothing will be sent",
    decide.What.REVIEW: "open a case for a person",
    decide.What.COMPENSATE: "reverse it by an action of its own",
    decide.What.DONE: "nothing is left to do",
}


@block("decisions")
def decisions():
    return table(["decision", "is to"], [[f"`{what}`", DECISIONS[what]] for what in decide.What])


@block("decision-reasons")
def decision_reasons():
    """Every view there can be is decided; so the pairs are all that there are."""
    kinds_of = typing.get_type_hints(decide.View)
    domains = [(False, True) if kind is bool else tuple(kind) for kind in kinds_of.values()]
    pairs = {}
    for values in itertools.product(*domains):
        decision = decide.decide(decide.View(*values))
        pairs.setdefault(decision.reason, set()).add(decision.what)
    return table(
        ["reason", "decision", "in one sentence"],
        [
            [
                f"`{reason}`",
                code(*(what for what in decide.What if what in pairs.get(reason, ()))),
                decide.SENTENCES[reason],
            ]
            for reason in decide.Reason
        ],
    )


@block("view")
def view():
    said = params(decide.View)
    said.setdefault("state", "What is known.")
    return table(
        ["what a decision depends on", "values", "means"],
        [
            [
                f"`{name}`",
                "yes, no" if kind is bool else code(*kind),
                said[name],
            ]
            for name, kind in typing.get_type_hints(decide.View).items()
        ],
    )


# ---- evidence


def proof_of(row):
    if row.proof is exceptions.Proof.NEVER:
        return "no"
    conditions = []
    if row.proof is exceptions.Proof.SEEN:
        conditions.append("the hooks saw one send, of which nothing left")
    if row.counted:
        conditions.append("its header says that it was the first try")
    if row.path:
        end = row.path[-1]
        conditions.append(
            f"beneath it lies {' or '.join(f'`{leaf}`' for leaf in sorted(end.leaves))}"
        )
    return f"if {', and '.join(conditions)}" if conditions else "yes"


@block("leaves")
def leaves():
    rows = {}
    for name, row in exceptions.LEAVES.items():
        rows.setdefault(id(row), (row, []))[1].append(name)
    out = []
    for row, names in rows.values():
        roots = list(dict.fromkeys(name.partition(".")[0] for name in names))
        classes = list(dict.fromkeys(name.partition(".")[2] for name in names))
        out.append([", ".join(roots), code(*classes), proof_of(row), f"`{row.reason}`"])
    return table(["package", "exception", "proves that nothing left", "else the reason is"], out)


def in_words(statuses):
    return ", ".join(map(str, sorted(statuses)))


@block("statuses")
def statuses():
    refusals, unsettled = {}, {}
    for status, row in http.STATUSES.items():
        (refusals if row.kind else unsettled).setdefault(row.kind or row.reason, []).append(status)
    alone = [s for reason, several in unsettled.items() if len(several) == 1 for s in several]
    together = {reason: several for reason, several in unsettled.items() if len(several) > 1}
    not_ok = in_words(set(range(200, 300)) - http.OK)
    rows = [
        [f"2xx, but for {not_ok}", "`confirmed`", "if the body says nothing else"],
        ["202", "`unknown`, accepted", "asked by its own schedule"],
        [in_words(set(range(200, 300)) - http.OK - {202}), "`unknown`", "partial, or disputed"],
    ]
    for kind, several in refusals.items():
        rows.append([in_words(several), f"`rejected` ({kind})", "if it can speak for all sends"])
    limit = http.meaning(403, retry_after=True)
    rows.append(["403 with `Retry-After`", "`unknown`", http.REASONS[limit.reason]])
    for reason, several in together.items():
        rows.append([in_words(several), "`unknown`", http.REASONS[reason]])
    rows.append([in_words(alone), "`unknown`", "proves nothing about the effect"])
    for other, said in ((302, "3xx"), (499, "any other 4xx"), (599, "any other 5xx")):
        rows.append([said, "`unknown`", http.REASONS[http.meaning(other).reason]])
    return table(["HTTP status", "a write is then", "because"], rows)


@block("lookup-broke")
def lookup_broke():
    return f"{in_words(http.LOOKUP_BROKE)}, any 3xx and any 5xx"


@block("reasons")
def reasons():
    return table(
        ["reason", "in one sentence"],
        [
            [f"`{reason}`", sentence]
            for reason, sentence in sorted({**REASONS, **PROTOCOL, **exceptions.REASONS}.items())
        ],
    )


# ---- facts


def situations():
    """Every situation that differs in what may be done next, as (words, record, contract)."""
    plain = Contract(tool="create_ticket", noun="ticket")
    asked = Contract(tool="create_ticket", noun="ticket", lookup=LookupPromise())
    read = Contract(tool="get_order", noun="order", access="read")
    values = dict.fromkeys(ActionRecord._fields[: ActionRecord._fields.index("state")], "")
    new = ActionRecord(**{**values, "created_at": 0.0, "send_by_at": 0.0})
    yield "`prepared`, `sent`", new.changed(state=State.SENT), plain
    waits = new.changed(review="approval")
    yield "`prepared`, waiting for approval or taken as manual work", waits, plain
    unknown = new.changed(state=State.UNKNOWN)
    yield "`unknown`, with a look-up", unknown, asked
    yield "`unknown`, without one", unknown, plain
    yield "accepted and still working", unknown.changed(evidence=Evidence.WORKING), asked
    refused = new.changed(state=State.REJECTED)
    yield "`rejected`, may be sent again", refused, plain
    yield (
        "`rejected` for now, with a person or without a send left",
        refused.changed(review="budget_spent"),
        plain,
    )
    for kind in Kind:
        if kind not in RETRYABLE_KINDS:
            gone = new.changed(state=State.REJECTED, final=1, kind=kind)
            yield f"`rejected` for good ({kind})", gone, plain
    done = new.changed(state=State.CONFIRMED)
    yield "`confirmed`, `compensated`", done, asked
    undoable = Contract(
        tool="create_ticket", noun="ticket", undo="cancel_ticket", undo_offered=True
    )
    alone = done.changed(id="a", chain="a", provider_ref="T900")
    yield "`confirmed`, in no chain, its undo offered", alone, undoable
    yield "contradicted by evidence", done.changed(disputed=1), asked
    yield "a read without an answer", new.changed(state=State.REJECTED), read
    yield "a read that was refused", new.changed(state=State.REJECTED, final=1), read


@block("next-allowed")
def next_allowed():
    rows = {}
    for words, record, contract in situations():
        entries = tuple(facts.next_allowed(record, contract, 0.0))
        rows.setdefault(entries, []).append(words)
    return table(
        ["what is known", "`next_allowed`"],
        [["; ".join(words), code(*entries) or "nothing"] for entries, words in rows.items()],
    )


@block("texts")
def sentences():
    rows = [[f"`{name}`", *both] for name, both in texts.SENTENCES.items()]
    return table(["key in `say`", "English", "中文"], rows)


@block("workflow")
def workflow():
    rows = [[f"`{name}`", *both] for name, both in texts.WORKFLOW.items()]
    return table(["workflow state", "English", "中文"], rows)


# ---- replies, and recounts

SAYABLE = {
    Claim.DONE: "it was done",
    Claim.ACCEPTED: "it was accepted",
    Claim.OUTCOME: "what it was for has come about",
    Claim.NOT_DONE: "it was not done",
    Claim.UNDONE: "it was undone",
    Claim.OPEN: "it is not known",
    Claim.REPEAT: "do it again",
}


@block("sayable")
def sayable():
    rows = [
        [f"`{stands}`", *("yes" if claim in allowed else "-" for claim in SAYABLE)]
        for stands, allowed in ALLOWED.items()
    ]
    return table(["an action that is", *SAYABLE.values()], rows)


@block("claims")
def claims():
    return table(["rule", "what is wrong"], [[f"`{rule}`", why] for rule, why in WHY.items()])


@block("differences")
def differences():
    rows = [[f"`{rule}`", sentence] for rule, sentence in SENTENCES.items()]
    return table(["difference", "what it means"], rows)


@block("formats")
def formats():
    return table(
        ["`--format`", "what it is", "what a record looks like"],
        [[f"`{name}`", each.title, each.expected] for name, each in FORMATS.items()],
    )
