"""What the specification demands (MUST) of who stands between a host and a server.

`docs/reference/mcp-clauses.md` has the list: each clause with the test that holds us to it.
"""

import asyncio
import json
import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import mcp_types as types
import pytest
from mcp.server.lowlevel import Server

from ascertain.adapters.mcp.serve import heard_404
from tests.mcp.house import MODES, House, reason, state

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "mcp-clauses.md").read_text()
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| `(.+?)::(.+?)` \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("clause,where,file,test", ROWS, ids=[row[3] for row in ROWS])
def test_the_clause_has_its_test(clause, where, file, test):
    text = (ROOT / "tests" / "mcp" / file).read_text()
    assert f"def {test}(" in text, clause


def test_the_list_is_a_list():
    assert len(ROWS) >= 20
    assert len({row[3] for row in ROWS}) == len(ROWS), "one test each"


# -- over HTTP ------------------------------------------------------------------------------------

MODERN = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@asynccontextmanager
async def over_http(house):
    async with house.proxy(shared=True, trust_annotations=True) as server:
        app = server.streamable_http_app(host="127.0.0.1")
        async with server.session_manager.run():
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1:8000"
            ) as web:
                yield web


def asked(method, meta=META, **params):
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": meta}}
    return {"json": body}


async def post(web, method, *, headers=None, meta=META, **params):
    name = {"Mcp-Name": params["name"]} if "name" in params else {}
    sent = {**MODERN, "Mcp-Method": method, **name, **(headers or {})}
    return await web.post("/mcp", headers=sent, **asked(method, meta, **params))


def answer(response):
    text = response.text
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return json.loads(lines[-1] if lines else text)


async def test_a_foreign_origin_is_forbidden(house):
    async with over_http(house) as web:
        refused = await post(web, "tools/list", headers={"Origin": "https://evil.example"})
        assert refused.status_code == 403
        assert (await post(web, "tools/list")).status_code == 200


async def test_headers_that_do_not_fit_the_body_are_refused_and_nothing_is_sent(house):
    async with over_http(house) as web:
        wrong = {"Mcp-Name": "send_note"}
        arguments = {"order_id": "A1", "issue": "x"}
        refused = await post(
            web, "tools/call", headers=wrong, name="create_ticket", arguments=arguments
        )
        assert refused.status_code == 400
        assert answer(refused)["error"]["code"] == types.HEADER_MISMATCH
    assert house.shop.tickets() == []


async def test_an_unsupported_version_is_told_with_those_that_are(house):
    async with over_http(house) as web:
        meta = {**META, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
        headers = {"MCP-Protocol-Version": "2031-01-01"}
        refused = await post(web, "tools/list", headers=headers, meta=meta)
        assert refused.status_code == 400
        error = answer(refused)["error"]
        assert error["code"] == types.UNSUPPORTED_PROTOCOL_VERSION
        assert "2026-07-28" in error["data"]["supported"]


async def test_a_method_that_is_not_there_is_not_found(house):
    async with over_http(house) as web:
        refused = await post(web, "tools/destroy")
        assert (refused.status_code, answer(refused)["error"]["code"]) == (404, -32601)


async def test_every_result_says_its_type_and_the_answer_has_the_requests_id(house):
    async with over_http(house) as web:
        for method, params in (
            ("tools/list", {}),
            ("server/discover", {}),
            ("prompts/list", {}),
            ("resources/list", {}),
            ("tools/call", {"name": "ping", "arguments": {"text": "x"}}),
        ):
            told = answer(await post(web, method, **params))
            assert told["id"] == 7
            assert told["result"]["resultType"] == "complete", method


async def test_what_is_offered_is_declared(house):
    async with over_http(house) as web:
        told = answer(await post(web, "server/discover"))["result"]["capabilities"]
    assert {"tools", "prompts", "resources"} <= set(told)


# -- over stdio -----------------------------------------------------------------------------------


async def test_stdout_has_messages_only_one_on_a_line_and_a_cancelled_call_has_none(house):
    house.shop.folder.joinpath("ascertain.toml").write_text(
        f'[mcp]\nname = "shop"\nledger = "sqlite:///{house.folder}/l.db"\n'
        f'pins = "{house.folder}/p.json"\n'
    )
    ascertain = str(Path(sys.executable).with_name("ascertain"))
    config = str(house.folder / "ascertain.toml")
    server = [sys.executable, "-m", "tests.mcp.shop_server", str(house.folder)]
    proxy = await asyncio.create_subprocess_exec(
        ascertain, "mcp", "--config", config, "--", *server, cwd=ROOT,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    house.shop.next("slow")
    note = {"name": "send_note", "arguments": {"order_id": "A1", "text": "two\nlines"}}

    def say(method, id=None, **params):
        number = {} if id is None else {"id": id}
        message = {
            "jsonrpc": "2.0",
            **number,
            "method": method,
            "params": {**params, "_meta": META},
        }
        proxy.stdin.write(json.dumps(message).encode() + b"\n")

    say("tools/call", 1, **note)
    await asyncio.to_thread(wait_long_for, house.folder / "began")
    say("notifications/cancelled", requestId=1)
    say("tools/call", 2, **note)
    (house.folder / "go").touch()
    first = json.loads(await asyncio.wait_for(proxy.stdout.readline(), 20))
    assert first["id"] == 2, "the cancelled request has no answer, its wish has one effect"
    assert first["result"]["_meta"]["ascertain.dev/fact"]["workflow_state"] == "completed"
    proxy.stdin.close()
    rest = await asyncio.wait_for(proxy.stdout.read(), 20)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert await proxy.wait() == 0
    assert len(house.shop.tickets()) == 1


def wait_long_for(file):
    from tests.mcp.shop_server import wait_for

    for _ in range(4):
        wait_for(file)
    assert file.exists()


# -- towards the server ---------------------------------------------------------------------------


NOTHING = {"type": "object", "properties": {}}


def paging():
    """A server whose list of tools comes in pages, one of which has a header that cannot be."""
    schema = {"type": "object", "properties": {"region": {"type": "string"}}}
    bad = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": ""}}}
    pages = {None: ("one", schema, "p2"), "p2": ("two", schema, "p3"), "p3": ("bad", bad, None)}
    heard = []

    async def listed(context, params):
        name, shown, more = pages[params.cursor if params else None]
        tool = types.Tool(name=name, input_schema=shown)
        return types.ListToolsResult(
            tools=[tool], next_cursor=more, ttl_ms=0, cache_scope="private"
        )

    async def called(context, params):
        heard.append((params.name, context.request_id, params.request_state))
        if params.name == "two" and params.request_state is None and not params.input_responses:
            form = types.ElicitRequestFormParams(message="Sure?", requested_schema=NOTHING)
            asks = {"sure": types.ElicitRequest(params=form)}
            return types.InputRequiredResult(input_requests=asks, request_state="state \u00e9 1")
        return types.CallToolResult(content=[types.TextContent(text="done")])

    return Server("pages", on_list_tools=listed, on_call_tool=called), heard


@asynccontextmanager
async def of_pages(tmp_path, **said):
    from mcp.client._memory import InMemoryTransport

    server, heard = paging()
    house = House(tmp_path)
    async with house.bare_host(lambda notice: InMemoryTransport(server), **said) as host:
        yield host, heard


async def test_all_pages_are_read_and_a_tool_whose_header_cannot_be_is_left_out(tmp_path):
    async with of_pages(tmp_path) as (host, _):
        names = [tool.name for tool in (await host.client.list_tools()).tools]
    assert names == ["one", "two", "ascertain"]


async def test_the_servers_state_is_echoed_exactly_under_a_new_request_id(tmp_path):
    async def yes(context, params):
        return types.ElicitResult(action="accept", content={})

    async with of_pages(tmp_path, elicitation_callback=yes) as (host, heard):
        result = await host.call("two")
    assert state(result) == "confirmed"
    (first, second) = heard
    assert (first[2], second[2]) == (None, "state \u00e9 1")
    assert first[1] != second[1]


async def test_a_host_that_cannot_be_asked_is_not_asked(tmp_path):
    async with of_pages(tmp_path) as (host, heard):
        result = await host.call("two")
    assert state(result) == "unknown"
    assert len(heard) == 1


async def test_our_keys_in_meta_have_a_prefix_of_our_own_and_none_that_is_reserved():
    from ascertain.adapters.mcp import words

    for key in (words.FACT, words.KEY, words.SESSION, words.TURN, words.ORDINAL):
        prefix = key.partition("/")[0].split(".")
        assert prefix == ["ascertain", "dev"]
        assert not {"mcp", "modelcontextprotocol"} & set(prefix[-2:])


@pytest.mark.parametrize("mode", MODES)
async def test_all_inputs_are_validated_before_anything_is_sent(house, mode):
    async with house.host(mode=mode) as host:
        for wrong in (
            {"order_id": 7, "issue": "x"},
            {"order_id": "A1"},
            {"order_id": "A1", "x": 1},
        ):
            refused = await host.call("create_ticket", **wrong)
            assert refused.is_error
            assert reason(refused) in ("invalid_arguments", "missing_arguments")
    assert house.shop.tickets() == []


async def test_where_a_look_up_confirms_the_output_schema_still_holds(house):
    """The official client checks it, and raises where it does not."""
    async with house.host() as host:
        listed = {tool.name: tool for tool in (await host.client.list_tools()).tools}
        assert listed["create_ticket"].output_schema["anyOf"]
        house.shop.next("die_after")
        result = await host.ticket()
        assert result.structured_content["workflow_state"] == "completed"


async def test_a_call_that_comes_again_under_a_new_id_is_no_new_effect(house):
    async with house.host() as host:
        for _ in range(3):
            await host.ticket()
    assert len(house.shop.tickets()) == 1


NOT_FOUND = '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}'


@pytest.mark.parametrize(
    "kind,session,body,expected",
    [
        ("application/json", True, NOT_FOUND, [("session_ended", (-32001, "Session not found"))]),
        ("application/json", True, "{}", [("session_ended", (-32600, "Session terminated"))]),
        ("application/json", False, NOT_FOUND, []),
        ("text/html", True, "<p>", [("bare_404", (-32600, "Session terminated"))]),
        ("text/plain", False, "", [("bare_404", (-32600, "Session terminated"))]),
    ],
)
async def test_only_the_servers_own_404_ends_a_session(kind, session, body, expected):
    """Of a gateway's "not found" the SDK makes a code of the server's, which proves nothing."""
    seen = []
    response = httpx.Response(
        404,
        headers={"content-type": kind},
        content=body,
        request=httpx.Request(
            "POST", "http://x/mcp", headers={"mcp-session-id": "1"} if session else {}
        ),
    )
    await heard_404(lambda what, said: seen.append((what, said)))(response)
    assert seen == expected
