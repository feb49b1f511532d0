"""Mutants of what is decided, and of its bounds."""

from dataclasses import replace

from ascertain.flow import pursue
from ascertain.flow.effects import Withheld
from ascertain.model.contract import Repeat
from ascertain.model.tables import Event, State
from ascertain.rules import budget, view
from ascertain.rules.decide import Reason, What, decide
from tests.prove.mutating import (
    Mutant,
    decides,
    instead,
    sees,
)

MUTANTS = []


def mutant(name, what, *patches, **more):
    MUTANTS.append(Mutant(name, what, tuple(patches), **more))


# ------------------------------------------------------------------------------- decide and budget

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

# ------------------------------------------------------------------------------ what is held back


def _always_cleared(record, real=pursue.permit):
    """Whatever is said of approvals and breakers, it counts as a yes."""
    said = yield from real(record)
    return "yes" if isinstance(said, Withheld) else said


mutant(
    "send what is held back", "neither approval nor breaker is listened to",
    (pursue, "permit", _always_cleared),
    reasons=(Reason.APPROVAL, Reason.CIRCUIT_OPEN), rows=((State.PREPARED, Event.SEND),),
)  # fmt: skip
mutant(
    "an approval that is gone is forgotten", "nobody is asked for a new one",
    *instead(Reason.APPROVAL_EXPIRED, What.RESEND), reasons=(Reason.APPROVAL_EXPIRED,),
)  # fmt: skip
mutant(
    "what waits for approval is left alone", "without a case",
    *instead(Reason.APPROVAL, What.DONE), reasons=(Reason.APPROVAL,),
)  # fmt: skip
mutant(
    "what an open breaker holds is left alone", "nobody comes back to it",
    *instead(Reason.CIRCUIT_OPEN, What.DONE), reasons=(Reason.CIRCUIT_OPEN,),
)  # fmt: skip
