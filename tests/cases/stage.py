"""One process of a case: its app, its tools and clients, and what they leave behind in a folder.

A case may go through several processes, killed or ended in good order. What they share is the
ledger, the provider, and the files in the folder: what was told, and what was seen.
"""

from __future__ import annotations

import json
import os
import threading
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import httpx
import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from ascertain import Ascertain
from ascertain.model.action import ActionRecord
from ascertain.store.ledger import Filter
from ascertain.testing.world import Behaviour, World, lookup
from tests.cases.bodies import BODIES, LOOKS
from tests.cases.tables import PROVIDERS, Case, Reply, Tool
from tests.testing.world_refusals import REFUSALS


def prepare(case: Case, world: World) -> None:
    """Tell the provider how it behaves in this case."""
    for tool in case.tools:
        if not tool.at or tool.replies:
            continue
        match = {"case": case.id, "tool": tool.name}
        asked = tool.asked if tool.look in ("by_key", "by_key_async", "by_handle") else ()
        lookups = [lookup(one) if isinstance(one, str) else one for one in asked]
        by_order = tool.meets if isinstance(tool.meets, dict) else {None: tool.meets}
        for order, meets in by_order.items():
            more = {} if order is None else {"order": order}
            world.script(tool.at, match | more, [_behaviour(one) for one in meets], lookups)


def _behaviour(one: str | Behaviour) -> Behaviour:
    return Behaviour(one) if isinstance(one, str) else one


class Stage:
    """The app of a case in this process."""

    def __init__(self, case: Case, folder: Path, world: World, url: str) -> None:
        self.case = case
        self.folder = folder
        self.world = world
        self.app = Ascertain(
            url, worker="none", lease_s=case.lease_s,
            secret=f"the secret of the case {case.id}".encode(),  # no two cases share a key
        )  # fmt: skip
        self._clients: dict[str, Any] = {}
        self._answers: dict[str, int] = {}
        self._lock = threading.Lock()
        self.tools = {tool.name: self._declare(tool) for tool in case.tools}

    def close(self) -> None:
        self.app.close()
        for client in self._clients.values():
            client.close()

    # ------------------------------------------------------------------------------ declaring

    def _declare(self, tool: Tool) -> Any:
        body = BODIES[tool.body](self, tool)
        if tool.read:
            return self.app.read(name=tool.name, budget=tool.budget, **tool.said)(body)
        provider = PROVIDERS.get(tool.at)
        promises: dict[str, Any] = {
            "name": tool.name, "identity": ["order"], "wording": ["text"], "budget": tool.budget,
            "refusals": REFUSALS, "via": self._exits(tool),
        }  # fmt: skip
        if provider is not None and provider.honours_key and not tool.replies:
            promises["key_lifetime"] = "24h"
        made = self.app.tool(**(promises | tool.said))(body)

        @made.check_related
        def is_theirs(action: Any) -> bool:
            return action.principal == "u7"

        asks = provider is not None and provider.lookup and not tool.replies
        if tool.look != "none" and (asks or tool.look in ("scripted", "by_fields")):
            attach = made.lookup(
                by="fields" if tool.look == "by_fields" else "key",
                absence_final_after=tool.settling_s,
                fences=provider is not None and provider.lookup_fences,
            )
            attach(LOOKS[tool.look](self, tool))
        return made

    def _exits(self, tool: Tool) -> list[Any]:
        if tool.body in ("command", "read_async", "stubborn"):
            return []
        if tool.asynchronous:
            return [self.app.watch(httpx.AsyncClient(), name="async")]
        exits = [self.client(tool)]
        return (
            [*exits, self.nowhere()] if tool.body in ("refused_connection", "comes_up") else exits
        )

    # -------------------------------------------------------------------------------- clients

    def client(self, tool: Tool) -> Any:
        """The watched client of a tool."""
        name = f"scripted {tool.name}" if tool.replies else tool.client
        if name not in self._clients:
            self._clients[name] = self.app.watch(self._make(name, tool), name=name)
        return self._clients[name]

    def _make(self, name: str, tool: Tool) -> Any:
        if tool.replies:
            transport = httpx.MockTransport(lambda request: self._answer(tool, request))
            return httpx.Client(transport=transport, base_url="http://provider")
        if name == "requests":
            return _session(self.world.url, 0)
        if name == "repeating":
            return _session(self.world.url, 2)
        limits = httpx.Limits(max_connections=1 if name == "one line" else 50)
        return httpx.Client(base_url=self.world.url, limits=limits, timeout=None)

    def async_client(self) -> httpx.AsyncClient:
        """A watched client of one loop's own."""
        return self.app.watch(
            httpx.AsyncClient(base_url=self.world.url, timeout=None), name="async"
        )

    def nowhere(self) -> httpx.Client:
        if "nowhere" not in self._clients:
            client = httpx.Client(base_url="http://127.0.0.1:9")
            self._clients["nowhere"] = self.app.watch(client, name="nowhere")
        return self._clients["nowhere"]

    def unwatched(self) -> httpx.Client:
        if "unwatched" not in self._clients:
            self._clients["unwatched"] = httpx.Client(base_url=self.world.url, timeout=None)
        return self._clients["unwatched"]

    def plain_client(self) -> httpx.Client:
        """For look-ups."""
        if "asking" not in self._clients:
            client = httpx.Client(base_url=self.world.url, timeout=None)
            self._clients["asking"] = self.app.watch(client, name="asking")
        return self._clients["asking"]

    def path(self, tool: Tool) -> str:
        return f"/{tool.at}"

    def told_to_provider(
        self, tool: Tool, order: str, text: str, amount: int, variant: str
    ) -> dict[str, Any]:
        return {
            "case": self.case.id, "tool": tool.name, "order": order, "text": text,
            "amount": amount, "variant": variant,
        }  # fmt: skip

    # ------------------------------------------------------------ answers given in this process

    def _answer(self, tool: Tool, request: httpx.Request) -> httpx.Response:
        """The next scripted reply; without one it is done, and said so."""
        told = json.loads(request.content) if request.content else dict(request.url.params)
        order = told.get("order") or told.get("q") or ""
        replies = tool.replies.get(order, ()) if isinstance(tool.replies, dict) else tool.replies
        seen = {"tool": tool.name, "order": order, "key": request.headers.get("idempotency-key")}
        with self._lock:
            scope = order if isinstance(tool.replies, dict) else None
            nth = sum(
                one["tool"] == tool.name and scope in (None, one["order"])
                for one in self.lines("scripted_posts")
            )
            self.note("scripted_posts", {**seen, "at": time.monotonic()})
            reply = (
                replies[nth] if nth < len(replies) else Reply(200, {"ref": f"R{nth}"}, effect=True)
            )
            if reply.effect:
                self.note("scripted_effects", seen)
        if not reply.http:
            raise httpx.ReadTimeout("no answer came", request=request)
        headers = [(name, _dated(value)) for name, value in reply.headers]
        if reply.body is None:
            return httpx.Response(reply.http, headers=headers)
        return httpx.Response(reply.http, headers=headers, json=reply.body)

    def scripted_answer(self, tool: Tool) -> Any:
        """The next thing that a look-up says; ``broken``: no answer; none scripted: None."""
        with self._lock:
            nth = self._answers.get(tool.name, 0)
            self._answers[tool.name] = nth + 1
        answer = tool.asked[min(nth, len(tool.asked) - 1)] if tool.asked else None
        if answer == "broken":
            raise httpx.ReadTimeout("the list is not available")
        if answer == "page full":
            raise LookupError("the page is full; the record may be on the next one")
        return answer

    # -------------------------------------------------------------------- what is left behind

    def note(self, file: str, line: dict[str, Any]) -> None:
        """Write one line, whole or not at all, for whoever comes after this process."""
        text = json.dumps(line, ensure_ascii=False, default=str) + "\n"
        handle = os.open(self.folder / f"{file}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(handle, text.encode())
        finally:
            os.close(handle)

    def lines(self, file: str) -> list[dict[str, Any]]:
        path = self.folder / f"{file}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    # ------------------------------------------------------------------------------- the truth

    def rows(self, tool: str | None = None) -> list[ActionRecord]:
        """The ledger's actions, oldest first."""
        return self.app.ledger.find(Filter(tool=tool, limit=500))[::-1]

    def effects(self, tool: str | None = None) -> list[dict[str, Any]]:
        """What really happened: tool, order and key."""
        match = {"case": self.case.id} | ({} if tool is None else {"tool": tool})
        happened = [
            {"tool": one.args["tool"], "order": one.args["order"], "key": one.key, "ref": one.ref}
            for one in self.world.effects(**match)
        ]
        scripted = [one for one in self.lines("scripted_effects") if tool in (None, one["tool"])]
        return happened + scripted

    def posts(self, tool: str | None = None) -> list[dict[str, Any]]:
        """The creates that came to the provider, with when and what became of them."""
        match = {"case": self.case.id} | ({} if tool is None else {"tool": tool})
        came = [
            {
                "tool": one.args["tool"], "order": one.args["order"], "key": one.key,
                "at": one.received_at, "answered": one.answered, "behaviour": one.behaviour,
            }
            for one in self.world.arrivals(method="POST", **match)
            if one.args is not None
        ]  # fmt: skip
        scripted = [one for one in self.lines("scripted_posts") if tool in (None, one["tool"])]
        return came + scripted


def _session(url: str, retries: int) -> Any:
    """A requests session; with ``retries``, one that repeats whatever it is."""
    policy = Retry(
        total=retries, connect=retries, read=retries, status=retries, allowed_methods=None,
        status_forcelist=[503], backoff_factor=0, raise_on_status=False,
    )  # fmt: skip

    class Based(requests.Session):
        def request(self, method: str, url_path: str, **more: Any) -> Any:
            return super().request(method, url + url_path, **more)

    session = Based()
    session.mount("http://", HTTPAdapter(max_retries=policy))
    return session


def _dated(value: str) -> str:
    """``@+2`` as the HTTP date two seconds ahead."""
    if not value.startswith("@"):
        return value
    return formatdate(time.time() + float(value[1:]), usegmt=True)
