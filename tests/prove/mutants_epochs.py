"""Mutants of what is done after a fail-over: each is killed by an invariant in the search."""

from ascertain.flow import pursue
from ascertain.model.tables import By
from ascertain.rules import arrivals, evidence, lost
from ascertain.rules.moves import note
from tests.prove.ledger import Ledger
from tests.prove.mutating import Mutant, given, leaving, remade
from tests.prove.production import NOW
from tests.prove.variants import FAILED_OVER, KEY_ONLY, LOOKUP_ONLY, NEITHER

MUTANTS = []
GROUNDS = {}
GROUND = {variant.name.removesuffix(", a fail-over"): variant for variant in FAILED_OVER}


def mutant(name, where, kinds, what, *patches, **more):
    MUTANTS.append(Mutant(name, what, tuple(patches), **more))
    kinds = frozenset({"fail_over", *kinds.split()})
    ground = GROUND[where.name].but(kinds=kinds, faults=len(kinds))
    GROUNDS[name] = (ground.but(verdicts=0) if "pause" in kinds else ground,)


class ForgetsEpochs(Ledger):
    """Whenever a send was decided, it is written."""

    ignores_epochs = True


def never(*_args, **_more):
    return False


mutant(
    "nothing is missing after a fail-over", NEITHER, "not_sent",
    "what was sent in a lost history is sent again", (lost, "at_risk", never),
)  # fmt: skip
mutant(
    "what was stored before is safe by its key", KEY_ONLY, "not_sent refuse",
    "a refusal is believed while an attempt that is missing is on its way",
    given(lost, "at_risk", lambda record: record._replace(created_at=NOW)),
)  # fmt: skip
mutant(
    "what nobody waits for was never sent", KEY_ONLY, "not_sent",
    "it is said that nothing was sent", (pursue, "ENDS_WITHOUT", ()),
)  # fmt: skip
mutant(
    "whoever is missing is gone", LOOKUP_ONLY, "not_sent",
    "absence is final while a nameless sender may send", leaving(lost, "perhaps_sent", suspect=""),
)  # fmt: skip
mutant(
    "an absence of before speaks for what is missing", LOOKUP_ONLY, "lost",
    "what was absent then is sent again",
    remade(lost, "perhaps_sent", lambda made, record, *_, **__: made._replace(
        after=made.after._replace(evidence=record.evidence))),
)  # fmt: skip
mutant(
    "what may be missing is no doubt", KEY_ONLY, "not_sent refuse",
    "the next refusal ends it", leaving(lost, "perhaps_sent", doubt=0),
)  # fmt: skip
mutant(
    "a send is written in whatever epoch", NEITHER, "not_sent pause",
    "decided before, written after", ledger=ForgetsEpochs(),
)  # fmt: skip
mutant(
    "a refusal speaks for those that are missing", KEY_ONLY, "live refuse",
    "it ends what another attempt has done",
    *((module, "not_alone", lambda record, outcome: record) for module in (lost, evidence)),
)  # fmt: skip
mutant(
    "an answer whose send is missing is only noted", KEY_ONLY, "not_sent",
    "what was heard is forgotten",
    (evidence, "restored", lambda record, contract, outcome, attempt, sent_at, now: note(
        record, By.CALL, "late", now, {})),
)  # fmt: skip
mutant(
    "a person may speak for what is missing", NEITHER, "throttle",
    "it is said not to be done, and is on its way",
    (arrivals, "missing_may_arrive_until", lambda *_: None),
)  # fmt: skip
