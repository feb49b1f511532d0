"""Mutants of the rules: each is one rule made wrong, in a few words, as somebody might write it.

A mutant is killed by an invariant that the search sees broken, never by a table of expected values.
`rows` and `reasons` say which rows of the transition table and which reasons of `decide` it is about.
"""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from unittest.mock import patch

from ascertain.flow import call as flow_call
from ascertain.flow import pursue as flow_pursue
from ascertain.model.contract import Repeat
from ascertain.model.outcome import Effect, Evidence, Kind
from ascertain.model.tables import By, Event, State
from ascertain.rules import budget, evidence, fold, moves, view
from ascertain.rules.decide import Decision, Reason, What, decide
from ascertain.rules.view import view_of
from tests.prove import production
from tests.prove.ledger import Ledger
from tests.prove.production import NOW
from tests.prove.variants import (
    BROKEN,
    COVERED,
    COVERED_ONLY,
    EXPIRES,
    FENCING,
    HARMLESS,
    JUDGED,
    KEY_LOOKUP,
    KEY_ONLY,
    LEFT,
    LOOKUP_ONLY,
    MARKS,
    MUTE,
    NEITHER,
    NEVER_FINAL,
    TURN_LOOKUP,
    UNSENT,
)  # fmt: skip

DECIDERS = (flow_pursue, flow_call, production)


@dataclass(frozen=True)
class Mutant:
    """`patches`: (object, name, replacement). `ledger`: one that does something else."""

    name: str
    what: str
    patches: tuple = ()
    ledger: Ledger | None = None
    rows: tuple = ()
    reasons: tuple = ()

    @property
    def hunted_on(self):
        """The variants under which it is hunted, in order."""
        return GROUNDS.get(self.name, USUAL)

    @contextmanager
    def applied(self):
        with ExitStack() as stack:
            for target, name, new in self.patches:
                stack.enter_context(patch.object(target, name, new))
            yield

    def under(self, variant):
        return variant if self.ledger is None else variant.but(ledger=self.ledger)


MUTANTS = []


def mutant(name, what, *patches, **more):
    MUTANTS.append(Mutant(name, what, tuple(patches), **more))


# ------------------------------------------------------------------------------------------- patches


def remade(module, name, change):
    """The rule's move, changed: `change(made, record, contract, ...)`."""
    real = getattr(module, name)

    def mutated(*args, **kwargs):
        return change(real(*args, **kwargs), *args, **kwargs)

    return (module, name, mutated)


def leaving(module, name, **fields):
    """The rule's move, but some fields of the action are left otherwise."""
    return remade(
        module, name, lambda made, *_, **__: made._replace(after=made.after._replace(**fields))
    )


def given(module, name, change):
    """The rule, given a changed record."""
    real = getattr(module, name)
    return (module, name, lambda record, *args, **kwargs: real(change(record), *args, **kwargs))


def told(module, name, change, at):
    """The rule, with its positional argument number `at` changed."""
    real = getattr(module, name)

    def mutated(*args, **kwargs):
        return real(*args[:at], change(args[at]), *args[at + 1 :], **kwargs)

    return (module, name, mutated)


def decides(change):
    """`decide` says something else: `change(view, said)`."""
    return tuple((module, "decide", lambda v: change(v, decide(v))) for module in DECIDERS)


def instead(reason, what, **only):
    """Where `decide` gives this reason (and the view is so), it says `what`."""

    def change(seen, said):
        fits = said.reason is reason and all(getattr(seen, k) == v for k, v in only.items())
        if fits and what is What.RESEND and not seen.turn:
            return Decision(What.HOLD, Reason.TURN_SPENT)  # wrong in one thing only
        return Decision(what, reason) if fits else said

    return decides(change)


def sees(**fields):
    """`view_of` sees some fields otherwise."""

    def mutated(record, contract, now, turn):
        return view_of(record, contract, now, turn)._replace(**fields)

    return tuple((module, "view_of", mutated) for module in DECIDERS)


def effect_as(effect, became, **more):
    """An outcome with one effect is taken for another."""

    def change(outcome):
        if outcome.effect is not effect:
            return outcome
        return replace(outcome, effect=became, **more)

    return (told(fold, "settle", change, 2), told(evidence, "settle", change, 2))


def outcome_as(change):
    return (told(fold, "settle", change, 2), told(evidence, "settle", change, 2))


def with_contract(*names, **fields):
    """Rules of `fold` that read the contract otherwise."""
    return tuple(
        told(fold, name, lambda contract: replace(contract, **fields), 1) for name in names
    )


# -------------------------------------------------------------------------------- ledger and leases


class NoCompare(Ledger):
    def takes(self, n_same, fence_same, held, current):
        return True

    def hopeless(self, n_same, fence_same):
        return False


class NoFence(NoCompare):
    def takes(self, n_same, fence_same, held, current):
        return n_same


class NoCount(NoCompare):
    def takes(self, n_same, fence_same, held, current):
        return fence_same


class StateOnly(NoCompare):
    def takes(self, n_same, fence_same, held, current):
        return held.state is current.state


class NoLease(Ledger):
    ignores_leases = True


class ForgetsSender(Ledger):
    def take(self, record, owner, until):
        return super().take(record, owner, until)._replace(suspect=record.suspect)


class RunsAgain(Ledger):
    """An expired lease is another run, as in a job queue."""

    def take(self, record, owner, until):
        taken = super().take(record, owner, until)
        return taken._replace(state=State.PREPARED) if record.state is State.SENT else taken


mutant(
    "drop compare-and-set", "a write is taken whatever has happened meanwhile", ledger=NoCompare()
)
mutant("drop fence", "a write is compared by its event number only", ledger=NoFence())
mutant("drop event number", "a write is compared by its fence only", ledger=NoCount())
mutant("compare state only", "a write is taken if the state is the same", ledger=StateOnly())
mutant("ignore leases", "an action is taken while somebody holds it", ledger=NoLease())
mutant(
    "forget the sender", "a take-over does not remember who held the lease", ledger=ForgetsSender()
)
mutant(
    "expired lease is another run", "as in a job queue: sent becomes prepared when its lease ends",
    ledger=RunsAgain(), rows=((State.SENT, Event.LOSE),),
)  # fmt: skip

# ----------------------------------------------------------------------------------------------- send

mutant(
    "new key per attempt", "each attempt gets a key of its own",
    remade(
        fold, "send",
        lambda made, *_, **__: made._replace(after=made.after._replace(key=f"K{made.after.attempt}")),
    ),
    rows=((State.UNKNOWN, Event.SEND), (State.REJECTED, Event.SEND)),
)  # fmt: skip
mutant(
    "lifetime from the last send", "each send starts the key's lifetime anew",
    leaving(fold, "send", first_sent_at=NOW),
)  # fmt: skip
mutant(
    "a send forgets doubt", "a new attempt stands for all before it",
    leaving(fold, "send", doubt=0),
)  # fmt: skip
mutant(
    "a send is never due", "nobody comes back to an attempt whose sender died",
    leaving(fold, "send", due_at=None), rows=((State.PREPARED, Event.SEND),),
)  # fmt: skip
mutant(
    "a send is not counted", "the number of attempts stays as it was",
    remade(
        fold, "send",
        lambda made, record, *_, **__: made._replace(
            after=made.after._replace(attempt=max(record.attempt, 1), sends=0)
        ),
    ),
)  # fmt: skip
mutant(
    "a harmless double is not said", "the fact `maybe twice` is never set",
    leaving(fold, "send", maybe_twice=0),
)  # fmt: skip

# ----------------------------------------------------------------------------------- settle and lose

mutant(
    "unknown as rejected", "a lost answer is told as a failure",
    *effect_as(Effect.UNKNOWN, Effect.REFUSED, kind=Kind.BUSINESS),
    rows=((State.SENT, Event.LOSE), (State.SENT, Event.REJECT)),
)  # fmt: skip
mutant(
    "unknown as not sent", "a lost answer means that nothing left",
    *effect_as(Effect.UNKNOWN, Effect.NOT_SENT, retryable=True),
    rows=((State.SENT, Event.UNSEND),),
)  # fmt: skip
mutant(
    "unknown as confirmed", "no news is good news", *effect_as(Effect.UNKNOWN, Effect.CONFIRMED),
    rows=((State.SENT, Event.CONFIRM),),
)  # fmt: skip
mutant(
    "accepted as confirmed", "taken is done", *effect_as(Effect.ACCEPTED, Effect.CONFIRMED),
    rows=((State.SENT, Event.CONFIRM),),
)  # fmt: skip
mutant(
    "accepted as an answer lost", "accepted work is not remembered as such",
    *effect_as(Effect.ACCEPTED, Effect.UNKNOWN), reasons=(Reason.BY_SCHEDULE,),
)  # fmt: skip
mutant(
    "confirmed as an answer lost", "a definite answer is not believed",
    *effect_as(Effect.CONFIRMED, Effect.UNKNOWN), rows=((State.SENT, Event.CONFIRM),),
)  # fmt: skip
mutant(
    "confirmed without its reference", "the provider's reference is dropped",
    *outcome_as(lambda outcome: replace(outcome, provider_ref=None)),
)  # fmt: skip
mutant(
    "a refusal covers everything", "a refusal speaks for earlier attempts too",
    *with_contract("_refused", refusal_covers_key=True), rows=((State.SENT, Event.REJECT),),
)  # fmt: skip
mutant(
    "a temporary refusal covers the key", "refused for a while, believed of all attempts",
    (
        fold, "_refused",
        lambda record, contract, outcome, now, wait_s, real=fold._refused: real(
            record._replace(doubt=0) if contract.refusal_covers_key and outcome.retryable else record,
            contract, outcome, now, wait_s,
        ),
    ),
)  # fmt: skip
mutant(
    "a refusal in doubt is forgotten", "refused for good, then sent again while in doubt",
    leaving(fold, "_refused", refused=0),
)  # fmt: skip
mutant(
    "a business refusal is temporary", "a final refusal is tried again",
    told(fold, "_refused", lambda one: replace(one, retryable=True), 2),
    rows=((State.REJECTED, Event.SEND),), reasons=(Reason.TEMPORARY_REFUSAL,),
)  # fmt: skip
mutant(
    "a temporary refusal is final", "refused for a while, told as refused for good",
    told(fold, "_refused", lambda one: replace(one, retryable=False), 2),
    rows=((State.SENT, Event.REJECT),),
)  # fmt: skip
mutant(
    "a refusal after hidden retries is believed", "the client tells only of its last time",
    *outcome_as(lambda outcome: replace(outcome, sends=min(outcome.sends, 1))),
)  # fmt: skip
mutant(
    "in progress is a refusal", "our own key at work is taken for a refusal of it",
    (
        fold, "_refused",
        lambda record, contract, outcome, now, wait_s, real=fold._refused: real(
            *(
                (record._replace(doubt=0), contract, replace(outcome, kind=Kind.UNAVAILABLE))
                if outcome.kind is Kind.IN_PROGRESS else (record, contract, outcome)
            ),
            now, wait_s,
        ),
    ),
)  # fmt: skip
mutant(
    "a refusal in doubt lets go of the action", "nobody comes back to it",
    remade(
        fold, "_refused",
        lambda made, *_, **__: made._replace(after=made.after._replace(due_at=None))
        if made.after.state is State.UNKNOWN else made,
    ),
)  # fmt: skip
mutant(
    "unsend with doubt", "nothing of this attempt left, so nothing ever did",
    given(fold, "_not_sent", lambda record: record._replace(doubt=0)),
    rows=((State.SENT, Event.UNSEND),),
)  # fmt: skip
mutant(
    "not sent is an answer lost", "what provably never left is in doubt",
    *effect_as(Effect.NOT_SENT, Effect.UNKNOWN), rows=((State.SENT, Event.UNSEND),),
)  # fmt: skip
mutant(
    "unsent is never due", "nobody tries again what never left",
    leaving(fold, "_not_sent", due_at=None),
)  # fmt: skip
mutant(
    "lose forgets doubt", "an expired lease leaves no doubt",
    remade(
        fold, "lose",
        lambda made, record, **_: made._replace(after=made.after._replace(doubt=record.doubt)),
    ),
    rows=((State.SENT, Event.LOSE),),
)  # fmt: skip
mutant(
    "lose forgets the suspect", "a sender that was given up is taken for dead",
    leaving(fold, "lose", suspect=""), reasons=(Reason.SENDER_MAY_LIVE,),
)  # fmt: skip
mutant(
    "lose believes the lease", "the last possible send was when the lease ended, not now",
    remade(
        fold, "lose",
        lambda made, record, **_: made._replace(
            after=made.after._replace(last_possible_at=record.last_possible_at)
        ),
    ),
)  # fmt: skip
mutant(
    "lose lets go of the action", "nobody comes back to a lost answer",
    leaving(fold, "lose", due_at=None),
)  # fmt: skip
mutant(
    "hold lets go of a sent action", "an attempt under way is let go of",
    remade(
        fold, "hold",
        lambda made, record, *, due_at, now: made._replace(
            after=made.after._replace(due_at=due_at, lease_owner=None, lease_until=None)
        ),
    ),
    reasons=(Reason.IN_FLIGHT,),
)  # fmt: skip
mutant(
    "withdrawn is not final", "what nobody waits for may still be sent",
    leaving(fold, "withdraw", final=0), leaving(evidence, "withdraw", final=0),
    rows=((State.PREPARED, Event.WITHDRAW),),
)  # fmt: skip
mutant(
    "closed while it may be sent", "final absence ends an action that is not final",
    leaving(fold, "close_absent", final=0), rows=((State.UNKNOWN, Event.REJECT),),
)  # fmt: skip

# ----------------------------------------------------------------------------------------- look-ups


def answer_as(change):
    real = evidence.answered

    def mutated(record, contract, answer, **more):
        return real(record, contract, change(answer), **more)

    return (evidence, "answered", mutated)


def when_unknown(change):
    """`change(made, record)` for what a look-up taught of an unknown action."""
    return remade(
        evidence, "answered",
        lambda made, record, *_, **__: change(made, record)
        if record.state is State.UNKNOWN else made,
    )  # fmt: skip


def without_settling():
    real = evidence._absent

    def mutated(record, contract, asked_at, now, wait_s):
        return real(record._replace(last_possible_at=NOW - 99), contract, asked_at, now, wait_s)

    return (evidence, "_absent", mutated)


mutant("absent is proof at once", "the settling time is ignored", without_settling(),
       rows=((State.UNKNOWN, Event.REJECT),), reasons=(Reason.ABSENCE_FINAL,))  # fmt: skip
mutant(
    "absence speaks for its recording", "asked early, recorded late, believed of the later moment",
    (
        evidence, "answered",
        lambda *args, asked_at, real=evidence.answered, **more: real(*args, asked_at=NOW, **more),
    ),
)  # fmt: skip
mutant(
    "suspects do not matter", "absence is final though a sender may be alive",
    (
        evidence, "_absent",
        lambda record, *args, real=evidence._absent: real(record._replace(suspect=""), *args),
    ),
    reasons=(Reason.SENDER_MAY_LIVE,),
)  # fmt: skip
mutant(
    "silence is absence", "a search that broke found nothing",
    answer_as(
        lambda one: replace(one, evidence=Evidence.ABSENT)
        if one.evidence is Evidence.UNANSWERED else one
    ),
    reasons=(Reason.NO_ANSWER_YET,),
)  # fmt: skip
mutant(
    "working is absent", "what is worked on is not there",
    answer_as(
        lambda one: replace(one, evidence=Evidence.ABSENT)
        if one.evidence is Evidence.WORKING else one
    ),
    reasons=(Reason.BY_SCHEDULE,),
)  # fmt: skip
mutant(
    "absence after work is final", "what has just ended shows at once",
    (
        evidence, "_absent",
        lambda record, *args, real=evidence._absent: real(
            record._replace(evidence=Evidence.NOT_ASKED), *args
        ),
    ),
)  # fmt: skip
mutant(
    "silence ends the work", "a look-up without answer takes back that it is worked on",
    when_unknown(
        lambda made, record: made._replace(after=made.after._replace(evidence=Evidence.UNANSWERED))
        if made.after.unanswered > record.unanswered else made
    ),
)  # fmt: skip
mutant(
    "silence is not counted", "look-ups without answer are asked for ever",
    when_unknown(
        lambda made, record: made._replace(after=made.after._replace(unanswered=record.unanswered))
    ),
)  # fmt: skip
mutant(
    "found without its reference", "the record's reference is dropped",
    answer_as(lambda one: replace(one, provider_ref=None)),
    rows=((State.UNKNOWN, Event.CONFIRM),),
)  # fmt: skip
mutant(
    "found is a refusal", "a record in the way is taken for a refusal",
    answer_as(lambda one: replace(one, found=False, refused=one.found)),
    rows=((State.UNKNOWN, Event.CONFIRM), (State.UNKNOWN, Event.REJECT)),
)  # fmt: skip
mutant(
    "a refusal found is not final", "what the provider keeps as refused is sent again",
    remade(
        evidence, "answered",
        lambda made, record, contract, answer, **_: made._replace(
            after=made.after._replace(final=0, due_at=NOW)
        ) if answer.refused and made.after.state is State.REJECTED else made,
    ),
    rows=((State.UNKNOWN, Event.REJECT),),
)  # fmt: skip
mutant(
    "several records are one", "how many records carry our key does not matter",
    answer_as(lambda one: replace(one, count=1)),
)  # fmt: skip
mutant(
    "no recount of what was found", "a found record is the only one",
    when_unknown(
        lambda made, record: made._replace(
            after=made.after._replace(due_at=None, evidence=Evidence.COUNTED)
        ) if made.after.state is State.CONFIRMED else made
    ),
    reasons=(Reason.RECOUNT,),
)  # fmt: skip
mutant(
    "no recount of what was confirmed", "a confirmed effect is the only one",
    leaving(fold, "confirm", due_at=None), leaving(evidence, "confirm", due_at=None),
    reasons=(Reason.RECOUNT,),
)  # fmt: skip
mutant(
    "a dispute is not shown", "a contradiction is stored, and nobody is told",
    (
        evidence, "dispute",
        lambda record, why, now, detail, by: moves.note(record, by, why, now, detail),
    ),
)  # fmt: skip

# ---------------------------------------------------------------------------- senders and late words

mutant(
    "a dead sender sent nothing", "what it sent just before its end is not waited for",
    remade(
        evidence, "clear_suspects",
        lambda made, record, *_, **__: made._replace(
            after=made.after._replace(last_possible_at=record.last_possible_at)
        ),
    ),
)  # fmt: skip
mutant(
    "a dead sender makes absence final", "it is not asked once more",
    remade(
        evidence, "clear_suspects",
        lambda made, record, *_, **__: made._replace(
            after=made.after._replace(evidence=Evidence.ABSENT_FINAL)
        ) if record.evidence is Evidence.ABSENT_UNFENCED else made,
    ),
)  # fmt: skip
mutant(
    "dead senders stay suspects", "who is proven gone is still waited for",
    (
        evidence, "clear_suspects",
        lambda record, gone, *, now: moves.note(record, By.WORKER, "sender_gone", now, {}),
    ),
)  # fmt: skip


def late_as(change):
    """`evidence.late`, changed: `change(real, record, contract, outcome, more)`."""
    real = evidence.late

    def mutated(record, contract, outcome, **more):
        return change(real, record, contract, outcome, more)

    return (evidence, "late", mutated)


def forgets_late_words(real, record, contract, outcome, more):
    return moves.note(record, By.CALL, "late", more["now"], {})


def rewrites_when_late(real, record, contract, outcome, more):
    if not record.terminal or outcome.effect is not Effect.CONFIRMED:
        return real(record, contract, outcome, **more)
    note = moves.note(record, By.CALL, "late", more["now"], {})
    return note._replace(after=note.after._replace(provider_ref=outcome.provider_ref))


def refuses_when_late(real, record, contract, outcome, more):
    if outcome.effect is not Effect.REFUSED:
        return real(record, contract, outcome, **more)
    note = moves.note(record, By.CALL, "late", more["now"], {})
    return note._replace(after=note.after._replace(state=State.REJECTED, final=1, due_at=None))


mutant("late words are dropped", "what comes after giving up is not written down",
       late_as(forgets_late_words))  # fmt: skip
mutant("a late word rewrites what is settled", "the last receipt wins", late_as(rewrites_when_late))
mutant("a late refusal settles everything", "the last word wins", late_as(refuses_when_late))
mutant(
    "a late word clears all doubt", "one attempt's end stands for all",
    late_as(
        lambda real, record, contract, outcome, more: real(
            record._replace(doubt=min(record.doubt, 1)), contract, outcome, **more
        )
    ),
)  # fmt: skip
mutant(
    "late silence is a word", "an attempt that ends without an answer did nothing",
    late_as(
        lambda real, record, contract, outcome, more: real(
            record, contract,
            replace(outcome, effect=Effect.NOT_SENT)
            if outcome.effect is Effect.UNKNOWN else outcome,
            **more,
        )
    ),
)  # fmt: skip
mutant(
    "a late sender stays a suspect", "who has closed its attempt is still waited for",
    late_as(
        lambda real, record, contract, outcome, more: real(
            record, contract, outcome, **{**more, "sender": "nobody#0"}
        )
    ),
)  # fmt: skip
mutant(
    "a late refusal is forgotten", "refused for good, late, and then sent again",
    late_as(
        lambda real, record, contract, outcome, more: (
            lambda made: made._replace(after=made.after._replace(refused=record.refused))
            if made.after.state is State.UNKNOWN else made
        )(real(record, contract, outcome, **more))
    ),
)  # fmt: skip
mutant(
    "late words after hidden retries are believed", "the client tells only of its last time",
    late_as(
        lambda real, record, contract, outcome, more: real(
            record, contract, replace(outcome, sends=min(outcome.sends, 1)), **more
        )
    ),
)  # fmt: skip

# ------------------------------------------------------------------------------------------- verdicts

mutant(
    "not done while it may arrive", "a person may say 'not done' at any time",
    (evidence, "may_still_arrive", lambda record, contract, *, now: False),
)  # fmt: skip
mutant(
    "not done while it is on its way", "only living senders keep a person from saying 'not done'",
    (evidence, "may_still_arrive", lambda record, contract, *, now: bool(record.suspect)),
)  # fmt: skip
mutant(
    "not done is not final", "what a person settled may be sent again",
    leaving(evidence, "verdict_not_done", final=0, due_at=NOW),
    rows=((State.UNKNOWN, Event.REJECT),),
)  # fmt: skip
mutant(
    "a verdict drops its reference", "confirmed by a person, with nothing to show",
    leaving(evidence, "verdict_confirmed", provider_ref=None),
    rows=((State.UNKNOWN, Event.CONFIRM),),
)  # fmt: skip

# --------------------------------------------------------------------------------- decide and budget

mutant(
    "blind resend", "every write may be repeated", (budget, "repeatable", lambda contract: True),
    rows=((State.UNKNOWN, Event.SEND),), reasons=(Reason.SAME_KEY,),
)  # fmt: skip
mutant(
    "nothing may be repeated", "a promise of deduplication is not used",
    (budget, "repeatable", lambda contract: contract.repeat is Repeat.HARMLESS),
    reasons=(Reason.CANNOT_ASK,),
)  # fmt: skip
mutant(
    "skip evidence first", "sent again before the provider was asked",
    *instead(Reason.EVIDENCE_FIRST, What.RESEND), reasons=(Reason.EVIDENCE_FIRST,),
)  # fmt: skip
mutant(
    "resend what is worked on", "accepted work is sent again",
    *instead(Reason.BY_SCHEDULE, What.RESEND), reasons=(Reason.BY_SCHEDULE,),
)  # fmt: skip
mutant(
    "resend without an answer", "no answer is as good as none",
    *instead(Reason.NO_ANSWER_YET, What.RESEND), reasons=(Reason.NO_ANSWER_YET,),
)  # fmt: skip
mutant(
    "give up without an answer", "one silent look-up is enough for a person",
    *instead(Reason.NO_ANSWER_YET, What.REVIEW), reasons=(Reason.NO_ANSWER_YET,),
)  # fmt: skip
mutant(
    "not final is final", "early absence closes the action",
    *instead(Reason.ABSENCE_NOT_FINAL, What.CLOSE), reasons=(Reason.ABSENCE_NOT_FINAL,),
)  # fmt: skip
mutant(
    "resend on early absence", "early absence allows another send",
    *instead(Reason.ABSENCE_NOT_FINAL, What.RESEND), reasons=(Reason.ABSENCE_NOT_FINAL,),
)  # fmt: skip
mutant(
    "final absence goes to a person", "what can be sent again waits for a person",
    *instead(Reason.ABSENCE_FINAL, What.REVIEW), reasons=(Reason.ABSENCE_FINAL,),
)  # fmt: skip
mutant(
    "closing absence is sent again", "sent again beyond refusal, budget or fence",
    *instead(Reason.ABSENCE_CLOSES, What.RESEND), reasons=(Reason.ABSENCE_CLOSES,),
)  # fmt: skip
mutant(
    "a safe repeat goes to a person", "the contract's promise is not used",
    *instead(Reason.SAME_KEY, What.REVIEW), reasons=(Reason.SAME_KEY,),
)  # fmt: skip
mutant(
    "a temporary refusal goes to a person", "it is not tried again",
    *instead(Reason.TEMPORARY_REFUSAL, What.REVIEW), reasons=(Reason.TEMPORARY_REFUSAL,),
    rows=((State.REJECTED, Event.SEND),),
)  # fmt: skip
mutant(
    "resend beside a living sender", "a sender that may live is taken for dead",
    *instead(Reason.SENDER_MAY_LIVE, What.RESEND), reasons=(Reason.SENDER_MAY_LIVE,),
)  # fmt: skip
mutant(
    "resend what nobody can ask for", "a blind write is tried again",
    *instead(Reason.CANNOT_ASK, What.RESEND), reasons=(Reason.CANNOT_ASK,),
)  # fmt: skip
mutant(
    "nobody decides", "what cannot be asked is left alone, without a case",
    *instead(Reason.CANNOT_ASK, What.HOLD), reasons=(Reason.CANNOT_ASK,),
)  # fmt: skip
mutant(
    "send beyond the budget", "one more can do no harm",
    *instead(Reason.BUDGET_SPENT, What.RESEND), reasons=(Reason.BUDGET_SPENT,),
)  # fmt: skip
mutant(
    "a spent budget is left alone", "without a case",
    *instead(Reason.BUDGET_SPENT, What.HOLD), reasons=(Reason.BUDGET_SPENT,),
)  # fmt: skip
mutant(
    "best effort asks a person", "what may stay open becomes a case",
    *instead(Reason.LEFT_OPEN, What.REVIEW), reasons=(Reason.LEFT_OPEN,),
)  # fmt: skip
mutant(
    "a contradiction is passed over", "a disputed action is as good as any",
    *decides(lambda seen, said: decide(seen._replace(disputed=False))),
    reasons=(Reason.CONTRADICTION,),
)  # fmt: skip
mutant(
    "effects are never counted", "confirmed is confirmed",
    *instead(Reason.RECOUNT, What.DONE), reasons=(Reason.RECOUNT,),
)  # fmt: skip
mutant(
    "what is settled is asked for ever", "a settled action is looked up again and again",
    *instead(Reason.SETTLED, What.LOOK_UP), reasons=(Reason.SETTLED,),
)  # fmt: skip
mutant(
    "what is settled is sent", "a settled action is sent again",
    *instead(Reason.SETTLED, What.RESEND), reasons=(Reason.SETTLED,),
)  # fmt: skip
mutant(
    "send over an attempt under way", "an attempt under way is no reason to wait",
    *instead(Reason.IN_FLIGHT, What.RESEND), reasons=(Reason.IN_FLIGHT,),
)  # fmt: skip
mutant(
    "send what nobody waits for", "the time in which it was wanted does not matter",
    *sees(wanted=True), reasons=(Reason.NOT_WANTED,), rows=((State.PREPARED, Event.WITHDRAW),),
)  # fmt: skip
mutant(
    "never send again what never left", "what was not sent is held",
    *instead(Reason.FIRST_SEND, What.HOLD), reasons=(Reason.FIRST_SEND,),
    rows=((State.PREPARED, Event.SEND),),
)  # fmt: skip
mutant(
    "the turn has no end", "a call sends as often as it likes",
    *sees(turn=True), reasons=(Reason.TURN_SPENT,),
)  # fmt: skip
mutant(
    "ignore refusals in hand", "a refusal does not keep from sending again", *sees(refused=False),
    reasons=(Reason.ABSENCE_CLOSES,),
)  # fmt: skip
mutant(
    "ignore lifetime and horizon", "a key is good for ever",
    (budget, "last_send_at", lambda record, contract: None), reasons=(Reason.BUDGET_SPENT,),
)  # fmt: skip
mutant(
    "ignore the margin", "a key is good to its last second",
    (
        budget, "last_send_at",
        lambda record, contract, real=budget.last_send_at: real(
            record, replace(contract, key_margin_s=0)
        ),
    ),
)  # fmt: skip
mutant(
    "ignore the number of sends", "only the horizon bounds them",
    (
        budget, "sends_left",
        lambda record, contract, now, real=budget.sends_left: real(
            record._replace(attempt=0, sends=0), contract, now
        ),
    ),
    reasons=(Reason.BUDGET_SPENT,),
)  # fmt: skip
mutant(
    "never ask", "the provider is never asked",
    (budget, "may_ask", lambda record, contract, now: False),
)  # fmt: skip
mutant(
    "ask for ever", "look-ups have no budget",
    (budget, "may_ask", lambda record, contract, now: True),
)  # fmt: skip
mutant(
    "a fenced key is sent again", "a key that was put an end to is used again",
    (view, "_key_is_dead", lambda record, contract: False),
)  # fmt: skip

# -------------------------------------------------------------------------------------------- elsewhere

# Mutants that no search over one action can see, and where they are killed.
ELSEWHERE = {
    "send before it is written": "the flow's order of effects: tests that kill at every effect",
    "compare nothing but the row's id in SQL": "the ledger here is the specification: tests of stores",
    "a duplicate refusal is final": "without doubt and hidden retries 'already exists' cannot be ours "
    "in this model: the fault table's already_exists behaviour",
    "compensation": "not built yet: no rule makes its moves",
}

# -------------------------------------------------------------------------------------------- grounds


def bad(variant, faults, kinds=""):
    """The variant with so many faults, of these kinds only."""
    chosen = frozenset(kinds.split(",")) if kinds else variant.kinds
    return variant.but(faults=faults, kinds=frozenset(k.replace(" ", "_") for k in chosen))


USUAL = tuple(bad(one, 1) for one in (KEY_LOOKUP, KEY_ONLY, LOOKUP_ONLY, NEITHER))

# Where the usual grounds do not show it: the smallest that do.
GROUNDS = {
    "drop fence": (bad(KEY_ONLY, 2, "pause"),),
    "forget the sender": (bad(LOOKUP_ONLY, 2, "pause,crash"),),
    "lifetime from the last send": (bad(EXPIRES.but(away=3), 4, "lost,away"),),
    "a send forgets doubt": (bad(KEY_ONLY, 2, "slow,not_sent"),),
    "a harmless double is not said": (bad(HARMLESS, 1),),
    "a refusal covers everything": (bad(KEY_ONLY, 2, "slow,refuse"),),
    "a temporary refusal covers the key": (bad(COVERED_ONLY, 2, "slow,throttle"),),
    "a refusal in doubt is forgotten": (bad(KEY_ONLY, 2, "slow,refuse"),),
    "a refusal after hidden retries is believed": (bad(KEY_ONLY, 2, "retry,refuse"),),
    "in progress is a refusal": (bad(KEY_ONLY, 2, "work,lost"),),
    "a refusal in doubt lets go of the action": (bad(KEY_ONLY, 2, "slow,refuse"),),
    "unsend with doubt": (bad(KEY_ONLY, 2, "slow,not_sent"),),
    "unsent is never due": (bad(KEY_ONLY, 2, "crash,not_sent"), bad(KEY_LOOKUP, 2)),
    "lose forgets doubt": (bad(HARMLESS, 1),),
    "lose forgets the suspect": (bad(LOOKUP_ONLY, 1, "live"), bad(LOOKUP_ONLY, 2, "pause,live")),
    "lose believes the lease": (bad(LOOKUP_ONLY, 2, "pause,crash"),),
    "hold lets go of a sent action": (bad(KEY_ONLY, 2, "live,not_sent"), bad(MARKS, 2, "live")),
    "closed while it may be sent": (bad(FENCING, 1),),
    "absence speaks for its recording": (bad(LOOKUP_ONLY, 2, "slow,pause"), bad(TURN_LOOKUP, 1)),
    "silence is absence": (bad(LOOKUP_ONLY, 2, "slow,silent"), bad(FENCING, 2, "slow,silent")),
    "absence after work is final": (bad(LOOKUP_ONLY, 2, "work,lag"),),
    "silence ends the work": (bad(LOOKUP_ONLY, 3, "work,silent,lag"),),
    "silence is not counted": (bad(MUTE, 1, "lost"),),
    "a refusal found is not final": (bad(COVERED, 2, "refuse,lost"),),
    "several records are one": (bad(LOOKUP_ONLY, 1, "copy"),),
    "no recount of what was found": (
        bad(LOOKUP_ONLY, 2, "lost,copy"),
        bad(LOOKUP_ONLY, 2, "slow,copy"),
    ),
    "no recount of what was confirmed": (bad(LOOKUP_ONLY, 1, "copy"),),
    "a dispute is not shown": (bad(LOOKUP_ONLY, 1, "copy"), bad(BROKEN, 1)),
    "a dead sender sent nothing": (
        bad(LOOKUP_ONLY, 2, "pause,crash"),
        bad(LOOKUP_ONLY, 2, "live,crash"),
    ),
    "a dead sender makes absence final": (bad(JUDGED, 2, "live,crash"),),
    "dead senders stay suspects": (bad(LOOKUP_ONLY, 2, "live,crash"),),
    "a late word rewrites what is settled": (bad(HARMLESS, 2, "live,slow"),),
    "a late refusal settles everything": (bad(KEY_ONLY, 2, "live,refuse"),),
    "a late word clears all doubt": (bad(KEY_ONLY, 3, "slow,live,refuse"),),
    "late silence is a word": (bad(LOOKUP_ONLY, 2, "live,slow"),),
    "a late refusal is forgotten": (bad(KEY_ONLY, 3, "slow,live,refuse"),),
    "late words after hidden retries are believed": (bad(KEY_ONLY, 3, "live,retry,refuse"),),
    "resend without an answer": (bad(LOOKUP_ONLY, 2, "slow,silent"),),
    "give up without an answer": (bad(FENCING, 2, "slow,silent"),),
    "closing absence is sent again": (bad(FENCING, 1),),
    "final absence goes to a person": (bad(MARKS, 1),),
    "best effort asks a person": (bad(LEFT, 1),),
    "a contradiction is passed over": (bad(BROKEN, 1), bad(LOOKUP_ONLY, 1, "copy")),
    "effects are never counted": (bad(LOOKUP_ONLY, 1, "copy"),),
    "what is settled is asked for ever": (bad(MUTE, 0),),
    "what is settled is sent": (bad(MUTE, 0),),
    "send over an attempt under way": (bad(KEY_ONLY, 2, "live,not_sent"),),
    "send what nobody waits for": (bad(NEITHER, 2, "not_sent,away"),),
    "never send again what never left": (bad(UNSENT, 1),),
    "not sent is an answer lost": (bad(UNSENT, 1),),
    "a business refusal is temporary": (bad(KEY_ONLY, 1, "refuse"),),
    "ignore refusals in hand": (bad(KEY_ONLY, 2, "slow,refuse"),),
    "ignore lifetime and horizon": (bad(EXPIRES, 2, "lost,away"),),
    "ignore the margin": (bad(EXPIRES, 2, "lost,away"),),
    "ignore the number of sends": (bad(KEY_ONLY, 3, "lost"),),
    "never ask": (bad(FENCING, 1),),
    "not done while it may arrive": (bad(NEITHER, 1),),
    "not done while it is on its way": (bad(NEITHER, 1),),
    "not done is not final": (bad(NEITHER, 1),),
    "a verdict drops its reference": (bad(NEITHER, 1),),
    "nobody decides": (bad(NEITHER, 1),),
    "resend what nobody can ask for": (bad(NEITHER, 1),),
    "ask for ever": (bad(NEVER_FINAL, 1, "lost"),),
    "a fenced key is sent again": (bad(FENCING, 1),),
    "compare state only": (bad(FENCING, 1), bad(KEY_LOOKUP, 2, "pause,lost")),
}
