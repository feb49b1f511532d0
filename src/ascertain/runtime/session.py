"""A session as an application uses it: its calls, its facts, its memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ascertain.model.session import Remembered, SessionState
from ascertain.runtime.scope import Opened

if TYPE_CHECKING:
    from ascertain.rules.replies.finding import Finding
    from ascertain.runtime.action import Action
    from ascertain.runtime.chain import Chain
    from ascertain.runtime.desk import Desk
    from ascertain.runtime.memory import Known
    from ascertain.runtime.plan import PlannedChain
    from ascertain.runtime.steps import Step


class Session(Opened):
    """One conversation of one authenticated principal.

    The principal comes from here and only from here, never from what a model supplies.

    :ivar consents: effects that the person agreed to; a tool with ``consent=`` needs its name here.
    :ivar outer: the session of which this is a turn or a chain.
    """

    __slots__ = ("_desk",)

    def __init__(
        self,
        desk: Desk,
        id: str,
        *,
        principal: str,
        tenant: str,
        turn: str = "",
        consents: frozenset[str] = frozenset(),
        wish: tuple[str, str] = ("done", ""),
    ) -> None:
        super().__init__(
            id, principal=principal, tenant=tenant, turn=turn, consents=consents, wish=wish
        )
        self._desk = desk

    @overload
    def chain(
        self,
        name: str,
        *,
        ordinal: int | str = "",
        ordered: bool = True,
        wish: tuple[str, str] | None = None,
        steps: None = None,
    ) -> Chain: ...
    @overload
    def chain(
        self,
        name: str,
        *,
        ordinal: int | str = "",
        wish: tuple[str, str] | None = None,
        steps: Sequence[Step],
    ) -> PlannedChain: ...
    def chain(
        self,
        name: str,
        *,
        ordinal: int | str = "",
        ordered: bool = True,
        wish: tuple[str, str] | None = None,
        steps: Sequence[Step] | None = None,
    ) -> Chain:
        """The actions of one wish, as a (sync or async) context manager.

        Run again with the same name, after a crash or in another turn, the code finds its recorded
        actions; a second wish of the same name is told apart by its ordinal.

        :param ordered: each step waits for all earlier essential ones; else only for those
            that it names.
        :param wish: what the wish is called when it is fulfilled, in English and Chinese.
        :param steps: declared steps (:class:`~ascertain.Step`): the chain is stored with them, and
            ``run()`` makes them; after a crash a worker goes on.
        :raises ContractError: a name that is no plain text, or steps that cannot be kept.
        """
        chain = self._desk.chain(self, name, ordinal=ordinal, ordered=ordered, wish=wish)
        return chain if steps is None else self._desk.planned(chain, steps)

    def actions(self, *, whole: bool = False) -> list[Action[Any]]:
        """This turn's actions, oldest first; ``whole``: the session's."""
        return self._desk.actions(self.scope, whole=whole)

    @property
    def state(self) -> SessionState:
        """What the session is doing: idle, a tool executing, a result pending, context ready."""
        return self._desk.memory.state(self.scope)

    def context(self) -> dict[str, Known]:
        """What the session remembers now, by key."""
        return self._desk.memory.known(self.scope)

    def shown(self) -> list[Remembered]:
        """Every value that is kept, oldest first; those that came too late are marked."""
        return self._desk.memory.shown(self.scope)

    def remember(self, **values: Any) -> None:
        """Say what the application itself knows (``session_keys``), such as who is logged in.

        :raises ContractError: a key that the app did not declare.
        :raises ContextTooLarge: more than a session may remember; nothing was written.
        :raises ForeignSession: the session is another principal's.
        :raises SessionExpired: it has ended.
        """
        self._desk.memory.remember(self.scope, values)

    def renew(self) -> None:
        """Begin the session anew, with nothing remembered; its actions stay what they are.

        :raises ForeignSession: the session is another principal's.
        """
        self._desk.memory.renew(self.scope)

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
