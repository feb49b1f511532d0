"""The programs on the pages about Temporal run against a real server, and say what they say."""

import asyncio
import contextlib
import runpy
import sys
import threading

import pytest
from temporalio.client import Client
from temporalio.service import RPCError

from ascertain.testing.world import World
from tests.docs.pages import PROVIDERS, run, start, text_of, unpack

pytestmark = pytest.mark.timeout(120)

LOSE = """
from shop import app, create_ticket
with app.session("chat-42", principal="u7"):
    print(create_ticket(order_id="A7").id)
"""

ASKS = """
from ascertain.runtime.approving import digest_of
from shop import app, crm, key

@app.tool(identity=["order_id"], approval=True)
def give_credit(order_id: str) -> dict:
    reply = crm.post("/tickets", json={"order": order_id}, headers={"Idempotency-Key": key()})
    return reply.raise_for_status().json()

if __name__ == "__main__":
    with app.session("chat-42", principal="u7"):
        record = give_credit(order_id="A9").record
    print(record.id, digest_of(app.hands, record))
"""


@pytest.fixture
def project(target, tmp_path, monkeypatch, request):
    """A reader's folder with the files of the page."""
    monkeypatch.setenv("TEMPORAL", target)
    monkeypatch.setenv("QUEUE", f"pages-{request.node.name}")
    with World(PROVIDERS) as world:
        unpack(text_of("docs/how-to/temporal.md"), tmp_path, world.url)
        world.folder = tmp_path
        yield world


def test_a_workflow_of_ones_own_opens_one_ticket(project):
    project.script("tickets", {"order": "A123"}, ["reply_lost"])
    assert run(project.folder, "worker.py") == "{'ref': 'T900', 'state': 'confirmed'}\n"
    assert project.count("tickets") == 1


def test_what_a_call_leaves_open_a_worker_process_takes_up_and_a_person_may_answer(
    project, target, capsys, monkeypatch
):
    """Nothing can be found out for now, so a person says it; another call waits for an approval.

    Both by the programs of the page.
    """
    project.script("tickets", {"order": "A7"}, ["reply_lost"] * 9, ["error_500"] * 50)
    (project.folder / "lose.py").write_text(LOSE)
    (project.folder / "asks.py").write_text(ASKS)
    action = run(project.folder, "lose.py").strip()
    asking, digest = run(project.folder, "asks.py").split()
    worker = start(project.folder, "-m", "ascertain.cli", "worker", "asks:app")
    try:
        asyncio.run(_taken_up(target, action))
        assert (
            said(capsys, monkeypatch, project.folder / "verdict.py", target, action)
            == "confirmed T900\n"
        )
        asyncio.run(_taken_up(target, asking))
        assert project.count("tickets", order="A9") == 0
        assert (
            said(capsys, monkeypatch, project.folder / "approve.py", target, asking, digest)
            == "prepared\n"
        )
        project.wait_until(lambda: project.count("tickets", order="A9") == 1, "it is sent")
    finally:
        worker.terminate()
        worker.communicate(timeout=40)
    assert project.count("tickets", order="A7") == 1


def said(capsys, monkeypatch, program, *words):
    """What a program of the page says, run in this process.

    A process that is a client only may break after its last line, when a thread of the SDK hands
    over to an interpreter that is being taken down (temporalio/sdk-python#300).
    """
    monkeypatch.setattr(sys, "argv", [str(program), *words])
    capsys.readouterr()
    runpy.run_path(str(program), run_name="__main__")
    return capsys.readouterr().out


async def _taken_up(target, action):
    client = await Client.connect(target)
    for _ in range(600):
        with contextlib.suppress(RPCError):
            if await client.get_workflow_handle(action).query("stand"):
                return
        await asyncio.to_thread(threading.Event().wait, 0.05)
    raise AssertionError("no workflow has taken it up")
