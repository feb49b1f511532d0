"""Mutants of what look-ups, late words and persons teach."""

from dataclasses import replace

from ascertain.model.outcome import Effect, Evidence
from ascertain.model.tables import By, Event, State
from ascertain.rules import arrivals, evidence, fold, moves
from ascertain.rules.decide import Reason
from tests.prove.mutating import (
    Mutant,
    leaving,
    remade,
)
from tests.prove.production import NOW

MUTANTS = []


def mutant(name, what, *patches, **more):
    MUTANTS.append(Mutant(name, what, tuple(patches), **more))


# ---------------------------------------------------------------------------------------- look-ups


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

# -------------------------------------------------------------------------- senders and late words

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


def forgets_late_refusals(real, record, contract, outcome, more):
    made = real(record, contract, outcome, **more)
    if made.after.state is not State.UNKNOWN:
        return made
    return made._replace(after=made.after._replace(refused=record.refused))


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
            outcome._replace(effect=Effect.NOT_SENT)
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
    late_as(forgets_late_refusals),
)  # fmt: skip
mutant(
    "late words after hidden retries are believed", "the client tells only of its last time",
    late_as(
        lambda real, record, contract, outcome, more: real(
            record, contract, outcome._replace(sends=min(outcome.sends, 1)), **more
        )
    ),
)  # fmt: skip

# ---------------------------------------------------------------------------------------- verdicts

mutant(
    "not done while it may arrive", "a person may say 'not done' at any time",
    (arrivals, "may_still_arrive", lambda record, contract, *, now: False),
)  # fmt: skip
mutant(
    "not done while it is on its way", "only living senders keep a person from saying 'not done'",
    (arrivals, "may_still_arrive", lambda record, contract, *, now: bool(record.suspect)),
)  # fmt: skip
mutant(
    "not done is not final", "what a person settled may be sent again",
    leaving(evidence, "verdict_not_done", final=0, due_at=NOW),
    rows=((State.UNKNOWN, Event.REJECT),),
)  # fmt: skip
mutant(
    "withdrawn for a while", "what a person withdrew after a temporary refusal is sent again",
    leaving(evidence, "withdraw", final=0, due_at=NOW),
    rows=((State.REJECTED, Event.WITHDRAW),),
)  # fmt: skip
mutant(
    "a verdict drops its reference", "confirmed by a person, with nothing to show",
    leaving(evidence, "verdict_confirmed", provider_ref=None),
    rows=((State.UNKNOWN, Event.CONFIRM),),
)  # fmt: skip
