"""One text for one value: what meets, what stays apart, and what has no text at all."""

import json
import sys
import tracemalloc
import unicodedata
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, localcontext
from enum import Enum, IntEnum, StrEnum
from typing import NamedTuple
from uuid import UUID

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascertain.errors import ArgumentsTooLarge, InvalidArguments, NotCanonical
from ascertain.values.canonical import (
    MAX_BYTES,
    canonical,
    canonical_native,
    digest,
    encoder,
    identity_text,
)
from tests.pure import argument_types as kinds

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


NAIVE = datetime.fromisoformat("2026-11-30T01:02:03")


class Point(NamedTuple):
    x: int
    y: int


class Level(IntEnum):
    HIGH = 3


class Colour(StrEnum):
    RED = "red"


class Plain(Enum):
    ONE = (1,)
    TWO = (2,)


@dataclass
class Money:
    amount: Decimal
    day: date


class Model(pydantic.BaseModel):
    amount: Decimal
    at: datetime


def nested(levels, make):
    value = 1
    for _ in range(levels):
        value = make(value)
    return value


def peak_bytes(act):
    """What an action allocates at most, beside what was there before."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# ------------------------------------------------------------------------------------- the text


@given(VALUES)
def test_req_U13_the_text_reads_back_as_an_equal_value(value):
    assert json.loads(canonical(value)) == value


@given(VALUES)
def test_the_text_of_what_was_read_back_is_the_same_text(value):
    text = canonical(value)
    assert canonical(json.loads(text)) == text


@given(st.dictionaries(TEXTS, VALUES, max_size=6), st.randoms())
def test_the_order_in_which_members_were_set_does_not_matter(members, random):
    items = list(members.items())
    random.shuffle(items)
    assert canonical(dict(items)) == canonical(members)


@given(st.dictionaries(TEXTS, st.none(), max_size=8))
def test_members_are_ordered_by_their_utf16_units(members):
    names = list(json.loads(canonical(members)))
    assert names == sorted(members, key=lambda name: name.encode("utf-16-be"))


@given(VALUES)
def test_no_text_has_needless_space_or_escapes(value):
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert len(canonical(value)) <= len(plain)


def test_names_beyond_the_basic_plane_come_before_private_ones():
    # U+1F600 is written with units from D83D on, which is below E000
    assert canonical({"\ue000": 1, "\U0001f600": 2, "a": 3}) == '{"a":3,"\U0001f600":2,"\ue000":1}'
    inside = canonical([{"\ue000": 1, "\U0001f600": [2]}])
    assert inside == '[{"\U0001f600":[2],"\ue000":1}]'


def test_only_what_must_be_escaped_is():
    assert canonical('"\\/\b\f\n\r\t\x00\x1f\x7f\u2028é') == (
        r'"\"\\/\b\f\n\r\t\u0000\u001f' + '\x7f\u2028é"'
    )


@pytest.mark.parametrize(
    "value, text",
    [
        (9007199254740993, "9007199254740993"),
        (10**40, "1" + "0" * 40),
        (-(2**63), "-9223372036854775808"),
        (10.0, "10"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e-7, "1e-07"),
        (2.0**53 - 1, "9007199254740991"),
        (2.0**53, "9007199254740992.0"),
        (1e300, "1e+300"),
        (Decimal("10.00"), '"10.00"'),
        (Decimal("-1E+2"), '"-1E+2"'),
        (True, "true"),
        (None, "null"),
        ((1, (2,)), "[1,[2]]"),
        (Point(1, 2), "[1,2]"),
        (Level.HIGH, "3"),
        (Colour.RED, '"red"'),
        ({Colour.RED: 1}, '{"red":1}'),
        (OrderedDict(b=1, a=2), '{"a":2,"b":1}'),
        ({}, "{}"),
        ([], "[]"),
    ],
    ids=kinds.shown,
)
def test_req_U13_values_are_written_exactly(value, text):
    assert canonical(value) == text


def test_a_float_of_another_class_is_written_as_the_float_that_it_is():
    class Wide(float):
        def __repr__(self):
            return "Wide"

    assert canonical([Wide(2.5), Wide(3.0)]) == "[2.5,3]"


def test_a_decimal_is_written_alike_in_every_context():
    with localcontext() as context:
        context.capitals = 0
        context.prec = 2
        assert canonical(Decimal("1.2345E+9")) == '"1.2345E+9"'


def test_the_encoder_for_interpreters_without_c_writes_the_same():
    value = {"b": [1, "é\n", {"d": None, "c": 1.5}], "a": True}
    slow = encoder(None, ordered=False)
    assert slow(value) == canonical(value)
    assert encoder(None, ordered=True)({"b": 1, "a": 2}) == '{"b":1,"a":2}'


# --------------------------------------------------------------------------------- what has none


@pytest.mark.parametrize(
    "value, path, got",
    [
        ({"a": float("nan")}, "a", "NaN"),
        ({"a": [1, float("-inf")]}, "a[1]", "an infinite number"),
        ({"a": Decimal("NaN")}, "a", "a Decimal that is NaN or infinite"),
        ({"a": Decimal("sNaN")}, "a", "a Decimal that is NaN or infinite"),
        ({"a": "x\ud800"}, "a", "a string with a lone surrogate"),
        ({"a": {"b\udfff": 1}}, 'a["b\\udfff"]', "a string with a lone surrogate"),
        ({"a": b"x"}, "a", "a bytes"),
        ({"a": {1, 2}}, "a", "a set"),
        ({"a": {1: 2}}, "a", "a member name that is an integer"),
        ({None: 2}, "", "a member name that is null"),
        ({"a": date(2026, 11, 30)}, "a", "a date"),
        ({"issue": {"details": [0, 1, 2, {"amount": 1j}]}}, "issue.details[3].amount", "a complex"),
        ({"odd name": {"": object()}}, '"odd name"[""]', "an object"),
    ],
    ids=kinds.shown,
)
def test_what_has_no_exact_form_is_refused_with_its_path(value, path, got):
    with pytest.raises(NotCanonical) as caught:
        canonical(value)
    assert (caught.value.context["path"], caught.value.context["got"]) == (path, got)


def test_an_error_never_says_the_value():
    secret = "4111111111111111"
    for value in ({"card": secret + "\ud800"}, {"card": {secret}}, {"card": secret * 100_000}):
        with pytest.raises(InvalidArguments) as caught:
            canonical(value)
        said = f"{caught.value} {caught.value.as_dict()} {caught.value.__cause__}"
        assert secret not in said
        assert "card" in said


def test_a_long_path_and_long_names_are_cut():
    value = nested(30, lambda inner: {"n" * 1000: inner})
    with pytest.raises(NotCanonical) as caught:
        canonical(value | {"n" * 1000: nested(30, lambda inner: [inner if inner != 1 else 1j])})
    assert len(caught.value.context["path"]) < 700
    assert "..." in caught.value.context["path"]


# ------------------------------------------------------------------------------------- the bounds


@pytest.mark.parametrize("make", [lambda x: [x], lambda x: {"a": x}, lambda x: (x,)])
@pytest.mark.parametrize("levels", [65, 1_000, 100_000])
def test_what_is_nested_too_deep_is_refused_not_crashed_on(make, levels):
    with pytest.raises(ArgumentsTooLarge, match="nested deeper"):
        canonical(nested(levels, make))


@pytest.mark.parametrize("make", [lambda x: [x], lambda x: {"a": x}])
def test_the_deepest_that_is_allowed_is_allowed(make):
    value = nested(64, make)
    assert json.loads(canonical(value)) == value


def test_a_value_that_holds_itself_is_too_deep():
    loop = []
    loop.append(loop)
    with pytest.raises(ArgumentsTooLarge):
        canonical(loop)


BIG_TEXT = "x" * 10_000_000
BIG_LIST = [None] * 5_000_000
WIDE_SHARED = nested(8, lambda inner: [inner] * 100)


@pytest.mark.parametrize(
    "value",
    [
        BIG_TEXT,
        {"a": {"b": BIG_TEXT}},
        {BIG_TEXT: 1},
        BIG_LIST,
        [[BIG_TEXT]],
        10**1_000_000,
        [10**1_000_000],
    ],
    ids=["text", "inside", "name", "list", "list of text", "integer", "list of integer"],
)
def test_ten_megabytes_are_refused_before_they_are_copied(value):
    def refused():
        with pytest.raises(ArgumentsTooLarge):
            canonical(value)

    assert peak_bytes(refused) < 100_000


def test_many_short_members_are_counted_before_they_are_written():
    members = {f"n{number}": "x" * 1_000 for number in range(20_000)}

    def refused():
        with pytest.raises(ArgumentsTooLarge):
            canonical(members)

    assert peak_bytes(refused) < 2_000_000


def test_a_value_that_shares_its_parts_is_counted_as_it_would_be_written():
    """100**8 entries, in memory only 800: the work is bounded by the bytes, not by the entries."""
    with pytest.raises(ArgumentsTooLarge):
        canonical(WIDE_SHARED)


@pytest.mark.parametrize(
    "value",
    [
        "x" * (MAX_BYTES - 2),
        "é" * ((MAX_BYTES - 2) // 2),
        ["x" * 1_000] * 996,
        {"a": "x" * (MAX_BYTES - 8)},
    ],
    ids=["text", "two bytes each", "many", "member"],
)
def test_the_largest_that_is_allowed_is_allowed(value):
    assert MAX_BYTES - 2_000 < len(canonical(value).encode()) <= MAX_BYTES


@pytest.mark.parametrize(
    "value",
    ["x" * (MAX_BYTES - 1), "é" * (MAX_BYTES // 2), "\x01" * (MAX_BYTES // 4), ["\n"] * 250_000],
    ids=["text", "two bytes each", "escapes", "many"],
)
def test_one_byte_more_is_refused(value):
    with pytest.raises(ArgumentsTooLarge):
        canonical(value)


@given(st.dictionaries(TEXTS, VALUES, max_size=5), st.integers(2, 60))
def test_the_bound_is_on_the_bytes_of_the_text(value, bound):
    size = len(canonical(value).encode())
    if size <= bound:
        assert len(canonical(value, max_bytes=bound).encode()) == size
    else:
        with pytest.raises(ArgumentsTooLarge):
            canonical(value, max_bytes=bound)


@pytest.mark.parametrize("value", [10**4_100, [10**4_100], {"a": 10**4_100}])
def test_a_long_integer_is_written_and_a_longer_one_refused(value):
    assert "0" * 4_100 in canonical(value)
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        with pytest.raises(ArgumentsTooLarge, match="this process"):
            canonical(value)
    finally:
        sys.set_int_max_str_digits(before)


# ---------------------------------------------------------------------------------------- native


def test_native_values_are_written_as_their_annotations_would_write_them():
    zone = timezone(timedelta(hours=2))
    value = {
        "money": Money(Decimal("1.50"), date(2026, 11, 30)),
        "model": Model(amount=Decimal("2.50"), at=datetime(2026, 11, 30, 12, tzinfo=zone)),
        "id": UUID(int=1),
        "plain": Plain.TWO,
        "colour": Colour.RED,
        "level": Level.HIGH,
        "list": [NAIVE],
    }
    assert json.loads(canonical_native(value)) == {
        "money": {"amount": "1.50", "day": "2026-11-30"},
        "model": {"amount": "2.50", "at": "2026-11-30T12:00:00+02:00"},
        "id": "00000000-0000-0000-0000-000000000001",
        "plain": "TWO",
        "colour": "red",
        "level": 3,
        "list": ["2026-11-30T01:02:03"],
    }


class Linked(pydantic.BaseModel):
    url: pydantic.AnyUrl


class Mute(pydantic.BaseModel):
    it: object

    @pydantic.field_serializer("it", when_used="json")
    def say(self, value):
        raise RuntimeError("4111111111111111")


def test_a_model_with_types_of_its_own_writes_itself():
    linked = Linked(url=pydantic.AnyUrl("https://crm.example/1"))
    assert canonical_native([linked]) == '[{"url":"https://crm.example/1"}]'


def test_a_model_that_cannot_write_itself_is_refused():
    with pytest.raises(NotCanonical) as caught:
        canonical_native([Mute(it=object())])
    assert caught.value.context["path"] == "[0]"
    assert "4111" not in str(caught.value)


def test_a_model_that_is_too_large_is_too_large():
    with pytest.raises(ArgumentsTooLarge):
        canonical_native(Mute(it=BIG_TEXT))


def test_a_type_is_no_value():
    with pytest.raises(NotCanonical):
        canonical_native(Money)


# -------------------------------------------------------------------------------------- identity


def same(one, other):
    return identity_text({"it": one}) == identity_text({"it": other})


@pytest.mark.parametrize(
    "one, other",
    [
        ("A123", " A123\u3000\n"),
        (unicodedata.normalize("NFC", "Zoë"), unicodedata.normalize("NFD", "Zoë")),
        ("one\r\ntwo", "one\ntwo"),
        (Decimal("10.0"), Decimal("10.00")),
        (Decimal(100), Decimal("1E+2")),
        (Decimal("0.00"), Decimal("-0")),
        (10, 10.0),
        ([" x", {"y": "z "}], ["x", {"y": "z"}]),
        (("x",), ["x"]),
        (
            datetime(2026, 11, 30, 12, tzinfo=timezone(timedelta(hours=2))),
            datetime(2026, 11, 30, 10, tzinfo=UTC),
        ),
        (Money(Decimal("1.0"), date(2026, 1, 1)), Money(Decimal(1), date(2026, 1, 1))),
        (
            Model(amount=Decimal("1.0"), at=datetime(2026, 1, 1, tzinfo=UTC)),
            Model(amount=Decimal(1), at=datetime(2026, 1, 1, tzinfo=UTC)),
        ),
    ],
    ids=kinds.shown,
)
def test_req_F08_identities_meet_that_differ_in_nothing(one, other):
    assert same(one, other)


@pytest.mark.parametrize(
    "one, other",
    [
        ("A123", "a123"),
        ("1", 1),
        (True, 1),
        (None, "null"),
        (9007199254740993, 9007199254740992),
        (Decimal("10.01"), Decimal("10.1")),
        (Decimal("1E+40"), Decimal("1" + "0" * 40 + ".00001")),
        (Decimal(-1), Decimal(1)),
        (NAIVE, NAIVE.replace(tzinfo=UTC)),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"a ": 1}),
    ],
    ids=kinds.shown,
)
def test_req_F08_other_values_stay_other_intents(one, other):
    assert not same(one, other)


FINITE = st.decimals(allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE)
def test_decimals_meet_exactly_when_they_are_equal(one, other):
    assert same(one, other) == (one == other)


@given(FINITE, st.integers(0, 30))
def test_trailing_zeros_are_no_other_intent(value, zeros):
    sign, digits, exponent = value.as_tuple()
    assert same(value, Decimal((sign, digits + (0,) * zeros, exponent - zeros)))


@given(TEXTS)
def test_an_identity_is_made_once(text):
    normal = json.loads(identity_text({"it": text}))["it"]
    assert identity_text({"it": normal}) == identity_text({"it": text})


@given(SCALARS | st.text(st.characters(max_codepoint=127)))
def test_a_flat_argument_means_what_it_means_inside_a_list(value):
    """Few short scalars take a short way; a list is always walked."""
    alone, walked = identity_text({"it": value}), identity_text({"it": [value]})
    assert [json.loads(alone)["it"]] == json.loads(walked)["it"]
    assert alone == walked.replace("[", "", 1)[::-1].replace("]", "", 1)[::-1]


def test_an_instant_at_the_end_of_time_keeps_its_offset():
    last = datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5)))
    assert "-05:00" in identity_text({"at": last})


def test_a_tool_may_say_what_is_the_same():
    normalisers = {"order": str.casefold, "absent": str.upper}
    one = identity_text({"order": "A123", "n": 1}, normalisers)
    assert one == identity_text({"n": 1, "order": "a123 "}, normalisers)
    assert one == '{"n":1,"order":"a123"}'


def test_a_normaliser_that_raises_names_its_argument_and_not_the_value():
    with pytest.raises(InvalidArguments) as caught:
        identity_text({"order": "secret-1"}, {"order": int})
    assert caught.value.context["path"] == "order"
    assert "ValueError" in str(caught.value)
    assert "secret-1" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_digest_is_128_bits_and_of_the_whole_text():
    assert len(digest("{}")) == 32
    assert digest("{}") == digest("{}")
    assert digest("é") != digest("e")
