"""A call that a model began and did not finish is never made (U12)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascertain.errors import ArgumentsTooLarge, InvalidArguments, NotCanonical
from ascertain.values.arguments import parse_call

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
CALLS = st.dictionaries(
    TEXTS,
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


@given(CALLS, st.booleans(), st.sampled_from([None, 2]))
def test_a_whole_call_is_read_as_it_was_written(call, ascii_only, indent):
    text = json.dumps(call, ensure_ascii=ascii_only, indent=indent)
    assert parse_call(text) == call
    assert repr(parse_call(f" \n{text}\t")) == repr(call)


@given(CALLS, st.data())
def test_req_U12_a_call_cut_off_anywhere_is_refused(call, data):
    text = json.dumps(call)
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(InvalidArguments) as caught:
        parse_call(text[:cut])
    assert 0 <= caught.value.context["position"] <= cut


@given(CALLS, st.text(min_size=1).filter(lambda text: text.strip(" \t\r\n")))
def test_req_U12_text_after_the_end_is_refused(call, rest):
    with pytest.raises(InvalidArguments):
        parse_call(json.dumps(call) + rest)


@pytest.mark.parametrize(
    "text, position, got",
    [
        ("", 0, "it was cut off"),
        ('{"order_id": "A12', 13, "it was cut off"),
        ('{"order_id": ', 13, "it was cut off"),
        ('{"order_id": "A1"', 17, "it was cut off"),
        ('{"a": 1} {"b": 2}', 9, "Extra data"),
        ("{'a': 1}", 1, "Expecting property name enclosed in double quotes"),
        ('{"a": 01}', 7, "Expecting ',' delimiter"),
        ('{"a": "\n"}', 7, "Invalid control character at"),
        ("```json", 0, "Expecting value"),
        ('\ufeff{"a": 1}', 0, "Expecting value"),
    ],
)
def test_req_U12_the_position_is_named(text, position, got):
    with pytest.raises(InvalidArguments) as caught:
        parse_call(text)
    assert (caught.value.context["position"], caught.value.context["got"]) == (position, got)


@pytest.mark.parametrize("text", ["[]", "1", '"x"', "null", "[{}]", "true"])
def test_a_call_is_an_object(text):
    with pytest.raises(InvalidArguments, match="expected one complete JSON object"):
        parse_call(text)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '{"b": [{"a": 1, "c": 2, "a": 3}]}'])
def test_a_member_that_stands_twice_is_refused(text):
    with pytest.raises(InvalidArguments, match="the member a stands twice"):
        parse_call(text)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_req_U13_numbers_that_are_none_are_refused(number):
    with pytest.raises(NotCanonical):
        parse_call(f'{{"a": [{number}]}}')


def test_req_U13_integers_keep_their_value():
    assert parse_call('{"a": 9007199254740993}') == {"a": 9007199254740993}
    assert parse_call(f'{{"a": {10**4_000}}}') == {"a": 10**4_000}
    with pytest.raises(ArgumentsTooLarge, match="digits"):
        parse_call(f'{{"a": {"1" * 5_000}}}')


@pytest.mark.parametrize("levels", [64, 1_000, 100_000])
@pytest.mark.parametrize("left, right", [("[", "]"), ('{"a":', "}")])
def test_what_is_nested_too_deep_is_refused_not_crashed_on(levels, left, right):
    with pytest.raises(ArgumentsTooLarge, match="nested deeper"):
        parse_call('{"it":' + left * levels + "1" + right * levels + "}")


@pytest.mark.parametrize("text", ["x" * 10_000_000, '{"a": "' + "é" * 600_000 + '"}'])
def test_a_large_call_is_refused_before_it_is_parsed(text):
    with pytest.raises(ArgumentsTooLarge, match="more than 1000000 bytes"):
        parse_call(text)


def test_a_call_that_is_no_text_is_refused():
    with pytest.raises(InvalidArguments, match="expected the JSON text of a call, got an object"):
        parse_call({"a": 1})


def test_an_error_never_quotes_the_call():
    secret = "4111111111111111"
    for text in (f'{{"card": "{secret}', f'{{"card": "{secret}"}} {secret}', f'["{secret}"]'):
        with pytest.raises(InvalidArguments) as caught:
            parse_call(text)
        assert secret not in f"{caught.value} {caught.value.as_dict()}"
        assert caught.value.__cause__ is None
