"""The shop of one test, its workers, and what is asked of every history in the end."""

import asyncio
import base64
import contextlib
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Replayer, Worker

from ascertain.model.tables import State
from ascertain.store.ledger import Filter
from ascertain.temporal import Reconcile, Stand, Starter, Temporal, plugin
from ascertain.temporal.worker import TemporalWorker
from tests.temporal import shop as names
from tests.temporal.shop import Shop

WITHIN_S = 30.0
KEEP = "ASCERTAIN_KEEP_HISTORIES"


class House:
    """An app that starts no worker by itself; workers come and go as the test says."""

    def __init__(self, target, world, folder, order, **shop):
        self.target, self.world, self.folder, self.order = target, world, folder, order
        self.queue = f"shop-{order}"
        self.place = Temporal(target, task_queue=self.queue, embedded=False, silence_s=2.0)
        self.shop = Shop(world.url, folder, self.place, **shop)
        self.app = self.shop.app
        self.children = []
        self.own_workflows = []

    async def __aenter__(self):
        self.client = await Client.connect(self.target)
        self.starter = Starter(self.client, self.place)
        return self

    async def __aexit__(self, *_):
        for child in self.children:
            child.kill()
            child.wait(10)
        await asyncio.to_thread(self.shop.close)

    # -- the agent ------------------------------------------------------------------------------

    def ask(self, tool, order=None, session="chat-42"):
        """The agent's call, made outside Temporal."""
        with self.app.session(session, principal="u7"):
            return tool(order_id=order or self.order)

    async def lose_answer(self, first="reply_lost", *, lookups=1, sends=1):
        """A call whose answer is lost, with or without its effect; nobody has found out yet."""
        self.world.script(
            "tickets", {"order": self.order}, [first] * sends, ["error_500"] * lookups
        )
        action = await asyncio.to_thread(self.ask, self.shop.create_ticket)
        assert action.state is State.UNKNOWN
        return action

    async def lose_letter(self, tool=None, first="reply_lost"):
        """The same with a tool whose provider knows no key and answers no question."""
        self.world.script("letters", {"order": self.order}, [first])
        action = await asyncio.to_thread(self.ask, tool or self.shop.send_letter)
        assert action.state is State.UNKNOWN
        return action

    def steps_per_run(self, most):
        self.place = replace(self.place, steps_per_run=most)

    # -- workers --------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def worker(self):
        """A worker in this process: what `Ascertain(url, worker=Temporal(...))` embeds."""
        worker = TemporalWorker(self.app, self.place, concurrency=8)
        running = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.stop()
            await asyncio.wait_for(running, WITHIN_S)

    @contextlib.asynccontextmanager
    async def polling(self, *workflows, activities=()):
        """A user's own worker, with our parts as a plugin; nothing starts workflows by itself."""
        self.own_workflows += workflows
        async with Worker(
            self.client, task_queue=self.queue, workflows=list(workflows),
            activities=list(activities), plugins=[plugin(self.app)],
        ):  # fmt: skip
            yield

    def child(self, kill="", module=None):
        """`ascertain worker` as a process of its own; or a module that is run as one."""
        command = ["ascertain.cli", "worker", "tests.temporal.shop:app"]
        environment = {
            **os.environ, names.WORLD: self.world.url, names.FOLDER: str(self.folder),
            names.TARGET: self.target, names.QUEUE: self.queue, names.KILL: kill,
        }  # fmt: skip
        if kill:
            (self.folder / "may_die").touch()
        with (self.folder / "child.log").open("ab") as log:
            child = subprocess.Popen(
                [sys.executable, "-m", *([module] if module else command)],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self.children.append(child)
        return child

    # -- what came out --------------------------------------------------------------------------

    def handle(self, action):
        return self.client.get_workflow_handle(action.id, result_type=Stand)

    async def result(self, action):
        """What the action's workflow says in the end, once there is one."""
        deadline = time.monotonic() + WITHIN_S
        while not await self._is_there(action):
            assert time.monotonic() < deadline, "no workflow has taken it up"
            await moment()
        return await asyncio.wait_for(self.handle(action).result(), WITHIN_S)

    async def _is_there(self, action):
        try:
            await self.handle(action).describe()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return False
        return True

    async def until(self, holds, what, within_s=WITHIN_S):
        """Look again until it holds."""
        deadline = time.monotonic() + within_s
        while not (found := await asyncio.to_thread(holds)):
            assert time.monotonic() < deadline, f"not within {within_s} s: {what}"
            await moment()
        return found

    async def until_running(self, action):
        """Until there is a workflow for the action that has looked at it."""
        return await self.until_told(action, Reconcile.stand)

    async def until_told(self, action, query):
        """Until the running workflow has an answer to a query."""
        deadline = time.monotonic() + WITHIN_S
        while True:
            with contextlib.suppress(RPCError):
                told = await self.handle(action).query(query)
                if told is not None:
                    return told
            assert time.monotonic() < deadline, "the workflow does not tell"
            await moment()

    def only(self, **more):
        (record,) = self.app.ledger.find(Filter(**more))
        return record

    def effects(self, collection="tickets", **more):
        return self.world.effects(collection, **({"order": self.order} | more))

    async def histories(self):
        """All that was run on this test's task queue."""
        rows = self.client.list_workflows(f"TaskQueue = '{self.queue}'")
        return [
            await self.client.get_workflow_handle(row.id, run_id=row.run_id).fetch_history()
            async for row in rows
        ]

    async def check_histories(self):
        """They replay, hold nothing but JSON, and none of what the tools were given."""
        histories = await self.histories()
        replayer = Replayer(workflows=self.own_workflows, plugins=[plugin(self.app)])
        for history in histories:
            await replayer.replay_workflow(history)
        self._keep(histories)
        told = [part for history in histories for part in payloads(history)]
        assert {kind for kind, _ in told} <= {"json/plain", "binary/null"}
        assert told or not histories
        return histories

    def _keep(self, histories):
        """Where the environment names a folder, ours are kept there, to be recorded from."""
        folder = os.environ.get(KEEP)
        if folder is None:
            return
        test = self.order.removeprefix("A-").rpartition("-")[0]
        for n, history in enumerate(histories):
            started = history.events[0].workflow_execution_started_event_attributes
            if started.workflow_type.name.startswith("ascertain."):
                kept = _without_places(history.to_json_dict())
                text = json.dumps(kept, separators=(",", ":"))
                Path(folder, f"{test}.{n}.json").write_text(f"{text}\n")


def payloads(history):
    """(encoding, data) of everything that the history carries."""
    found = []

    def walk(part):
        if isinstance(part, dict):
            encoding = part.get("metadata", {}).get("encoding") if "metadata" in part else None
            if encoding is not None:
                pair = (base64.b64decode(text) for text in (encoding, part.get("data", "")))
                found.append(tuple(one.decode() for one in pair))
            else:
                for one in part.values():
                    walk(one)
        elif isinstance(part, list):
            for one in part:
                walk(one)

    walk(history.to_json_dict())
    return found


def _without_places(part):
    """The same without the names of processes, hosts and folders: no replay looks at them."""
    if isinstance(part, list):
        return [_without_places(one) for one in part]
    if isinstance(part, str):
        return re.sub(r"^\d+@[^-]+", "worker", part)  # also in the name of a worker's own queue
    if not isinstance(part, dict):
        return part
    places = {"identity": "worker", "stackTrace": ""}
    return {name: places.get(name, _without_places(one)) for name, one in part.items()}


async def moment():
    """The pause between two looks."""
    await asyncio.sleep(0.05)
