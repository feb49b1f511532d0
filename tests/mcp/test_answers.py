"""How a look-up's answer is read: what is no answer is never absence."""

import pytest

from ascertain.adapters.mcp.answers import NoAnswer, Search, found_in
from ascertain.model.words import Absent

PLACES = {"key": "k1", "arguments": {}}
BY_TEXT = Search(pattern=r"(T\d+) for {key}", absent="^0 tickets")
ONE_RECORD = Search(where={"request": "{key}"}, ref="id")
LIST = Search(items="tickets", where={"request": "{key}"}, ref="id")


def text(said):
    return {"content": [{"type": "text", "text": said}]}


def data(said):
    return {"structuredContent": said}


@pytest.mark.parametrize(
    "search, result, ref",
    [
        (BY_TEXT, text("1 ticket: T900 for k1"), "T900"),
        (ONE_RECORD, data({"id": "T900", "request": "k1"}), "T900"),
        (LIST, data({"tickets": [{"id": "T1", "request": "k0"}, {"id": "T2", "request": "k1"}]}),
         "T2"),
    ],
)  # fmt: skip
def test_a_record_is_found(search, result, ref):
    assert found_in(search, result, PLACES).ref == ref


@pytest.mark.parametrize(
    "search, result",
    [
        (BY_TEXT, text("0 tickets")),
        (ONE_RECORD, data({})),
        (ONE_RECORD, data({"id": "T1", "request": "k0"})),
        (LIST, data({"tickets": []})),
    ],
)
def test_a_search_that_went_well_and_found_nothing_is_absence(search, result):
    assert found_in(search, result, PLACES) is Absent


@pytest.mark.parametrize(
    "search, result",
    [
        (BY_TEXT, text("The service is busy. Come back later.")),
        (BY_TEXT, text("")),
        (ONE_RECORD, data({"message": "rate limited"})),
        (ONE_RECORD, text("busy")),
        (LIST, data({"message": "rate limited"})),
        (LIST, {**data({"tickets": []}), "isError": True}),
    ],
)
def test_an_excuse_is_no_answer(search, result):
    with pytest.raises(NoAnswer):
        found_in(search, result, PLACES)
