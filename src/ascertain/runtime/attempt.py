"""The attempt as the tool's body sees it."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from contextvars import ContextVar
from time import monotonic
from typing import ParamSpec, TypeVar

from ascertain.errors import ContractError, NoAttempt

P = ParamSpec("P")
R = TypeVar("R")


class Attempt:
    """One sending of an action, from inside the body.

    :ivar key: the idempotency key; the same for every attempt of this action.
    :ivar number: which attempt this is, from 1.
    """

    __slots__ = (
        "_deadline_at", "_step_key", "action_id", "key", "number", "principal", "session", "steps",
        "tenant", "tool",
    )  # fmt: skip

    def __init__(
        self,
        *,
        action_id: str,
        tool: str,
        key: str,
        number: int,
        principal: str,
        tenant: str,
        session: str,
        deadline_at: float,
        step_key: Callable[[str], str],
    ) -> None:
        self.action_id = action_id
        self.tool = tool
        self.key = key
        self.number = number
        self.principal = principal
        self.tenant = tenant
        self.session = session
        self.steps: list[str] = []
        self._deadline_at = deadline_at
        self._step_key = step_key

    @property
    def remaining_s(self) -> float:
        """Seconds until this attempt's deadline, at least 0; for clients that we cannot watch."""
        return max(0.0, self._deadline_at - monotonic())

    def step(self, name: str) -> str:
        """The sub-key of a named send, for a body that writes more than once.

        :raises ContractError: the same step twice in one attempt.
        """
        if name in self.steps:
            raise ContractError(f"Step {name!r} was taken already in this attempt.")
        self.steps.append(name)
        return self._step_key(name)

    def bind(self, function: Callable[P, R]) -> Callable[P, R]:
        """Carry this attempt into another thread: ``pool.submit(attempt.bind(work), ...)``."""
        context = contextvars.copy_context()

        def bound(*args: P.args, **kwargs: P.kwargs) -> R:
            return context.copy().run(function, *args, **kwargs)

        return bound


running: ContextVar[Attempt | None] = ContextVar("ascertain_attempt", default=None)


def current_attempt() -> Attempt:
    """The attempt whose body this code runs in.

    :raises NoAttempt: outside a guarded call.
    """
    attempt = running.get()
    if attempt is None:
        raise NoAttempt
    return attempt


def key() -> str:
    """The idempotency key of the attempt whose body this code runs in.

    :raises NoAttempt: outside a guarded call.
    """
    return current_attempt().key
