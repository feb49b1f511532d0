"""The app: one ledger, its tools, its sessions, its worker. Sync and async alike."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, cast

from ascertain.errors import ActionNotFound, ContractError
from ascertain.model.contract import (
    Budget,
    Contract,
    KeyFormat,
    OncePer,
    OnUnknown,
    RefusalRule,
    Repeat,
)
from ascertain.rules.arguments import Codec, Signature
from ascertain.runtime.action import Action
from ascertain.runtime.attempt import Attempt
from ascertain.runtime.calls import Calls, Options
from ascertain.runtime.clock import Clock, LedgerClock
from ascertain.runtime.desk import Desk
from ascertain.runtime.hands import Hands
from ascertain.runtime.observed import keep_face, keep_face_async
from ascertain.runtime.registry import Entry, Registry, check_contract, noun_of, seconds
from ascertain.runtime.scope import Session
from ascertain.runtime.tool import AsyncTool, Decorator, Tool
from ascertain.runtime.verdict import resolve
from ascertain.runtime.worker import EmbeddedWorker, Worker
from ascertain.store.ids import new_id
from ascertain.store.ledger import Ledger
from ascertain.store.open import open_ledger
from ascertain.wire.watch import exit_name, watch

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])


class Ascertain:
    """Makes every tool call end in a known truth.

    :param url: where the ledger lives, ``sqlite:///ledger.db``.
    :param tenant: whose ledger entries these are, where a session does not say.
    :param secret: the key of intents and of the event chain; by default from
        ``ASCERTAIN_SECRET`` or a file beside the ledger.
    :param worker: ``embedded`` recovers open actions in a thread of this process from the first
        write on; ``none`` leaves that to ``ascertain worker`` and to callers.
    :param mode: ``guard``, or ``observe``: record and judge, change nothing.
    :raises ContractError: an option that makes no sense.
    """

    def __init__(
        self,
        url: str = "sqlite:///ascertain.db",
        *,
        tenant: str = "default",
        secret: bytes | None = None,
        worker: str = "embedded",
        mode: str = "guard",
        queue_bound: int = 10_000,
        clock: Clock | None = None,
        lease_s: float | None = None,
    ) -> None:
        if worker not in ("embedded", "none"):
            raise ContractError(f"worker={worker!r}: it is 'embedded' or 'none'.")
        if mode not in ("guard", "observe"):
            raise ContractError(f"mode={mode!r}: it is 'guard' or 'observe'.")
        self.url = url
        self.tenant = tenant
        self.mode = mode
        self.registry = Registry()
        ledger = open_ledger(url, secret=secret)
        more = {} if lease_s is None else {"lease_s": lease_s}
        self.hands = Hands(
            ledger, self.registry, clock=clock or LedgerClock(), queue_bound=queue_bound, **more
        )
        self._calls = Calls(self.hands, observing=mode == "observe")
        self._desk = Desk(self._calls)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._worker: Worker | None = None
        self._embedded = EmbeddedWorker(self.make_worker)
        self._embeds = worker == "embedded"

    @property
    def ledger(self) -> Ledger:
        """The ledger: the truth, of which everything else is a projection."""
        return self.hands.ledger

    # -- declaring tools ------------------------------------------------------------------------

    def tool(
        self,
        *,
        identity: Sequence[str] = (),
        wording: Sequence[str] = (),
        name: str | None = None,
        noun: str | None = None,
        once_per: str = "session",
        key_lifetime: float | str | None = None,
        key_format: KeyFormat | str = KeyFormat(),
        repeat: str | None = None,
        refusal_covers_key: bool = False,
        unprocessed: Sequence[int] = (),
        refusals: Sequence[RefusalRule] = (),
        error_paths: Sequence[str] = ("error.code",),
        via: Sequence[object] = (),
        receipt: str = "",
        receipt_required: bool = False,
        on_unknown: str = "review",
        recount_after: float | str | None = None,
        undo: str | None = None,
        undo_within: float | str | None = None,
        budget: Budget = Budget(),
        send_by: float | str | None = None,
        permission: Callable[[Any], Any] | None = None,
        preconditions: Mapping[str, Callable[[Any], Any]] | None = None,
        consent: str | None = None,
        normalise: Mapping[str, Callable[[Any], Any]] | None = None,
        redact: Sequence[str] = (),
        say: Mapping[str, str] | None = None,
        say_zh: Mapping[str, str] | None = None,
    ) -> Decorator:
        """Guard a write. Nothing is assumed that is not said here.

        :param identity: arguments of which another value is another intent; by default all that
            are not wording. :param wording: free text; another value is the same intent.
        :param once_per: within what an intent is one: ``session``, ``principal`` or ``tenant``.
        :param key_lifetime: how long the provider remembers the key and does not repeat for it;
            promising it makes ``repeat="by_key"`` the default, else ``never``.
        :param repeat: ``by_key``, ``by_nature`` (a set or a delete), ``harmless``, ``never``.
        :param refusal_covers_key: a refusal speaks for every attempt with the key.
        :param unprocessed: HTTP statuses that mean "refused before anything was processed".
        :param via: the only (watched) clients by which this tool can send.
        :param on_unknown: ``review``, or ``leave`` for best effort.
        :param send_by: until when a prepared action may still be sent; by default the turn's end.
        :param permission, preconditions, consent: checked before the call and before a late send.
        :raises ContractError: a declaration that cannot be kept.
        """

        def declare(body: Callable[..., Any]) -> Any:
            tool = name or body.__name__
            lifetime = seconds(key_lifetime, "key_lifetime")
            contract = Contract(
                tool=tool,
                noun=noun or noun_of(tool),
                identity=tuple(identity),
                wording=tuple(wording),
                once_per=_member(OncePer, once_per, "once_per"),
                key=KeyFormat(style=key_format) if isinstance(key_format, str) else key_format,
                key_lifetime_s=lifetime,
                repeat=_member(Repeat, repeat or ("by_key" if lifetime else "never"), "repeat"),
                refusal_covers_key=refusal_covers_key,
                unprocessed=tuple(unprocessed),
                refusals=tuple(refusals),
                error_paths=tuple(error_paths),
                via=self._exits(tool, via),
                receipt=receipt,
                receipt_required=receipt_required,
                recount_after_s=seconds(recount_after, "recount_after"),
                on_unknown=_member(OnUnknown, on_unknown, "on_unknown"),
                undo=undo,
                undo_within_s=seconds(undo_within, "undo_within"),
                budget=budget,
                send_by_s=seconds(send_by, "send_by"),
                redact=tuple(redact),
                say=dict(say or {}),
                say_zh=dict(say_zh or {}),
            )
            entry = self._entry(body, contract)
            entry.permission = permission
            entry.preconditions = dict(preconditions or {})
            entry.consent = consent
            entry.normalise = dict(normalise or {})
            _refuse_async_checks(entry)
            return self._declared(entry)

        return cast("Decorator", declare)

    def read(
        self,
        *,
        name: str | None = None,
        budget: Budget = Budget(),
        refusals: Sequence[RefusalRule] = (),
        error_paths: Sequence[str] = ("error.code",),
        say: Mapping[str, str] | None = None,
        say_zh: Mapping[str, str] | None = None,
    ) -> Decorator:
        """Guard a read: retried in bounds, never unknown."""

        def declare(body: Callable[..., Any]) -> Any:
            tool = name or body.__name__
            contract = Contract(
                tool=tool,
                noun=noun_of(tool),
                access="read",
                repeat=Repeat.HARMLESS,
                budget=budget,
                refusals=tuple(refusals),
                error_paths=tuple(error_paths),
                say=dict(say or {}),
                say_zh=dict(say_zh or {}),
            )
            return self._declared(self._entry(body, contract))

        return cast("Decorator", declare)

    def observe(
        self, *, identity: Sequence[str] = (), wording: Sequence[str] = (), name: str | None = None
    ) -> Callable[[F], F]:
        """Record and judge the calls of a function that stays exactly as it is.

        It returns and raises what it always did; ``ascertain observe-report`` tells what guarding
        would have prevented.
        """

        def declare(body: F) -> F:
            tool = name or body.__name__
            contract = Contract(
                tool=tool, noun=noun_of(tool), identity=tuple(identity), wording=tuple(wording)
            )
            entry = self._entry(body, contract)
            entry.observed = True
            self.registry.add(entry)
            keep = keep_face_async if entry.is_async else keep_face
            return cast("F", keep(self._calls, entry, self._somebody))

        return declare

    def watch(self, client: C, *, name: str | None = None) -> C:
        """Watch a client: count its sends, see whether anything left, keep it to the deadline.

        :raises ContractError: a kind of client that has no hooks.
        """
        return watch(client, name=name)

    def _somebody(self) -> Session:
        """Whose wish an observed call is where the code knows no sessions."""
        return self.session("observed", principal="observed", turn=new_id())

    def _entry(self, body: Callable[..., Any], contract: Contract) -> Entry:
        signature = Signature.of(body, hidden=(Attempt,))
        check_contract(contract, signature)
        is_async = inspect.iscoroutinefunction(body) or inspect.isasyncgenfunction(body)
        return Entry(
            contract=contract,
            body=body,
            signature=signature,
            codec=Codec.of(signature.returns),
            is_async=is_async,
        )

    def _declared(self, entry: Entry) -> Any:
        self.registry.add(entry)
        return AsyncTool(self, entry) if entry.is_async else Tool(self, entry)

    def _exits(self, tool: str, clients: Sequence[object]) -> tuple[str, ...]:
        names: list[str] = []
        for client in clients:
            name = exit_name(client)
            if name is None:
                raise ContractError(
                    f"{tool}: via= names a {type(client).__name__} that is not watched.",
                    next_step="Wrap it first: client = app.watch(client).",
                )
            names.append(name)
        return tuple(names)

    # -- calling them ---------------------------------------------------------------------------

    def session(
        self,
        id: str,
        *,
        principal: str,
        turn: str = "",
        tenant: str | None = None,
        consents: Sequence[str] = (),
        wish: tuple[str, str] = ("done", ""),
    ) -> Session:
        """A conversation of an authenticated principal, as a (sync or async) context manager.

        :param turn: the message that is being answered; without it the whole session is one turn.
        :param consents: effects that the person agreed to.
        :param wish: what the turn's wish is called when it is fulfilled, in English and Chinese.
        """
        return Session(
            self._desk,
            id,
            principal=principal,
            tenant=self.tenant if tenant is None else tenant,
            turn=turn,
            consents=frozenset(consents),
            wish=wish,
        )

    def _call(
        self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options
    ) -> Action[Any]:
        if self._embeds and not entry.contract.is_read:
            self._embedded.ensure()
        return self._calls.call(entry, args, kwargs, options)

    async def _call_async(
        self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options
    ) -> Action[Any]:
        self._loop = asyncio.get_running_loop()
        if self._embeds and not entry.contract.is_read and self._task is None:
            self._embedded.ensure()
        return await self._calls.call_async(entry, args, kwargs, options)

    # -- afterwards -----------------------------------------------------------------------------

    def action(self, action_id: str) -> Action[Any]:
        """The action with this id, as the ledger holds it.

        :raises ActionNotFound: there is none.
        """
        record = self.ledger.get(action_id)
        if record is None:
            raise ActionNotFound(f"There is no action {action_id!r} in {self.url}.")
        return Action(record, self.registry.get(record.tool), self.hands, how="replayed")

    def resolve(
        self,
        action_id: str,
        *,
        confirmed: str | None = None,
        not_done: bool = False,
        evidence: str = "",
    ) -> Action[Any]:
        """A person's verdict on an open action.

        :param confirmed: the provider's reference, when it happened.
        :param not_done: it did not happen and will not; needs ``evidence``.
        :raises SenderMayBeAlive: "not done" while an earlier sender may still send.
        """
        resolve(self.hands, action_id, confirmed=confirmed, not_done=not_done, evidence=evidence)
        return self.action(action_id)

    def make_worker(self, *, concurrency: int = 64) -> Worker:
        """A worker with this app's tools."""
        worker = Worker(
            self.hands,
            self._calls.detached,
            concurrency=concurrency,
            loop_of=lambda: self._loop if self._loop and self._loop.is_running() else None,
        )
        self._worker = worker
        return worker

    def recover(self) -> int:
        """Recover everything that is due now, in this thread; returns how many were taken."""
        return asyncio.run(self.make_worker().drain())

    # -- life cycle -----------------------------------------------------------------------------

    def open(self) -> Ascertain:
        """Open the ledger now instead of at the first call, so that errors show at start-up."""
        self.ledger.next_due_at()
        _ = self.hands.secret
        return self

    def close(self) -> None:
        """Finish what is in hand and close the ledger."""
        self._embedded.close()
        self.hands.committer.close()
        self.ledger.close()

    def __enter__(self) -> Ascertain:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Ascertain:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.open)
        self._loop = loop
        if self._embeds:
            self._task = loop.create_task(self.make_worker().run(), name="ascertain-worker")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None and self._worker is not None:
            self._worker.stop()
            await self._task
            self._task = None
        pending = set(self._calls.detached.tasks)
        if pending:
            await asyncio.wait(pending, timeout=10.0)
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def __repr__(self) -> str:
        return f"<Ascertain {self.url} ({len(self.registry)} tools, pid {os.getpid()})>"


def _member(kind: Any, value: str, what: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(repr(str(member)) for member in kind)
        raise ContractError(f"{what}={value!r}: it is one of {known}.") from None


def _refuse_async_checks(entry: Entry) -> None:
    if entry.is_async:
        return
    checks = [entry.permission, *entry.preconditions.values()]
    if any(inspect.iscoroutinefunction(check) for check in checks if check is not None):
        raise ContractError(f"{entry.name} is a sync tool; its checks must be plain functions too.")
