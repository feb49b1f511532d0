"""An agent's process over files: it opens a ticket, and closes the case of which it remembers it.

    python -m tests.requirements.talking LEDGER FOLDER SESSIONS open|query

What the provider really did, and whether it answers, are files in the folder; so the test in
another process sees the first and says the second.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ascertain import Absent, Ascertain, Budget, Found, key
from ascertain.rules.gate import Tiers

BRIEF = Budget(turn_s=20.0, send_deadline_s=15.0, backoff_s=0.01, backoff_max_s=0.05)
ANSWERS_WITHIN_S = 15.0


class Provider:
    """What it did, and whether it answers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def said(self, name: str) -> Path:
        return self._folder / name

    def done(self, name: str) -> list[str]:
        path = self.said(name)
        return path.read_text().split() if path.exists() else []

    def do(self, name: str, what: str) -> None:
        with self.said(name).open("a") as file:
            file.write(f"{what}\n")

    def wait_for(self, name: str) -> None:
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        while not self.said(name).exists():
            assert time.monotonic() < deadline, f"nobody said {name}"
            threading.Event().wait(0.005)


def agents_app(
    ledger: str, provider: Provider, sessions: str, *, wait_s: float, waits: int = 3
) -> Ascertain:
    """An app with the tools of a help desk."""
    app = Ascertain(
        ledger, worker="none", lease_s=0.3, sessions=sessions or None,
        tiers=Tiers(wait_s=wait_s, waits=waits),
    )  # fmt: skip

    @app.tool(
        identity=["case"], provides={"ticket": "id"}, key_lifetime="24h", budget=BRIEF,
        repeat="never",
    )  # fmt: skip
    def open_ticket(case: str) -> dict[str, Any]:
        provider.do("opened", f"{case}/{key()}")
        provider.wait_for("answers")
        return {"id": f"T-{case}"}

    @open_ticket.lookup(absence_final_after="1s")
    def find_ticket(action: Any) -> Any:
        if not provider.said("answers").exists():
            raise TimeoutError
        found = [line for line in provider.done("opened") if line.endswith(action.key)]
        return Found(f"T-{found[0].partition('/')[0]}") if found else Absent

    @app.read(provides={"order_id": "id"}, budget=BRIEF)
    def query_order(which: str) -> dict[str, Any]:
        provider.do("asked", which)
        return {"id": f"order-{which}"}

    @app.tool(identity=["ticket"], context={"ticket": "ticket"}, key_lifetime="24h", budget=BRIEF)
    def close_case(ticket: str) -> dict[str, Any]:
        provider.do("closed", ticket)
        return {"id": f"C-{ticket}"}

    @app.tool(
        identity=["order_id"], context={"order_id": "order_id"}, key_lifetime="24h", budget=BRIEF
    )
    def refund(order_id: str) -> dict[str, Any]:
        provider.do("refunded", order_id)
        return {"id": f"R-{order_id}"}

    return app


def main(ledger: str, folder: str, sessions: str, what: str) -> None:
    """One call in a process of its own."""
    app = agents_app(ledger, Provider(Path(folder)), sessions, wait_s=5.0)
    with app, app.session("chat-42", principal="u7", turn="1") as session:
        if what == "open":
            action = session.call("open_ticket", {"case": "42"})
        else:
            action = session.call("query_order", {"which": what})
        assert action.confirmed, action.say()
        print(action.record.chain or action.id, os.getpid(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
