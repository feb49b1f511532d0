"""What every door is tried on: one app, one provider that loses answers, own tools and guests.

The guests are plain functions; each driver makes tools of its framework out of them, as a user
would have them already.
"""

import asyncio
import threading
from typing import Any, NamedTuple

import httpx

from ascertain import Absent, Ascertain, Budget, Found, key
from ascertain.adapters.door import Door

SESSION, PRINCIPAL = "chat-42", "u7"
SECRET = b"s" * 32


class Killed(BaseException):
    """The process ends here."""


class Function(NamedTuple):
    """A function that is to become a tool of the framework."""

    name: str
    description: str
    schema: dict
    run: Any

    async def run_async(self, **arguments):
        return await asyncio.to_thread(self.run, **arguments)


def schema(*required, **optional):
    names = {name: {"type": "string"} for name in required}
    names |= {name: {"type": "string", "default": default} for name, default in optional.items()}
    return {"type": "object", "properties": names, "required": list(required)}


class Shop:
    """The app with its door.

    :ivar after_send: is called in every body once the provider has answered.
    :ivar kill: ends an async run. :ivar silent: the provider answers no look-up.
    :ivar began: is set as soon as a guest's body runs.
    """

    own = ("create_ticket", "list_tickets", "cancel_ticket", "book_visit")

    def __init__(self, world, folder, *, turn="", **said):
        self.world = world
        self.turn = turn
        self.began = threading.Event()
        self.over = threading.Event()
        self.over.set()
        self.after_send = lambda: None
        self.silent = False
        self.kill = lambda: None
        self.asked = 0
        self.permits = lambda asked: True
        self.app = Ascertain(f"sqlite:///{folder}/ledger.db", worker="none", secret=SECRET)
        self.crm = self.app.watch(httpx.Client(base_url=world.url, timeout=2, verify=False))
        self._own_tools()
        self.door = Door(self.app, scope=self.session, **said)
        find = {"target": self.find, "absence_final_after": "1s"}
        self.door.declare(
            "open_case", identity=["order"], wording=["note"], fills={"request_key": "key"},
            key_lifetime="24h", lookup=find,
        )  # fmt: skip
        self.door.declare("look_around", access="pass")

    def session(self, _host):
        self.asked += 1
        return self.app.session(SESSION, principal=PRINCIPAL, turn=self.turn)

    def die(self):
        """The process ends here: whoever runs the agent, and the body that has just sent."""
        self.kill()
        self.over.wait(5)  # the dead say nothing more, not even that they died
        raise Killed

    def may(self, asked):
        return self.permits(asked)

    def _own_tools(self):
        app = self.app

        @app.tool(
            identity=["order"], wording=["issue"], key_lifetime="24h",
            permission=self.may,
        )  # fmt: skip
        def create_ticket(order: str, issue: str) -> dict:
            """Ask for an inspection."""
            return self.send(order, key())

        create_ticket.lookup(absence_final_after="1s")(self.find)

        @app.tool(identity=["order"], budget=Budget(turn_s=0.2))
        def book_visit(order: str) -> dict:
            """Book a visit."""
            return self.send(order, key())

        book_visit.lookup()(self.find)

        @app.tool(noun="cancellation", identity=["ticket"], context={"ticket": "last_ticket"})
        def cancel_ticket(ticket: str) -> dict:
            """Cancel the ticket that was made last."""
            return self.send(f"cancel-{ticket}", key())

        @app.read(provides={"last_ticket": "ticket_id"})
        def list_tickets(order: str) -> dict:
            """The last ticket of an order."""
            rows = self.crm.get("/tickets", params={"order": order}).raise_for_status().json()
            return rows[-1] if rows else {}

    def send(self, order, request_key=""):
        headers = {"Idempotency-Key": request_key} if request_key else {}
        reply = self.crm.post("/tickets", json={"order": order}, headers=headers)
        self.after_send()
        return reply.raise_for_status().json()

    def find(self, asked):
        if self.silent:
            raise TimeoutError("no answer")
        rows = self.crm.get("/tickets", params={"request": asked.key}).raise_for_status().json()
        return Found(rows[0]["ticket_id"], count=len(rows)) if rows else Absent

    # -- guests -----------------------------------------------------------------------------------

    @property
    def guests(self):
        return [
            Function(
                "open_case",
                "Open a case.",
                schema("order", note="", request_key=""),
                self.open_case,
            ),
            Function("post_note", "Post a note.", schema("order", note=""), self.post_note),
            Function("look_around", "What there is.", schema("order"), self.look_around),
        ]

    def open_case(self, order: str, note: str = "", request_key: str = "") -> dict:
        self.began.set()
        return self.send(order, request_key)

    def post_note(self, order: str, note: str = "") -> dict:
        self.began.set()
        return self.send(order)

    def look_around(self, order: str) -> str:
        return f"nothing about {order}"

    # -- the truth --------------------------------------------------------------------------------

    def effects(self, order):
        return self.world.count("tickets", order=order)

    def arrivals(self, order):
        return len(self.world.arrivals("tickets", method="POST", order=order))

    def actions(self):
        return self.session(None).actions(whole=True)

    def close(self):
        self.app.close()
        self.crm.close()
