"""A small shop whose provider is a folder: each effect is one file, named by its key."""

import json
import os
import signal
from pathlib import Path
from typing import Any, NamedTuple

from ascertain import Absent, Accepted, Ascertain, Budget, Found, Refused, current_attempt, key

QUICK = Budget(
    turn_s=0.6, send_deadline_s=0.4, turn_sends=1, backoff_s=3000.0, backoff_max_s=3000.0
)


class Provider:
    """Keeps tickets in a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def effects(self):
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("T*.json"))]

    def make(self, idempotency_key, order_id):
        ref = f"T{900 + len(self.effects())}"
        text = json.dumps({"ref": ref, "key": idempotency_key, "order_id": order_id})
        (self.folder / f"{ref}.json").write_text(text)
        return ref

    def find(self, idempotency_key):
        return [found["ref"] for found in self.effects() if found["key"] == idempotency_key]


class Shop(NamedTuple):
    """The app, its tools, and what the provider really did."""

    app: Ascertain
    create_ticket: Any
    send_mail: Any
    send_note: Any
    pay: Any
    provider: Provider


def make(url="sqlite:///ledger.db", provider="provider", **options):
    """The app. What a call meets is said by its order id, so that processes need not be told."""
    app = Ascertain(url, **{"worker": "none", "lease_s": 0.5, **options})
    desk = Provider(provider)

    @app.tool(
        identity=["order_id"], wording=["issue"], budget=QUICK,
        say={"confirmed": "Inspection requested: ticket {provider_ref}.", "name": "inspection"},
        say_zh={"name": "检测申请"},
    )  # fmt: skip
    def create_ticket(order_id: str, issue: str = "noise") -> Any:
        if order_id.startswith("REFUSED"):
            raise Refused("NO\x1b[31mPE\x07", kind="business")
        if order_id.startswith("BUSY"):
            raise Refused("LATER", kind="throttled")
        if order_id.startswith("ACCEPTED"):
            return Accepted("job-7", ask_after_s=3600)
        if order_id.startswith("LOST-UNSEEN"):
            raise TimeoutError  # the request never arrived, and the look-up has still to settle
        ref = desk.make(key(), order_id)
        if order_id.startswith("KILLED"):
            os.kill(os.getpid(), signal.SIGKILL)
        if order_id.startswith("LOST"):
            raise TimeoutError(ref)
        if order_id.startswith("STUCK"):
            Path("stuck").read_text()  # a named pipe that nobody writes to
        return {"ticket_id": ref}

    @create_ticket.lookup(absence_final_after="60s")
    def find_ticket(action):
        if "SLOW" in action.arguments["order_id"]:
            Path("asked").write_text(str(os.getpid()))
            Path("gate").read_text()  # a named pipe: waits until the test lets it go on
        refs = desk.find(action.key)
        return Found(refs[0], count=len(refs)) if refs else Absent

    @app.tool(budget=QUICK, identity=["text"], on_unknown="leave")
    def send_note(text: str) -> None:
        raise TimeoutError("no answer")

    @app.tool(budget=QUICK)
    def send_mail(to: str) -> dict[str, str]:
        if to.startswith("STUCK"):
            Path("stuck").read_text()
        if to.startswith("FINE"):
            return {"mail_id": f"M{current_attempt().number}"}
        raise TimeoutError("no answer")

    @app.observe(identity=["to"])
    def pay(to: str, how: str = "fine") -> dict[str, str]:
        if how == "lost":
            raise TimeoutError("no answer")
        if how == "refused":
            raise Refused("LIMIT")
        return {"payment_id": f"P-{to}"}

    return Shop(app, create_ticket, send_mail, send_note, pay, desk)


MODULE = "from tests.cli.shop import make\n\napp = make().app\n"
