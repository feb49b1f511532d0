"""Observed functions keep their face: they return and raise exactly what they always did."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from ascertain.errors import AscertainError
from ascertain.runtime.calls import Calls
from ascertain.runtime.hands import log
from ascertain.runtime.registry import Entry
from ascertain.runtime.scope import current
from ascertain.runtime.session import Session


class _Face:
    """What the body did in one call: at most one value or one error."""

    __slots__ = ("error", "ran", "value")

    def __init__(self) -> None:
        self.ran = False
        self.value: Any = None
        self.error: BaseException | None = None

    def show(self) -> Any:
        """Return or raise what the body did."""
        if self.error is not None:
            raise self.error
        return self.value

    def sync(self, body: Callable[..., Any]) -> Callable[..., Any]:
        def listening(*args: Any, **kwargs: Any) -> Any:
            self.ran = True
            try:
                self.value = body(*args, **kwargs)
            except BaseException as error:
                self.error = error
                raise
            return self.value

        return listening

    def asynchronous(self, body: Callable[..., Any]) -> Callable[..., Any]:
        async def listening(*args: Any, **kwargs: Any) -> Any:
            self.ran = True
            try:
                self.value = await body(*args, **kwargs)
            except BaseException as error:
                self.error = error
                raise
            return self.value

        return listening


def keep_face(calls: Calls, entry: Entry, fallback: Callable[[], Session]) -> Callable[..., Any]:
    """The function as it was, watched; what cannot be recorded runs unwatched."""
    body = entry.body

    @functools.wraps(body)
    def observed(*args: Any, **kwargs: Any) -> Any:
        face = _Face()
        with _somewhere(fallback):
            try:
                calls.call(replace(entry, body=face.sync(body)), args, kwargs)
            except AscertainError:
                log.exception("%s: a call could not be observed", entry.name)
        return face.show() if face.ran else body(*args, **kwargs)

    return observed


def keep_face_async(
    calls: Calls, entry: Entry, fallback: Callable[[], Session]
) -> Callable[..., Any]:
    """The coroutine function as it was, watched; what cannot be recorded runs unwatched."""
    body = entry.body

    @functools.wraps(body)
    async def observed(*args: Any, **kwargs: Any) -> Any:
        face = _Face()
        with _somewhere(fallback):
            try:
                await calls.call_async(replace(entry, body=face.asynchronous(body)), args, kwargs)
            except AscertainError:
                log.exception("%s: a call could not be observed", entry.name)
        return face.show() if face.ran else await body(*args, **kwargs)

    return observed


def _somewhere(fallback: Callable[[], Session]) -> AbstractContextManager[object]:
    """Observed code need not know of sessions."""
    return nullcontext() if current.get() is not None else fallback()
