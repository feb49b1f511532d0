"""Declared steps: which may start, which never will, and what they are given."""

import pytest

from ascertain.model.chain import Around, ChainRecord, Direction, Member, Weight
from ascertain.model.outcome import Kind
from ascertain.model.tables import State
from ascertain.rules.plan import (
    MOST_STARTS,
    Plan,
    PlanStep,
    Ref,
    arranged,
    filled,
    hopeless,
    plan_from_json,
    ready,
    unfinished,
    weight_of,
)
from tests.laws.records import NOW, record

STOCK = PlanStep("stock", "reserve_stock", {"what": "A123"}, best_effort=False, after=())
PACK = PlanStep("pack", "pack", {"where": Ref("stock.result.shelf.row")}, False, ("stock",))
SHIP = PlanStep("ship", "ship", {"what": Ref("pack.provider_ref")}, False, ("pack",))
NOTICE = PlanStep("notice", "send_notice", {}, best_effort=True, after=("stock",))
PLAN = Plan((STOCK, PACK, SHIP, NOTICE))
CHAIN = ChainRecord("c", "t", "u", "s", "order", "", "", "", "", NOW)

CONFIRMED = {"state": State.CONFIRMED, "attempt": 1, "provider_ref": "R5"}
REFUSED = {"state": State.REJECTED, "final": 1, "kind": Kind.BUSINESS}
WITHDRAWN = {"state": State.REJECTED, "final": 1, "kind": Kind.WITHDRAWN}
EXISTS = {**REFUSED, "kind": Kind.ALREADY_EXISTS, "related_ref": "R4"}
UNKNOWN = {"state": State.UNKNOWN, "attempt": 1}


def around(*made, chain=CHAIN):
    """The chain after these calls: the step of each, and how its action stands."""
    members = (
        (Member("c", f"a{n}", step, n), record(id=f"a{n}", **how))
        for n, (step, how) in enumerate(made, 1)
    )
    return Around(chain, tuple(members))


def names(steps):
    return [step.step for step in steps]


def starts(step, how=WITHDRAWN, times=MOST_STARTS):
    return [(step, how)] * times


# ----------------------------------------------------------------------------------- what may start


@pytest.mark.parametrize(
    "made, may_start",
    [
        ([], ["stock"]),
        ([("stock", UNKNOWN)], []),
        ([("stock", REFUSED)], []),
        ([("stock", CONFIRMED)], ["pack", "notice"]),
        ([("stock", EXISTS)], ["pack", "notice"]),
        ([("stock", WITHDRAWN)], ["stock"]),
        ([("stock", CONFIRMED), ("pack", CONFIRMED), ("notice", UNKNOWN)], ["ship"]),
    ],
)
def test_a_step_starts_once_what_it_depends_on_is_confirmed(made, may_start):
    assert names(ready(PLAN, around(*made))) == may_start


@pytest.mark.parametrize(
    "turned", [{"direction": Direction.BACKWARD}, {"stopped_at": NOW}], ids=["back", "stopped"]
)
def test_in_a_chain_that_goes_no_further_nothing_starts_and_nothing_is_left(turned):
    chain = around(chain=CHAIN._replace(**turned))
    assert ready(PLAN, chain) == []
    assert not unfinished(PLAN, chain)


def test_what_was_never_sent_is_started_again_a_few_times_and_no_more():
    almost = around(*starts("stock", times=MOST_STARTS - 1))
    assert names(ready(PLAN, almost)) == ["stock"]
    assert hopeless(PLAN, almost) == ""
    spent = around(*starts("stock"))
    assert ready(PLAN, spent) == []
    assert hopeless(PLAN, spent) == "cannot_start:stock"


def test_a_step_that_started_at_last_is_not_given_up():
    """However often it was held before: what counts is its last call."""
    held = starts("stock", times=MOST_STARTS - 1)
    for how in (CONFIRMED, UNKNOWN, REFUSED):
        assert hopeless(PLAN, around(*held, ("stock", how))) == ""


def test_a_best_effort_step_that_never_starts_turns_nothing():
    chain = around(("stock", CONFIRMED), *starts("notice"))
    assert hopeless(PLAN, chain) == ""
    assert names(ready(PLAN, chain)) == ["pack"]


# -------------------------------------------------------------------------------- what is still due


@pytest.mark.parametrize(
    "made, left",
    [
        ([], True),
        ([("stock", UNKNOWN)], True),
        ([("stock", WITHDRAWN)], True),
        ([("stock", CONFIRMED), ("pack", CONFIRMED), ("ship", CONFIRMED)], True),
        ([(name, CONFIRMED) for name in ("stock", "pack", "ship", "notice")], False),
        ([("stock", EXISTS), *((name, CONFIRMED) for name in ("pack", "ship", "notice"))], False),
    ],
)
def test_a_plan_is_finished_when_every_step_is(made, left):
    assert unfinished(PLAN, around(*made)) is left


def test_what_depends_on_a_refusal_is_never_due_and_neither_is_what_depends_on_that():
    """A best-effort refusal turns no chain: nobody may wait for its followers for ever."""
    stock = STOCK._replace(best_effort=True)
    assert not unfinished(Plan((stock, PACK, SHIP)), around(("stock", REFUSED)))
    assert unfinished(Plan((stock, NOTICE._replace(after=()))), around(("stock", REFUSED)))


# --------------------------------------------------------------------------- what a step is given


def test_a_step_is_given_what_earlier_ones_came_to():
    chain = around(("stock", CONFIRMED), ("pack", EXISTS))
    assert filled(STOCK, chain, {}) == {"what": "A123"}
    assert filled(PACK, chain, {"stock": {"shelf": {"row": 7}}}) == {"where": 7}
    assert filled(SHIP, chain, {}) == {"what": "R4"}, "the existing one is as good"


@pytest.mark.parametrize("result", [None, {}, {"shelf": "full"}, {"shelf": {"column": 7}}])
def test_what_a_result_does_not_have_is_named(result):
    with pytest.raises(KeyError, match=r"stock\.result\.shelf\.row"):
        filled(PACK, around(("stock", CONFIRMED)), {"stock": result})


def test_a_stored_plan_is_the_plan():
    plan = arranged([SHIP, NOTICE, PACK, STOCK], ["card"])
    assert plan_from_json(plan.as_json()) == plan
    assert names(plan.steps) == ["stock", "notice", "pack", "ship"]


def test_a_step_weighs_what_was_declared():
    assert (weight_of(STOCK), weight_of(NOTICE)) == (Weight.ESSENTIAL, Weight.BEST_EFFORT)
