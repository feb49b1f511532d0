"""A guarded tool: called like the function it was, returning what is known."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextvars import copy_context
from functools import partial
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, Unpack, overload

from ascertain.errors import AscertainError, ContractError, InvalidArguments
from ascertain.model.contract import Contract, LookupPromise
from ascertain.model.words import Undone
from ascertain.runtime import undoing
from ascertain.runtime.action import Action
from ascertain.runtime.durations import seconds
from ascertain.runtime.place import Place
from ascertain.runtime.promises import Promises
from ascertain.runtime.registry import Entry, Registry
from ascertain.runtime.wanting import NONE, Options

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


class Caller(Protocol):
    """The app, as far as a tool needs it."""

    registry: Registry

    def guarded(
        self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options
    ) -> Action[Any]:
        """Make a call in this thread."""
        ...

    def guarded_async(
        self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options
    ) -> Coroutine[Any, Any, Action[Any]]:
        """Make a call on the running loop."""
        ...


class _Declared(Generic[P]):
    """What sync and async tools have in common: the declaration."""

    def __init__(self, app: Caller, entry: Entry, options: Options = NONE) -> None:
        self._app = app
        self._entry = entry
        self._options = options
        self.__name__ = entry.name
        self.__doc__ = entry.body.__doc__
        self.__wrapped__ = entry.body

    @property
    def contract(self) -> Contract:
        """The contract in force."""
        return self._entry.contract

    @property
    def name(self) -> str:
        return self._entry.name

    def schema(self) -> dict[str, Any]:
        """JSON schema of the arguments that a model may supply."""
        contract = self._entry.contract
        return self._entry.signature.schema(
            filled=frozenset(contract.context), optional=frozenset(contract.either)
        )

    def lookup(
        self,
        *,
        by: str = "key",
        absence_final_after: float | str | None = None,
        fences: bool | str = False,
    ) -> Callable[[F], F]:
        """Attach the look-up: how to ask the provider what became of an action.

        It returns ``Found(ref)``, ``Absent``, ``Refused(code)`` or ``Processing()``; when it
        raises, there was no answer.

        :param by: ``key``, or ``fields``: then it confirms only when exactly one record fits that
            is not another action's, and while no other with the same identity is in doubt.
        :param absence_final_after: how long after the last possible send an "absent" becomes final
            (seconds, or text such as ``10s``); None: never.
        :param fences: asking also guarantees that the key can no longer take effect (True), or
            only that what was sent so far cannot (``attempt``). Absence is then final at once.
        :raises ContractError: there is one already, or the promise makes no sense.
        """
        if by not in ("key", "fields"):
            raise ContractError(f"{self.name}: a look-up goes by 'key' or by 'fields', not {by!r}.")
        if fences not in (True, False, "key", "attempt", ""):
            raise ContractError(f"{self.name}: fences is True, 'key' or 'attempt', not {fences!r}.")
        promise = LookupPromise(
            by=by,
            absence_final_after_s=seconds(absence_final_after, "absence_final_after"),
            fences="key" if fences is True else fences or "",
        )

        def attach(function: F) -> F:
            self._entry.add_lookup(function, promise)
            return function

        return attach

    def check_related(self, function: F) -> F:
        """Attach the check whether a record that a refusal names belongs to this caller.

        It receives the action with ``related_ref`` and returns True only if so. Without it, the
        reference of an existing record is never told.
        """
        self._entry.related = function
        return function

    def compensate(
        self, *, within: float | str | None = None, by: str = "reference", offered: bool = False,
        **said: Unpack[Promises],
    ) -> Callable[[Callable[[Undone], Any]], Compensation[...]]:  # fmt: skip
        """Attach the compensation: how to reverse what this tool did, as an action of its own.

        The function takes one :class:`~ascertain.Undone`. It becomes a guarded tool with its own
        key, contract and look-up, which no model can call.

        :param within: how long after the last send it may still be begun (``24h``); None: always.
        :param by: ``reference``: it reverses what is known by the provider's reference; ``key``: it
            works by our key, whether or not the effect happened.
        :param offered: a model may ask for it: ``next_allowed`` of a confirmed call that is in no
            chain has ``undo_<noun>`` then.
        :raises ContractError: a read, a compensation of a compensation, a second one, or a function
            whose parameter is not annotated with :class:`~ascertain.Undone`.
        """

        def attach(function: Callable[[Undone], Any]) -> Compensation[...]:
            way = undoing.way_of(within, by)
            entry = undoing.declare(self._entry, function, way, said)
            self._app.registry.add(entry)
            self._entry.promise(
                undo=entry.name, undo_within_s=way.within_s, undo_by=way.by, undo_offered=offered
            )
            return Compensation[...](self._app, entry)

        return attach

    def snapshot(self, function: F) -> F:
        """Attach a read of what the provider shows now, for the person who has to decide.

        It receives the action and returns plain data: the balance, the order. It is asked when
        undoing could not be done by itself, and kept with the case.

        :raises ContractError: a second one, or an async one on a sync tool.
        """
        if self._entry.snapshot is not None:
            raise ContractError(f"{self.name} has a snapshot already.")
        if inspect.iscoroutinefunction(function) and not self._entry.is_async:
            raise ContractError(
                f"{self.name} is a sync tool; its snapshot must be a plain function too."
            )
        self._entry.snapshot = function
        return function

    def _calls(self, calls: Iterable[Mapping[str, Any]]) -> list[tuple[dict[str, Any], Options]]:
        """The calls of a batch with one action for each item, all checked before any is made."""
        wanted = [dict(arguments) for arguments in calls]
        for place, arguments in enumerate(wanted):
            try:
                self._entry.signature.bind((), arguments)
            except InvalidArguments as error:
                error.message = f"Item {place}: {error.message}"
                raise
        call_id = self._options.call_id
        return [
            (arguments, self._options._replace(call_id=call_id and f"{call_id}/{place}"))
            for place, arguments in enumerate(wanted)
        ]

    def _replaced(self, options: dict[str, Any]) -> Options:
        ordinal = options.get("ordinal")
        intent = options.get("intent")
        if ordinal is not None and intent is not None:
            raise ContractError("Name an intended second by ordinal= or by intent=, not by both.")
        name = intent if intent is not None else ordinal
        return Options(
            call_id=options.get("call_id", self._options.call_id),
            ordinal=self._options.ordinal if name in (None, 1) else str(name),
            deadline_s=seconds(options.get("deadline"), "deadline"),
            place=self._options.place,
        )


class Compensation(_Declared[P], Generic[P]):
    """What reverses a tool: guarded like it, called by recovery only."""


class Tool(_Declared[P], Generic[P, R]):
    """A guarded sync tool."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Action[R]:
        """Make the call; the body runs in this thread.

        :raises InvalidArguments: they do not fit; nothing was sent.
        :raises IntentConflict: the intent is alive with other exact arguments; nothing was sent.
        :raises LedgerError: the intent could not be recorded; nothing was sent.
        """
        return self._app.guarded(self._entry, args, kwargs, self._options)

    def each(
        self, calls: Iterable[Mapping[str, Any]], *, at_once: int = 8
    ) -> list[Action[R] | AscertainError]:
        """Make one call for each item, several at once: an action, an intent and a key for each.

        :param calls: the arguments of each call. The same item twice is one action, twice in the
            result. :param at_once: in how many threads.
        :returns: in the order of ``calls``; an error stands for a call that could not be made.
        :raises InvalidArguments: of the first item that does not fit; nothing was sent of any.
        """
        made = self._calls(calls)
        if not made:
            return []

        def one(arguments: dict[str, Any], options: Options) -> Action[R] | AscertainError:
            try:
                return self._app.guarded(self._entry, (), arguments, options)
            except AscertainError as error:
                return error

        from concurrent.futures import ThreadPoolExecutor  # nobody else needs it at import

        with ThreadPoolExecutor(min(at_once, len(made)), "ascertain-each") as pool:
            waiting = [
                pool.submit(copy_context().run, partial(one, arguments, options))
                for arguments, options in made
            ]
            return [future.result() for future in waiting]

    def options(
        self,
        *,
        call_id: str | None = None,
        ordinal: int | str | None = None,
        intent: str | None = None,
        deadline: float | str | None = None,
    ) -> Tool[P, R]:
        """The same tool with something said about the call: ``tool.options(ordinal=2)(...)``.

        :param call_id: the framework's id of the call.
        :param ordinal, intent: name an intended second, so that a re-run finds it.
        :param deadline: bounds the call (seconds, or text such as ``5s``).
        """
        said = {"call_id": call_id, "ordinal": ordinal, "intent": intent, "deadline": deadline}
        return Tool(self._app, self._entry, self._replaced(said))

    def in_engine(self, call_id: str) -> Tool[P, R]:
        """The same tool for one call of an engine, whose ids never repeat."""
        options = self._options._replace(call_id=call_id, never_repeats=True)
        return Tool(self._app, self._entry, options)

    def placed(self, place: Place) -> Tool[P, R]:
        """The same tool as a step of a chain; see ``Chain.step``."""
        return Tool(self._app, self._entry, self._options._replace(place=place))


class AsyncTool(_Declared[P], Generic[P, R]):
    """A guarded async tool."""

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Action[R]:
        """Make the call on the running loop, which is never blocked.

        :raises InvalidArguments: they do not fit; nothing was sent.
        :raises IntentConflict: the intent is alive with other exact arguments; nothing was sent.
        :raises LedgerError: the intent could not be recorded; nothing was sent.
        """
        return await self._app.guarded_async(self._entry, args, kwargs, self._options)

    async def each(
        self, calls: Iterable[Mapping[str, Any]], *, at_once: int = 64
    ) -> list[Action[R] | AscertainError]:
        """Make one call for each item, several at once: see :meth:`Tool.each`.

        :param at_once: how many tasks of them run at a time.
        :raises InvalidArguments: of the first item that does not fit; nothing was sent of any.
        """
        import asyncio

        gate = asyncio.Semaphore(at_once)

        async def one(arguments: dict[str, Any], options: Options) -> Action[R] | AscertainError:
            async with gate:
                try:
                    return await self._app.guarded_async(self._entry, (), arguments, options)
                except AscertainError as error:
                    return error

        return list(await asyncio.gather(*(one(*call) for call in self._calls(calls))))

    def options(
        self,
        *,
        call_id: str | None = None,
        ordinal: int | str | None = None,
        intent: str | None = None,
        deadline: float | str | None = None,
    ) -> AsyncTool[P, R]:
        """The same tool with something said about the call: see :meth:`Tool.options`."""
        said = {"call_id": call_id, "ordinal": ordinal, "intent": intent, "deadline": deadline}
        return AsyncTool(self._app, self._entry, self._replaced(said))

    def in_engine(self, call_id: str) -> AsyncTool[P, R]:
        """The same tool for one call of an engine, whose ids never repeat."""
        options = self._options._replace(call_id=call_id, never_repeats=True)
        return AsyncTool(self._app, self._entry, options)

    def placed(self, place: Place) -> AsyncTool[P, R]:
        """The same tool as a step of a chain; see ``Chain.step``."""
        return AsyncTool(self._app, self._entry, self._options._replace(place=place))


class Decorator(Protocol):
    """What ``@app.tool(...)`` does to a function.

    The type says sync or async, and keeps both the parameters and the result.
    """

    @overload
    def __call__(  # type: ignore[overload-overlap]  # a coroutine function is the closer match
        self, body: Callable[P, Coroutine[Any, Any, R]]
    ) -> AsyncTool[P, R]: ...
    @overload
    def __call__(self, body: Callable[P, R]) -> Tool[P, R]: ...
    def __call__(self, body: Callable[..., Any]) -> Any: ...
