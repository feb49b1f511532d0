"""S13: killed before and after every effect of query and refund: the right order, once."""

from __future__ import annotations

import os
from contextlib import nullcontext

import pytest

from ascertain import Absent, Ascertain, Budget, Found, key
from ascertain.rules.gate import Tiers
from ascertain.store.ledger import Filter
from ascertain.testing.crash import GATE_POINTS, STEP_POINTS, crash_everywhere
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

BRIEF = Budget(turn_s=2.0, send_deadline_s=0.5, backoff_s=0.01, backoff_max_s=0.05)


class Desk:
    """One conversation over files: what the provider really did survives every process."""

    def __init__(self, folder, *, chained=False):
        self.folder = folder
        self.chained = chained
        self.round = 0

    def wish(self, session):
        """What the second turn is for; a chain of its own, or just the conversation."""
        return session.chain("refund the new order") if self.chained else nullcontext()

    def next(self):
        self.round += 1

    def path(self, name):
        return self.folder / f"{name}-{self.round}"

    def refunds(self):
        path = self.path("refunds")
        return path.read_text().split() if path.exists() else []

    def app(self, plan):
        app = Ascertain(
            ledger_url(f"{self.path('ledger')}"), worker="none", lease_s=0.1,
            tiers=Tiers(wait_s=0.01),
        )  # fmt: skip
        app.hands.on_effect = plan

        @app.read(provides={"order_id": "id"}, budget=BRIEF)
        def query_order(which: str) -> dict:
            return {"id": f"{which}-order"}

        @app.read(provides={"account": "id"}, budget=BRIEF)
        def find_account() -> dict:
            return {"id": "account-7"}

        @app.tool(
            context={"order_id": "order_id", "account": "account"}, identity=["order_id"],
            key_lifetime="24h", budget=BRIEF, provides={"refund": "id"},
        )  # fmt: skip
        def refund(order_id: str, account: str) -> dict:
            with self.path("refunds").open("a") as file:
                file.write(f"{order_id}/{key()}\n")
                file.flush()
                os.fsync(file.fileno())
            return {"id": f"R-{order_id}"}

        @refund.lookup(absence_final_after=0)
        def find_refund(action):
            found = [line for line in self.refunds() if line.endswith(action.key)]
            return Found(f"R-{found[0].partition('/')[0]}") if found else Absent

        return app

    def converse(self, plan):
        """The person asked about an old order before; then says: refund the new one."""
        app = self.app(plan)
        with app.session("chat-42", principal="u7", turn="1") as session:
            held = session.call("refund", {})  # nothing is known yet: waits, then asks
            assert held.reason == "context_missing"
            session.call("query_order", {"which": "old"})
        with (
            app.session("chat-42", principal="u7", turn="2") as session,
            self.wish(session),
        ):
            session.call("query_order", {"which": "new"})
            session.call("refund", {})
        app.close()

    def again(self, plan):
        """A fresh process: the worker, and the same turn of the conversation once more."""
        app = self.app(plan)
        deadline = 200
        with (
            app.session("chat-42", principal="u7", turn="2") as session,
            self.wish(session),
        ):
            session.call("query_order", {"which": "new"})
            while not session.call("refund", {}).confirmed and deadline:
                app.recover()
                deadline -= 1
        app.close()


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("chained", [False, True], ids=["conversation", "chain"])
def test_req_S13_killed_anywhere_the_right_order_is_refunded_once(tmp_path, chained):
    desk = Desk(tmp_path, chained=chained)
    seen = set()
    for crash in crash_everywhere(desk.converse, desk.again, before=desk.next):
        seen |= set(crash.passed)
        refunds = desk.refunds()
        assert {line.partition("/")[0] for line in refunds} == {"new-order"}, str(crash)
        assert len({line.partition("/")[2] for line in refunds}) == 1, f"{crash}: {refunds}"
        app = Ascertain(ledger_url(f"{desk.path('ledger')}"), worker="none")
        live = [r for r in app.ledger.find(Filter(tool="refund")) if r.state != "rejected"]
        assert [str(record.state) for record in live] == ["confirmed"], str(crash)
        context = {v.key: v.value for v in app.ledger.contexts.memory("default", "chat-42").values}
        assert context["refund"] == '"R-new-order"', f"{crash}: confirmed, and the session knows"
        assert list(app.ledger.verify()) == []
        app.close()
    points = GATE_POINTS | STEP_POINTS if chained else GATE_POINTS
    assert seen >= points, "every effect of the gate was killed at"
