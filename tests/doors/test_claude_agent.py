"""What only the Claude Agent SDK does: a program of its own, prompts, sessions."""

import runpy

from claude_agent_sdk import ClaudeSDKClient, create_sdk_mcp_server, query

from ascertain import State
from ascertain.adapters.claude_agent import GuardedServer
from ascertain.adapters.door import Door
from tests.docs.pages import block_with
from tests.doors.drivers.claude_agent import asked, of_server, options_of, told_in, tool_of
from tests.doors.endpoint import endpoint
from tests.doors.script import DONE, Call, Say, calls

LOST = ["reply_lost"]


def note(order, id="toolu_1"):
    return Call(id, "post_note", {"order": order})


def case(order, id="toolu_1", **more):
    return Call(id, "open_case", {"order": order, **more})


def script(*says):
    served = endpoint()
    served.script([of_server(say) for say in says])
    return served


def desk_of(shop, door=None, **said):
    return GuardedServer(
        "desk", shop.door if door is None else door,
        tools=[tool_of(guest) for guest in shop.guests], **said,
    )  # fmt: skip


async def test_without_the_door_a_lost_answer_is_told_as_a_failure_and_is_a_second_effect(
    shop, order
):
    shop.world.script("tickets", {"order": order}, LOST)
    served = script(calls(note(order)), calls(note(order, "toolu_2")), DONE)
    bare = create_sdk_mcp_server("desk", tools=[tool_of(guest) for guest in shop.guests])
    options = options_of(served, mcp_servers={"desk": bare}, allowed_tools=["mcp__desk__post_note"])
    told = told_in([message async for message in query(prompt="Please.", options=options)])
    assert told[0].is_error
    assert shop.effects(order) == 2


async def test_behind_the_door_a_second_plan_meets_what_is_known(shop, order):
    shop.world.script("tickets", {"order": order}, LOST)
    served = script(calls(note(order)), calls(note(order, "toolu_2")), DONE)
    messages = []
    await asked(served, desk_of(shop), messages)
    assert [told.state for told in told_in(messages)] == ["unknown", "unknown"]
    assert shop.arrivals(order) == 1


async def test_the_turn_is_the_prompt_and_the_session_the_sdks(shop, order):
    heard = []

    def session(call):
        heard.append(call)
        return shop.session(call)

    served = script(
        calls(case(order)), calls(case(order, "toolu_2", note="other words")), DONE,
        calls(case(order, "toolu_3")), DONE,
    )  # fmt: skip
    desk = desk_of(shop, Door(shop.app, scope=session))
    desk._door.declare("open_case", identity=["order"], wording=["note"])
    async with ClaudeSDKClient(options_of(served, desk)) as client:
        for prompt in ("Please.", "And one more."):
            await client.query(prompt)
            [message async for message in client.receive_response()]
            effects = shop.effects(order)
            assert effects == (1 if prompt == "Please." else 2)
    assert [call.tool_use_id for call in heard] == ["toolu_1", "toolu_2", "toolu_3"]
    assert len({call.session_id for call in heard}) == 1
    assert heard[0].prompt_id == heard[1].prompt_id != heard[2].prompt_id


async def test_a_session_that_is_resumed_finds_its_action(shop, order):
    shop.world.script("tickets", {"order": order}, LOST)
    messages = []
    await asked(script(calls(note(order)), DONE), desk_of(shop), messages)
    served = script(calls(note(order, "toolu_2")), DONE)
    await asked(
        served, desk_of(shop), messages, "Has it been done?", resume=messages[-1].session_id
    )
    assert [told.state for told in told_in(messages)] == ["unknown", "unknown"]
    assert shop.arrivals(order) == 1


async def test_what_the_program_fills_is_not_shown_to_the_model(shop, order):
    messages = []
    await asked(script(calls(case(order)), DONE), desk_of(shop), messages)
    (shown,) = [
        one["input_schema"]
        for one in endpoint().requests[0]["tools"]
        if one["name"] == "mcp__desk__open_case"
    ]
    assert set(shown["properties"]) == {"order", "note"}
    (effect,) = shop.world.effects("tickets", order=order)
    assert effect.key == shop.actions()[0].key


async def test_without_a_scope_nothing_is_sent(shop, order):
    messages = []
    desk = desk_of(shop, Door(shop.app))
    await asked(script(calls(note(order)), DONE), desk, messages)
    assert told_in(messages)[0].is_error
    assert shop.arrivals(order) == 0


async def test_a_call_that_a_person_refuses_never_comes(shop, order):
    from claude_agent_sdk import PermissionResultDeny

    async def refuses(tool, given, context):
        return PermissionResultDeny(message="no")

    async def prompts():
        yield {"type": "user", "message": {"role": "user", "content": "Please."}}

    served = script(calls(note(order)), DONE)
    desk = desk_of(shop)
    messages = []
    await asked(
        served, desk, messages, prompts(), allowed_tools=[], can_use_tool=refuses,
    )  # fmt: skip
    assert told_in(messages)[0].is_error
    assert shop.actions() == []


async def test_the_programs_own_retries_are_of_the_model_and_never_of_a_tool(shop, order):
    messages = []
    served = script(calls(case(order), errors=2), Say(text="Done.", errors=1))
    await asked(served, desk_of(shop), messages)
    assert [told.state for told in told_in(messages)] == ["confirmed"]
    assert shop.arrivals(order) == 1
    assert [action.state for action in shop.actions()] == [State.CONFIRMED]


def open_ticket(order_id: str, issue: str) -> dict:
    """Open a ticket."""


def test_what_the_page_shows_guards_the_tools(shop, tmp_path):
    block = block_with("docs/how-to/doors.md", "from claude_agent_sdk import ClaudeAgentOptions")
    shop.app.wrap(shop.send, name="send_mail", identity=["order"])
    (tmp_path / "page.py").write_text(block)
    given = {"app": shop.app, "Door": Door, "open_ticket": open_ticket}
    names = runpy.run_path(str(tmp_path / "page.py"), init_globals=given)
    names_of_tools = ["open_ticket", "send_mail", "ascertain"]
    assert names["options"].allowed_tools == [f"mcp__desk__{one}" for one in names_of_tools]
