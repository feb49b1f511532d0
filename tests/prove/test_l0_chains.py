"""L0 for chains: every order of calls, refusals, undos, deaths and a person's words."""

import pytest

from ascertain.model.chain import Course
from ascertain.model.tables import Event, State
from ascertain.rules.decide import Reason
from tests.prove.chains import VARIANTS, Search
from tests.prove.mutants_chains import HUNTED_ON, MUTANTS

OF_CHAINS = {
    Reason.CHAIN_TURNED, Reason.CHAIN_STOPPED, Reason.UNDO_WAITS, Reason.UNDO, Reason.UNDO_BY_KEY,
    Reason.UNDO_STUCK, Reason.IRREVERSIBLE, Reason.UNDO_TOO_LATE,
}  # fmt: skip
ROWS = {
    (State.UNKNOWN, Event.COMPENSATE), (State.CONFIRMED, Event.COMPENSATE),
    (State.REJECTED, Event.WITHDRAW),
}  # fmt: skip
COMPENSATION = {row for row in ROWS if row[1] is Event.COMPENSATE}
_seen = {}


def explored(variant):
    if variant.name not in _seen:
        _seen[variant.name] = Search(variant).run()
    return _seen[variant.name]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_whatever_becomes_of_a_chain_every_invariant_holds(variant):
    found = explored(variant)
    print(f"{variant.name}: {found.states:,} states, {found.edges:,} moves")
    print("  ends:", "; ".join(f"{n} {end}" for end, n in sorted(found.ends.items())))
    assert not found.wrong, "\n".join(found.wrong)
    assert found.ends, "nothing came to rest: it was not judged"


@pytest.mark.timeout(600)
def test_every_reason_and_row_of_chains_comes_about():
    reasons = {reason for variant in VARIANTS for reason in explored(variant).reasons}
    rows = {row for variant in VARIANTS for row in explored(variant).rows}
    assert not OF_CHAINS - reasons
    assert not ROWS - rows


@pytest.mark.timeout(600)
def test_a_person_reverses_steps_by_hand():
    assert sum(explored(variant).by_hand for variant in VARIANTS)


def test_every_course_has_a_reason_of_its_own_or_goes_on_as_before():
    assert len(OF_CHAINS) == len(Course) - len({Course.FORWARD, Course.KEPT}) + 1


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_of_the_rules_of_chains_is_killed(mutant):
    with mutant.applied():
        found = Search(HUNTED_ON[mutant.name], limit=60_000).run()
    assert found.wrong, f"'{mutant.name}' survives: {mutant.what}"


def test_every_reason_and_row_of_chains_has_a_mutant():
    assert not OF_CHAINS - {reason for mutant in MUTANTS for reason in mutant.reasons}
    assert not ROWS - {row for mutant in MUTANTS for row in mutant.rows}
