"""Where a Temporal service is, and how we behave towards it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ascertain.errors import AscertainError, ContractError
from ascertain.temporal.words import DEFAULT_QUEUE, LOOK_AGAIN_S, SILENCE_S, STEPS_PER_RUN

if TYPE_CHECKING:
    from temporalio.client import Client


class TemporalMissing(AscertainError):
    """The Temporal SDK is not installed."""

    code = "temporal_missing"
    next_step = "pip install 'ascertain[temporal]'"


class Unreachable(AscertainError):
    """No Temporal service answers."""

    code = "temporal_unreachable"
    next_step = "Start it, or correct the address; what is open stays in the ledger meanwhile."


@dataclass(frozen=True, kw_only=True)
class _Said:
    """What may be said beside the address; see :class:`Address`."""

    namespace: str = "default"
    task_queue: str = DEFAULT_QUEUE
    embedded: bool = True
    search_attributes: bool = True
    look_again_s: float = LOOK_AGAIN_S
    silence_s: float = SILENCE_S
    steps_per_run: int = STEPS_PER_RUN
    connect: Callable[[], Awaitable[Client]] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Address(_Said):
    """What there is to say of a Temporal service.

    :param target: the address of the Temporal service. :param namespace: in it.
    :param task_queue: one for each ledger; its workers need the ledger and the tools.
    :param embedded: whether a worker runs in the process that makes the calls (from its first write
        on), or only where ``ascertain worker MODULE:APP`` does.
    :param search_attributes: show state, tool and tenant of each action. They are registered at
        start-up where that is allowed.
    :param look_again_s: how often the ledger is looked at where nothing is due, in seconds.
    :param silence_s: a worker that was not heard of for so long is taken for dead, in seconds;
        what it did is then taken up by another, once the ledger's lease allows it.
    :param steps_per_run: after how many looks a workflow's history is begun anew.
    :param connect: makes the client, where an address and a namespace are not enough (TLS, keys).
    :raises ContractError: a value that makes no sense.
    """

    target: str = "127.0.0.1:7233"

    def __post_init__(self) -> None:
        for name in ("target", "namespace", "task_queue"):
            text = getattr(self, name)
            if not isinstance(text, str) or not text or not text.isprintable():
                raise ContractError(f"Temporal({name}=...) must be a plain text, got {text!r:.40}.")
        for name in ("look_again_s", "silence_s"):
            if getattr(self, name) < 1:
                raise ContractError(f"{name}={getattr(self, name)!r}: it is at least 1 second.")
        if self.steps_per_run < 1:
            raise ContractError(f"steps_per_run={self.steps_per_run!r}: it is at least 1.")
        if self.connect is not None and not callable(self.connect):
            raise ContractError("Temporal(connect=...) is an async function that makes a client.")

    async def client(self) -> Client:
        """A client, connected.

        :raises TemporalMissing: the SDK is not installed.
        :raises Unreachable: nobody answers at the address.
        """
        if self.connect is not None:
            return await self.connect()
        try:
            from temporalio.client import Client
        except ImportError as error:
            raise TemporalMissing from error
        try:
            return await Client.connect(self.target, namespace=self.namespace)
        except RuntimeError as error:
            raise Unreachable(f"No Temporal service answers at {self.target}.") from error
