"""What a chain means for each of its actions, in words, and the order of declared steps."""

from dataclasses import replace

import pytest

from ascertain.errors import ContractError
from ascertain.model.chain import Around, ChainRecord, Course, Direction, Member, Weight
from ascertain.model.contract import Contract
from ascertain.model.outcome import Kind
from ascertain.model.tables import State
from ascertain.rules.chain import check_order, circle, course, gate, under_way
from tests.laws.records import NOW, record

STOCK = Contract(tool="reserve_stock", noun="stock", undo="undo_stock")
BY_KEY = replace(STOCK, undo_by="key")
CHAIN = ChainRecord("c", "t", "u", "s", "order", "", "", "", "", NOW)
BACK = CHAIN._replace(direction=Direction.BACKWARD, turned_at=NOW)
STOPPED = BACK._replace(stopped_at=NOW)
MADE = record(
    id="a1", state=State.CONFIRMED, attempt=1, provider_ref="R5", chain="c", last_sent_at=NOW
)
REFUSED = {"state": State.REJECTED, "final": 1, "kind": Kind.BUSINESS}


def around(chain, *others, **place):
    """The chain of the stock that was reserved first, and what came after it."""
    return Around(chain, ((Member("c", "a1", "stock", 1, **place), MADE), *others))


def undo(**changes):
    """What reverses the stock, as it stands."""
    reversing = record(id="b1", **{"attempt": 1, **changes})
    return Member("c", "b1", "undo_stock", 2, undoes="a1"), reversing


def shipment(**said):
    """What was made once the stock was there."""
    weight = said.pop("weight", Weight.ESSENTIAL)
    made = record(id="a2", **{"state": State.CONFIRMED, "attempt": 1, **said})
    return Member("c", "a2", "ship", 2, weight, after=("stock",)), made


@pytest.mark.parametrize(
    "chain, contract, expected",
    [
        (CHAIN, STOCK, Course.FORWARD),
        (BACK, STOCK, Course.UNDO),
        (BACK, BY_KEY, Course.UNDO_BY_KEY),
        (BACK, replace(STOCK, undo=None), Course.IRREVERSIBLE),
        (STOPPED, STOCK, Course.STOPPED),
    ],
)
def test_what_is_confirmed_goes_the_way_of_its_chain(chain, contract, expected):
    assert course(MADE, contract, around(chain), NOW) is expected


@pytest.mark.parametrize("chain", [CHAIN, BACK, STOPPED])
@pytest.mark.parametrize("contract, expected", [(STOCK, Course.UNDO), (BY_KEY, Course.UNDO_BY_KEY)])
def test_an_undo_that_is_confirmed_is_written_down_though_the_chain_was_stopped(
    chain, contract, expected
):
    """The effect is reversed at the provider: that is so, whatever was said of the chain since."""
    reversed_ = undo(state=State.CONFIRMED, provider_ref="U1")
    assert course(MADE, contract, around(chain, reversed_), NOW) is expected


@pytest.mark.parametrize(
    "how, expected",
    [
        ({"state": State.SENT}, Course.UNDO),
        ({"state": State.UNKNOWN}, Course.UNDO),
        ({"state": State.REJECTED, "final": 0, "kind": Kind.THROTTLED}, Course.UNDO),
        ({"state": State.UNKNOWN, "review": "cannot_ask"}, Course.STUCK),
        ({"state": State.UNKNOWN, "disputed": 1}, Course.STUCK),
        (REFUSED, Course.STUCK),
    ],
)
def test_an_undo_under_way_is_gone_on_with_and_one_that_goes_no_further_is_stuck(how, expected):
    """The time for undoing it may be over meanwhile: what was begun in time is not too late."""
    contract = replace(STOCK, undo_within_s=10.0)
    assert course(MADE, contract, around(BACK, undo(**how)), NOW + 60) is expected


@pytest.mark.parametrize("after_s, expected", [(9.9, Course.UNDO), (10.0, Course.TOO_LATE)])
def test_what_was_not_begun_in_time_is_too_late(after_s, expected):
    contract = replace(STOCK, undo_within_s=10.0)
    assert course(MADE, contract, around(BACK), NOW + after_s) is expected


def test_what_a_person_keeps_stays_while_the_rest_is_undone():
    assert course(MADE, STOCK, around(BACK, kept=1), NOW) is Course.KEPT
    assert course(MADE, STOCK, around(CHAIN, kept=1), NOW) is Course.FORWARD
    needed = around(BACK, shipment(), kept=1)
    assert course(MADE, STOCK, needed, NOW) is Course.KEPT, "it waits for nothing"


@pytest.mark.parametrize(
    "how, expected",
    [
        ({}, Course.WAITS),
        ({"state": State.UNKNOWN}, Course.WAITS),
        ({"state": State.COMPENSATED}, Course.UNDO),
        (REFUSED, Course.UNDO),
        ({"weight": Weight.BEST_EFFORT}, Course.UNDO),
    ],
)
def test_it_is_undone_after_everything_that_depends_on_it(how, expected):
    assert course(MADE, STOCK, around(BACK, shipment(**how)), NOW) is expected


def test_what_depends_on_it_and_is_kept_holds_nothing_up():
    member, made = shipment()
    kept = (member._replace(kept=1), made)
    assert course(MADE, STOCK, around(BACK, kept), NOW) is Course.UNDO


# ------------------------------------------------------------------------------------------- order


def test_what_is_under_way_keeps_nothing_back_yet_and_what_ended_badly_does_at_once():
    refused = record(attempt=1, **REFUSED)
    needs = {"pack": None, "stock": MADE, "pay": refused}
    assert gate(needs, frozenset({"pack"})) == "waits_for:pay"
    assert gate({"pack": None, "stock": MADE}, frozenset({"pack"})) == ""
    assert gate({"pack": None, "stock": MADE}) == "waits_for:pack", "when nobody waits any more"


@pytest.mark.parametrize(
    "state, lease, expected",
    [
        (State.SENT, NOW + 1, True),
        (State.SENT, NOW, False),
        (State.UNKNOWN, NOW + 1, False),
        (State.CONFIRMED, NOW + 1, False),
    ],
)
def test_only_what_is_being_sent_just_now_is_under_way(state, lease, expected):
    one = record(state=state, attempt=1, lease_owner="me", lease_until=lease)
    assert under_way(one, NOW) is expected


def test_a_circle_is_seen_however_long_it_is():
    needs = {"a": ("b", "x"), "b": ("c",), "c": ("a",), "x": ("x",)}
    assert [circle(needs, step) for step in ("a", "b", "c")] == [True] * 3
    assert not circle({"a": ("b",), "b": ("c", "d"), "d": ("c",)}, "a"), "two ways are no circle"
    assert not circle({"a": ("b",), "b": ("c",), "c": ("b",)}, "a"), "it is not in that one"


def test_steps_come_after_what_they_depend_on():
    steps = [("ship", ["pack", "pay"]), ("pay", ["stock"]), ("pack", ["stock"]), ("stock", [])]
    assert check_order(steps) == ["stock", "pay", "pack", "ship"]


@pytest.mark.parametrize(
    "steps, said",
    [
        ([("pay", []), ("ship", []), ("pay", ["ship"])], "'pay' is declared twice"),
        ([("ship", ["pay"])], "'ship' comes after 'pay', which is no step"),
        ([("pay", ["ship"]), ("ship", ["pay"]), ("stock", [])], "'pay', 'ship' wait for each"),
    ],
)
def test_an_order_that_cannot_be_kept_is_refused_with_its_cause(steps, said):
    with pytest.raises(ContractError, match=said):
        check_order(steps)
