"""What a function declares: read once, when a tool is registered."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any, Final, NamedTuple, Union, cast, get_args, get_origin

from ascertain.errors import ContractError
from ascertain.values.annotations import SUPPORTED, Names, Reader
from ascertain.values.composites import UnionShape
from ascertain.values.foreign import NotUnderstood
from ascertain.values.misfit import Misfit, kind_of
from ascertain.values.results import Codec
from ascertain.values.shapes import NullShape, Shape

REQUIRED: Final = object()
_SHOWN: Final = 80


class Parameter(NamedTuple):
    """One parameter that a caller or a model fills.

    :param default: as declared; :data:`REQUIRED` if it has to be given.
    :param positional: whether it may be given by position.
    :param description: a string from its ``Annotated``, for models.
    """

    name: str
    shape: Shape
    default: Any = REQUIRED
    positional: bool = True
    description: str = ""


class Declared(NamedTuple):
    """What a function declares.

    :param name: of the function, for messages.
    :param parameters: the visible ones, in their order.
    :param hidden: types of the injected ones, by name.
    :param by_position: names of those, hidden ones among them, that have to be passed by position.
    :param result: the codec of the return annotation.
    """

    name: str
    parameters: tuple[Parameter, ...]
    hidden: Mapping[str, type[Any]]
    by_position: tuple[str, ...]
    result: Codec


def read(function: Callable[..., Any], hidden: tuple[type[Any], ...]) -> Declared:
    """Read a function's parameters and type hints.

    :raises ContractError: a parameter that cannot be checked or stored, with the reason.
    """
    name = str(getattr(function, "__qualname__", type(function).__name__))
    try:
        declared = inspect.signature(function)
    except (TypeError, ValueError):
        raise ContractError(
            f"{name} does not say what it takes, so its arguments cannot be checked.",
            next_step="Wrap it in a function of your own with annotated parameters.",
        ) from None
    names = _names_around(function, hidden)
    reader = Reader(names)
    visible: list[Parameter] = []
    injected: dict[str, type[Any]] = {}
    by_position: list[str] = []
    for place, parameter in enumerate(declared.parameters.values()):
        _check_kind(name, parameter, first=place == 0)
        try:
            annotation = _resolved(parameter.annotation, names)
            found = _hidden_type(annotation, hidden)
            if found is None:
                visible.append(_parameter(name, parameter, annotation, reader))
            else:
                injected[parameter.name] = found
        except NotUnderstood as error:
            raise ContractError(
                f"{name}: the parameter {parameter.name!r} is annotated with "
                f"{_shown(parameter.annotation)}, which cannot be checked and stored: {error}.",
                next_step=f"Supported are {SUPPORTED}.",
                parameter=parameter.name,
            ) from None
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            by_position.append(parameter.name)
    return Declared(
        name=name,
        parameters=tuple(visible),
        hidden=injected,
        by_position=tuple(by_position),
        result=Codec.of(_or_any(declared.return_annotation), names),
    )


def _check_kind(name: str, parameter: inspect.Parameter, *, first: bool) -> None:
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise ContractError(
            f"{name}: {parameter} takes arguments that are not declared, which nobody can judge.",
            next_step="Name each parameter, or take one parameter that is a dict or a list.",
            parameter=parameter.name,
        )
    if first and parameter.name in ("self", "cls") and _is_empty(parameter.annotation):
        raise ContractError(
            f"{name} is a method without its object.",
            next_step="Register the bound method: app.tool(object.method).",
            parameter=parameter.name,
        )


def _parameter(
    name: str, parameter: inspect.Parameter, annotation: Any, reader: Reader
) -> Parameter:
    shape = reader.shape(annotation)
    default = REQUIRED if _is_empty(parameter.default) else parameter.default
    if default is not REQUIRED:
        shape = _with_default(name, parameter, shape)
    return Parameter(
        name=parameter.name,
        shape=shape,
        default=default,
        positional=parameter.kind is not inspect.Parameter.KEYWORD_ONLY,
        description=_description(annotation),
    )


def _with_default(name: str, parameter: inspect.Parameter, shape: Shape) -> Shape:
    """The shape, if the default fits it; `x: int = None` is read as what it means."""
    try:
        shape.check(parameter.default)
    except Misfit as found:
        if parameter.default is None:
            return UnionShape([shape, NullShape()])
        error = found.within(parameter.name).as_error()
        raise ContractError(
            f"{name}: a default does not fit its own annotation: {error.message}",
            parameter=parameter.name,
        ) from None
    return shape


def _description(annotation: Any) -> str:
    if get_origin(annotation) is not Annotated:
        return ""
    notes = get_args(annotation)[1:]
    texts = [getattr(note, "documentation", note) for note in notes]
    return next((text for text in texts if isinstance(text, str)), "")


def _is_empty(value: Any) -> bool:
    return value is inspect.Parameter.empty


def _or_any(annotation: Any) -> Any:
    return Any if _is_empty(annotation) else annotation


def _resolved(annotation: Any, names: Names) -> Any:
    return annotation if _is_empty(annotation) else names.resolve(annotation)


def _hidden_type(annotation: Any, hidden: tuple[type[Any], ...]) -> type[Any] | None:
    """The hidden type that an annotation names, also inside Annotated and unions."""
    if get_origin(annotation) is Annotated:
        return _hidden_type(get_args(annotation)[0], hidden)
    if get_origin(annotation) in (Union, types.UnionType):
        options = [_hidden_type(option, hidden) for option in get_args(annotation)]
        return next((option for option in options if option is not None), None)
    return next((kind for kind in hidden if annotation is kind), None)


def _shown(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _names_around(function: Callable[..., Any], hidden: tuple[type[Any], ...]) -> Names:
    """Where a function's string annotations are looked up.

    First in its module; then, for local classes, in its closure and in the functions that are just
    now running around its definition; last among the hidden types, which many modules import only
    for type checkers.
    """
    inner: Any = inspect.unwrap(function)
    while isinstance(inner, functools.partial):
        inner = inspect.unwrap(cast("Any", inner).func)
    if not hasattr(inner, "__globals__") and not hasattr(inner, "__func__"):
        inner = getattr(kind_of(inner), "__call__")  # noqa: B004, B009  # an object that is called
    inner = getattr(inner, "__func__", inner)
    module: dict[str, Any] = getattr(inner, "__globals__", {})
    return Names(
        module,
        [
            _closure(inner) if inspect.isfunction(inner) else {},
            *_running(module),
            {kind.__name__: kind for kind in hidden},
        ],
    )


def _closure(function: Any) -> dict[str, Any]:
    """What a function takes from the ones around it, as far as that is there already."""
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # it gets its value further down: no annotation uses that one
            found[name] = cell.cell_contents
    return found


def _running(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Local names of the running functions and class bodies of a module, innermost first."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals is module and frame.f_locals is not module:
            yield dict(frame.f_locals)
        frame = frame.f_back
