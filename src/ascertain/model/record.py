"""Frozen dataclasses that are finished when first used: an import pays for none of them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from inspect import get_annotations
from typing import Any, Final, dataclass_transform

_FINISHING: Final = threading.Lock()
_BY_POSITION: Final = set[type]()


class _Fields:
    """``__dataclass_fields__`` of a class that is not finished yet: asked for, it is."""

    def __get__(self, _: object, owner: type[Record]) -> dict[str, Any]:
        if not get_annotations(owner):
            raise AttributeError("__dataclass_fields__")  # a base of records, and none itself
        _finish(owner)
        found: dict[str, Any] = owner.__dict__["__dataclass_fields__"]
        return found


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Record:
    """A frozen dataclass by keyword; ``class Receipt(Record, kw_only=False)`` also by position.

    The methods of a dataclass are source code that is compiled, most of a millisecond each class:
    that is done when the first one is made, or looked at, and never for what is not used.
    """

    __dataclass_fields__ = _Fields()

    def __init_subclass__(cls, *, kw_only: bool = True) -> None:
        for base in cls.__mro__[1:]:
            if get_annotations(base):
                raise TypeError(f"{cls.__name__}: {base.__name__} has fields, and is not extended")
        if not kw_only:
            _BY_POSITION.add(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kind: Any = type(self)
        if get_annotations(kind):
            _finish(kind)
            kind.__init__(self, *args, **kwargs)  # now the class's own
        elif args or kwargs:
            raise TypeError(f"{kind.__name__} has no fields")


def _finish(cls: type[Record]) -> None:
    # Another thread may meet the class in the middle of it: it has Record's __init__ and waits
    # here, or its own, which is complete.
    with _FINISHING:
        if "__dataclass_fields__" not in cls.__dict__:
            dataclass(frozen=True, kw_only=cls not in _BY_POSITION)(cls)
