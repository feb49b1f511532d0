"""Run the proxy: to the host over stdio or streamable HTTP, to the server over either."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
from mcp.client._transport import TransportStreams
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.shared._httpx_utils import create_mcp_http_client

from ascertain.adapters.mcp.config import ProxyConfig
from ascertain.adapters.mcp.link import BARE_404, SESSION_ENDED, TERMINATED, Connect, Notice, Said
from ascertain.adapters.mcp.opening import capabilities_in, peeked
from ascertain.adapters.mcp.proxy import Proxy
from ascertain.adapters.mcp.stdio import host_streams
from ascertain.adapters.mcp.templates import fill
from ascertain.adapters.mcp.upstream import Upstream
from ascertain.errors import ContractError
from ascertain.runtime.app import Ascertain


def connect_to(command: Sequence[str], url: str, config: ProxyConfig) -> Connect:
    """How to reach the server: a command, or a URL.

    :raises ContractError: neither, or both; or an environment variable that is not there.
    """
    if bool(command) == bool(url):
        raise ContractError(
            "Say which MCP server: a command after --, or --url URL.",
            next_step="ascertain mcp -- python server.py",
        )
    if url:
        return _over_http(url, _from_environment(config.headers))
    return _over_stdio(command, _from_environment(config.env))


def _over_stdio(command: Sequence[str], env: Mapping[str, str]) -> Connect:
    @asynccontextmanager
    async def connect(_: Notice) -> AsyncGenerator[TransportStreams]:
        # The server is ours as it would be the host's: it sees the same environment.
        parameters = StdioServerParameters(
            command=command[0], args=list(command[1:]), env={**os.environ, **env}
        )
        # Python's own stderr may be something that no process can write to.
        async with stdio_client(parameters, errlog=sys.__stderr__ or sys.stderr) as streams:
            yield streams

    return connect


def heard_404(notice: Notice) -> Callable[[Any], Awaitable[None]]:
    """A hook for responses: it tells the server's own "not found" from anybody else's."""

    async def look(response: Any) -> None:
        if response.status_code != 404:
            return
        kind = str(response.headers.get("content-type", ""))
        if not kind.startswith("application/json"):
            notice(BARE_404, TERMINATED)
        elif "mcp-session-id" in response.request.headers:
            notice(SESSION_ENDED, _error_in(await response.aread()))

    return look


def _error_in(body: bytes) -> Said:
    """The error that a call gets for such a response."""
    try:
        error = json.loads(body)["error"]
        return int(error["code"]), str(error["message"])
    except (ValueError, TypeError, KeyError):
        return TERMINATED


def _over_http(url: str, headers: Mapping[str, str]) -> Connect:
    @asynccontextmanager
    async def connect(notice: Notice) -> AsyncGenerator[TransportStreams]:
        async with create_mcp_http_client(headers=dict(headers)) as client:
            client.event_hooks = {**client.event_hooks, "response": [heard_404(notice)]}
            async with streamable_http_client(url, http_client=client) as streams:
                yield streams

    return connect


def _from_environment(texts: Mapping[str, str]) -> dict[str, str]:
    """Texts with ``{env.NAME}`` filled in: no secret has to stand in a file."""
    try:
        return {name: str(fill(text, {"env": os.environ})) for name, text in texts.items()}
    except LookupError as error:
        raise ContractError(f"[mcp]: {error.args[0]} in this environment.") from error


@asynccontextmanager
async def opened(
    config: ProxyConfig,
    connect: Connect,
    *,
    shared: bool,
    worker: str = "embedded",
    host_offers: types.ClientCapabilities | None = None,
) -> AsyncGenerator[Server[Any]]:
    """A proxy, connected, with its ledger open and its worker running.

    :param host_offers: what the one host declares, where it is known already.
    """
    app = Ascertain(config.ledger, tenant=config.tenant, worker=worker)
    upstream = Upstream(connect)
    upstream.host_offers = host_offers
    proxy = Proxy(app, config, upstream, shared=shared)
    try:
        server = await proxy.open()
        async with app:
            try:
                yield server
            finally:
                await proxy.close()
    finally:
        await proxy.upstream.close()


async def over_stdio(config: ProxyConfig, connect: Connect) -> None:
    """Serve one host over stdin and stdout, until it closes them.

    The server is told what this host offers, so the host's first word comes before the connection.
    """
    async with host_streams() as (reading, writing):
        first, streamed = await peeked(reading)
        said = capabilities_in(first)
        async with opened(config, connect, shared=False, host_offers=said) as server:
            await server.run(streamed, writing, server.create_initialization_options())


async def over_http(config: ProxyConfig, connect: Connect, host: str, port: int) -> None:
    """Serve hosts over streamable HTTP at ``/mcp``, until told to stop."""
    import uvicorn

    async with opened(config, connect, shared=True) as server:
        web = server.streamable_http_app(host=host)
        settings = uvicorn.Config(web, host=host, port=port, log_level="warning")
        await uvicorn.Server(settings).serve()
