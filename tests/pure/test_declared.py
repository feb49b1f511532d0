"""What is read from a function when it is registered, and what cannot be promised then."""

import functools
import subprocess
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict

import annotated_types
import pydantic
import pydantic_core
import pytest
from typing_extensions import TypeAliasType

from ascertain.errors import ContractError, InvalidArguments
from ascertain.values.arguments import Signature
from tests.pure import argument_types as kinds

OrderId = NewType("OrderId", str)


class Even:
    """A constraint of the user's own, as pydantic knows them."""

    def __get_pydantic_core_schema__(self, source, handler):
        return pydantic_core.core_schema.no_info_after_validator_function(
            self.check, handler(source)
        )

    def check(self, value):
        if value % 2:
            raise ValueError
        return value


def of(function, *hidden):
    return Signature.of(function, hidden=hidden)


def annotated(annotation):
    def tool(it): ...

    tool.__annotations__ = {"it": annotation}
    return tool


# ----------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "annotation, why",
    [
        (set[str], "a set has no order"),
        (frozenset, "a set has no order"),
        (kinds.WithSet, "a set has no order"),
        (bytes, "JSON has no bytes"),
        (kinds.Unknown, "pydantic says"),
        (Callable[[], int], "pydantic says"),
        (kinds.Empty, "it has no members"),
        (Literal[b"x"], "JSON has no bytes"),
        (Literal["red", kinds.Colour.RED], "two of its choices have the same JSON form"),
        (str | Decimal, "a str cannot be told from"),
        (str | kinds.Colour, "a str cannot be told from"),
        (Any | Decimal, "cannot be told apart"),
        ("Nowhere", "the name 'Nowhere' cannot be found"),
        ("list[Nowhere]", "the name 'Nowhere' cannot be found"),
        ("1 +", "it is not a type"),
        (5, "pydantic says"),
    ],
    ids=kinds.shown,
)
def test_what_cannot_be_checked_and_stored_is_refused_with_the_reason(annotation, why):
    with pytest.raises(
        ContractError, match=r"annotated.<locals>.tool: the parameter 'it'"
    ) as caught:
        of(annotated(annotation))
    assert why in caught.value.message
    assert caught.value.context == {"parameter": "it"}
    assert "Supported are str, int" in caught.value.advice


def test_a_long_annotation_is_cut():
    with pytest.raises(ContractError) as caught:
        of(annotated("Nowhere" + "x" * 1_000))
    assert "..." in caught.value.message.split(", which")[0]


def test_arguments_that_are_not_declared_cannot_be_judged():
    with pytest.raises(ContractError, match=r"\*rest takes arguments that are not declared"):
        of(lambda *rest: None)
    with pytest.raises(ContractError, match=r"\*\*rest takes .* Name each parameter"):
        of(lambda **rest: None)


class Desk:
    def create(self, order_id: str): ...

    def __call__(self, order_id: "Mine", note: "str" = ""): ...

    Local = str


class Mine(TypedDict):
    id: str


def test_a_method_is_registered_with_its_object():
    with pytest.raises(ContractError, match="Register the bound method"):
        of(Desk.create)
    assert of(Desk().create).names == ("order_id",)


def test_an_object_that_is_called_and_a_partial_are_read_too():
    assert (
        of(Desk()).bind((), {"order_id": {"id": "x"}}).text == '{"note":"","order_id":{"id":"x"}}'
    )

    def tool(tenant: str, order_id: "OrderId"): ...

    signature = of(functools.partial(functools.partial(tool), "t1"))
    assert signature.bind(("A1",)).text == '{"order_id":"A1"}'


def test_a_function_that_does_not_say_what_it_takes_is_refused():
    with pytest.raises(ContractError, match="does not say what it takes"):
        of(type)


def test_a_default_that_does_not_fit_is_refused():
    def tool(count: int = "three"): ...

    with pytest.raises(ContractError, match="count: expected an integer, got a string"):
        of(tool)


def test_a_default_of_none_means_optional():
    def tool(note: str = None): ...  # noqa: RUF013

    signature = of(tool)
    assert signature.bind().text == '{"note":null}'
    assert signature.bind((), {"note": "x"}).text == '{"note":"x"}'
    assert signature.schema()["properties"]["note"] == {
        "anyOf": [{"type": "string"}, {"type": "null"}],
        "default": None,
    }


# -------------------------------------------------------------------------- names in annotations


def test_string_annotations_of_local_classes_are_found():
    @dataclass
    class Local:
        id: "Inner"

    class Inner(TypedDict):
        id: str

    def tool(it: "Local", also: "list[Inner]"): ...

    bound = of(tool).bind((), {"it": {"id": {"id": "x"}}, "also": []})
    assert bound.values["it"] == Local({"id": "x"})


def made_elsewhere():
    class Local(TypedDict):
        id: str

    def tool(it: "Local"):
        return Local(id=it["id"])

    def blind(it: "Local"): ...

    return tool, blind


def test_a_local_class_is_found_in_the_closure_after_its_function_has_ended():
    tool, blind = made_elsewhere()
    assert of(tool).bind((), {"it": {"id": "x"}}).text == '{"it":{"id":"x"}}'
    with pytest.raises(ContractError, match="define it in the module"):
        of(blind)


def test_a_tool_may_speak_of_what_gets_its_value_further_down():
    """Two tools that call each other, say; the later one is not there yet."""

    def first(order_id: str) -> str:
        return later(order_id)

    assert of(first).names == ("order_id",)

    def later(order_id: str) -> str:
        return order_id

    assert of(later).names == ("order_id",)


def test_a_hidden_type_need_not_be_imported_and_does_not_shadow_another_one():
    def tool(order_id: str, attempt: "Attempt"): ...

    assert of(tool, kinds.Attempt).hidden == {"attempt": kinds.Attempt}

    Attempt = str  # noqa: N806

    def other(attempt: "Attempt"): ...

    assert of(other, kinds.Attempt).names == ("attempt",)


def test_hidden_types_are_found_inside_annotated_and_unions():
    def tool(
        one: Annotated[kinds.Attempt, "x"],
        two: Optional[kinds.Attempt] = None,  # noqa: UP045
        three: "kinds.Attempt | None" = None,
    ): ...

    assert list(of(tool, kinds.Attempt).hidden) == ["one", "two", "three"]


def test_an_unreadable_return_annotation_keeps_no_tool_from_being_registered():
    def tool(it: str) -> "Nowhere": ...  # noqa: F821

    assert of(tool).result.decode(of(tool).result.encode({"a": 1})) == {"a": 1}


# --------------------------------------------------------------------------------------- schema


def test_the_schema_for_models():
    signature = of(kinds.everything, kinds.Attempt)
    schema = signature.schema()
    assert schema["required"] == [name for name in signature.names if name not in ("note", "flag")]
    assert schema["additionalProperties"] is False
    shown = schema["properties"]
    text, number = {"type": "string"}, {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}
    day = {"type": "string", "format": "date"}
    assert shown["order_id"] == {**text, "description": "The order, as printed on the receipt"}
    assert shown["amount"] == number
    assert shown["rate"] == {"type": "number"}
    assert shown["number"] == {"anyOf": [{"type": "integer"}, {"type": "number"}]}
    assert shown["day"] == day
    assert shown["at"] == {"type": "string", "format": "date-time"}
    assert shown["id"] == {"type": "string", "format": "uuid"}
    assert shown["colour"] == {"enum": ["red", "blue"]}
    assert shown["odd"] == {"enum": ["PAIR", "TRUTH"]}
    assert shown["kind"] == {"anyOf": [{"enum": ["a", 1, True]}, {"type": "null"}]}
    assert shown["pair"] == {
        "type": "array",
        "minItems": 2,
        "maxItems": 2,
        "prefixItems": [{"type": "integer"}, number],
    }
    assert shown["many"] == {"type": "array", "items": day}
    assert shown["address"] == {
        "type": "object",
        "properties": {"city": text, "zip": text},
        "required": ["city"],
        "additionalProperties": False,
    }
    assert shown["lines"]["items"]["required"] == ["sku", "amount"]
    assert shown["prices"] == {"type": "object", "additionalProperties": number}
    assert shown["anything"] == shown["bare"] == {}
    assert shown["note"] == {"anyOf": [text, {"type": "null"}], "default": None}
    assert shown["flag"] == {"type": "boolean", "default": False}
    assert shown["payment"]["properties"]["day"]["format"] == "date"
    assert "$defs" not in schema


def references(schema):
    if isinstance(schema, dict):
        found = {schema["$ref"]} if "$ref" in schema else set()
        return found.union(*map(references, schema.values()))
    return set().union(*map(references, schema)) if isinstance(schema, list) else set()


def test_types_that_hold_themselves_are_referred_to_by_name():
    class Node(TypedDict):
        below: "list[Node]"

    def tool(one: kinds.Node, two: Node, tree: kinds.Tree, a: kinds.Branch, b: kinds.Branch): ...

    schema = of(tool).schema()
    names = {f"#/$defs/{name}" for name in schema["$defs"]}
    assert references(schema) == names
    assert {"#/$defs/Node", "#/$defs/Node-2", "#/$defs/Tree"} < names
    assert schema["$defs"]["Node-2"]["properties"]["below"]["items"]["$ref"] == "#/$defs/Node-2"


def test_the_schema_of_empty_and_open_things():
    def tool(a: tuple[()], b: dict, c: list, d: Literal["x"] = "x"): ...

    shown = of(tool).schema()["properties"]
    assert shown["a"] == {"type": "array", "minItems": 0, "maxItems": 0}
    assert shown["b"] == {"type": "object", "additionalProperties": True}
    assert shown["c"] == {"type": "array", "items": {}}
    assert shown["d"] == {"enum": ["x"], "default": "x"}


# ----------------------------------------------------------------------- kinds beyond the usual


@pytest.mark.parametrize(
    "annotation, value, native",
    [
        (OrderId, "A1", "A1"),
        (Sequence[int], (1, 2), [1, 2]),
        (Sequence, [1], [1]),
        (Mapping[str, int], {"a": 1}, {"a": 1}),
        (object, [1], [1]),
        (Any | int, [1], [1]),
        (typing.List[int], [1], [1]),  # noqa: UP006
        (typing.Dict[str, int], {"a": 1}, {"a": 1}),  # noqa: UP006
        (typing.Tuple, [1], (1,)),  # noqa: UP006
        (Annotated[int, Even()], 4, 4),
        (dict[Literal["a", "b"], int], {"a": 1}, {"a": 1}),
        (dict[Any, int], {"a": 1}, {"a": 1}),
        (Annotated[int, "a note"], 3, 3),
        (Annotated[int, annotated_types.Gt(2)], 3, 3),
        (Annotated[Decimal, pydantic.Field(gt=0)], "3.0", Decimal("3.0")),
        (dict[int, str], {"1": "a"}, {1: "a"}),
        (dict[kinds.Size, int], {"s": 1}, {kinds.Size.SMALL: 1}),
        (TypeAliasType("Lines", list[int]), [1], [1]),
        (kinds.Box[int], {"it": 1}, kinds.Box(1)),
        (kinds.Seeded | None, None, None),
        (kinds.Colour | None, "blue", kinds.Colour.BLUE),
        (pydantic.PositiveInt, 3, 3),
    ],
    ids=kinds.shown,
)
def test_kinds_beyond_the_usual(annotation, value, native):
    signature = of(annotated(annotation))
    bound = signature.bind((), {"it": value})
    assert bound.values["it"] == native
    assert type(bound.values["it"]) is type(native)
    assert signature.restore(bound.text) == bound.values
    assert signature.schema()["properties"]["it"] is not None


@pytest.mark.parametrize(
    "annotation, value",
    [
        (dict[Literal["a", "b"], int], {"c": 1}),
        (Annotated[int, annotated_types.Gt(2)], 1),
        (Annotated[int, annotated_types.Gt(2)], "3"),
        (Annotated[str, pydantic.Field(max_length=2)], "abc"),
        (pydantic.PositiveInt, -3),
        (Annotated[int, Even()], 3),
        (Sequence[int], "12"),
    ],
    ids=kinds.shown,
)
def test_what_is_declared_there_holds(annotation, value):
    with pytest.raises(InvalidArguments):
        of(annotated(annotation)).bind((), {"it": value})


def test_a_flag_is_pydantics():
    signature = of(annotated(kinds.Rights))
    bound = signature.bind((), {"it": kinds.Rights.READ})
    assert signature.restore(bound.text) == {"it": kinds.Rights.READ}


# -------------------------------------------------------------------------------------- pydantic


@pytest.mark.parametrize("annotation", [kinds.Payment, kinds.Unknown, kinds.Payment | kinds.Refund])
def test_without_pydantic_its_types_are_refused(annotation, monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(ContractError, match="not one of the supported kinds"):
        of(annotated(annotation))


ALONE = """
import sys
from decimal import Decimal
from ascertain.values.arguments import Signature

def tool(order_id: str, amount: Decimal, lines: list[dict], note: str | None = None) -> dict: ...

signature = Signature.of(tool)
bound = signature.bind(("A1", "10.00"), {"lines": [{"a": 1}]})
assert signature.restore(bound.text) == bound.values
signature.result.decode(signature.result.encode({"a": 1}))
print(sorted(name for name in sys.modules if name.startswith("pydantic")))
"""


def test_pydantic_is_not_imported_for_the_usual_kinds():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
