"""A server that changes, asks and logs: what passes through a proxy in either direction.

    python -m tests.mcp.talker FOLDER

It has one connection. ``FOLDER/roots`` says what it was told of the host's roots.
"""

import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

NOTHING = {"type": "object", "properties": {}}
PRIVATE = {"ttl_ms": 0, "cache_scope": "private"}


class Declaring(Server[Any]):
    """Says of itself that its lists change."""

    def get_capabilities(self, notification_options: Any = None, *args: Any, **said: Any) -> Any:
        changing = NotificationOptions(tools_changed=True, prompts_changed=True)
        return super().get_capabilities(changing, *args, **said)


class Talker:
    """The server and what it has heard.

    :ivar text: what the tool `greet` says it does. :ivar called: the tools that were called.
    """

    def __init__(self) -> None:
        self.text = "Greet somebody."
        self.more = False
        self.called: list[str] = []
        self.levels: list[str] = []
        self.roots_changed = anyio.Event()
        self.listened = anyio.Event()
        self.broke = anyio.Event()
        self.stream = anyio.CancelScope()
        self.reading = anyio.Event()
        self.ended = anyio.Event()
        self.session: Any = None
        self.bus = InMemorySubscriptionBus()
        self.server: Server[Any] = Declaring("talker", on_list_tools=self.tools)
        add = self.server.add_request_handler
        add("tools/call", types.CallToolRequestParams, self.call)
        add("prompts/list", types.PaginatedRequestParams, self.prompts)
        add("completion/complete", types.CompleteRequestParams, self.complete)
        add("logging/setLevel", types.SetLevelRequestParams, self.level)
        add("subscriptions/listen", types.SubscriptionsListenRequestParams, self.listen)
        note = self.server.add_notification_handler
        note("notifications/initialized", types.NotificationParams, self.begins)
        note("notifications/roots/list_changed", types.NotificationParams, self.roots)

    async def listen(self, context: Any, params: Any) -> types.SubscriptionsListenResult:
        """Until it is broken."""
        self.listened.set()
        with anyio.CancelScope() as self.stream:
            return await ListenHandler(self.bus)(context, params)
        self.broke.set()
        raise MCPError(types.INTERNAL_ERROR, "the stream broke")

    async def breaks(self) -> None:
        """Whoever listens is cut off, and finds out."""
        self.listened = anyio.Event()
        self.stream.cancel()
        await self.broke.wait()

    async def changes(self) -> None:
        """Tell whoever is connected that the tools have changed."""
        await self.bus.publish(ToolsListChanged())
        if self.session is not None:
            await self.session.send_notification(types.ToolListChangedNotification())

    async def begins(self, context: Any, params: Any) -> None:
        self.session = context.session

    async def roots(self, context: Any, params: Any) -> None:
        self.roots_changed.set()

    async def tools(self, context: Any, params: Any) -> types.ListToolsResult:
        names = ["greet", "think", "look", "log", "read", *(["more"] if self.more else [])]
        texts = {"greet": self.text}
        return types.ListToolsResult(
            tools=[
                types.Tool(name=name, description=texts.get(name, name), input_schema=NOTHING)
                for name in names
            ],
            **PRIVATE,
        )

    async def prompts(self, context: Any, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[], **PRIVATE)

    async def complete(self, context: Any, params: Any) -> types.CompleteResult:
        values = [f"{params.argument.value}lo"]
        return types.CompleteResult(completion=types.Completion(values=values))

    async def level(self, context: Any, params: Any) -> types.EmptyResult:
        self.levels.append(params.level)
        return types.EmptyResult()

    async def call(self, context: Any, params: Any) -> types.CallToolResult:
        self.called.append(params.name)
        said = await getattr(self, f"_{params.name}")(context)
        return types.CallToolResult(content=[types.TextContent(text=said)])

    async def _greet(self, context: Any) -> str:
        return "hello"

    async def _read(self, context: Any) -> str:
        """It takes for ever."""
        self.reading.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.set()
        return "never"

    async def _think(self, context: Any) -> str:
        """Let the host's model speak."""
        question = types.SamplingMessage(role="user", content=types.TextContent(text="2 + 2?"))
        asked = types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(messages=[question], max_tokens=5)
        )
        answer = await context.session.send_request(asked, types.CreateMessageResult)
        return str(answer.content.text)

    async def _look(self, context: Any) -> str:
        answer = await context.session.send_request(types.ListRootsRequest(), types.ListRootsResult)
        return ",".join(str(root.uri) for root in answer.roots)

    async def _log(self, context: Any) -> str:
        for level in ("debug", "warning"):
            note = types.LoggingMessageNotification(
                params=types.LoggingMessageNotificationParams(level=level, data=f"a {level}")
            )
            modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
            if modern and level == "debug":
                continue  # its host did not ask for as much
            await context.session.send_notification(note, related_request_id=context.request_id)
        return str((context.meta or {}).get(types.LOG_LEVEL_META_KEY, ""))


async def main(folder: Path) -> None:
    """Serve one host of 2025; what its roots are is asked as soon as it is there."""
    talker = Talker()
    begins = talker.begins

    async def asks_at_once(context: Any, params: Any) -> None:
        await begins(context, params)
        declared = context.session.client_capabilities
        told = "not offered"
        if declared is not None and declared.roots is not None:
            request = types.ListRootsRequest()
            answer = await context.session.send_request(request, types.ListRootsResult)
            told = ",".join(str(root.uri) for root in answer.roots)
        (folder / "roots.new").write_text(told)
        (folder / "roots.new").rename(folder / "roots")

    talker.server.add_notification_handler(
        "notifications/initialized", types.NotificationParams, asks_at_once
    )
    async with stdio_server() as (reading, writing):
        options = talker.server.create_initialization_options()
        await serve_loop(talker.server, reading, writing, lifespan_state={}, init_options=options)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
