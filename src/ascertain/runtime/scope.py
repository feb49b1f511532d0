"""Whose wish it is: the opening of a session that guarded calls run in."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from copy import copy
from typing import TYPE_CHECKING, Self

from ascertain.errors import ContractError, NoSession, NotAllowed
from ascertain.rules.identity import Scope
from ascertain.store.ids import new_id

if TYPE_CHECKING:
    from ascertain.runtime.seats import Joined

current: ContextVar[Opened | None] = ContextVar("ascertain_session", default=None)


class Opened:
    """A session that was opened, as the calls that are made in it see it.

    The principal comes from here and only from here, never from what a model supplies.

    :ivar consents: effects that the person agreed to; a tool with ``consent=`` needs its name here.
    :ivar wish: what the wish is called when it is fulfilled, in English and Chinese.
    :ivar joined: the chain that calls belong to. :ivar outer: of which this is a turn or a chain.
    """

    __slots__ = ("_token", "consents", "joined", "outer", "scope", "wish")

    def __init__(
        self,
        id: str,
        *,
        principal: str,
        tenant: str,
        turn: str = "",
        consents: frozenset[str] = frozenset(),
        wish: tuple[str, str] = ("done", ""),
    ) -> None:
        for name, value in (("id", id), ("principal", principal), ("tenant", tenant)):
            _check_text(name, value)
        self.outer: Opened | None = None
        self._token: Token[Opened | None] | None = None
        self.consents = consents
        self.wish = wish
        self.joined: Joined | None = None
        self.scope = _turned(
            Scope(tenant=tenant, principal=principal, session=id, turn="", opening="", chain=""),
            turn,
        )

    @property
    def id(self) -> str:
        return self.scope.session

    @property
    def principal(self) -> str:
        return self.scope.principal

    @contextmanager
    def turn(self, turn: str) -> Generator[Self]:
        """Calls inside belong to this turn of the conversation (a message id, say)."""
        inner = self._within(_turned(self.scope, turn))
        with inner:
            yield inner

    def joining(self, chain: Joined) -> Self:
        """This session with its calls in a chain; it is still the same opening of it."""
        inner = self._within(self.scope._replace(chain=chain.id))
        inner.joined = chain
        return inner

    def _within(self, scope: Scope) -> Self:
        inner = copy(self)
        inner.outer, inner.scope = self, scope
        inner._token = None  # noqa: SLF001 - a copy has not been entered
        return inner

    @contextmanager
    def acting(self) -> Generator[None]:
        """Code inside acts in this session: in the turn or chain of it that was entered here.

        From any thread or task, and however often at once; unlike entering it.
        """
        inner = current.get()
        while inner is not None and inner is not self:
            inner = inner.outer
        if inner is self:
            yield
            return
        token = current.set(self)
        try:
            yield
        finally:
            current.reset(token)

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


def here() -> Opened:
    """The session that this code runs in.

    :raises NoSession: none is open.
    """
    session = current.get()
    if session is None:
        raise NoSession
    return session


def _turned(scope: Scope, turn: str) -> Scope:
    """The scope of another turn, opened now."""
    _check_text("turn", turn, may_be_empty=True)
    return scope._replace(turn=turn, opening=new_id())


def _check_text(name: str, value: object, *, may_be_empty: bool = False) -> None:
    if not isinstance(value, str) or not (value or may_be_empty) or not value.isprintable():
        raise ContractError(f"A session's {name} must be a plain text, got {value!r:.40}.")
