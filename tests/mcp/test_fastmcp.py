"""FastMCP's own server and client, with the middleware between lost answers and a host."""

import pytest
from fastmcp import Client, FastMCP
from fastmcp.server import create_proxy
from fastmcp.server.middleware.error_handling import RetryMiddleware
from mcp_types import ToolAnnotations

from ascertain import Ascertain, Found
from ascertain.adapters.door import Door
from ascertain.adapters.fastmcp import AscertainMiddleware
from ascertain.adapters.mcp.words import FACT


class Shop:
    """Tickets; at the next one an answer may be lost."""

    def __init__(self):
        self.tickets = []
        self.loses = 0

    def write(self, order, request=""):
        self.tickets.append((order, request))
        if self.loses:
            self.loses -= 1
            raise TimeoutError("gateway read timed out")
        return f"T{899 + len(self.tickets)}"


@pytest.fixture
def shop():
    return Shop()


@pytest.fixture
async def app(tmp_path):
    async with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none") as made:
        yield made


def served(app, shop, **said):
    server = FastMCP("shop")
    door = Door(app, scope=lambda context: app.session("chat-1", principal="u7"))

    async def find(asked):
        (found,) = [n for n, row in enumerate(shop.tickets) if row[1] == asked.key]
        return Found(f"T{900 + found}")

    door.declare(
        "create_ticket", identity=["order_id"], wording=["issue"], receipt="ticket_id",
        fills={"request_id": "key"}, lookup=find,
    )  # fmt: skip
    server.add_middleware(AscertainMiddleware(door, **said))

    @server.tool
    def create_ticket(order_id: str, issue: str, request_id: str = "") -> dict:
        return {"ticket_id": shop.write(order_id, request_id)}

    @server.tool
    def send_note(order_id: str) -> str:
        return shop.write(order_id)

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def count() -> int:
        return len(shop.tickets)

    return server


def fact(result):
    return result.meta[FACT]


async def ticket(host, order="A1", issue="noise", **meta):
    said = {f"ascertain.dev/{name}": text for name, text in meta.items()}
    arguments = {"order_id": order, "issue": issue}
    return await host.call_tool("create_ticket", arguments, meta=said or None, raise_on_error=False)


async def test_a_confirmed_result_is_the_tools_own_with_the_fact_beside_it(app, shop):
    async with Client(served(app, shop)) as host:
        result = await ticket(host)
    assert result.structured_content == {"ticket_id": "T900"}
    (action,) = fact(result)["actions"]
    assert action["state"] == "confirmed"
    assert len(shop.tickets) == 1


async def test_the_same_wish_reworded_is_one_effect_and_a_new_turn_is_another(app, shop):
    async with Client(served(app, shop)) as host:
        await ticket(host)
        again = await ticket(host, issue="the same, in other words")
        assert again.structured_content == {"ticket_id": "T900"}
        await ticket(host, turn="m2")
    assert len(shop.tickets) == 2


async def test_a_lost_answer_is_looked_up(app, shop):
    shop.loses = 1
    async with Client(served(app, shop)) as host:
        result = await ticket(host)
    assert (result.is_error, fact(result)["actions"][0]["provider_ref"]) == (False, "T900")
    assert len(shop.tickets) == 1


async def test_a_lost_answer_that_nobody_can_look_up_is_an_error_with_the_fact(app, shop):
    shop.loses = 1
    async with Client(served(app, shop)) as host:
        for _ in range(2):
            result = await host.call_tool("send_note", {"order_id": "A1"}, raise_on_error=False)
            assert result.is_error
            assert fact(result)["actions"][0]["state"] == "unknown"
        taken = await host.call_tool("ascertain", {"entry": "manual_review"})
    assert fact(taken)["workflow_state"] == "needs_review"
    assert len(shop.tickets) == 1


async def test_fastmcps_own_retries_around_it_are_one_effect(app, shop):
    server = served(app, shop)
    server.middleware.insert(0, RetryMiddleware(max_retries=3, base_delay=0.001))
    shop.loses = 4
    async with Client(server) as host:
        result = await host.call_tool("send_note", {"order_id": "A1"}, raise_on_error=False)
    assert fact(result)["actions"][0]["state"] == "unknown"
    assert len(shop.tickets) == 1, "without the middleware it is four"


async def test_reads_pass_where_their_hints_are_trusted_and_are_guarded_elsewhere(app, shop):
    async with Client(served(app, shop, trust_annotations=True)) as host:
        assert FACT not in ((await host.call_tool("count", {})).meta or {})


async def test_the_key_is_not_shown_and_our_tool_is(app, shop):
    async with Client(served(app, shop)) as host:
        tools = {tool.name: tool for tool in await host.list_tools()}
    assert set(tools["create_ticket"].input_schema["properties"]) == {"order_id", "issue"}
    entries = tools["ascertain"].input_schema["properties"]["entry"]["enum"]
    assert "query_ticket" in entries or "query_create_ticket" in entries


async def test_the_tools_of_a_server_that_it_proxies_are_guarded_too(app, shop):
    behind = FastMCP("behind")

    @behind.tool
    def send_note(order_id: str) -> str:
        return shop.write(order_id)

    front = create_proxy(Client(behind))
    front.add_middleware(AscertainMiddleware(Door(app, scope=app.session("c", principal="u7"))))
    shop.loses = 1
    async with Client(front) as host:
        for _ in range(3):
            result = await host.call_tool("send_note", {"order_id": "A1"}, raise_on_error=False)
            assert fact(result)["actions"][0]["state"] == "unknown"
    assert len(shop.tickets) == 1
