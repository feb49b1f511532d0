"""Whose wish it is: the session that guarded calls run in."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Self

from ascertain.errors import ContractError, NoSession, NotAllowed
from ascertain.rules.identity import Scope
from ascertain.store.ids import new_id

if TYPE_CHECKING:
    from ascertain.rules.replies.finding import Finding
    from ascertain.runtime.action import Action
    from ascertain.runtime.desk import Desk

current: ContextVar[Session | None] = ContextVar("ascertain_session", default=None)


class Session:
    """One conversation of one authenticated principal.

    The principal comes from here and only from here, never from what a model supplies.

    :ivar consents: effects that the person agreed to; a tool with ``consent=`` needs its name here.
    """

    __slots__ = ("_desk", "_token", "consents", "scope", "wish")

    def __init__(
        self,
        desk: Desk,
        id: str,
        *,
        principal: str,
        tenant: str,
        turn: str = "",
        chain: str = "",
        consents: frozenset[str] = frozenset(),
        wish: tuple[str, str] = ("done", ""),
    ) -> None:
        who: dict[str, object] = {"id": id, "principal": principal, "tenant": tenant, "turn": turn}
        for name, value in who.items():
            empty = value == "" and name != "turn"
            if not isinstance(value, str) or empty or not value.isprintable():
                raise ContractError(f"A session's {name} must be a plain text, got {value!r:.40}.")
        self._desk = desk
        self._token: Token[Session | None] | None = None
        self.consents = consents
        self.wish = wish
        self.scope = Scope(
            tenant=tenant, principal=principal, session=id, turn=turn, opening=new_id(), chain=chain
        )

    @property
    def id(self) -> str:
        return self.scope.session

    @property
    def principal(self) -> str:
        return self.scope.principal

    @contextmanager
    def turn(self, turn: str) -> Generator[Session]:
        """Calls inside belong to this turn of the conversation (a message id, say)."""
        inner = Session(
            self._desk, self.id, principal=self.principal, tenant=self.scope.tenant, turn=turn,
            chain=self.scope.chain, consents=self.consents, wish=self.wish,
        )  # fmt: skip
        with inner:
            yield inner

    def actions(self, *, whole: bool = False) -> list[Action[Any]]:
        """This turn's actions, oldest first; ``whole``: the session's."""
        return self._desk.actions(self.scope, whole=whole)

    def facts(self) -> dict[str, Any]:
        """What the model may say of this turn, and what may be done next."""
        return self._desk.facts(self.scope, self.wish)

    def take(self, entry: str, action_id: str | None = None) -> dict[str, Any]:
        """Do one of the things in ``next_allowed``, checked again here; returns the facts after it.

        :raises NotAllowed: it is not among them, or it is for no or for several actions.
        """
        return self._desk.take(self, entry, action_id)

    async def take_async(self, entry: str, action_id: str | None = None) -> dict[str, Any]:
        """The same on the running loop, for any tool."""
        return await self._desk.take_async(self, entry, action_id)

    def check_reply(self, text: str) -> list[Finding]:
        """Find the sentences of a reply, in English or Chinese, that contradict the ledger.

        Submitted without evidence, "failed" while unknown, more than the receipt, a reference that
        nobody knows, an invitation to repeat blindly; each with the sentence to say instead. It
        looks for claims in so many words: a net, not a proof. Nothing is asked and nothing written.

        :raises InvalidArguments: it is no text.
        """
        from ascertain.runtime import replies

        return replies.check(self._desk, self, text)

    def verify_claims(self, reply: Mapping[str, Any] | str) -> list[Finding]:
        """Find what a structured reply of the model claims and the ledger does not hold.

        :param reply: a JSON object, or its text, of the shape of :meth:`facts`: ``actions`` with
            ``name`` (or ``id``), ``state``, ``provider_ref``, ``related_ref``; ``workflow_state``
            of the turn; sentences in ``say``, ``text``, ``message`` or ``reply``. What it leaves
            out claims nothing.
        :raises InvalidArguments: it is no JSON object, or was cut off.
        """
        from ascertain.runtime import replies

        return replies.verify(self._desk, self, reply)

    def call(
        self, tool: str, arguments: dict[str, Any] | str, *, call_id: str | None = None
    ) -> Action[Any]:
        """Call a sync tool by name, as an agent's tool call arrives: a JSON text or a dict.

        What it says for a parameter that is injected (an :class:`Attempt`) is not taken.

        :raises UnknownTool: there is none of that name.
        :raises InvalidArguments: wrong, missing or half-parsed arguments; nothing was sent.
        """
        return self._desk.call_by_name(self, tool, arguments, call_id)

    async def call_async(
        self, tool: str, arguments: dict[str, Any] | str, *, call_id: str | None = None
    ) -> Action[Any]:
        """The same for any tool, without blocking the loop."""
        return await self._desk.call_by_name_async(self, tool, arguments, call_id)

    def __enter__(self) -> Self:
        if self._token is not None:
            raise NotAllowed("This session is entered already; open another one.")
        self._token = current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            current.reset(self._token)
            self._token = None

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()


def here() -> Session:
    """The session that this code runs in.

    :raises NoSession: none is open.
    """
    session = current.get()
    if session is None:
        raise NoSession
    return session
