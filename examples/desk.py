"""What the examples share: a provider that loses its first answer, and an app that guards it."""

import tempfile
from pathlib import Path

from ascertain import Absent, Ascertain, Found

tickets = {}  # the provider's books, by idempotency key
_answers_lost = []


def open_ticket(order_id: str, issue: str, request_id: str) -> dict:
    """Open a ticket for an order."""
    ticket = tickets.setdefault(request_id, {"ticket_id": f"T{900 + len(tickets)}", "issue": issue})
    if not _answers_lost:
        _answers_lost.append(request_id)
        raise TimeoutError("the answer was lost")
    return ticket


def find_ticket(action):
    """Ask the provider what became of an action."""
    found = tickets.get(action.key)
    return Found(found["ticket_id"], value=found) if found else Absent


# A tool of a framework promises nothing by itself; this is said for it.
PROMISES = {
    "identity": ["order_id"],
    "wording": ["issue"],
    "key_lifetime": "24h",
    "fills": {"request_id": "key"},
    "lookup": {"target": find_ticket, "absence_final_after": "10s"},
}
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("order_id", "issue", "request_id")},
    "required": ["order_id", "issue", "request_id"],
}
WISH = "The left ear of order A123 makes a noise. Please open a ticket, and tell me its number."


def open_app():
    """An app with a ledger of its own."""
    return Ascertain(f"sqlite:///{Path(tempfile.mkdtemp())}/ledger.db")


def tell(words):
    """What was said, and what the provider has really done."""
    print("model:   ", words)
    print("provider:", len(tickets), "ticket:", ", ".join(t["ticket_id"] for t in tickets.values()))
