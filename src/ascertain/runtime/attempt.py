"""The attempt as the tool's body sees it."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from contextvars import ContextVar
from time import monotonic
from typing import ParamSpec, TypeVar

from ascertain.errors import ContractError, NoAttempt
from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract
from ascertain.rules.identity import derive_step_key
from ascertain.rules.mac import Mac

P = ParamSpec("P")
R = TypeVar("R")


class Attempt:
    """One sending of an action, from inside the body.

    :ivar key: the idempotency key; the same for every attempt of this action.
    :ivar number: which attempt this is, from 1.
    """

    __slots__ = ("_contract", "_deadline_at", "_mac", "_record", "key", "number", "steps")

    def __init__(
        self, record: ActionRecord, contract: Contract, mac: Mac, deadline_at: float
    ) -> None:
        self.key = record.key
        self.number = record.attempt
        self.steps: list[str] = []
        self._record = record
        self._contract = contract
        self._mac = mac
        self._deadline_at = deadline_at

    @property
    def action_id(self) -> str:
        return self._record.id

    @property
    def tool(self) -> str:
        return self._record.tool

    @property
    def principal(self) -> str:
        """Whose wish it is, from the authenticated session."""
        return self._record.principal

    @property
    def tenant(self) -> str:
        return self._record.tenant

    @property
    def session(self) -> str:
        return self._record.session

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
        return derive_step_key(self._mac, self._contract, self.key, name)

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
