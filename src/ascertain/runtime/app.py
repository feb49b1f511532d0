"""The app: one ledger, its tools, its sessions, its worker. Sync and async alike."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, cast

from ascertain.errors import ActionNotFound, ContractError
from ascertain.model.contract import Contract
from ascertain.rules.gate import Tiers
from ascertain.rules.left import LEFT_S
from ascertain.runtime.action import Action
from ascertain.runtime.attempt import Attempt
from ascertain.runtime.calls import Calls
from ascertain.runtime.clock import Clock, SharedClock
from ascertain.runtime.contexts import DEFAULT_LIMIT_BYTES, DEFAULT_TTL_S, Contexts
from ascertain.runtime.counting import Counts
from ascertain.runtime.desk import Desk
from ascertain.runtime.durations import seconds
from ascertain.runtime.embedded import EmbeddedWorker
from ascertain.runtime.hands import DEFAULT_LEASE_S, Hands
from ascertain.runtime.observed import keep_face, keep_face_async
from ascertain.runtime.promises import Promises, ReadPromises, contract_of
from ascertain.runtime.recovering import Engine, Recovers
from ascertain.runtime.refusing import Refusing
from ascertain.runtime.registry import Entry, Registry, check_contract, refuse_async_checks
from ascertain.runtime.session import Session
from ascertain.runtime.tool import AsyncTool, Decorator, Tool
from ascertain.runtime.verdict import resolve
from ascertain.runtime.waiting import WordOnWaiting
from ascertain.runtime.wanting import Options
from ascertain.runtime.wrapping import Wraps
from ascertain.store.ids import new_id
from ascertain.store.ledger import Ledger
from ascertain.store.open import open_ledger, shown_url
from ascertain.values.arguments import Signature
from ascertain.wire.watch import watch

if TYPE_CHECKING:
    import asyncio


C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])


class Ascertain(Counts, Recovers, Wraps, WordOnWaiting):
    """Makes every tool call end in a known truth.

    :param url: where the ledger lives: ``sqlite:///ledger.db``, or
        ``postgresql://user@host/database`` for many processes and hosts.
    :param tenant: whose ledger entries these are, where a session does not say.
    :param secret: the key of intents and of the event chain; by default from
        ``ASCERTAIN_SECRET`` or a file beside the ledger.
    :param worker: ``embedded`` recovers open actions in a thread of this process from the first
        write on; ``none`` leaves that to ``ascertain worker`` and to callers; an
        :class:`~ascertain.runtime.recovering.Engine`, such as ``ascertain.temporal.Temporal``, has
        time and single flight kept by a durable engine.
    :param mode: ``guard``, or ``observe``: record and judge, change nothing.
    :param queue_bound: how many operations may wait for the ledger before a call is refused.
    :param lease_s: how long a lease lasts beyond the deadline of what it covers, in seconds; longer
        than the ledger may make anybody wait.
    :param clock: the ledger's clock; for tests.
    :param session_ttl: how long a session lives after it was last used (seconds, or ``7d``).
    :param context_limit_bytes: how much a session may remember.
    :param chain_left_after: how long a chain whose code did not come to its end may be run again
        before a worker makes it a person's case (seconds, or ``10m``).
    :param session_keys: context keys that the application provides (:meth:`Session.remember`).
    :param tiers: how far a call goes by itself to get what it needs of the context.
    :param sessions: a session store that serves what the ledger knows of sessions, such as
        ``valkey://host:6379/0``; by default the ledger itself does.
    :raises ContractError: an option that makes no sense.
    """

    def __init__(
        self,
        url: str = "sqlite:///ascertain.db",
        *,
        tenant: str = "default",
        secret: bytes | None = None,
        worker: str | Engine = "embedded",
        mode: str = "guard",
        queue_bound: int = 10_000,
        clock: Clock | None = None,
        lease_s: float | None = None,
        session_ttl: float | str = DEFAULT_TTL_S,
        context_limit_bytes: int = DEFAULT_LIMIT_BYTES,
        chain_left_after: float | str = LEFT_S,
        session_keys: Sequence[str] = (),
        tiers: Tiers | None = None,
        sessions: str | None = None,
    ) -> None:
        if isinstance(worker, str) and worker not in ("embedded", "none"):
            raise ContractError(f"worker={worker!r}: it is 'embedded', 'none', or an engine.")
        if mode not in ("guard", "observe"):
            raise ContractError(f"mode={mode!r}: it is 'guard' or 'observe'.")
        self.url = shown_url(url)
        self.tenant = tenant
        self.mode = mode
        self.registry = Registry()
        ledger = open_ledger(url, secret=secret)
        clock = clock or SharedClock(ledger.now)
        self.contexts = Contexts(
            ledger, clock, session_keys=session_keys, sessions=sessions,
            ttl_s=seconds(session_ttl, "session_ttl") or DEFAULT_TTL_S,
        )  # fmt: skip
        self.hands = Hands(
            ledger,
            self.registry,
            clock=clock,
            contexts=self.contexts,
            queue_bound=queue_bound,
            lease_s=DEFAULT_LEASE_S if lease_s is None else lease_s,
            context_limit_bytes=context_limit_bytes,
            chain_left_s=seconds(chain_left_after, "chain_left_after") or 0.0,
        )
        self._calls = Calls(self.hands, tiers=tiers or Tiers(), observing=mode == "observe")
        self.gate = self._calls.gate
        self._desk = Desk(self._calls)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._worker = None
        self._embedded = EmbeddedWorker(self.make_worker)
        self._engine = None if isinstance(worker, str) else worker
        self._embeds = worker == "embedded" if isinstance(worker, str) else worker.embedded

    @property
    def ledger(self) -> Ledger:
        """The ledger: the truth, of which everything else is a projection."""
        return self.hands.ledger

    # -- declaring tools ------------------------------------------------------------------------

    def tool(self, **said: Unpack[Promises]) -> Decorator:
        """Guard a write; see :class:`~ascertain.runtime.promises.Promises` for what may be said.

        :raises ContractError: a declaration that cannot be kept.
        """

        def declare(body: Callable[..., Any]) -> Any:
            contract = contract_of(said.get("name") or body.__name__, said)
            entry = self._entry(body, contract, said.get("schema"))
            entry.permission = said.get("permission")
            rule = said.get("approval")
            entry.approval = rule if callable(rule) else None
            entry.preconditions = dict(said.get("preconditions", {}))
            entry.consent = said.get("consent")
            entry.normalise = dict(said.get("normalise", {}))
            refuse_async_checks(entry)
            return self._declared(entry)

        return cast("Decorator", declare)

    def read(self, **said: Unpack[ReadPromises]) -> Decorator:
        """Guard a read: retried in bounds, never unknown.

        :raises ContractError: a declaration that cannot be kept.
        """

        def declare(body: Callable[..., Any]) -> Any:
            contract = contract_of(said.get("name") or body.__name__, said, access="read")
            return self._declared(self._entry(body, contract, said.get("schema")))

        return cast("Decorator", declare)

    def observe(
        self,
        *,
        identity: Sequence[str] = (),
        wording: Sequence[str] = (),
        redact: Sequence[str] = (),
        name: str | None = None,
    ) -> Callable[[F], F]:
        """Record and judge the calls of a function that stays exactly as it is.

        It returns and raises what it always did; ``ascertain observe-report`` tells what guarding
        would have prevented.
        """

        def declare(body: F) -> F:
            tool = name or body.__name__
            contract = contract_of(
                tool, {"identity": identity, "wording": wording, "redact": redact}
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

    def _entry(
        self,
        body: Callable[..., Any],
        contract: Contract,
        schema: Mapping[str, Any] | None = None,
    ) -> Entry:
        if schema is None:
            signature = Signature.of(body, hidden=(Attempt,))
        else:
            signature = Signature.by_schema(contract.tool, schema)
        check_contract(contract, signature)
        is_async = inspect.iscoroutinefunction(body) or inspect.isasyncgenfunction(body)
        return Entry(
            contract=contract,
            body=body,
            signature=signature,
            codec=signature.result,
            is_async=is_async,
        )

    def _declared(self, entry: Entry) -> Tool[..., Any] | AsyncTool[..., Any]:
        self.registry.add(entry)
        if entry.is_async:
            return AsyncTool[..., Any](self, entry)
        return Tool[..., Any](self, entry)

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

    def guarded(
        self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options
    ) -> Action[Any]:
        """Make a call for a tool of this app."""
        if self._embeds and not entry.contract.is_read:
            self._embedded.ensure()
        with Refusing(entry.name):
            return self._calls.call(entry, args, kwargs, options)

    async def guarded_async(
        self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options
    ) -> Action[Any]:
        """Make a call for a tool of this app on the running loop."""
        import asyncio

        self._loop = asyncio.get_running_loop()
        if self._embeds and not entry.contract.is_read and self._task is None:
            self._embedded.ensure()
        with Refusing(entry.name):
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
        too_many: bool = False,
        undone: bool = False,
        turn_back: bool = False,
        kept: bool = False,
        evidence: str = "",
    ) -> Action[Any]:
        """A person's verdict on an open action.

        :param confirmed: the provider's reference, when it happened.
        :param not_done: it did not happen and will not; needs ``evidence``.
        :param too_many: it is confirmed, and more was done than was wished for; needs ``evidence``.
            The case stays open until ``confirmed`` says that it was put right.
        :param undone: it could not be undone with its chain, and a person reversed it by hand;
            needs ``evidence``. It is compensated then, and the rest of the chain is undone.
        :param turn_back: the code of its chain did not come to its end; what is confirmed in it is
            undone. Needs ``evidence``.
        :param kept: it could not be undone with its chain, or the chain was left, and it stays as
            it is; needs ``evidence``. The rest of a chain that goes back is undone around it.
        :raises SenderMayBeAlive: "not done" while an earlier sender may still send.
        :raises MayStillArrive: "not done" while what was sent may still be on its way.
        """
        resolve(
            self.hands, action_id, confirmed=confirmed, not_done=not_done, too_many=too_many,
            undone=undone, turn_back=turn_back, kept=kept, evidence=evidence,
        )  # fmt: skip
        return self.action(action_id)

    def clear_expired(self, *, limit: int = 1000) -> int:
        """Forget what ended sessions remember; returns how many. Never while an action is open."""
        return self.contexts.clear_expired(limit)

    # -- life cycle -----------------------------------------------------------------------------

    def open(self) -> Self:
        """Open the ledger now instead of at the first call, so that errors show at start-up."""
        self.gate.check()
        self.contexts.warn()
        self.ledger.next_due_at()
        _ = self.hands.mac
        return self

    def close(self) -> None:
        """Finish what is in hand and close the ledger."""
        self._embedded.close()
        self.hands.committer.close()
        self.contexts.close()
        self.hands.breaking.settle()
        self.ledger.close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        import asyncio

        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.open)
        self._loop = loop
        if self._embeds:
            self._task = loop.create_task(self.make_worker().run(), name="ascertain-worker")
        return self

    async def __aexit__(self, *_: object) -> None:
        import asyncio

        if self._task is not None and self._worker is not None:
            self._worker.stop()
            await self._task
            self._task = None
        pending = set(self._calls.bodies.tasks)
        if pending:
            await asyncio.wait(pending, timeout=10.0)
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def __repr__(self) -> str:
        return f"<Ascertain {self.url} ({len(self.registry)} tools, pid {os.getpid()})>"
