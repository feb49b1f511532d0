"""What frameworks repeat by themselves is found beside the tools, and heard of while it happens."""

import importlib.util
import json
import logging
import sys

import pytest

from ascertain.report.examine import examine
from ascertain.report.lint import lint
from tests.doors.script import DONE, Call, calls

PLAIN = """
from ascertain import Ascertain
from ascertain.adapters.door import Door
app = Ascertain({url!r})
door = Door(app, scope=app.session("chat-42", principal="u7"))

@app.tool(identity=["to"])
def send_mail(to: str) -> dict:
    return {{}}
"""
OPENAI = """
from agents import Agent, function_tool
from agents.mcp import MCPServerStdio
from ascertain.adapters.openai_agents import guarded
server = MCPServerStdio({{"command": "none"}}, max_retry_attempts={tries})
async def post_mail(to: str) -> str:
    return to

mail = function_tool(post_mail, name_override="send_mail", timeout={timeout})
agent = Agent(name="desk", tools=[mail], mcp_servers=[server])
"""
PYDANTIC = """
from pydantic_ai import Agent, Tool
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import FunctionToolset
from ascertain.adapters.pydantic_ai import Guard
slow = FunctionToolset([Tool(send_mail.__wrapped__, timeout={timeout})])
agent = Agent(TestModel(), toolsets=[slow], capabilities={capabilities})
del slow
"""
LANGCHAIN = """
from langchain.agents.middleware import ToolRetryMiddleware
retries = ToolRetryMiddleware()
"""


def found_in(folder, *sources, **said):
    """What lint finds in an app whose module has these lines."""
    url = f"sqlite:///{folder}/ledger.db"
    file = folder / "shop_of_a_test.py"
    file.write_text("".join(source.format(url=url, **said) for source in sources))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    app = module.app
    sys.modules[file.stem] = module
    try:
        findings = [one for one in lint(app) if one.rule == "retry-around"]
        checks = examine(app.ledger, 0.0, app=app).checks
        told = [check for check in checks if "[retry-around]" in check.sentence]
        assert len(told) == len(findings), "the doctor says the same"
        return [one.sentence for one in findings]
    finally:
        del sys.modules[file.stem]
        app.close()


def test_req_F14_tool_timeouts_and_servers_of_the_openai_agents_sdk_are_found(tmp_path):
    server, tool = sorted(found_in(tmp_path, PLAIN, OPENAI, tries=2, timeout=3))
    assert "up to 2 times more after any exception, a timeout too" in server
    assert "after 3 s it gives the call up, and the model is told that it timed out" in tool
    assert found_in(tmp_path, PLAIN, OPENAI, tries=0, timeout=None) == []


def test_req_F14_what_the_openai_agents_sdk_has_behind_a_door_is_not_named(tmp_path):
    behind = OPENAI + "agent, mail = Agent(name='desk', tools=guarded(door, mail)), None\n"
    assert found_in(tmp_path, PLAIN, behind, tries=0, timeout=3) == []


def test_req_F14_tool_timeouts_of_pydantic_ai_are_found_and_the_capability_owns_them(tmp_path):
    (found,) = found_in(tmp_path, PLAIN, PYDANTIC, timeout=3, capabilities="[]")
    assert "after 3 s it gives the call up, and the model is asked to retry" in found
    assert found_in(tmp_path, PLAIN, PYDANTIC, timeout=3, capabilities="[Guard(door)]") == []


def test_req_F14_langchains_retries_of_tools_are_found(tmp_path):
    (found,) = found_in(tmp_path, PLAIN, LANGCHAIN)
    assert "it calls a tool up to 2 times more after any exception" in found


def test_an_app_without_frameworks_has_nothing_to_hear(tmp_path):
    assert found_in(tmp_path, PLAIN) == []


@pytest.mark.parametrize("again", [False, True])
def test_req_F14_a_call_that_comes_once_more_is_told_in_the_log(shop, order, caplog, again, driver):
    caplog.set_level(logging.INFO, "ascertain")
    says = [calls(Call("c1", "open_case", {"order": order})), DONE]
    for _ in range(1 + again):
        driver.play(shop, says)
    lines = [json.loads(one.message) for one in caplog.records if one.name == "ascertain"]
    told = [line for line in lines if line["event"] == "call_repeated"]
    assert [(line["tool"], line["state"]) for line in told] == [("open_case", "confirmed")] * again
    assert shop.effects(order) == 1
