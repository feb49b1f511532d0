"""What an outcome brings to its session, and which declarations cannot be kept."""

from dataclasses import replace

import pytest

from ascertain.model.contract import Contract, contract_from_json
from ascertain.model.session import Kept
from ascertain.model.tables import State
from ascertain.rules.context import (
    Declaration,
    brought_by,
    tangles,
    undeclared,
    values_of,
    was_shown,
)
from tests.flow.stage import prepared

TOOL = Contract(tool="query_order", noun="order", access="read", provides={"order_id": "id"})


def brought(path, result, ref=None, limit=100, **changes):
    contract = replace(TOOL, provides={"x": path}, **changes)
    (kept,) = values_of(contract, result, ref, limit_bytes=limit)
    return kept


@pytest.mark.parametrize(
    "path, result, value",
    [
        ("id", '{"id":"A1"}', '"A1"'),
        ("", '{"id":"A1"}', '{"id":"A1"}'),
        ("a.b", '{"a":{"b":10000000000000000000001}}', "10000000000000000000001"),
        ("rows.*.id", '{"rows":[{"id":1},{"no":2},{"id":3}]}', "[1,3]"),
        ("*", "[1,2]", "[1,2]"),
        ("text", '{"text":"中文"}', '"中文"'),
        ("zero", '{"zero":0}', "0"),
    ],
)
def test_values_are_read_at_their_path(path, result, value):
    assert brought(path, result) == Kept("x", value)


@pytest.mark.parametrize(
    "path, result",
    [
        ("id", "{}"), ("id", "[1]"), ("*.id", "{}"), ("a.b", '{"a":1}'), ("id", '{"id":null}'),
        ("id", None),
    ],
)  # fmt: skip
def test_where_there_is_none_it_is_said(path, result):
    assert brought(path, result) == Kept("x", None, "no_value")


def test_the_receipt_is_known_without_a_result():
    assert brought("id", None, "T9").value == '"T9"'
    assert brought("order_id", None, "T9").value == '"T9"'
    assert brought("status", None, "T9").why == "no_value"
    assert brought("deep.ref", None, "T9", receipt="deep.ref").value == '"T9"'
    assert brought("id", None, "T9", receipt="deep.ref").why == "no_value"
    assert brought("id", '{"id":"A1"}', "T9").value == '"A1"', "the result comes first"


def test_what_is_too_large_is_not_kept():
    assert brought("id", '{"id":"12345678"}', limit=10).value == '"12345678"'
    assert brought("id", '{"id":"123456789"}', limit=10) == Kept("x", None, "too_large")
    assert brought("id", '{"id":"中文中文"}', limit=10).why == "too_large", "bytes, not characters"


def test_only_the_confirmation_brings_anything():
    sent = prepared(state=State.SENT, last_sent_at=7.0)
    done = sent._replace(state=State.CONFIRMED)
    said = {"limit_bytes": 100, "now": 9.0}
    for before, after in ((sent, sent), (done, done), (sent, sent._replace(state=State.REJECTED))):
        assert brought_by(TOOL, before, after, '{"id":"A1"}', **said) is None
    assert brought_by(replace(TOOL, provides={}), sent, done, None, **said) is None
    brings = brought_by(TOOL, sent, done, '{"id":"A1"}', **said)
    assert (brings.began_at, brings.now, brings.base) == (7.0, 9.0, None)
    never_sent = sent._replace(last_sent_at=None, created_at=5.0)
    assert brought_by(TOOL, never_sent, done, None, **said).began_at == 5.0


@pytest.mark.parametrize(
    "value, shown", [("A1", True), ("B2", True), ("C3", False), (["A1"], False), (1, True)]
)
def test_what_was_shown_is_a_value_or_an_item_of_one(value, shown):
    assert was_shown(value, [None, '"A1"', '["B2",1]', '{"C3":1}']) is shown


def test_a_contract_with_context_reads_back_as_it_was():
    contract = replace(
        TOOL, context={"a": "k"}, either={"b": "l"}, optional_context=("l",), fresh_s={"k": 60.0}
    )
    assert contract_from_json(contract.as_json()) == contract
    assert contract.context_keys == ("k", "l")
    assert contract.required_context_keys == ("k",)


def tool(name, needs=(), provides=(), access="read", **parameters):
    contract = Contract(
        tool=name, noun=name, access=access, provides={key: key for key in provides},
        context={f"p_{key}": key for key in needs},
    )  # fmt: skip
    names = {f"p_{key}": True for key in needs} | parameters
    return Declaration(contract=contract, parameters=names)


def test_keys_that_nobody_provides_are_found():
    tools = [tool("a", needs=["x", "y"]), tool("b", provides=["y"])]
    assert tangles(tools, ()) == [("a", "needs 'x', which no tool provides")]
    assert tangles(tools, ["x"]) == []


def test_rings_are_found_and_other_ways_are_not():
    ring = [tool("a", ["z"], ["x"]), tool("b", ["x"], ["y"]), tool("c", ["y"], ["z"])]
    assert [name for name, _ in tangles(ring, ())] == ["a", "b", "c"]
    assert tangles(ring, ())[0][1] == "can never run: a needs c needs b needs a"
    assert tangles(ring, ["y"]) == [], "the application begins it"
    assert tangles([*ring, tool("w", (), ["z"], access="write")], ()) == [], "or a write does"
    line = [tool("a", ["y"], ["x"]), tool("b", ["z"], ["y"]), tool("c", (), ["z"])]
    assert tangles(line, ()) == []
    beside = [tool("a", ["x"], ["v"]), tool("b", ["y"], ["x"]), tool("c", ["x"], ["y"])]
    assert [name for name, _ in tangles(beside, ())] == ["b", "c"], "a is only before the ring"
    assert tangles([*ring, tool("r", (), ["z"])], ()) == [], "another read begins it"
    later = [*ring, tool("w", ["v"], ["z"], access="write"), tool("v", (), ["v"])]
    assert tangles(later, ()) == [], "or what can run after another"


@pytest.mark.parametrize("kinds", [("write", "write"), ("read", "write"), ("write", "read")])
def test_a_ring_is_one_whatever_the_tools_do(kinds):
    ring = [tool("a", ["y"], ["x"], access=kinds[0]), tool("b", ["x"], ["y"], access=kinds[1])]
    told = [("a", "can never run: a needs b needs a"), ("b", "can never run: b needs a needs b")]
    assert tangles(ring, ()) == told
    assert tangles(ring, ["x"]) == []


def test_a_tool_that_first_needs_what_only_it_provides_is_found():
    alone = tool("a", ["token"], ["token"], access="write")
    assert tangles([alone], ()) == [("a", "can never run: a needs a")]
    assert tangles([alone, tool("login", (), ["token"], access="write")], ()) == []


def test_a_read_that_needs_nothing_of_the_caller_runs_by_itself():
    assert tool("a", ["x"]).runs_by_itself
    assert tool("a", ["x"], limit=False).runs_by_itself
    assert not tool("a", ["x"], phone=True).runs_by_itself
    assert not tool("a", ["x"], access="write").runs_by_itself


def test_a_schema_that_refers_to_its_parts_is_followed():
    schema = {"$ref": "#/$defs/Node"}
    node = {"properties": {"next": {"$ref": "#/$defs/Node"}, "tags": {"type": "array"}}}
    assert not undeclared("next.next.tags", schema, {"Node": node})
    assert not undeclared("next.tags.*.x", schema, {"Node": node})
    assert undeclared("next.other", schema, {"Node": node})
    assert not undeclared("next.tags.x", schema, {"Node": node}), "it does not say"
