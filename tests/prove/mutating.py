"""How a rule is made wrong, and put right again: what mutants are made of."""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from unittest.mock import patch

from ascertain.flow import call as flow_call
from ascertain.flow import pursue as flow_pursue
from ascertain.rules import evidence, fold
from ascertain.rules.decide import Decision, Reason, What, decide
from ascertain.rules.view import view_of
from tests.prove import production
from tests.prove.ledger import Ledger

DECIDERS = (flow_pursue, flow_call, production)


@dataclass(frozen=True)
class Mutant:
    """One rule made wrong.

    `patches`: (object, name, replacement). `ledger`: one that does something else. `rows`,
    `reasons`: rows of the transition table and reasons of `decide` that it is about.
    """

    name: str
    what: str
    patches: tuple = ()
    ledger: Ledger | None = None
    rows: tuple = ()
    reasons: tuple = ()

    @contextmanager
    def applied(self):
        with ExitStack() as stack:
            for target, name, new in self.patches:
                stack.enter_context(patch.object(target, name, new))
            yield

    def under(self, variant):
        return variant if self.ledger is None else variant.but(ledger=self.ledger)


# ----------------------------------------------------------------------------------------- patches


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

    def mutated(record, contract, now, turn, around=None, **held):
        return view_of(record, contract, now, turn, around, **held)._replace(**fields)

    return tuple((module, "view_of", mutated) for module in DECIDERS)


def effect_as(effect, became, **more):
    """An outcome with one effect is taken for another."""

    def change(outcome):
        if outcome.effect is not effect:
            return outcome
        return outcome._replace(effect=became, **more)

    return (told(fold, "settle", change, 2), told(evidence, "settle", change, 2))


def outcome_as(change):
    return (told(fold, "settle", change, 2), told(evidence, "settle", change, 2))


def with_contract(*names, **fields):
    """Rules of `fold` that read the contract otherwise."""
    return tuple(
        told(fold, name, lambda contract: replace(contract, **fields), 1) for name in names
    )
