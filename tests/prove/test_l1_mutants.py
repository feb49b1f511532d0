"""L1: every rule made wrong is found out by an invariant, in a small search.

A mutant that survives is either a rule that nothing depends on or an invariant that is missing.
"""

import pytest

from ascertain.model.tables import RULES, Event
from ascertain.rules.decide import Reason
from tests.prove.mutants import ELSEWHERE, MUTANTS, hunted_on
from tests.prove.search import Search
from tests.prove.test_l0_chains import COMPENSATION, OF_CHAINS

LEAST = 40
# Rows that no mutant here can be about: the birth of an action is the flow's first write, and those
# of chains have their mutants in the search over chains.
WITHOUT = {(None, Event.PREPARE), *COMPENSATION}
LIMIT = 60_000

_killed = {}


def hunted(mutant):
    """The first violation that the mutant leads to, or None."""
    if mutant.name not in _killed:
        _killed[mutant.name] = None
        for variant in hunted_on(mutant):
            with mutant.applied():
                search = Search(mutant.under(variant), limit=LIMIT)
                report = search.run()
            if report.found:
                _killed[mutant.name] = variant.name, report
                break
    return _killed[mutant.name]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_of_the_rules_is_killed_by_an_invariant(mutant):
    assert hunted(mutant), f"'{mutant.name}' survives: {mutant.what}"


@pytest.mark.timeout(600)
def test_the_unchanged_rules_survive_wherever_a_mutant_is_hunted():
    grounds = {
        (variant.name, variant.faults, variant.kinds, variant.away): variant
        for mutant in MUTANTS
        for variant in hunted_on(mutant)
    }
    for variant in grounds.values():
        search = Search(variant, limit=LIMIT)
        report = search.run()
        assert report.found is None, search.story(report.found)


@pytest.mark.timeout(600)
def test_the_table_of_mutants():
    assert len(MUTANTS) >= LEAST
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    killers = {}
    for mutant in MUTANTS:
        where, report = hunted(mutant) or ("", None)
        found = report.found if report else None
        line = f"{found.invariant:20} {found.steps:3} steps  {where}" if found else "SURVIVES"
        print(f"{mutant.name:46} {line}")
        killers.setdefault(found.invariant if found else "survives", []).append(mutant.name)
    print()
    for invariant, names in sorted(killers.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):4} killed by {invariant}")
    for name, where in ELSEWHERE.items():
        print(f"elsewhere: {name}: {where}")


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_of_decide_has_a_mutant(reason):
    assert any(reason in mutant.reasons for mutant in MUTANTS) or reason in OF_CHAINS


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_row_of_the_table_has_a_mutant(rule):
    row = (rule.start, rule.event)
    assert (row in WITHOUT) != any(row in mutant.rows for mutant in MUTANTS)
