"""Where everything of a demo lies: the providers, and the ledger that its processes share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ascertain.testing.world import Provider

STOCK, SHIPPING, NOTICE, AFTERSALES = "stock", "shipping", "notice", "aftersales"
PAYMENT = "payment"
CONTROL = "control_refunds"  # what the control of story i refunds, apart from what we do

PROVIDERS: Mapping[str, Mapping[str, Provider]] = {
    STOCK: {
        "reservations": Provider(first_ref="inv-700", ref_field="reservation_id"),
        "releases": Provider(first_ref="rel-40", ref_field="release_id"),
    },
    PAYMENT: {
        "charges": Provider(first_ref="pay-900", ref_field="charge_id"),
        "voids": Provider(first_ref="void-60", ref_field="void_id"),
        "orders": Provider(ref_field="order_id"),
        "refunds": Provider(first_ref="R100", ref_field="refund_id"),
        CONTROL: Provider(first_ref="R900", ref_field="refund_id"),
    },
    # Deduplicates by key, and cannot be asked.
    SHIPPING: {"shipments": Provider(first_ref="ship-310", ref_field="shipment_id", lookup=False)},
    # Neither: a message that went out cannot be taken back, asked for, or told apart.
    NOTICE: {
        "notices": Provider(
            first_ref="N500", ref_field="notice_id", honours_key=False, lookup=False
        )
    },
    AFTERSALES: {
        "tickets": Provider(first_ref="T900", ref_field="ticket_id"),
        "exchanges": Provider(first_ref="X100", ref_field="exchange_id", lookup=False),
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What the processes of a demo need to find each other.

    :param folder: of the ledger and of everything else that is removed afterwards.
    :param urls: of the provider services, by name. :param files: their own books.
    :param lease_s: of the agents; short, so that nobody has to wait for the worker.
    """

    folder: str
    urls: dict[str, str]
    files: dict[str, str]
    lease_s: float

    @property
    def ledger_url(self) -> str:
        """Of the one ledger that agents and workers share."""
        return f"sqlite:///{self.folder}/ledger.db"

    def write(self, name: str = "places.json") -> Path:
        """Write it down for a child process; returns the file."""
        path = Path(self.folder) / name
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")
        return path

    @classmethod
    def read(cls, path: str) -> Places:
        """Read what :meth:`write` wrote."""
        return cls(**json.loads(Path(path).read_text(encoding="utf-8")))
