"""A result is what its stored text reads back as, the first time too."""

import json
from collections.abc import AsyncIterator, Generator, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascertain.errors import ArgumentsTooLarge, NotCanonical
from ascertain.model.words import Accepted, Receipt
from ascertain.values.arguments import Codec
from tests.pure import argument_types as kinds


def passed(annotation, value):
    codec = Codec.of(annotation)
    return codec.decode(codec.encode(value))


LINE = kinds.Line(sku="x", amount=Decimal("1.50"), day=date(2026, 11, 30))
PAYMENT = kinds.Payment(amount=Decimal("1.50"), day=date(2026, 11, 30))


@pytest.mark.parametrize(
    "annotation, value",
    [
        (dict, {"ticket_id": "T900", "n": [1, None, True, 2.5]}),
        (dict[str, Any], {"a": {"b": 1}}),
        (list[int], [1, 2]),
        (str, "左耳"),
        (int, 9007199254740993),
        (float, 10.0),
        (bool, True),
        (None, None),
        (Any, [1]),
        (Decimal, Decimal("10.00")),
        (datetime, datetime(2026, 11, 30, tzinfo=UTC)),
        (kinds.Line, LINE),
        (list[kinds.Line], [LINE]),
        (kinds.Address, {"city": "X"}),
        (kinds.Payment, PAYMENT),
        (kinds.Payment | None, None),
        (kinds.Payment | None, PAYMENT),
        (tuple[int, str], (1, "a")),
        (kinds.Colour, kinds.Colour.RED),
    ],
    ids=kinds.shown,
)
def test_a_result_comes_back_as_its_annotation_says(annotation, value):
    result = passed(annotation, value)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    "annotation, value, result",
    [
        (Any, PAYMENT, {"amount": "1.50", "day": "2026-11-30", "lines": []}),
        (dict, LINE, {"sku": "x", "amount": "1.50", "count": 1, "day": "2026-11-30"}),
        (dict, {"at": date(2026, 11, 30)}, {"at": "2026-11-30"}),
        (dict[str, str], {"a": 1}, {"a": 1}),
        (kinds.Payment, {"else": 1}, {"else": 1}),
        (kinds.Payment, [PAYMENT], [{"amount": "1.50", "day": "2026-11-30", "lines": []}]),
        (float, Decimal("1.5"), "1.5"),
        (int, None, None),
        (list[Decimal], [1.5], [1.5]),
        ("Nowhere", {"a": 1}, {"a": 1}),
        (set[str], ["a"], ["a"]),
        (kinds.Unknown, {"a": 1}, {"a": 1}),
    ],
    ids=kinds.shown,
)
def test_a_result_that_does_not_fit_its_annotation_is_not_lost(annotation, value, result):
    assert passed(annotation, value) == result


@pytest.mark.parametrize(
    "annotation, value, result",
    [
        (Receipt, {"a": 1}, {"a": 1}),
        (Accepted, None, None),
        (Receipt | Accepted, {"a": 1}, {"a": 1}),
        (kinds.Payment | Receipt, PAYMENT, PAYMENT),
        (kinds.Payment | Receipt | None, PAYMENT, PAYMENT),
        (Iterator[Decimal], [Decimal("1.0")], [Decimal("1.0")]),
        (Generator[Decimal, None, None], [Decimal("1.0")], [Decimal("1.0")]),
        (AsyncIterator[kinds.Line], [LINE], [LINE]),
        (Iterator, [1], [1]),
    ],
    ids=kinds.shown,
)
def test_our_own_words_and_iterators_are_read_for_the_value_in_them(annotation, value, result):
    assert passed(annotation, value) == result


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
    max_leaves=10,
)


@given(
    JSON, st.sampled_from([Any, dict, list, kinds.Payment, list[Decimal], kinds.Node, int | str])
)
def test_a_result_is_the_same_every_time_and_may_be_stored_again(value, annotation):
    codec = Codec.of(annotation)
    text = codec.encode(value)
    first = codec.decode(text)
    assert codec.decode(text) == first
    assert codec.decode(codec.encode(first)) == first


@pytest.mark.parametrize(
    "value", [object(), b"x", {1, 2}, {"a": float("nan")}, "\ud800", {1: 2}], ids=kinds.shown
)
@pytest.mark.parametrize("annotation", [Any, dict, kinds.Payment, list[Decimal]], ids=kinds.shown)
def test_what_has_no_json_form_is_said_so(annotation, value):
    with pytest.raises(NotCanonical):
        Codec.of(annotation).encode(value)


def nested(levels):
    value = kinds.Node("end")
    for _ in range(levels):
        value = kinds.Node("n", [value])
    return value


@pytest.mark.parametrize("annotation", [Any, kinds.Node])
def test_bounds_hold_for_results_too(annotation):
    codec = Codec.of(annotation)
    with pytest.raises(ArgumentsTooLarge):
        codec.encode(kinds.Node("x" * 10_000_000))
    with pytest.raises(ArgumentsTooLarge):
        codec.encode(nested(10_000))
    with pytest.raises(ArgumentsTooLarge):
        codec.encode(kinds.Node("x" * 100), max_bytes=100)
    assert json.loads(codec.encode(kinds.Node("x" * 100), max_bytes=200))["children"] == []
