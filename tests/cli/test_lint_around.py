"""F14: retries of frameworks around guarded tools are found, by the frameworks' own objects."""

import json
import shutil
import sys
import types

import pytest

from ascertain.report.around import layers_of

SHOP = '''
from ascertain import Ascertain

app = Ascertain("sqlite:///ledger.db", worker="none")


@app.tool(identity=["to"], undo="recall", key_lifetime="48h")
def send_mail(to: str) -> dict[str, str]:
    """Send a mail."""
    return {"id": to}


@app.read()
def get_mail(to: str) -> dict[str, str]:
    """Read a mail."""
    return {"id": to}


def call(to: str) -> str:
    """Send a mail."""
    return str(send_mail(to=to).facts())


call.__name__ = "send_mail"
'''
LANGCHAIN = """
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware, ToolRetryMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.tools import tool

agent = create_agent(
    GenericFakeChatModel(messages=iter([])), [tool(call)], middleware=[{middleware}]
)
"""
LANGGRAPH = """
from typing import TypedDict
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import RetryPolicy


class State(TypedDict):
    messages: list


graph = StateGraph(State)
graph.add_node("tools", ToolNode([tool(call)]), retry_policy={policy})
graph.add_node("plan", lambda state: state)
graph.add_edge(START, "tools")
agent = graph.compile()
"""
FASTMCP = """
from fastmcp import FastMCP
from fastmcp.server.middleware.error_handling import RetryMiddleware

server = FastMCP("shop")
server.tool(call)
server.add_middleware(RetryMiddleware(max_retries={tries}))
"""
AGENTS = """
import agents
from agents.mcp import MCPServerStdio

helper = MCPServerStdio({{"command": "shop"}}, max_retry_attempts={tries})


@agents.function_tool(timeout={timeout}, name_override="send_mail")
async def post(to: str) -> str:
    return call(to)


agent = agents.Agent("shop", mcp_servers=[helper], tools=[post])
"""
PYDANTIC = """
import pydantic_ai

agent = pydantic_ai.Agent("test", tool_timeout={whole})
agent.tool_plain(timeout={timeout})(call)
"""
DECORATORS = """
import backoff, stamina, tenacity


@tenacity.retry(stop=tenacity.stop_after_attempt(3))
def by_tenacity(to):
    return send_mail(to=to).unwrap()


by_stamina = stamina.retry(on=OSError)(send_mail)


@backoff.on_exception(backoff.expo, OSError)
def by_backoff(to):
    return get_mail(to=to)
"""


@pytest.fixture
def around(here, cli):
    """The findings on what a module around the shop has put together."""

    def lint(source):
        # Python takes what it compiled for current if the size and the second are the same.
        shutil.rmtree(here / "__pycache__", ignore_errors=True)
        (here / "shop.py").write_text(SHOP)
        (here / "agent.py").write_text(f"from shop import app, call, get_mail, send_mail\n{source}")
        done = cli("lint", "agent:app", "--json")
        assert done.code in (0, 1), done.out
        found = json.loads(done.out)["findings"]
        return [one for one in found if one["rule"] == "retry-around"]

    return lint


def test_req_F14_langchain_s_tool_retry_is_found_where_it_hangs_on_an_agent(around):
    (found,) = around(LANGCHAIN.format(middleware="ToolRetryMiddleware(max_retries=4)"))
    assert (found["severity"], found["tool"]) == ("warn", "")
    assert "langchain.ToolRetryMiddleware" in found["sentence"]
    assert "up to 4 times more after any exception" in found["sentence"]
    assert found["next"].startswith("Name the tools that only read")


def test_req_F14_a_retry_of_some_tools_concerns_only_these(around):
    (found,) = around(
        LANGCHAIN.format(middleware='ToolRetryMiddleware(tools=["send_mail", "get_mail"])')
    )
    assert found["tool"] == "send_mail", "a read may be repeated"
    assert around(LANGCHAIN.format(middleware='ToolRetryMiddleware(tools=["get_mail"])')) == []
    assert around(LANGCHAIN.format(middleware="ToolRetryMiddleware(max_retries=0)")) == []


def test_req_F14_a_retry_of_the_model_is_a_note(around):
    (found,) = around(LANGCHAIN.format(middleware="ModelRetryMiddleware()"))
    assert found["severity"] == "info"
    assert "new id and in other words" in found["sentence"]


def test_req_F14_langgraph_s_retry_policy_is_found_on_the_node_of_the_tools(around):
    (found,) = around(LANGGRAPH.format(policy="RetryPolicy(max_attempts=5)"))
    assert found["tool"] == "send_mail"
    assert "node tools: its retry policy runs the whole node up to 5 times" in found["sentence"]
    assert around(LANGGRAPH.format(policy="None")) == []


def test_req_F14_fastmcp_s_retry_is_found_on_the_server(around):
    (found,) = around(FASTMCP.format(tries=3))
    assert "fastmcp.RetryMiddleware" in found["sentence"]
    assert "3 times more after ConnectionError, TimeoutError" in found["sentence"]
    assert around(FASTMCP.format(tries=0)) == []


def test_req_F14_the_openai_agents_sdk_repeats_by_mcp_and_gives_tools_up(around):
    by_tool = {one["tool"]: one["sentence"] for one in around(AGENTS.format(tries=2, timeout=3))}
    assert set(by_tool) == {"", "send_mail"}
    assert "MCPServerStdio: it sends a tool call up to 2 times more" in by_tool[""]
    assert "after 3 s it gives the call up" in by_tool["send_mail"]
    (endless,) = around(AGENTS.format(tries=-1, timeout=None))
    assert "for ever" in endless["sentence"]
    assert around(AGENTS.format(tries=0, timeout=None)) == []


def test_req_F14_pydantic_ai_s_timeouts_become_retries(around):
    (found,) = around(PYDANTIC.format(whole=None, timeout=1.5))
    assert found["tool"] == "send_mail"
    assert "after 1.5 s it gives the call up, and the model is asked to retry" in found["sentence"]
    (found,) = around(PYDANTIC.format(whole=2, timeout=None))
    assert "after 2 s" in found["sentence"]
    assert around(PYDANTIC.format(whole=None, timeout=None)) == []


def test_req_F14_retry_decorators_over_a_guarded_tool_are_found(around):
    found = around(DECORATORS)
    assert {one["tool"] for one in found} == {"send_mail"}
    said = " ".join(one["sentence"] for one in found)
    assert "tenacity on by_tenacity" in said
    assert "stamina on" in said
    assert "backoff" not in said, "it only reads"


def test_an_app_that_only_reads_minds_no_retry(here, cli):
    (here / "shop.py").write_text(SHOP.replace("@app.tool(", "@app.observe(").replace(
        ', undo="recall", key_lifetime="48h"', ""
    ))  # fmt: skip
    (here / "agent.py").write_text(
        "from shop import *\n" + LANGCHAIN.format(middleware="ToolRetryMiddleware()")
    )
    found = json.loads(cli("lint", "agent:app", "--json").out)["findings"]
    assert "retry-around" not in {one["rule"] for one in found}


def test_doctor_tells_it_too(here, cli, around):
    around(FASTMCP.format(tries=3))
    done = cli("doctor", "agent:app", "--json")
    said = [one["sentence"] for one in json.loads(done.out)["checks"] if one["name"] == "lint"]
    assert any(sentence.startswith("[retry-around]") for sentence in said)


def test_what_no_framework_made_is_left_alone():
    plain = types.SimpleNamespace(max_retries=3)
    assert list(layers_of(plain, {})) == []
    made = type("ReflectAndRetryToolPlugin", (), {"__module__": "google.adk.plugins"})()
    made.max_retries = 3
    (layer,) = layers_of(made, {})
    assert "up to 3 times" in layer.what
    assert "google" not in sys.modules or not hasattr(sys.modules["google"], "adk")
