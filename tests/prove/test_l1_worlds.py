"""L1 beyond one action and one chain: claims, contexts, approvals, breakers, verdicts."""

import logging

import pytest

from tests.prove.choosing import every
from tests.prove.mutants_worlds import HUNTED_IN, MUTANTS, WORLDS

LEAST_EACH = 4


@pytest.fixture(autouse=True)
def quiet():
    """A breaker that turns says so in the log, some ten thousand times here."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", WORLDS)
def test_whatever_happens_in_it_nothing_goes_wrong(name):
    runs = every(WORLDS[name])
    print(f"{name}: {runs.count:,} runs")
    assert not runs.wrong, f"{runs.wrong} after {runs.how}"
    assert runs.count > 40, "it was not explored"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_of_these_rules_is_killed(mutant):
    with mutant.applied():
        runs = every(HUNTED_IN[mutant.name])
    print(f"{mutant.name}: {runs.wrong[:1]} after {runs.how}")
    assert runs.wrong, f"'{mutant.name}' survives {runs.count:,} runs: {mutant.what}"


@pytest.mark.parametrize("name", WORLDS)
def test_each_world_hunts_mutants(name):
    assert sum(world is WORLDS[name] for world in HUNTED_IN.values()) >= LEAST_EACH
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
