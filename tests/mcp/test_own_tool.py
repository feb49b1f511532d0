"""The one extra tool: what became of earlier calls, and nothing beyond next_allowed."""

from tests.mcp.house import fact, reason


async def own(host):
    (tool,) = [t for t in (await host.client.list_tools()).tools if t.name == "ascertain"]
    return tool


async def test_its_argument_is_an_enum_of_what_next_allowed_offers(house):
    async with house.host() as host:
        schema = (await own(host)).input_schema
    assert schema["properties"]["entry"]["enum"] == [
        "query_create_ticket", "mark_pending", "manual_review", "wait", "ask_person",
        "correct_arguments", "call_again",
    ]  # fmt: skip


async def test_a_question_is_asked_of_the_provider_and_sends_nothing(house):
    tools = {"create_ticket": house.patient()}
    async with house.host(tools=tools) as host:
        house.shop.next("die_after")
        house.hide_tickets()
        result = await host.ticket()
        assert fact(result)["next_allowed"][0] == "query_create_ticket"
        house.show_tickets()
        asked = await host.call("ascertain", entry="query_create_ticket")
    assert fact(asked)["actions"][0]["state"] == "confirmed"
    assert len(house.shop.tickets()) == 1


async def test_what_is_not_offered_has_no_effect_and_says_why(house):
    async with house.host() as host:
        await host.ticket()
        refused = await host.call("ascertain", entry="manual_review")
        odd = await host.call("ascertain", entry=7)
    assert refused.is_error
    assert reason(refused) == "not_allowed"
    assert odd.is_error


async def test_a_case_is_opened_for_a_person(house):
    async with house.host() as host:
        house.shop.next("die_after")
        await host.call("send_note", order_id="A1", text="x")
        taken = await host.call("ascertain", entry="manual_review")
    assert not taken.is_error
    assert fact(taken)["workflow_state"] == "needs_review"
