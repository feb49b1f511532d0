"""The hosts that are there: who hears that something changed, and who is asked outside of a call.

Hosts of the 2025 revisions are told on their connection, those of 2026-07-28 on a stream that they
opened for it. Only what the server itself offers is offered to them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from ascertain.adapters.mcp.exchange import ASKS, Context, NobodyToAsk, offers

log = logging.getLogger("ascertain")

MOST_REMEMBERED: Final = 1000
COMES_WITHIN_S: Final = 5.0
"""How long a server that asks at once waits for the host to be there."""

_CHANGED: Final[Mapping[type[ServerEvent], Any]] = {
    ToolsListChanged: types.ToolListChangedNotification,
    PromptsListChanged: types.PromptListChangedNotification,
    ResourcesListChanged: types.ResourceListChangedNotification,
}


class Front(Server[Any]):
    """The server that hosts see: it declares what the one behind it declares, and not more.

    Its own list of tools may always change: by what the server does, or by what is released.

    :param offered: what the server behind it declares.
    """

    def __init__(self, *args: Any, offered: types.ServerCapabilities, **said: Any) -> None:
        super().__init__(*args, **said)
        self._offered = offered

    def get_capabilities(
        self, notification_options: NotificationOptions | None = None, *args: Any, **said: Any
    ) -> types.ServerCapabilities:
        """The capabilities, in either revision."""
        found = super().get_capabilities(notification_options, *args, **said)
        theirs = self._offered
        if found.tools is not None:
            found.tools.list_changed = True
        if found.prompts is not None:
            found.prompts.list_changed = bool(theirs.prompts and theirs.prompts.list_changed)
        if found.resources is not None:
            found.resources.list_changed = bool(theirs.resources and theirs.resources.list_changed)
            found.resources.subscribe = False
        return found


class Hosts:
    """Those that are connected.

    :param shared: several may be: what the server says to one is then not for the others.
    """

    def __init__(self, *, shared: bool) -> None:
        self._shared = shared
        self._bus = InMemorySubscriptionBus()
        self._listening = ListenHandler(self._bus)
        self._sessions: dict[int, ServerSession] = {}
        self._came = asyncio.Event()

    def attach(self, server: Front) -> None:
        """Hear of the hosts of a server."""
        server.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._begins
        )
        server.add_request_handler(
            "subscriptions/listen", types.SubscriptionsListenRequestParams, self._listen
        )

    def close(self) -> None:
        """Nothing more will change."""
        self._listening.close()

    async def changed(self, event: ServerEvent) -> None:
        """Tell all of them; one that has gone hears nothing."""
        await self._bus.publish(event)
        kind = _CHANGED.get(type(event))
        if kind is None:
            return
        for session in tuple(self._sessions.values()):
            await session.send_notification(kind())

    async def logs(self, said: types.LoggingMessageNotificationParams) -> None:
        """Hand on what the server logs, where it can only be meant for one host."""
        if not self._shared:
            note = types.LoggingMessageNotification(params=said)
            for session in tuple(self._sessions.values()):
                await session.send_notification(note)

    async def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the one host, on its connection, what the server asks outside of any call.

        :raises NobodyToAsk: several may be there, or none that can be asked.
        """
        if self._shared:
            raise NobodyToAsk("it is not known which host this is for")
        try:
            await asyncio.wait_for(self._came.wait(), COMES_WITHIN_S)
        except TimeoutError:
            raise NobodyToAsk("no host is there") from None
        session = next(reversed(self._sessions.values()))
        if not offers(session.client_capabilities, request):
            raise NobodyToAsk("the host does not offer that")
        kind, answer = ASKS[str(request.get("method"))]
        try:
            asked = kind.model_validate(dict(request), by_name=False)
            answered = await session.send_request(asked, answer)
        except (MCPError, ValidationError) as error:
            raise NobodyToAsk("the host did not answer") from error
        return answered.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def _begins(self, context: Context, params: types.NotificationParams) -> None:
        """A host of the 2025 revisions is there; of those that leave nothing is heard."""
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        self._sessions[id(context.session)] = context.session
        while len(self._sessions) > MOST_REMEMBERED:
            self._sessions.pop(next(iter(self._sessions)))
        self._came.set()

    async def _listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """A host of 2026-07-28 opens its stream; single resources are not followed."""
        wanted = params.notifications.model_copy(update={"resource_subscriptions": None})
        asked = params.model_copy(update={"notifications": wanted})
        return await self._listening(context, asked)
