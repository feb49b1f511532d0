"""What only a plain loop does: its client's own retries, broken streams, saved histories."""

import anthropic
import openai
import pytest

from ascertain.adapters import anthropic as anthropic_door
from ascertain.adapters import openai as openai_door
from ascertain.adapters.loops import LoopTool
from ascertain.errors import ContractError, UnknownTool
from tests.doors.drivers.anthropic import DRIVERS as ANTHROPIC
from tests.doors.drivers.loops import told_in
from tests.doors.drivers.openai import DRIVERS as OPENAI
from tests.doors.endpoint import endpoint
from tests.doors.script import DONE, Call, Say, calls

LOOPS = [*ANTHROPIC, *OPENAI]
STREAMED = [one for one in LOOPS if one.stream]


def by_name(driver):
    return driver.name


@pytest.fixture(params=LOOPS, ids=by_name)
def loop(request):
    return request.param


def case(id, order, **more):
    return Call(id, "open_case", {"order": order, **more})


def test_req_F14_the_clients_own_retries_are_of_the_model_and_never_of_a_tool(shop, loop, order):
    played = loop.play(shop, [calls(case("c1", order), errors=2), Say(text="Done.", errors=2)])
    assert played[0].state == "confirmed"
    assert len(endpoint().requests) == 6  # three for each message of the model
    assert shop.arrivals(order) == 1


@pytest.mark.parametrize("loop", STREAMED, ids=by_name)
def test_req_U12_of_a_stream_that_breaks_off_no_call_is_made(shop, loop, order):
    played = loop.play(shop, [calls(case("c1", order), breaks=True), DONE])
    # a response that never came whole holds no calls; half a message has its calls refused
    assert all(told.action["reason"] == "cut_off" for told in played.told)
    assert shop.arrivals(order) == 0
    assert shop.actions() == []


def test_text_comes_piece_by_piece_where_it_is_streamed(shop):
    endpoint().script([Say(text="A ticket is on its way.")])
    pieces = []
    client = anthropic.Anthropic(base_url=endpoint().url, api_key="none")
    ended = anthropic_door.run_loop(
        client, shop.door, [{"role": "user", "content": "Please."}], model="scripted",
        stream=True, on_text=pieces.append,
    )  # fmt: skip
    client.close()
    assert ended.text == "".join(pieces) == "A ticket is on its way."
    assert len(pieces) > 1
    assert ended.whole


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_the_history_is_saved_before_calls_are_made_and_after(shop, order, api):
    endpoint().script([calls(case("c1", order)), DONE])
    lengths = []
    client = openai.OpenAI(base_url=f"{endpoint().url}/v1", api_key="none")
    tools = [LoopTool(*shop.guests[0][:3], lambda given: shop.open_case(**given))]
    ended = openai_door.run_loop(
        client, shop.door, [{"role": "user", "content": "Please."}], model="scripted", api=api,
        tools=tools, on_history=lambda history: lengths.append((len(history), shop.effects(order))),
    )  # fmt: skip
    client.close()
    assert lengths == [(2, 0), (3, 1), (4, 1)]
    assert len(ended.facts) == 1


def test_a_loop_ends_where_the_model_never_does(shop, order):
    endpoint().script([calls(Call(f"c{n}", "look_around", {"order": order})) for n in "123"])
    client = anthropic.Anthropic(base_url=endpoint().url, api_key="none")
    tools = [LoopTool(*shop.guests[2][:3], lambda given: shop.look_around(**given))]
    ended = anthropic_door.run_loop(
        client, shop.door, [{"role": "user", "content": "Please."}], model="scripted",
        tools=tools, most=3,
    )  # fmt: skip
    client.close()
    assert (ended.whole, len(ended.facts)) == (False, 3)


@pytest.mark.parametrize("kind", [OSError, TimeoutError])
def test_a_tool_of_yours_that_breaks_is_unknown_and_tells_nothing_of_its_exception(
    shop, order, kind
):
    """It may have been sent before its time was up, and nobody guards it."""

    def breaks(given):
        raise kind("password=hunter2")

    endpoint().script([calls(Call("c1", "look_around", {"order": order})), DONE])
    client = anthropic.Anthropic(base_url=endpoint().url, api_key="none")
    anthropic_door.run_loop(
        client, shop.door, [{"role": "user", "content": "Please."}], model="scripted",
        tools=[LoopTool(*shop.guests[2][:3], breaks)],
    )  # fmt: skip
    client.close()
    (told,) = told_in(endpoint().requests)
    assert told.is_error
    assert "hunter2" not in told.text
    assert told.facts["next_allowed"] == ["wait", "ask_person"]
    assert told.facts["actions"][0]["state"] == "unknown"
    assert "Nothing was sent" not in told.text


def test_the_model_is_shown_every_tool_with_what_it_may_say_and_no_more(shop, order):
    endpoint().script([DONE])
    client = anthropic.Anthropic(base_url=endpoint().url, api_key="none")
    tools = [LoopTool(*guest[:3], guest.run) for guest in shop.guests]
    anthropic_door.run_loop(
        client, shop.door, [{"role": "user", "content": "Please."}], model="scripted",
        tools=[*shop.own, *tools],
    )  # fmt: skip
    client.close()
    shown = {tool["name"]: tool["input_schema"] for tool in endpoint().requests[0]["tools"]}
    assert set(shown) == {*shop.own, "open_case", "post_note", "look_around", "ascertain"}
    assert set(shown["open_case"]["properties"]) == {"order", "note"}  # the key is not the model's
    assert shown["cancel_ticket"]["properties"] == {}  # the context fills it
    entries = shown["ascertain"]["properties"]["entry"]["enum"]
    assert {"query_ticket", "query_case", "mark_pending", "manual_review"} <= set(entries)


def test_tools_have_names_of_their_own_and_are_registered(shop):
    twice = [LoopTool(*shop.guests[0][:3], print)] * 2
    with anthropic.Anthropic(api_key="none") as client:
        with pytest.raises(ContractError, match="taken"):
            anthropic_door.run_loop(client, shop.door, [], model="scripted", tools=twice)
        with pytest.raises(UnknownTool):
            anthropic_door.run_loop(client, shop.door, [], model="scripted", tools=["none"])
