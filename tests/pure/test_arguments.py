"""Arguments are bound strictly and completely, stored as one text, and given back exactly."""

import json
import tracemalloc
from dataclasses import is_dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascertain.errors import (
    ArgumentsTooLarge,
    ContractError,
    InvalidArguments,
    MissingArguments,
    NotCanonical,
)
from ascertain.values.arguments import Signature
from tests.pure import argument_types as kinds

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=None)
ZONES = st.sampled_from(
    [None, UTC, timezone(timedelta(hours=5, minutes=30)), ZoneInfo("Asia/Tokyo")]
)
MOMENTS = st.datetimes(timezones=ZONES)
MIDNIGHT = datetime.fromisoformat("2026-11-30T00:00:00")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=8,
)
LINES = st.builds(
    kinds.Line,
    sku=TEXTS,
    amount=DECIMALS,
    count=st.integers(),
    day=st.none() | st.dates(),
)
EVERYTHING = st.fixed_dictionaries(
    {
        "order_id": TEXTS,
        "amount": DECIMALS | st.integers() | DECIMALS.map(str),
        "rate": FLOATS | st.integers(-(2**53), 2**53),
        "day": st.dates() | st.dates().map(str),
        "at": MOMENTS | MOMENTS.map(datetime.isoformat),
        "id": st.uuids() | st.uuids().map(str),
        "colour": st.sampled_from([*kinds.Colour, "red"]),
        "size": st.sampled_from([*kinds.Size, "l"]),
        "level": st.sampled_from([*kinds.Level, 2]),
        "odd": st.sampled_from([*kinds.Odd, "PAIR"]),
        "kind": st.sampled_from(["a", 1, True, None]),
        "lines": st.lists(LINES, max_size=3),
        "pair": st.tuples(st.integers(), DECIMALS),
        "many": st.lists(st.dates(), max_size=3).map(tuple),
        "address": st.fixed_dictionaries({"city": TEXTS}, optional={"zip": TEXTS}),
        "loose": st.fixed_dictionaries({}, optional={"at": MOMENTS, "amount": DECIMALS}),
        "prices": st.dictionaries(TEXTS, DECIMALS, max_size=3),
        "payment": st.builds(
            kinds.Payment,
            amount=DECIMALS,
            day=st.dates(),
            lines=st.lists(st.integers(), max_size=3),
        ),
        "anything": ANYTHING,
        "bare": ANYTHING,
        "number": st.integers() | FLOATS,
    },
    optional={"note": TEXTS | st.none(), "flag": st.booleans()},
)


def of(function, *hidden):
    return Signature.of(function, hidden=hidden)


EVERY = of(kinds.everything, kinds.Attempt)


def alike(one, other):
    """Equal, and of the same types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if is_dataclass(one):
        return alike(vars(one), vars(other)) if hasattr(one, "__dict__") else one == other
    if isinstance(one, Decimal):
        return one.as_tuple() == other.as_tuple()
    if isinstance(one, float | datetime):
        return repr(one) == repr(other)  # -0.0, and the kind of time zone, too
    return one == other


# -------------------------------------------------------------------------------- round trips


@settings(max_examples=40)
@given(EVERYTHING)
def test_req_U13_stored_arguments_are_given_back_exactly(given_):
    bound = EVERY.bind((), given_)
    restored = EVERY.restore(bound.text)
    assert alike(restored, bound.values), f"{restored!r}\n{bound.values!r}"


@settings(max_examples=40)
@given(EVERYTHING)
def test_what_was_given_back_is_stored_as_the_same_text(given_):
    bound = EVERY.bind((), given_)
    again = EVERY.bind((), EVERY.restore(bound.text))
    assert again.text == bound.text
    assert alike(again.values, bound.values)


@settings(max_examples=40)
@given(EVERYTHING)
def test_the_text_is_the_text_of_the_json_forms(given_):
    bound = EVERY.bind((), given_)
    assert json.loads(bound.text) == bound.json


@settings(max_examples=40)
@given(EVERYTHING)
def test_a_model_may_give_the_json_forms_of_the_same_arguments(given_):
    bound = EVERY.bind((), given_)
    assert alike(EVERY.bind((), json.loads(bound.text)).values, bound.values)


@settings(max_examples=40)
@given(EVERYTHING)
def test_no_value_loses_anything_on_its_way_to_the_body(given_):
    values = EVERY.bind((), given_).values
    if isinstance(given_["amount"], Decimal):
        assert values["amount"].as_tuple() == given_["amount"].as_tuple()
    for name in ("order_id", "rate", "kind", "anything", "number", "payment"):
        given_value = json.loads(json.dumps(given_[name])) if name == "anything" else given_[name]
        assert values[name] == given_value
    if isinstance(given_["at"], datetime):
        assert values["at"].isoformat() == given_["at"].isoformat()


def test_the_body_gets_the_same_the_first_time_and_when_it_is_run_again():
    """What JSON cannot tell apart is settled before the first send, not after it."""

    def tool(at: datetime, rate: float, anything): ...

    signature = of(tool)
    paris = datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("Europe/Paris"))
    bound = signature.bind((), {"at": paris, "rate": 10, "anything": (10.0, -0.0, 2.5)})
    assert bound.text == '{"anything":[10,0,2.5],"at":"2026-07-01T12:00:00+02:00","rate":10}'
    assert repr(bound.values["rate"]) == "10.0"
    assert repr(bound.values["anything"]) == "[10, 0, 2.5]"
    assert bound.values["at"] == paris
    assert alike(signature.restore(bound.text), bound.values)


def test_a_negative_zero_is_the_same_zero_each_time():
    signature = of(annotated(float))
    bound = signature.bind((), {"it": -0.0})
    assert repr(bound.values["it"]) == repr(signature.restore(bound.text)["it"]) == "0.0"


def test_what_the_body_changes_was_not_the_callers_nor_is_it_stored():
    defaults = [1]

    def tool(
        lines: list[int], order: dict, address: kinds.Address, node: kinds.Node, extra=defaults
    ): ...

    mine = {
        "lines": [1],
        "order": {"a": [1]},
        "address": {"city": "X"},
        "node": kinds.Node("a", [kinds.Node("b")]),
    }
    signature = of(tool)
    bound = signature.bind((), mine)
    before = repr(mine)
    bound.values["lines"].append(2)
    bound.values["order"]["a"].append(2)
    bound.values["address"]["city"] = "Y"
    bound.values["node"].children[0].name = "c"
    bound.values["extra"].append(2)
    assert repr(mine) == before
    assert signature.bind((), mine).values["extra"] == [1]


# ------------------------------------------------------------------------------------ strictness


@pytest.mark.parametrize(
    "annotation, value",
    [
        (int, True),
        (int, "3"),
        (int, 3.0),
        (int, Decimal(3)),
        (int, None),
        (str, 3),
        (str, b"x"),
        (str, None),
        (bool, 1),
        (bool, "true"),
        (None, 0),
        (float, True),
        (float, "1.5"),
        (float, Decimal("1.5")),
        (float, 2**53 + 1),
        (float, 10**400),
        (Decimal, 1.5),
        (Decimal, True),
        (Decimal, "1,5"),
        (Decimal, " 1"),
        (Decimal, "+1"),
        (Decimal, "1_000"),
        (Decimal, "NaN"),
        (Decimal, "Infinity"),
        (Decimal, "\uff11"),
        (Decimal, ""),
        (Decimal, "1E+99999999999999999999"),
        (Decimal, "1" * 10_000),
        (date, MIDNIGHT),
        (date, "2026-11-31"),
        (date, "2026-11-30T00:00:00"),
        (date, 20261130),
        (datetime, date(2026, 11, 30)),
        (datetime, "2026-11-30"),
        (datetime, "noon"),
        (datetime, 1764460800),
        (datetime, "2026-11-30T12:00:00" + "0" * 100),
        (UUID, "x"),
        (UUID, 5),
        (UUID, "0" * 10_000),
        (kinds.Colour, "green"),
        (kinds.Colour, "RED"),
        (kinds.Colour, ["red"]),
        (kinds.Colour, kinds.Size.SMALL),
        (kinds.Level, True),
        (kinds.Level, 1.0),
        (kinds.Level, "LOW"),
        (kinds.Odd, (1, 2)),
        (list[int], (1, 2)),
        (list[int], [1, "2"]),
        (list[int], "12"),
        (list, {1: 2}),
        (tuple[int, str], (1,)),
        (tuple[int, str], [1, 2]),
        (tuple[int, ...], "12"),
        (tuple[()], [1]),
        (dict[str, int], {"a": "1"}),
        (dict[str, int], [("a", 1)]),
        (dict[str, int], {1: 1}),
        (dict, [1]),
        (kinds.Address, {"zip": "1"}),
        (kinds.Address, {"city": 1}),
        (kinds.Address, {"city": "X", "street": "Y"}),
        (kinds.Address, {"city": "X", 1: "Y"}),
        (kinds.Address, "X"),
        (kinds.Line, {"sku": "x"}),
        (kinds.Line, {"sku": "x", "amount": 1.5}),
        (kinds.Line, [1]),
        (kinds.Line, kinds.Node("a")),
        (kinds.Picky, {"code": "B1"}),
        (int | None, "3"),
        (int | str, 1.5),
        (Decimal | None, 1.5),
        (kinds.Payment, {"amount": "1", "day": "soon"}),
        (kinds.Payment, {"amount": "1"}),
        (kinds.Payment, {"amount": "1", "day": "2026-11-30", "lines": ["1"]}),
        (kinds.Payment, 5),
        (kinds.Closed, {"else": 1}),
        (kinds.Payment, kinds.Refund(amount=Decimal(1), reason="x")),
        (Any, Decimal(1)),
        (Any, {"a": [Decimal(1)]}),
        (dict, {"a": Decimal(1)}),
    ],
    ids=kinds.shown,
)
def test_req_F05_what_does_not_fit_is_refused(annotation, value):
    signature = of(annotated(annotation))
    with pytest.raises(InvalidArguments) as caught:
        signature.bind((), {"it": value})
    assert type(caught.value) in (InvalidArguments, NotCanonical)
    assert caught.value.context["path"].startswith("it")
    assert caught.value.context["got"]


def annotated(annotation):
    """A tool with one parameter of this annotation."""

    def tool(it): ...

    tool.__annotations__ = {"it": annotation}
    return tool


@pytest.mark.parametrize(
    "annotation, value, native",
    [
        (str, kinds.Size.SMALL, "s"),
        (int, kinds.Level.HIGH, 2),
        (float, 3, 3.0),
        (Decimal, 3, Decimal(3)),
        (Decimal, "10.00", Decimal("10.00")),
        (Decimal, "-1e-7", Decimal("-1E-7")),
        (date, "2026-11-30", date(2026, 11, 30)),
        (datetime, "2026-11-30T12:00:00Z", datetime(2026, 11, 30, 12, tzinfo=UTC)),
        (UUID, "{00000000-0000-0000-0000-000000000001}", UUID(int=1)),
        (kinds.Colour, "red", kinds.Colour.RED),
        (kinds.Odd, "TRUTH", kinds.Odd.TRUTH),
        (tuple[int, str], [1, "a"], (1, "a")),
        (tuple, [1, "a"], (1, "a")),
        (tuple[()], [], ()),
        (kinds.Line, {"sku": "x", "amount": "1.0"}, kinds.Line(sku="x", amount=Decimal("1.0"))),
        (kinds.Picky, {"code": "A1"}, kinds.Picky("A1")),
        (int | float, 5, 5),
        (int | float, 2.5, 2.5),
        (Decimal | date, "2026-11-30", date(2026, 11, 30)),
        (list[str] | list[Decimal], ["x"], ["x"]),
        (kinds.Aliased, {"orderId": "A1"}, kinds.Aliased(orderId="A1")),
        (
            kinds.Payment | kinds.Refund,
            {"amount": "1", "reason": "r"},
            kinds.Refund(amount=Decimal(1), reason="r"),
        ),
        (kinds.Payment | None, None, None),
        (Any | None, [1], [1]),
    ],
    ids=kinds.shown,
)
def test_what_fits_is_bound_as_its_own_type(annotation, value, native):
    signature = of(annotated(annotation))
    bound = signature.bind((), {"it": value})
    assert alike(bound.values["it"], native)
    assert alike(signature.restore(bound.text)["it"], native)


def test_an_error_names_the_path_and_never_the_value():
    def tool(order: list[kinds.Line]): ...

    secret = "4111111111111111"
    with pytest.raises(InvalidArguments) as caught:
        of(tool).bind(
            (), {"order": [{"sku": "x", "amount": "1"}, {"sku": "y", "amount": secret + "x"}]}
        )
    assert caught.value.context == {
        "path": "order[1].amount",
        "expected": 'a decimal number as a string ("10.00")',
        "got": "a string that is not one",
    }
    assert secret not in f"{caught.value} {caught.value.as_dict()}"


@pytest.mark.parametrize(
    "kind", [kinds.Picky, kinds.Checked, kinds.Telling, kinds.Unwritable, kinds.Hiding]
)
def test_a_users_own_check_is_not_quoted(kind):
    secret = "4111111111111111"
    name = {"Picky": "code", "Unwritable": "it"}.get(kind.__name__, "card")
    with pytest.raises(InvalidArguments) as caught:
        of(annotated(kind)).bind((), {"it": {name: secret}})
    chain = [caught.value, caught.value.__cause__]
    assert secret not in f"{chain} {caught.value.as_dict()}"
    assert caught.value.context["path"].startswith("it")


def test_inside_a_model_the_member_is_named():
    with pytest.raises(InvalidArguments) as caught:
        of(annotated(kinds.Payment)).bind(
            (), {"it": {"amount": "1", "day": "2026-11-30", "lines": [1, "2"]}}
        )
    assert caught.value.context["path"] == "it.lines[1]"
    assert caught.value.context["expected"] == "an integer"


def test_of_an_optional_record_the_member_is_named():
    with pytest.raises(InvalidArguments) as caught:
        of(annotated(kinds.Line | None)).bind((), {"it": {"sku": "x", "amount": "1", "count": "2"}})
    assert caught.value.context["path"] == "it.count"


def test_a_value_whose_form_would_read_back_as_another_is_refused():
    signature = of(annotated(kinds.One | kinds.Other))
    assert signature.bind((), {"it": kinds.One("1")}).values["it"].id == "1"
    with pytest.raises(InvalidArguments, match="would read back as"):
        signature.bind((), {"it": kinds.Other("1")})
    with pytest.raises(InvalidArguments, match="would read back as"):
        of(annotated(list[str] | list[Decimal])).bind((), {"it": [Decimal(1)]})


@pytest.mark.parametrize(
    "kind, value",
    [
        (kinds.Cents, {"amount": 5}),
        (kinds.Cents, kinds.Cents(5)),
        (kinds.Hiding, kinds.Hiding(card="4111")),
        (kinds.Unwritable, kinds.Unwritable(it=1)),
    ],
    ids=kinds.shown,
)
def test_a_type_that_does_not_come_back_the_same_is_refused_before_it_is_sent(kind, value):
    """Sent again from what was stored, five euros would be five hundred."""
    with pytest.raises(NotCanonical):
        of(annotated(kind)).bind((), {"it": value})


def test_a_constructor_that_may_run_again_may():
    signature = of(annotated(kinds.Upper))
    bound = signature.bind((), {"it": {"code": "ab"}})
    assert bound.text == '{"it":{"code":"AB"}}'
    assert signature.restore(bound.text)["it"] == kinds.Upper("ab")


@pytest.mark.parametrize("text", ["\ud800", "x\udfff"])
def test_lone_surrogates_are_refused_whatever_the_annotation(text):
    for annotation in (str, Any, list[str], dict[str, Any], kinds.Address, kinds.Aliased):
        value = {
            list[str]: [text],
            dict[str, Any]: {text: 1},
            kinds.Address: {"city": text},
            kinds.Aliased: {"orderId": text},
        }.get(annotation, text)
        with pytest.raises(NotCanonical):
            of(annotated(annotation)).bind((), {"it": value})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), Decimal("NaN")])
@pytest.mark.parametrize(
    "annotation", [float, Decimal, Any, float | None, list[float], kinds.Payment]
)
def test_req_U13_nan_is_refused_whatever_the_annotation(annotation, number):
    value = {list[float]: [number], kinds.Payment: {"amount": number, "day": date(2026, 1, 1)}}
    with pytest.raises(InvalidArguments):
        of(annotated(annotation)).bind((), {"it": value.get(annotation, number)})


# ---------------------------------------------------------------------------------------- bounds


def peak_bytes(act):
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def nested(levels, make):
    value: Any = 1
    for _ in range(levels):
        value = make(value)
    return value


BIG = "x" * 10_000_000


@pytest.mark.parametrize(
    "annotation, value",
    [
        (str, BIG),
        (Any, BIG),
        (Decimal, BIG),
        (UUID, BIG),
        (datetime, BIG),
        (kinds.Colour, BIG),
        (dict, {"a": BIG}),
        (list[str], [BIG]),
        (list[int], [1] * 5_000_000),
        (list[list[int]], [[1] * 5_000_000]),
        (kinds.Line, {"sku": BIG, "amount": "1"}),
        (kinds.Node, kinds.Node(BIG)),
        (kinds.Payment, {"amount": BIG, "day": BIG}),
        (kinds.Aliased, kinds.Aliased(orderId=BIG)),
        (list[float], [0.5] * 5_000_000),
        (dict[str, int], {BIG: 1}),
        (int, 10**1_000_000),
        (float, 10**1_000_000),
        (Decimal, 10**1_000_000),
    ],
    ids=kinds.shown,
)
def test_ten_megabytes_are_refused_before_they_are_copied(annotation, value):
    signature = of(annotated(annotation))

    def refused():
        with pytest.raises(ArgumentsTooLarge) as caught:
            signature.bind((), {"it": value})
        assert caught.value.context["path"].startswith("it")

    assert peak_bytes(refused) < 200_000


@pytest.mark.parametrize("levels", [64, 1_000, 100_000])
@pytest.mark.parametrize(
    "annotation, make",
    [
        (Any, lambda x: [x]),
        (Any, lambda x: {"a": x}),
        (dict, lambda x: {"a": x}),
        (kinds.Tree, lambda x: {"label": "", "left": x}),
        (kinds.Node, lambda x: kinds.Node("", [x])),
        (kinds.Node, lambda x: {"name": "", "children": [x]}),
        (kinds.Branch, lambda x: {"name": "", "below": [x]}),
    ],
    ids=["list", "dict", "a dict", "TypedDict", "dataclass", "fields", "pydantic"],
)
def test_what_is_nested_too_deep_is_refused_not_crashed_on(annotation, make, levels):
    with pytest.raises(ArgumentsTooLarge, match="nested deeper"):
        of(annotated(annotation)).bind((), {"it": nested(levels, make)})


def test_types_that_hold_themselves_are_bound():
    signature = of(annotated(kinds.Node))
    tree = kinds.Node("a", [kinds.Node("b"), kinds.Node("c", [kinds.Node("d")])])
    bound = signature.bind((), {"it": tree})
    assert signature.restore(bound.text)["it"] == tree
    both = of(annotated(kinds.Branch | None))
    branch = kinds.Branch(name="a", below=[kinds.Branch(name="b")])
    assert both.restore(both.bind((), {"it": branch}).text)["it"] == branch


def test_a_text_is_too_large_by_its_escapes_too():
    with pytest.raises(ArgumentsTooLarge):
        of(annotated(str)).bind((), {"it": "\x01" * 400_000})
    with pytest.raises(ArgumentsTooLarge):
        of(annotated(str)).bind((), {"it": "é" * 600_000})


def test_several_arguments_together_are_bounded():
    def tool(one: str, two: str): ...

    with pytest.raises(ArgumentsTooLarge):
        of(tool).bind(("x" * 600_000, "x" * 600_000), {})


# ------------------------------------------------------------------------------- names and places


def create(order_id: str, issue: str = "none", *, urgent: bool = False): ...


def test_arguments_may_be_given_by_place_or_name():
    signature = of(create)
    text = '{"issue":"noise","order_id":"A1","urgent":true}'
    assert signature.bind(("A1", "noise"), {"urgent": True}).text == text
    assert signature.bind((), {"urgent": True, "issue": "noise", "order_id": "A1"}).text == text
    assert list(signature.bind(("A1",)).values.items()) == [
        ("order_id", "A1"),
        ("issue", "none"),
        ("urgent", False),
    ]


def test_req_F05_all_missing_arguments_are_named():
    def tool(one: str, two: int, three: str = ""): ...

    with pytest.raises(MissingArguments, match="needs one, two") as caught:
        of(tool).bind((), {"three": "x"})
    assert caught.value.context["names"] == ["one", "two"]


def test_a_misspelt_name_is_shown_beside_the_missing_one():
    with pytest.raises(MissingArguments, match="needs order_id; it has no orderId") as caught:
        of(create).bind((), {"orderId": "A1"})
    assert caught.value.context["unknown"] == ["orderId"]


def test_req_F11_an_argument_that_is_not_declared_is_refused():
    with pytest.raises(InvalidArguments, match="has no parameter principal"):
        of(create).bind((), {"order_id": "A1", "principal": "admin"})


def test_an_argument_of_a_tool_without_any_is_refused():
    with pytest.raises(InvalidArguments, match="it takes no arguments"):
        of(lambda: None).bind((), {"x": 1})
    assert of(lambda: None).bind().text == "{}"


def test_too_many_and_twice_are_refused():
    with pytest.raises(InvalidArguments, match="at most 2 positional"):
        of(create).bind(("A1", "noise", True), {})
    with pytest.raises(InvalidArguments, match="given twice"):
        of(create).bind(("A1",), {"order_id": "A1"})


def test_an_injected_parameter_stands_anywhere_and_is_seen_nowhere():
    def tool(attempt: kinds.Attempt, order_id: str, /, mine: kinds.Attempt | None, *, issue: str):
        return (attempt, order_id, mine, issue)

    signature = of(tool, kinds.Attempt)
    assert signature.names == ("order_id", "issue")
    assert set(signature.schema()["properties"]) == {"order_id", "issue"}
    bound = signature.bind(("A1",), {"issue": "noise"})
    assert signature.bind((), {"issue": "noise", "order_id": "A1"}) == bound
    it = kinds.Attempt()
    made = signature.call(tool, bound.values, {kinds.Attempt: it})
    assert made == (it, "A1", it, "noise")
    with pytest.raises(InvalidArguments, match="attempt"):
        signature.bind(("A1",), {"issue": "noise", "attempt": "x"})
    with pytest.raises(ContractError, match="no Attempt"):
        signature.call(tool, bound.values, {})


def test_values_restored_for_a_function_that_has_changed_fit_it_or_are_refused():
    def newer(order_id: str, issue: str = "none", note: str = "new"): ...

    def other(order_id: int, issue: str = "none"): ...

    text = '{"issue":"noise","order_id":"A1"}'
    assert of(newer).restore(text)["note"] == "new"
    with pytest.raises(InvalidArguments, match="order_id: expected an integer"):
        of(other).restore(text)
    with pytest.raises(InvalidArguments, match="has no parameter"):
        of(lambda order_id: None).restore(text)
    with pytest.raises(InvalidArguments, match="expected an object"):
        of(create).restore("[]")


def test_the_usual_call_and_the_thorough_way_agree():
    signature = of(create)
    for issue in ("noise", "左耳", "x" * 2_000, "\U0001f600", "\x00"):
        quick = signature.bind((), {"order_id": "A1", "issue": issue})
        thorough = signature._bound({"order_id": "A1", "issue": issue})
        assert quick == thorough


@given(
    st.dictionaries(
        st.sampled_from(["order_id", "issue", "urgent", "else"]),
        TEXTS | st.booleans() | st.integers() | st.none() | FLOATS,
    )
)
def test_the_usual_way_accepts_and_refuses_what_the_thorough_way_does(given_):
    def told(bind):
        try:
            return bind()
        except InvalidArguments as error:
            return error.as_dict()

    signature = of(create)
    assert told(lambda: signature.bind((), given_)) == told(lambda: signature._bound(given_))
