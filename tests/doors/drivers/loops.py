"""What the drivers of plain loops share: a loop with its real client on a local endpoint."""

import functools

from ascertain.adapters.loops import LoopTool
from tests.doors.drivers import running
from tests.doors.endpoint import endpoint
from tests.doors.script import Played, Told
from tests.doors.shop import Killed


@functools.cache
def client_of(kind, base):
    """Sync clients serve all tests, as they serve all conversations of a program."""
    return kind(base_url=base, api_key="none", max_retries=2)


class Loop:
    """A plain loop over one API."""

    tells_cut = True

    def __init__(self, name, *, door, client, light=False, is_async=False, stream=False, **said):
        self.name = name
        self.door = door
        self.client = client
        self.light = light
        self.is_async = is_async
        self.stream = stream
        self.said = said

    def __repr__(self):
        return self.name

    def play(self, shop, says, *, turn="m1", tools=None, saved=None, cancel=False):
        model = endpoint()
        model.script(says)
        history = saved or [{"role": "user", "content": "Please."}]
        kept = {"history": history}
        names = shop.own if tools is None else tools
        guests = [
            LoopTool(*guest[:3], _of(guest, is_async=self.is_async))
            for guest in shop.guests
        ]  # fmt: skip
        options = {
            "model": "scripted", "tools": [*names, *guests], "turn": turn, "stream": self.stream,
            "on_history": lambda history: kept.update(history=history), **self.said,
        }  # fmt: skip
        base = model.url if "anthropic" in self.name else f"{model.url}/v1"
        killed = False
        if self.is_async:
            client = self.client(base_url=base, api_key="none", max_retries=2)
            making = self._run_async((client, shop.door, history), options)
            killed = running.run(making, shop, cancel=cancel)
        else:
            try:
                self.door.run_loop(client_of(self.client, base), shop.door, history, **options)
            except Killed:
                killed = True
        return Played(told_in(model.requests, since=len(history)), killed, kept["history"])

    async def _run_async(self, with_door, options):
        async with with_door[0]:
            await self.door.run_loop_async(*with_door, **options)


def _of(guest, *, is_async):
    async def run_async(arguments):
        return await guest.run_async(**arguments)

    return run_async if is_async else lambda arguments: guest.run(**arguments)


def told_in(requests, *, since=0):
    """The results that stand in the last request, as the model got them."""
    if not requests:
        return []
    last = requests[-1]
    told = []
    for message in (last.get("messages") or last.get("input"))[since:]:
        if message.get("type") == "function_call_output":
            told.append(Told(message["call_id"], message["output"], None))
        elif message.get("role") == "tool":
            told.append(Told(message["tool_call_id"], message["content"], None))
        elif message.get("role") == "user" and isinstance(message["content"], list):
            told += [
                Told(block["tool_use_id"], block["content"], block.get("is_error", False))
                for block in message["content"]
            ]
    return told
