"""An app whose tools meet a real provider, as a test and as a worker process see it.

``ascertain worker tests.temporal.shop:app`` is a worker of it, told what to do by the environment.
"""

import os
import signal
from dataclasses import replace
from pathlib import Path

import httpx

from ascertain import Absent, Ascertain, Budget, Found, Processing, Refused, Undone, key
from ascertain.temporal import Temporal
from ascertain.testing.world import Provider
from tests.testing.world_refusals import REFUSALS

SECRET = b"a secret of these tests"
SETTLING_S = 0.4
QUICK = Budget(
    turn_sends=1, turn_s=1.0, sends=4, unanswered=4, send_deadline_s=0.5, backoff_s=0.05,
    backoff_max_s=0.2,
)  # fmt: skip
PROVIDERS = {
    "tickets": Provider(first_ref="T900"),
    "notices": Provider(first_ref="N1"),
    "letters": Provider(honours_key=False, lookup=False, first_ref="L1"),
}
WORLD, FOLDER, TARGET, QUEUE, KILL = (
    "SHOP_WORLD", "SHOP_FOLDER", "SHOP_TARGET", "SHOP_QUEUE", "SHOP_KILL",
)  # fmt: skip


class Shop:
    """Tickets and notices by key and look-up; letters that nobody can ask about.

    A parcel may be under way for an hour, a note for three seconds.

    :param kill: dies at ``before:TOOL`` or ``after:TOOL``, that is around the effect, and
        ``lookup:TOOL``: once in its life, when there is a file ``may_die`` in the folder.
    """

    def __init__(
        self,
        world_url,
        folder,
        worker,
        *,
        url=None,
        kill="",
        clock=None,
        budget=QUICK,
        ask_after_s=0.2,
        approval_within="1h",
    ):
        self.folder = Path(folder)
        self.kill = kill
        self.budget = budget
        self.ask_after_s = ask_after_s
        url = url or f"sqlite:///{folder}/ledger.db"
        self.app = Ascertain(url, worker=worker, lease_s=0.3, clock=clock, secret=SECRET)
        self.client = self.app.watch(httpx.Client(base_url=world_url))
        self.create_ticket = self._tool("create_ticket", "tickets")
        self.send_notice = self._tool("send_notice", "notices")
        self.send_letter = self._tool("send_letter", "letters", by_key=False)
        self.send_parcel = self._tool("send_parcel", "letters", by_key=False, under_way_s=3600.0)
        self.send_note = self._tool("send_note", "letters", by_key=False, under_way_s=3.0)
        self.give_credit = self._tool(
            "give_credit", "tickets", approval=True, approval_within=approval_within
        )
        self._undo()

    def die(self, moment):
        if self.kill != moment:
            return
        try:
            (self.folder / "may_die").unlink()
        except FileNotFoundError:
            return  # somebody has died there already
        os.kill(os.getpid(), signal.SIGKILL)

    def _tool(self, name, collection, *, by_key=True, under_way_s=QUICK.send_deadline_s, **said):
        said |= {"key_lifetime": "24h", "refusals": REFUSALS} if by_key else {}
        said["breaker"] = False  # every loss here is meant
        budget = replace(self.budget, send_deadline_s=under_way_s)

        @self.app.tool(name=name, identity=["order_id"], budget=budget, via=[self.client], **said)
        def make(order_id: str) -> dict:
            self.die(f"before:{name}")
            reply = self.client.post(
                f"/{collection}", json={"order": order_id}, headers={"Idempotency-Key": key()}
            )
            self.die(f"after:{name}")
            return reply.raise_for_status().json()

        if by_key:

            @make.lookup(absence_final_after=SETTLING_S)
            def find(action):
                self.die(f"lookup:{name}")
                reply = self.client.get(f"/{collection}", params={"request": action.key})
                rows = reply.raise_for_status().json()
                working = rows if isinstance(rows, dict) else (rows or [{}])[0]
                if working.get("state") == "working":
                    return Processing(ask_after_s=self.ask_after_s)
                return Found(rows[0]["ref"], value=rows[0]) if rows else Absent

        return make

    def _undo(self):
        @self.create_ticket.compensate(key_lifetime="24h", budget=self.budget, via=[self.client])
        def close_ticket(undone: Undone) -> dict:
            reply = self.client.post(
                "/notices",
                json={"closed": undone.provider_ref},
                headers={"Idempotency-Key": key()},
            )
            return reply.raise_for_status().json()

        @close_ticket.lookup(absence_final_after=SETTLING_S)
        def find_closed(action):
            reply = self.client.get("/notices", params={"request": action.key})
            rows = reply.raise_for_status().json()
            return Found(rows[0]["ref"]) if rows else Absent

        @self.app.tool(identity=["order_id"], budget=self.budget)
        def pay(order_id: str) -> dict:
            raise Refused("NO_MONEY")

        self.pay = pay

    def close(self):
        self.app.close()
        self.client.close()


def from_environment():
    """The shop of a worker process."""
    place = Temporal(os.environ[TARGET], task_queue=os.environ[QUEUE], silence_s=2.0)
    return Shop(os.environ[WORLD], os.environ[FOLDER], place, kill=os.environ.get(KILL, ""))


if TARGET in os.environ:
    app = from_environment().app
