"""One call of a host while it is under way: who hears its progress, and who is asked for input.

A server may ask back in the middle of a call. Hosts of the 2025 revisions are sent a request of
their own; those of 2026-07-28 get an interim result and call again with the answers, under a new
request id. To the server and to the ledger both are one sending of one action.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final, cast

import mcp_types as types
from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from ascertain.adapters.told import Fact

Context = ServerRequestContext[Any, Any]
Requests = Mapping[str, Any]
"""What a server wants to know, by its own names, as JSON."""

ASKS: Final[dict[str, tuple[type[Any], type[BaseModel]]]] = {
    "elicitation/create": (types.ElicitRequest, types.ElicitResult),
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResultWithTools),
    "roots/list": (types.ListRootsRequest, types.ListRootsResult),
}

_OFFERED: Final = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}


class NobodyToAsk(Exception):
    """The host is gone, cannot be asked, or what the server asks for is not known."""


class Exchange:
    """One call under way.

    :param context: the host's request that is open now; a later round brings another one.
    :param tool: what was called. :param arguments: with what, so that no other call answers for it.
    :ivar error_text: what an error result said, for the model, as long as this process remembers.
    :ivar began_at: on this process's monotonic clock.
    :ivar fact: what became of it, once a write has come to an end.
    """

    def __init__(
        self, context: Context, tool: str, arguments: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> None:
        self.tool = tool
        self.arguments = arguments
        self.meta = meta
        self.error_text = ""
        self.began_at = time.monotonic()
        self.fact: Fact | None = None
        self.task: asyncio.Task[Any] | None = None
        self._context: Context | None = context
        self._asked: asyncio.Future[Requests] = _future()
        self._answers: asyncio.Future[Requests] | None = None

    @property
    def modern(self) -> bool:
        """Whether the host speaks a revision in which it is not sent requests."""
        return (
            self._context is not None and self._context.protocol_version in MODERN_PROTOCOL_VERSIONS
        )

    @property
    def question(self) -> asyncio.Future[Requests]:
        """Done once the host has to be asked by an interim result."""
        return self._asked

    def park(self) -> tuple[str, Requests]:
        """Leave the question with the host; returns what it has to send back, and the question."""
        asked = self._asked.result()
        self._asked = _future()
        self._context = None
        return secrets.token_urlsafe(24), asked

    def resume(self, context: Context, answers: Requests) -> None:
        """The host has called again, with answers."""
        self._context = context
        if self._answers is not None and not self._answers.done():
            self._answers.set_result(answers)

    def left(self) -> None:
        """The host has gone: it hears no progress, and it is not asked any more."""
        self._context = None

    def can_be_asked(self, request: Mapping[str, Any]) -> bool:
        """Whether the host is there and has declared that it answers this."""
        if self._context is None:
            return False
        return offers(self._context.session.client_capabilities, request)

    async def ask(self, requests: Requests) -> Requests:
        """Get the host's answers to what the server asks.

        :raises NobodyToAsk: it cannot be asked.
        """
        if self._context is None:
            raise NobodyToAsk("the host has gone")
        for request in requests.values():
            if not self.can_be_asked(request):
                raise NobodyToAsk("the host does not offer that")
        if self.modern:
            self._answers = _future()
            self._asked.set_result(requests)
            return await self._answers
        return {name: await self._request(request) for name, request in requests.items()}

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Hand the server's progress on, if the host is there and wished for it."""
        if self._context is not None:
            await self._context.session.report_progress(progress, total, message)

    @property
    def log_level(self) -> types.LoggingLevel | None:
        """From which level on this call's host wants to hear what the server logs, if it said."""
        context = self._context
        if context is None or not self.modern:
            return None
        said = (context.meta or {}).get(types.LOG_LEVEL_META_KEY)
        return said if said in allowed_log_levels(context.protocol_version, context.meta) else None

    async def log(self, said: types.LoggingMessageNotificationParams) -> None:
        """Hand on what the server logs for this call, if its host wished for it."""
        context = self._context
        if context is None:
            return
        if said.level in allowed_log_levels(context.protocol_version, context.meta):
            note = types.LoggingMessageNotification(params=said)
            await context.session.send_notification(note, related_request_id=context.request_id)

    async def _request(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._context is not None
        kinds = ASKS.get(str(request.get("method")))
        if kinds is None:
            raise NobodyToAsk("the server asks for something that is not known")
        kind, answer = kinds
        try:
            asked = kind.model_validate(dict(request), by_name=False)
        except ValidationError as error:
            raise NobodyToAsk("the server asks for something that cannot be read") from error
        metadata = ServerMessageMetadata(related_request_id=self._context.request_id)
        try:
            answered = await self._context.session.send_request(asked, answer, metadata=metadata)
        except (MCPError, ValidationError) as error:
            # Its code is the host's: it says nothing of what the server has done.
            raise NobodyToAsk("the host did not answer") from error
        return answered.model_dump(by_alias=True, mode="json", exclude_none=True)


def offers(declared: types.ClientCapabilities | None, request: Mapping[str, Any]) -> bool:
    """Whether who declared this answers such a request."""
    name = _OFFERED.get(str(request.get("method")), "")
    said = None if declared is None else getattr(declared, name, None)
    if not isinstance(said, types.ElicitationCapability):
        return said is not None
    mode = cast("Mapping[str, Any]", request.get("params") or {}).get("mode", "form")
    if mode == "url":
        return said.url is not None
    return said.form is not None or said.url is None  # what is empty is a form


current: ContextVar[Exchange | None] = ContextVar("ascertain_mcp_exchange", default=None)
"""The call in whose service a tool's body runs; a worker's sending is in nobody's."""


def _future() -> asyncio.Future[Requests]:
    return asyncio.get_running_loop().create_future()
