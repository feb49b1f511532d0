"""What passes through as it is: prompts, resources, completions; one host's log level, roots."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ConfigDict

from ascertain.adapters.mcp.exchange import Context
from ascertain.adapters.mcp.link import ServerUnreachable
from ascertain.adapters.mcp.upstream import Upstream

_UNSAID: Final = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_Handler = Callable[[Context, Any], Awaitable[dict[str, Any]]]


class _Any(BaseModel):
    model_config = ConfigDict(extra="allow")


def attach(server: Server[Any], upstream: Upstream, offered: types.ServerCapabilities) -> None:
    """Let hosts use what else the server offers; none of it has an effect that is guarded."""

    def passing(request: type[types.Request[Any, Any]]) -> _Handler:
        async def handle(context: Context, params: Any) -> dict[str, Any]:
            try:
                client = await upstream.client()
            except ServerUnreachable as error:
                raise MCPError(types.INTERNAL_ERROR, error.message) from error
            said = params.model_dump(by_alias=True, mode="json", exclude_none=True)
            made = request.model_validate({"method": context.method, "params": said}, by_name=False)
            answer = await client.session.send_request(made, _Any)
            # What an older revision does not say: complete, and not to be kept.
            return {**_UNSAID, **(answer.model_extra or {})}

        return handle

    def add(method: str, params: type[BaseModel], request: type[types.Request[Any, Any]]) -> None:
        server.add_request_handler(method, params, passing(request))

    page = types.PaginatedRequestParams
    if offered.prompts is not None:
        add("prompts/list", page, types.ListPromptsRequest)
        add("prompts/get", types.GetPromptRequestParams, types.GetPromptRequest)
    if offered.resources is not None:
        add("resources/list", page, types.ListResourcesRequest)
        add("resources/templates/list", page, types.ListResourceTemplatesRequest)
        add("resources/read", types.ReadResourceRequestParams, types.ReadResourceRequest)
    if offered.completions is not None:
        add("completion/complete", types.CompleteRequestParams, types.CompleteRequest)


def attach_one(server: Server[Any], upstream: Upstream, offered: types.ServerCapabilities) -> None:
    """Let the one host that there is say what it wants to hear logged, and that roots changed."""

    async def set_level(_: Context, params: types.SetLevelRequestParams) -> dict[str, Any]:
        try:
            await upstream.set_log_level(params.level)
        except ServerUnreachable as error:
            raise MCPError(types.INTERNAL_ERROR, error.message) from error
        return {}

    async def roots_changed(*_: object) -> None:
        await upstream.roots_changed()

    if offered.logging is not None:
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
    server.add_notification_handler(
        "notifications/roots/list_changed", types.NotificationParams, roots_changed
    )
