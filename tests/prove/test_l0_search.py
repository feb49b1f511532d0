"""L0: every state that the production rules can come to, with the provider's contract inside.

Set ASCERTAIN_SEARCH=long for one fault more, or to a number of faults; with a number, the count of
states that the gate asks for is not.
"""

import os

import pytest

from ascertain.model.tables import NOTES, RULES, Event, State
from ascertain.rules.decide import Reason
from tests.laws.golden import why_impossible
from tests.prove.search import Search, added, hits
from tests.prove.test_l0_chains import COMPENSATION, OF_CHAINS
from tests.prove.variants import VARIANTS, sized

SIZE = os.environ.get("ASCERTAIN_SEARCH", "gate")
LEAST = {"gate": 1_000_000, "long": 10_000_000}
# Evidence that moves nothing comes only to what is not at rest.
QUIET = {(State.COMPENSATED, Event.NOTE)}

_reports = {}


def explored(variant):
    """The report of a variant, found once; its story where something does not hold."""
    if variant.name not in _reports:
        search = Search(variant)
        report = search.run()
        _reports[variant.name] = report, search.story(report.found) if report.found else ""
    return _reports[variant.name]


@pytest.mark.prove
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("variant", sized(VARIANTS, SIZE), ids=lambda variant: variant.name)
def test_whatever_goes_wrong_every_invariant_holds(variant):
    report, story = explored(variant)
    print(report)
    print("  ends:", "; ".join(f"{n} {end}" for end, n in sorted(report.ends.items())))
    assert not story, story
    assert report.complete
    assert report.ends, "nothing came to rest: it was not judged"


@pytest.mark.prove
@pytest.mark.timeout(3600)
def test_the_search_sees_enough_and_every_row_and_reason():
    total = added(explored(variant)[0] for variant in sized(VARIANTS, SIZE))
    print(total, *hits(total), sep="\n")
    assert total.states >= LEAST.get(SIZE, 0)
    if SIZE not in LEAST:
        return
    rows = {(rule.start, rule.event) for rule in RULES + NOTES} - COMPENSATION - QUIET
    assert not [row for row in sorted(rows, key=str) if not total.rows[row]]
    assert not [one for one in Reason if not total.reasons[one] and one not in OF_CHAINS]


@pytest.mark.prove
@pytest.mark.timeout(3600)
def test_no_view_comes_about_that_the_golden_table_calls_impossible():
    total = added(explored(variant)[0] for variant in sized(VARIANTS, SIZE))
    called = {why_impossible(view): view for view in total.views}
    print(f"{len(total.views)} different views were decided on")
    assert set(called) == {None}, called


def test_the_same_search_finds_the_same_states_in_the_same_order():
    first, second = (Search(VARIANTS[0].but(faults=1)) for _ in range(2))
    one, other = first.run(), second.run()
    assert (one.states, one.transitions, one.depth) == (
        other.states,
        other.transitions,
        other.depth,
    )
    assert first._order == second._order
