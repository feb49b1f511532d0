"""Texts of the configuration with places to fill: ``{key}``, ``{arguments.order_id}``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from ascertain.errors import ContractError
from ascertain.rules.news.replies import read_path
from ascertain.values.misfit import is_array

_PLACE: Final = re.compile(
    r"\{(key|value|provider_ref|related_ref|handle|action_id|(?:arguments|env)\.[^{}]+)\}"
)


def fill(value: Any, places: Mapping[str, Any], quote: Callable[[str], str] | None = None) -> Any:
    """Fill the places in a text, or in all texts of a list or a table.

    A text that is one place and nothing else becomes what stands there, whatever its type.

    :param places: by name; ``arguments.a.0.b`` is a path in ``arguments``.
    :param quote: applied to what is filled in, for patterns.
    :raises LookupError: there is nothing for a place.
    """
    if isinstance(value, Mapping):
        table = cast("Mapping[str, Any]", value)
        return {name: fill(item, places, quote) for name, item in table.items()}
    if is_array(value):
        return [fill(item, places, quote) for item in value]
    if not isinstance(value, str):
        return value
    whole = _PLACE.fullmatch(value)
    if whole is not None and quote is None:
        return _at(whole[1], places)

    def text(found: re.Match[str]) -> str:
        said = str(_at(found[1], places))
        return said if quote is None else quote(said)

    return _PLACE.sub(text, value)


def places_in(value: Any) -> set[str]:
    """The names of all places in a text, a list or a table."""
    if isinstance(value, Mapping):
        table = cast("Mapping[str, Any]", value)
        return {name for item in table.values() for name in places_in(item)}
    if is_array(value):
        return {name for item in value for name in places_in(item)}
    return set(_PLACE.findall(value)) if isinstance(value, str) else set()


def check_places(where: str, value: Any, allowed: frozenset[str]) -> None:
    """Refuse places for which there will be nothing.

    :raises ContractError: with their names.
    """
    roots = {name: name.partition(".")[0] for name in places_in(value)}
    strange = sorted(name for name, root in roots.items() if root not in allowed)
    if strange:
        known = ", ".join(f"{{{name}}}" for name in sorted(allowed))
        raise ContractError(f"{where}: there is no {{{strange[0]}}} here; there is {known}.")


def _at(name: str, places: Mapping[str, Any]) -> Any:
    root, _, rest = name.partition(".")
    found = places.get(root)
    if rest:
        found = found.get(rest) if root == "env" and found else read_path(found, rest)
    if found is None:
        raise LookupError(f"there is no {name}")
    return found
