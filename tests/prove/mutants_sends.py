"""Mutants of sending, settling and losing, and of the ledger under them."""

from ascertain.model.outcome import Effect, Kind
from ascertain.model.tables import Event, State
from ascertain.rules import budget, evidence, fold
from ascertain.rules.decide import Reason
from tests.prove.ledger import Ledger
from tests.prove.mutating import (
    Mutant,
    effect_as,
    given,
    leaving,
    outcome_as,
    remade,
    told,
    with_contract,
)
from tests.prove.production import LEASE, NOW

MUTANTS = []


def mutant(name, what, *patches, **more):
    MUTANTS.append(Mutant(name, what, tuple(patches), **more))


def speaks_for(change):
    """`fold._speaks_for_all`, of a record and an outcome that are changed."""
    real = fold._speaks_for_all

    def mutated(record, contract, outcome):
        record, outcome = change(record, outcome)
        return real(record, contract, outcome)

    return (fold, "_speaks_for_all", mutated)


# ------------------------------------------------------------------------------- ledger and leases


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

# -------------------------------------------------------------------------------------------- send

mutant(
    "new key per attempt", "each attempt gets a key of its own",
    remade(
        fold, "send",
        lambda made, *_, **__: made._replace(
            after=made.after._replace(key=f"K{made.after.attempt}")
        ),
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

# --------------------------------------------------------------------------------- settle and lose

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
    *outcome_as(lambda outcome: outcome._replace(provider_ref=None)),
)  # fmt: skip
mutant(
    "a refusal covers everything", "a refusal speaks for earlier attempts too",
    *with_contract("_speaks_for_all", refusal_covers_key=True), rows=((State.SENT, Event.REJECT),),
)  # fmt: skip
mutant(
    "a temporary refusal covers the key", "refused for a while, believed of all attempts",
    (
        fold, "_refused",
        lambda record, contract, outcome, now, wait_s, covers, real=fold._refused: real(
            record, contract, outcome, now, wait_s,
            covers or (contract.refusal_covers_key and outcome.retryable),
        ),
    ),
)  # fmt: skip
mutant(
    "a refusal in doubt is forgotten", "refused for good, then sent again while in doubt",
    leaving(fold, "_refused", refused=0),
)  # fmt: skip
mutant(
    "a business refusal is temporary", "a final refusal is tried again",
    told(fold, "_refused", lambda one: one._replace(retryable=True), 2),
    rows=((State.REJECTED, Event.SEND),), reasons=(Reason.TEMPORARY_REFUSAL,),
)  # fmt: skip
mutant(
    "a temporary refusal is final", "refused for a while, told as refused for good",
    told(fold, "_refused", lambda one: one._replace(retryable=False), 2),
    rows=((State.SENT, Event.REJECT),),
)  # fmt: skip
mutant(
    "a refusal after hidden retries is believed", "the client tells only of its last time",
    *outcome_as(lambda outcome: outcome._replace(sends=min(outcome.sends, 1))),
)  # fmt: skip
mutant(
    "in progress is a refusal", "our own key at work is taken for a refusal of it",
    (
        fold, "_refused",
        lambda record, contract, outcome, now, wait_s, covers, real=fold._refused: real(
            *(
                (record._replace(doubt=0), contract, outcome._replace(kind=Kind.UNAVAILABLE))
                if outcome.kind is Kind.IN_PROGRESS else (record, contract, outcome)
            ),
            now, wait_s, covers,
        ),
    ),
)  # fmt: skip
mutant(
    "a late refusal need not be late", "the promise is taken, its time is not waited for",
    speaks_for(lambda record, outcome: (record._replace(last_possible_at=NOW - 99), outcome)),
    rows=((State.SENT, Event.REJECT),),
)  # fmt: skip
mutant(
    "a late refusal speaks for living senders", "who may still send is not looked at",
    speaks_for(lambda record, outcome: (record._replace(suspect=""), outcome)),
)  # fmt: skip
mutant(
    "a late refusal after hidden retries is believed", "the client tells only of its last time",
    speaks_for(lambda record, outcome: (record, outcome._replace(sends=1))),
)  # fmt: skip
mutant(
    "a send forgets when the doubt began", "what may still be on its way is taken for settled",
    leaving(fold, "send", last_possible_at=NOW - 99),
)  # fmt: skip
mutant(
    "a refusal is asked for again at once", "sent again before that could settle anything",
    (budget, "resend_at", lambda record, contract: record.not_before_at),
)  # fmt: skip
mutant(
    "a late refusal goes to a person", "what one more repeat would settle is not sent again",
    (budget, "repeat_settles", lambda record, contract: False),
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
            after=made.after._replace(last_possible_at=record.first_sent_at + LEASE)
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
