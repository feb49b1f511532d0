"""Mutants of what a chain means: each is killed by an invariant in the search over chains."""

from types import SimpleNamespace

from ascertain.flow import compensate as flow_compensate
from ascertain.flow import pursue as flow_pursue
from ascertain.model.chain import Course
from ascertain.model.tables import Event, State
from ascertain.rules import chain, view
from ascertain.rules.decide import Decision, Reason, What, decide
from tests.prove.chains import VARIANTS
from tests.prove.mutating import Mutant, remade

MUTANTS = []
GROUND = {variant.name: variant for variant in VARIANTS}
HUNTED_ON = {}


def mutant(name, where, what, *patches, **more):
    MUTANTS.append(Mutant(name, what, tuple(patches), **more))
    HUNTED_ON[name] = GROUND[where]


def instead(reason, what):
    def change(seen):
        said = decide(seen)
        return Decision(what, reason) if said.reason is reason else said

    return (flow_pursue, "decide", change)


def as_course(seen, taken):
    """One course is taken for another."""
    real = chain.course

    def mutated(*args):
        found = real(*args)
        return taken if found is seen else found

    return (view, "course", mutated)


mutant(
    "what is prepared waits in a turned chain", "a person turns it",
    "nothing is withdrawn, so what was refused for a while stays open",
    instead(Reason.CHAIN_TURNED, What.HOLD), reasons=(Reason.CHAIN_TURNED,),
    rows=((State.REJECTED, Event.WITHDRAW),),
)  # fmt: skip
mutant(
    "a stopped chain is a chain that goes on", "a person stops it",
    "what was refused for a while is sent again after the stop",
    as_course(Course.STOPPED, Course.FORWARD), (chain, "blocks", lambda record, member: ""),
    reasons=(Reason.CHAIN_STOPPED,),
)  # fmt: skip
mutant(
    "undo without waiting for what depends on it", "three steps, workers that die",
    "the first is undone while the next one stands",
    as_course(Course.WAITS, Course.UNDO), reasons=(Reason.UNDO_WAITS,),
)  # fmt: skip
mutant(
    "never undo", "three steps, workers that die", "a turned chain undoes nothing",
    instead(Reason.UNDO, What.DONE), reasons=(Reason.UNDO,),
)  # fmt: skip
mutant(
    "an unknown is undone as if it were known", "nobody can ask",
    "whether it happened is not asked", as_course(Course.IRREVERSIBLE, Course.UNDO_BY_KEY),
    reasons=(Reason.UNDO_BY_KEY,), rows=((State.UNKNOWN, Event.COMPENSATE),),
)  # fmt: skip
mutant(
    "a refused undo is passed over", "undos that are refused",
    "nobody is told that it could not be undone",
    remade(chain, "undo_case", lambda made, *_, **__: made._replace(
        after=made.after.changed(review=None))),
    instead(Reason.UNDO_STUCK, What.DONE), reasons=(Reason.UNDO_STUCK,),
)  # fmt: skip
mutant(
    "irreversible is reversible", "the middle one is irreversible",
    "an undo is begun that nobody declared", as_course(Course.IRREVERSIBLE, Course.UNDO),
    reasons=(Reason.IRREVERSIBLE,),
)  # fmt: skip
mutant(
    "the time for undoing never passes", "too late", "an undo is begun after its deadline",
    as_course(Course.TOO_LATE, Course.UNDO), reasons=(Reason.UNDO_TOO_LATE,),
)  # fmt: skip
mutant(
    "compensated before the undo is confirmed", "undos without an answer",
    "an undo that was sent is taken for one that worked",
    (flow_compensate, "State", SimpleNamespace(CONFIRMED=State.UNKNOWN)),
    rows=((State.CONFIRMED, Event.COMPENSATE),),
)  # fmt: skip
mutant(
    "a refusal does not turn the chain", "three steps, workers that die",
    "an essential refusal leaves the chain going forward", (chain, "turns", lambda *_: ""),
)  # fmt: skip
mutant(
    "the direction is not looked at when it is written", "a person turns it",
    "the gate alone decides, however long ago", (chain, "blocks", lambda *_: ""),
)  # fmt: skip
mutant(
    "what one may start on is not looked at", "a person turns it",
    "a step starts before what it depends on", (chain, "gate", lambda needs: ""),
)  # fmt: skip
mutant(
    "a person's word goes over an undo under way", "a person reverses it by hand",
    "both take effect", (chain, "not_by_hand", lambda record, around: "" if (
        around.chain.backward and record.state is State.CONFIRMED) else "no_step"),
)  # fmt: skip
mutant(
    "an undo is begun whatever a person has settled meanwhile", "a person reverses it by hand",
    "a worker that rested reverses it once more", (chain, "unwanted", lambda *_: ""),
)  # fmt: skip
mutant(
    "reversed by hand is only noted", "a person reverses it by hand",
    "the action stays confirmed, so a worker reverses it once more",
    (chain, "by_hand", chain.keep),
)  # fmt: skip
