"""A compensation that could never run is refused when it is declared, not when it is due."""

from typing import Annotated, Any

import pytest

from ascertain import Ascertain, Undone
from ascertain.errors import ContractError


@pytest.fixture
def app(tmp_path):
    with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none") as app:
        yield app


@pytest.fixture
def reserve(app):
    @app.tool()
    def reserve(order_id: str) -> dict:
        return {}

    return reserve


def bare(undone):
    return {}


def of_text(undone: str) -> dict:
    return {}


def of_a_dict(undone: dict) -> dict:
    return {}


def of_anything(undone: Any) -> dict:
    return {}


def by_name_only(*, undone: Undone) -> dict:
    return {}


@pytest.mark.parametrize("function", [bare, of_text, of_a_dict, of_anything, by_name_only])
def test_a_compensation_that_could_not_be_told_what_it_reverses_is_refused(app, reserve, function):
    with pytest.raises(ContractError, match="'undone' of a compensation") as refused:
        reserve.compensate(name="release")(function)
    assert "undone: Undone" in refused.value.advice
    assert reserve.contract.undo is None, "it may be declared rightly now"
    assert app.registry.find("release") is None


@pytest.mark.parametrize("annotation", [Undone, "Undone", Undone | None, Annotated[Undone, "it"]])
def test_it_may_be_said_in_any_way_that_it_takes_an_undone(reserve, annotation):
    def release(undone) -> dict:
        return {}

    release.__annotations__["undone"] = annotation
    assert reserve.compensate()(release).contract.undoes == "reserve"
