"""Mutants of the rules of claims, contexts, guards, verdicts and left chains.

Each is killed by what its world sees go wrong, never by a table of expected values.
"""

from dataclasses import replace
from math import inf

from ascertain.flow import gate as flow_gate
from ascertain.model.action import ActionRecord
from ascertain.model.breaker import Circuit
from ascertain.model.epoch import FIRST, SYSTEM, TIMELINE, Epoch
from ascertain.model.operations import ClaimBy
from ascertain.model.session import KeyState
from ascertain.model.tables import State
from ascertain.rules import (
    approval,
    breaker,
    cases,
    chain,
    chain_facts,
    claims,
    context,
    evidence,
    facts,
    gate,
    left,
    lost,
    texts,
)
from ascertain.rules.breaker import News
from ascertain.rules.gate import GateReason, GateStep, GateWhat
from ascertain.rules.left import LeftWhat
from ascertain.store import context_rooms
from ascertain.store import epochs as store_epochs
from tests.prove import (
    world_claims,
    world_context,
    world_epochs,
    world_guards,
    world_left,
    world_verdicts,
)
from tests.prove.mutating import Mutant

WORLDS = {
    "epochs": world_epochs.epochs,
    "claims": world_claims.claims,
    "contexts": world_context.contexts,
    "approvals": world_guards.approvals,
    "breakers": world_guards.breakers,
    "verdicts": world_verdicts.verdicts,
    "chains left": world_left.chains_left,
}
MUTANTS, HUNTED_IN = [], {}


def mutant(world, name, what, *patches):
    MUTANTS.append(Mutant(name, what, tuple(patches)))
    HUNTED_IN[name] = WORLDS[world]


# ------------------------------------------------------------------------------------------- claims

stands_against = claims.stands_against


def never_against(by):
    return lambda claim, held, holder: claim is not by and stands_against(claim, held, holder)


mutant(
    "claims", "a look-up takes what another has", "one record confirms two actions",
    (claims, "stands_against", never_against(ClaimBy.LOOKUP)),
)  # fmt: skip
mutant(
    "claims", "an answer leaves whom a person gave its reference",
    "both are confirmed by it, and nobody looks",
    (claims, "stands_against", never_against(ClaimBy.ANSWER)),
)  # fmt: skip
mutant(
    "claims", "a person may give one reference to two", "nobody is told that it is taken",
    (claims, "stands_against", never_against(ClaimBy.VERDICT)),
)  # fmt: skip
mutant(
    "claims", "nobody is a rival", "the one record that fits is taken for ours",
    (claims, "may_be_rival", lambda other, since: False),
)  # fmt: skip
mutant(
    "claims", "who was confirmed without a reference is no rival",
    "its record is taken for ours",
    (claims, "may_be_rival", lambda other, since: other.state in (State.SENT, State.UNKNOWN)),
)  # fmt: skip
mutant(
    "claims", "who is being sent is no rival", "its record is taken for ours",
    (claims, "may_be_rival", lambda other, since: (
        other.state is State.UNKNOWN
        or (other.state is State.CONFIRMED and other.provider_ref is None))),
)  # fmt: skip
mutant(
    "claims", "whoever has a reference keeps it", "who is disputed may be given it once more",
    (claims, "is_shared", lambda claim, held: True),
)  # fmt: skip

# ------------------------------------------------------------------------------ epochs of a ledger

breaks_by, at_risk = store_epochs._break, lost.at_risk


def passing_over(why):
    """A break of this kind is not noticed."""
    return (store_epochs, "_break", lambda *args: (
        "" if (found := breaks_by(*args)) == why else found))  # fmt: skip


mutant(
    "epochs", "nothing can be missing in another history", "a wish is done once more",
    (lost, "may_lack_attempt", lambda *_: False),
)  # fmt: skip
mutant(
    "epochs", "a promotion is no break", "a wish is done once more", passing_over(TIMELINE),
)  # fmt: skip
mutant(
    "epochs", "another system is no break", "a wish is done once more", passing_over(SYSTEM),
)  # fmt: skip
mutant(
    "epochs", "nobody misses what it was told of",
    "an older copy of the disk is taken for the ledger", (store_epochs, "_missing", lambda *_: ""),
)  # fmt: skip
mutant(
    "epochs", "only what is stored can be missing", "a wish of which nothing came over is new",
    (lost, "at_risk", lambda record, contract, epoch, *more: (
        record.created_at < epoch.began_at and at_risk(record, contract, epoch, *more))),
)  # fmt: skip
mutant(
    "epochs", "a key protects for ever", "the provider has forgotten it",
    (lost, "at_risk", lambda record, contract, *more: at_risk(
        record, replace(contract, key_lifetime_s=None), *more)),
)  # fmt: skip
mutant(
    "epochs", "what may be missing may be so for ever", "a new wish is held, years later",
    (lost, "shadow_until", lambda contract, epoch: inf),
)  # fmt: skip
mutant(
    "epochs", "nobody can vouch", "what is known not to be missing is held",
    (Epoch, "may_lack", property(lambda epoch: epoch.why != FIRST)),
)  # fmt: skip
mutant(
    "epochs", "what replaces may be missing too", "what was not done is never done",
    (lost, "at_risk", lambda record, contract, epoch, now, replaced=None: at_risk(
        record, contract, epoch, now)),
)  # fmt: skip

# ------------------------------------------------------------------------- contexts, and their gate

judge, key_state = gate.judge, gate.key_state
GO = GateStep(GateWhat.GO, GateReason.READY)


def seen_as(**fields):
    """The state of a key, from facts of which some are not seen."""
    return (flow_gate, "key_state", lambda known: key_state(known._replace(**fields)))


def ready_where(*states):
    return (flow_gate, "judge", lambda views, **more: judge(
        [v._replace(state=KeyState.READY) if v.state in states else v for v in views], **more
    ))  # fmt: skip


def goes_instead_of(what, reason):
    """The gate lets through what it would wait for, or hold."""

    def mutated(views, **more):
        step = judge(views, **more)
        return GO if (step.what, step.reason) == (what, reason) else step

    return (flow_gate, "judge", mutated)


FOR_EVER = (flow_gate.Passed, "good_until", lambda passed, fresh_s: inf)
"""What is seen at the gate is looked at once more before it is stored; a mutant spares both."""

mutant(
    "contexts", "a query under way is not waited for", "what it will replace is used",
    seen_as(executing=0, pending=0),
)  # fmt: skip
mutant(
    "contexts", "an answer in hand is as good as written", "what it will replace is used",
    ready_where(KeyState.PENDING),
)  # fmt: skip
mutant(
    "contexts", "after the last wait it goes", "what is still under way is passed over",
    (flow_gate, "judge", lambda views, *, waited, waits: (
        GO if waited >= waits else judge(views, waited=waited, waits=waits))),
)  # fmt: skip
mutant(
    "contexts", "old is good enough", "a value is used beyond its time", FOR_EVER,
    (flow_gate, "judge", lambda views, **more: judge(
        [v._replace(stale=False, state=KeyState.READY) if v.state is KeyState.EXPIRED else v
         for v in views], **more)),
)  # fmt: skip
mutant(
    "contexts", "what is missing is done without", "a call is made without what it needs",
    goes_instead_of(GateWhat.HOLD, GateReason.MISSING),
    goes_instead_of(GateWhat.READ, GateReason.MISSING),
)  # fmt: skip
mutant(
    "contexts", "a refused or lost call brings what it asked for",
    "nobody knows that it is so, and it is used",
    (context, "brought_by", lambda contract, before, after, result, **more: (
        brought_by(contract, before, after._replace(state=State.CONFIRMED), result, **more))),
)  # fmt: skip
mutant(
    "contexts", "an answer without the value brings nothing", "what stood before is used on",
    (context, "values_of", lambda *args, **more: tuple(
        one for one in values_of(*args, **more) if one.value is not None)),
)  # fmt: skip
mutant(
    "contexts", "whatever the caller names was shown", "an order that nobody showed is refunded",
    (flow_gate, "was_shown", lambda value, texts: True),
)  # fmt: skip
mutant(
    "contexts", "what was known a moment ago is taken at its word",
    "what has changed since is used",
    (context_rooms, "_stale", lambda run, record, read, now: ""),
)  # fmt: skip
mutant(
    "contexts", "what was known a moment ago never grows old", "a value is used beyond its time",
    FOR_EVER, (flow_gate, "_is_stale", lambda found, within_s, now: False),
)  # fmt: skip
mutant(
    "contexts", "what was fresh when it was seen is fresh when it is sent",
    "what was asked of a person took longer than a value keeps", FOR_EVER,
)  # fmt: skip
brought_by, values_of = context.brought_by, context.values_of

# ---------------------------------------------------------------------------------------- approvals

granted, digest_of = approval.granted, approval.digest_of


def as_if(change):
    """The approval that holds, of events that are read otherwise."""
    return (approval, "granted", lambda events, digest, *, now: change(events, digest, now))


mutant(
    "approvals", "any approval is an approval of this call",
    "what was changed since is sent",
    as_if(lambda events, digest, now: next(
        (approval.Granted(e.n, "li", 0.0) for e in events if e.reason == approval.APPROVED),
        approval.NotGranted(why=approval.WAITS))),
)  # fmt: skip
mutant(
    "approvals", "an approval holds for ever", "it is sent when it has expired",
    as_if(lambda events, digest, now: granted(events, digest, now=0.0)),
)  # fmt: skip
mutant(
    "approvals", "whoever writes an approval may approve", "a row in the database lets it go",
    as_if(lambda events, digest, now: granted(
        [e._replace(by="person") for e in events], digest, now=now)),
)  # fmt: skip
mutant(
    "approvals", "nothing needs an approval", "it is sent at once",
    (approval, "asked_for", lambda contract, events: False),
)  # fmt: skip
mutant(
    "approvals", "the arguments are no part of what is approved", "other ones are sent",
    (approval, "digest_of", lambda mac, record, arguments: digest_of(mac, record, "")),
)  # fmt: skip

# ------------------------------------------------------------------------------- circuit breakers

tallied, trips, heard = breaker.tallied, breaker.trips, breaker.heard
free_to_probe, probed = breaker.free_to_probe, breaker.probed


def heard_as(circuit, news, became):
    """One kind of news is taken for another, while the breaker stands so."""
    return (breaker, "heard", lambda record, said, rule, now: heard(
        record, became if record.circuit is circuit and said is news else said, rule, now
    ))  # fmt: skip


mutant(
    "breakers", "silence is not counted", "it goes on sending into silence",
    (breaker, "tallied", lambda tally, rule, news, now, **more: (
        tally if news is News.SILENT else tallied(tally, rule, news, now, **more))),
)  # fmt: skip
mutant(
    "breakers", "a definite answer counts for nothing", "it opens over single silences",
    (breaker, "tallied", lambda tally, rule, news, now, **more: (
        tally if news is News.DEFINITE else tallied(tally, rule, news, now, **more))),
)  # fmt: skip
mutant(
    "breakers", "it never opens", "it goes on sending into silence",
    (breaker, "trips", lambda tally, rule: ""),
)  # fmt: skip
mutant(
    "breakers", "it opens at the first silence", "one silence closes the tool",
    (breaker, "trips", lambda tally, rule: "silent" if tally.silent else ""),
)  # fmt: skip
mutant(
    "breakers", "it need not cool down", "it is tried at once",
    (breaker, "free_to_probe", lambda record, now, *, asked: (
        record.circuit is Circuit.OPEN or free_to_probe(record, now, asked=asked))),
)  # fmt: skip
mutant(
    "breakers", "everybody may try it", "two sends try it at once",
    (breaker, "free_to_probe", lambda record, now, *, asked: (
        record.circuit is Circuit.PROBING or free_to_probe(record, now, asked=asked))),
)  # fmt: skip
mutant(
    "breakers", "nobody may try it", "a provider that answers again is never sent to",
    (breaker, "free_to_probe", lambda record, now, *, asked: False),
)  # fmt: skip
mutant(
    "breakers", "who tries it holds it for nobody", "two sends try it at once",
    (breaker, "probed", lambda record, prober, until, now: (
        after := probed(record, prober, until, now)) and after._replace(probe_until=None)),
)  # fmt: skip
mutant(
    "breakers", "silence after trying mends it", "it is closed into silence",
    heard_as(Circuit.PROBING, News.SILENT, News.DEFINITE),
)  # fmt: skip
mutant(
    "breakers", "an answer to the one that tried it is not heard", "it stays open for ever",
    heard_as(Circuit.PROBING, News.DEFINITE, News.ANSWERS),
)  # fmt: skip

# ------------------------------------------------------------------------------ overruled verdicts


def as_it_stands(record):
    return record.state, bool(record.final)


mutant(
    "verdicts", "a verdict only ends the dispute", "the ledger says again what was found wrong",
    (evidence, "OVERRULED", 0),
)  # fmt: skip
mutant(
    "verdicts", "what was found counts for nothing in a turn", "the wish is told as it stood",
    (facts, "as_found", as_it_stands),
)  # fmt: skip
mutant(
    "verdicts", "what was found counts for nothing in a chain", "the chain is told as it stood",
    (chain_facts, "as_found", as_it_stands),
)  # fmt: skip
mutant(
    "verdicts", "a decided case stays a case", "an alarm that nobody can end",
    (cases, "in_review", lambda record: record.review is not None or bool(record.disputed)),
)  # fmt: skip
mutant(
    "verdicts", "an overruled step is as good as a confirmed one", "what depends on it starts",
    (chain, "satisfied", lambda record: record.state is State.CONFIRMED),
)  # fmt: skip
mutant(
    "verdicts", "the person is told the state", "the opposite of what was found is said",
    (texts, "which", lambda record, contract: (
        "confirmed" if record.state is State.CONFIRMED else "rejected_business")),
)  # fmt: skip
mutant(
    "verdicts", "evidence is a verdict", "nobody looks at a contradiction",
    (ActionRecord, "overruled", property(lambda record: bool(record.disputed))),
)  # fmt: skip
mutant(
    "verdicts", "nothing is overruled", "an undo that was found not done has undone it",
    (ActionRecord, "overruled", property(lambda record: False)),
)  # fmt: skip

# --------------------------------------------------------------------------- chains that were left

judge_left = left.judge_left


def judged_as(**known):
    """A worker that knows something else of the chain."""
    return (left, "judge_left", lambda around, now, **more: judge_left(around, now, **more | known))


def judged_instead(what, became):
    def mutated(around, now, **more):
        found = judge_left(around, now, **more)
        return found._replace(what=became) if found.what is what else found

    return (left, "judge_left", mutated)


mutant(
    "chains left", "confirmed so far is done", "its code is still at work, and done is said",
    (chain_facts, "at_work", lambda record: False),
)  # fmt: skip
mutant(
    "chains left", "what a person keeps is done", "its code never came to its end",
    (chain_facts, "was_left", lambda around: False),
)  # fmt: skip
mutant(
    "chains left", "the living have no more time than the dead",
    "a conversation that takes its time loses its wish", (left, "LONGEST_S", left.LEFT_S),
)  # fmt: skip
mutant(
    "chains left", "whoever cannot be seen is gone", "a living process loses its wish",
    judged_as(gone=True),
)  # fmt: skip
mutant(
    "chains left", "what was left has ended", "nobody is told what stands of it",
    judged_instead(LeftWhat.CASE, LeftWhat.END),
)  # fmt: skip
mutant(
    "chains left", "what was left is undone", "nobody was asked",
    judged_instead(LeftWhat.CASE, LeftWhat.TURN),
)  # fmt: skip
mutant(
    "chains left", "a refusal that nobody corrected is passed over",
    "a person is asked what leaving the block would have decided",
    (left, "uncorrected", lambda around: ""),
)  # fmt: skip
