"""The contract that all doors share: one tool call of a framework in, one fact out.

The way of a call is written once, as a generator of steps; a step knows how it is made in sync and
in async code.
"""

from __future__ import annotations

import inspect
import json
import os
import threading
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Final, Protocol

from ascertain.adapters.calling import Step, ToolCall, Way, apart, call_id_of, driven, driven_async
from ascertain.adapters.guests import Guest, Run, as_value, without
from ascertain.adapters.taking import NEXT, WHICH, taken
from ascertain.adapters.told import NOTHING, Fact
from ascertain.adapters.unmade import TOLD, cut_off, not_listed, refused
from ascertain.errors import ContractError, LedgerError, NoScope, NotAllowed
from ascertain.model.contract import Contract
from ascertain.rules.chain import begins_own
from ascertain.rules.facts import (
    ASK_PERSON,
    CALL_AGAIN,
    CORRECT_ARGUMENTS,
    MANUAL_REVIEW,
    MARK_PENDING,
    WAIT,
    facts_of,
    query,
    undo,
)
from ascertain.runtime.action import Action
from ascertain.runtime.app import Ascertain
from ascertain.runtime.refusing import log
from ascertain.runtime.registry import Entry
from ascertain.runtime.scope import current
from ascertain.runtime.session import Session
from ascertain.runtime.wanting import Options
from ascertain.runtime.wrapping import read_config

DESCRIPTION: Final = (
    "Do one of the things that the last facts list under next_allowed, such as asking the provider "
    "what became of a call. Anything else has no effect."
)
ALWAYS: Final = (MARK_PENDING, MANUAL_REVIEW, WAIT, ASK_PERSON, CORRECT_ARGUMENTS, CALL_AGAIN)
UNLISTED: Final = ("write", "pass", "refuse")

ScopeOf = Session | Callable[[Any], Session | None]


Ordinal = Callable[[ToolCall], int | str | None]


class EntryOf(Protocol):
    """What a call is made with, in sync or in async code."""

    def __call__(self, *, is_async: bool) -> Entry: ...


class Door:
    """Stands between a framework and the tools of an app.

    :param scope: whose wish it is: a session, or a function that makes one of what the framework
        gives; None: the session that the agent runs in.
    :param config: a TOML file with a table ``[tools.NAME]`` for each guest: ``access`` (``write``,
        ``read`` or ``pass``) and what the tool promises, as in :meth:`declare`.
    :param unlisted: what a tool is that nobody declared: ``write`` (blind; the safe default),
        ``pass`` (let through untouched) or ``refuse``.
    :param ordinal: names an intended second of the same intent in one turn, from what the program
        knows of the call; a model cannot.
    :param show: own tools whose answer a model is shown beside the facts, or True: all of them;
        reads always are.
    :raises ContractError: an option that makes no sense.
    """

    def __init__(
        self,
        app: Ascertain,
        *,
        scope: ScopeOf | None = None,
        config: str | os.PathLike[str] | None = None,
        unlisted: str = "write",
        ordinal: Ordinal | None = None,
        show: Sequence[str] | bool = (),
    ) -> None:
        if unlisted not in UNLISTED:
            raise ContractError(f"unlisted={unlisted!r}: it is one of {', '.join(UNLISTED)}.")
        if app.registry.find(NEXT) is not None:
            raise ContractError(f"A tool of the app is named {NEXT!r}, as the one that doors add.")
        self.app = app
        self.scope = scope
        self._unlisted = unlisted
        self._ordinal = ordinal
        self._show = show if isinstance(show, bool) else frozenset(show)
        self._said: dict[str, dict[str, Any]] = {}
        self._guests: dict[str, Guest] = {}
        self._lock = threading.Lock()
        for name, said in (read_config(config, targets=False) if config else {}).items():
            self.declare(name, **said)

    # -- tools ----------------------------------------------------------------------------------

    def declare(self, name: str, **said: Any) -> None:
        """Say what a tool of the framework promises; the tool itself stays as it is.

        :param said: as for :meth:`~ascertain.Ascertain.tool`, and ``access``: ``write`` (default),
            ``read``, or ``pass`` (let through untouched, for reads); ``lookup``: a function, or
            ``{"target": function, "absence_final_after": "10s"}``; ``alone``: a function that does
            the same from a dict of the arguments alone, so that recovery may send;
            ``fills={"idempotency_key": "key", "user_id": "principal"}``: parameters that the
            program fills and a model does not see; ``show=False``: facts alone for the model.
        :raises ContractError: a second declaration, or one of an own tool.
        """
        if name in self._said or self.app.registry.find(name) is not None:
            raise ContractError(f"{name} is declared already.")
        self._said[name] = said

    def learn(self, name: str, schema: Mapping[str, Any]) -> None:
        """Hear of a tool of the framework. A worker's process has to hear of guests as well.

        :param schema: the JSON schema of its arguments.
        :raises ContractError: its declaration cannot be kept.
        """
        if self.app.registry.find(name) is not None or self.passes(name) or self._refuses(name):
            return
        with self._lock:
            if name not in self._guests:
                self._guests[name] = Guest(self.app, name, schema, self._said.get(name, {}))

    def declared(self, name: str) -> bool:
        """Whether somebody has said what the tool promises."""
        return name in self._said or self.app.registry.find(name) is not None

    def passes(self, name: str) -> bool:
        """Whether calls of this tool are none of ours."""
        if name == NEXT or self.app.registry.find(name) is not None:
            return False
        said = self._said.get(name)
        return self._unlisted == "pass" if said is None else said.get("access") == "pass"

    def shown(self, name: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema of a guest as a model is shown it: without what the program fills."""
        guest = self._guests.get(name)
        return without(schema, guest.fills) if guest is not None and guest.fills else schema

    def filled(self, name: str) -> frozenset[str]:
        """The parameters of a guest that the program fills."""
        guest = self._guests.get(name)
        return frozenset() if guest is None else frozenset(guest.fills)

    def own(self, name: str) -> tuple[str, dict[str, Any]]:
        """Description and schema of an own tool, for a model.

        :raises UnknownTool: there is none of that name.
        """
        entry = self.app.registry.get(name)
        schema = entry.signature.schema(
            filled=frozenset(entry.contract.context), optional=frozenset(entry.contract.either)
        )
        return inspect.getdoc(entry.body) or name.replace("_", " "), schema

    def entries(self) -> list[str]:
        """Everything that can ever stand in ``next_allowed`` of this app's tools."""
        asks = [
            query(entry.contract)
            for entry in self.app.registry
            if entry.contract.lookup is not None and not entry.contract.is_read
        ]
        return [*dict.fromkeys(asks), *self._undos(), *ALWAYS]

    def _undos(self) -> list[str]:
        return [undo(entry.contract) for entry in self.app.registry if begins_own(entry.contract)]

    def next_schema(self, entries: Sequence[str] = ()) -> dict[str, Any]:
        """The schema of the tool ``ascertain``.

        :param entries: what is allowed now; by default everything that ever can be.
        """
        wanted = list(entries) or self.entries()
        properties: dict[str, Any] = {"entry": {"type": "string", "enum": wanted}}
        if not set(self._undos()).isdisjoint(wanted):
            properties["provider_ref"] = {"type": "string", "description": WHICH}
        return {
            "type": "object", "properties": properties, "required": ["entry"],
            "additionalProperties": False,
        }  # fmt: skip

    # -- calls ----------------------------------------------------------------------------------

    def answer(self, call: ToolCall, run: Run | None = None) -> Fact:
        """Make a call in this thread.

        :param run: the framework's handler, for a guest: takes the arguments that are to be sent
            (those that were stored first), and gives back the answer as JSON or text.
        :raises NoScope: nobody is known whose wish it is; nothing was sent.
        :raises ContractError: the program declares or calls the tool wrongly; nothing was sent.
        """
        way = self._way(call, run)
        return driven(way)

    async def answer_async(self, call: ToolCall, run: Run | None = None) -> Fact:
        """The same on the running loop; ``run`` is async then."""
        way = self._way(call, run)
        return await driven_async(way)

    def _way(self, call: ToolCall, run: Run | None) -> Way:
        with _turned(self._session(call), call.turn) as session:
            try:
                if not call.whole:
                    raise _CutOff
                arguments = call.parsed()
                if call.tool == NEXT:
                    return (yield from taken(session, arguments, self._undos()))
                if self._refuses(call.tool):
                    return not_listed(call.tool)
                action: Action[Any] = yield self._made(session, call, arguments, run)
            except _CutOff:
                return cut_off(call.tool)
            except TOLD as error:
                return refused(call.tool, error)
            # From here on it was made: no error of the telling says that it was not.
            fact: Fact = yield apart(self.fact_of, call.tool, action)
            return fact

    def _made(
        self, session: Session, call: ToolCall, arguments: dict[str, Any], run: Run | None
    ) -> Step:
        guest = self._guests.get(call.tool)
        named = None if self._ordinal is None else self._ordinal(call)
        options = Options(
            call_id=call_id_of(call, session.scope.turn, arguments),
            ordinal="" if named in (None, 1) else str(named),
        )
        own = self.app.registry.get(call.tool)
        if guest is None and own.contract.undoes:
            raise NotAllowed(f"{call.tool} is called by recovery only.")
        hidden: Container[str] = own.signature.hidden if guest is None else guest.fills
        kwargs = {name: value for name, value in arguments.items() if name not in hidden}

        def entry_of(*, is_async: bool) -> Entry:
            return own if guest is None else guest.entry(run, is_async=is_async)

        return Step(
            partial(self._guarded, session, call.tool, entry_of, kwargs, options),
            partial(self._guarded_async, session, entry_of, kwargs, options),
        )

    def _guarded(
        self,
        session: Session,
        tool: str,
        entry_of: EntryOf,
        kwargs: dict[str, Any],
        options: Options,
    ) -> Action[Any]:
        entry = entry_of(is_async=False)
        if entry.is_async:
            raise ContractError(
                f"{tool} is an async tool, and was called by sync code.",
                next_step="Run the agent async, or make the tool a plain function.",
            )
        with session.acting():
            return _heard(self.app.guarded(entry, (), kwargs, options), options)

    async def _guarded_async(
        self,
        session: Session,
        entry_of: EntryOf,
        kwargs: dict[str, Any],
        options: Options,
    ) -> Action[Any]:
        with session.acting():
            entry = entry_of(is_async=True)
            return _heard(await self.app.guarded_async(entry, (), kwargs, options), options)

    def fact_of(self, tool: str, action: Action[Any]) -> Fact:
        """The fact of a call that was made. Where the ledger cannot be read for more, it is what is
        in hand: the state, without the answer, and a person is all that is offered.
        """
        record, contract = action.record, self.app.registry.get(tool).contract
        confirmed = action.confirmed and not record.disputed
        data: Any = NOTHING
        try:
            facts = action.facts()
            if confirmed:
                data = as_value(self._answer_of(tool, action, contract))
        except LedgerError as error:
            line = {"event": "not_all_told", "action": record.id, "ledger": error.code}
            log.warning(json.dumps(line))
            facts = facts_of([(record, contract)], self.app.hands.clock())
            facts["next_allowed"] = [ASK_PERSON]
        return Fact(tool, facts, confirmed=confirmed, data=data, action=action.id)

    def _answer_of(self, tool: str, action: Action[Any], contract: Contract) -> Any:
        """The provider's answer, where a model is shown it."""
        guest = self._guests.get(tool)
        own = self._show if isinstance(self._show, bool) else tool in self._show
        if not (contract.is_read or own or (guest is not None and guest.show)):
            return NOTHING
        text = action.result_json
        return action.result if text is None else json.loads(text)

    # -- whose wish it is -----------------------------------------------------------------------

    def _session(self, call: ToolCall) -> Session:
        scope = self.scope
        if scope is None:
            session = current.get()
            if not isinstance(session, Session):
                raise NoScope
            return session
        found = scope if isinstance(scope, Session) else scope(call.host)
        if not isinstance(found, Session):
            raise NoScope(f"scope= gave {type(found).__name__}, which is no session.")
        return found

    def _refuses(self, name: str) -> bool:
        return self._unlisted == "refuse" and not self.declared(name)


def _heard(action: Action[Any], options: Options) -> Action[Any]:
    """A call that comes once more is told in the log: a framework repeats, or a run was resumed."""
    record = action.record
    if options.call_id and action.how != "new" and record.call_id == options.call_id:
        line = {
            "event": "call_repeated", "action": record.id, "tool": record.tool,
            "session": record.session, "state": str(record.state),
        }  # fmt: skip
        log.info(json.dumps(line))
    return action


class _CutOff(Exception):
    """The model did not come to the end of its call."""


def _turned(session: Session, turn: str) -> AbstractContextManager[Session]:
    """The session in this turn; a turn that the program has named already stands."""
    return session.turn(turn) if turn and not session.scope.turn else nullcontext(session)
