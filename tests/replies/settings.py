"""How the actions stand of which the corpus speaks."""

from ascertain.model.action import OVERRULED
from ascertain.model.contract import Contract, OnUnknown
from ascertain.model.outcome import Evidence, Kind
from ascertain.model.tables import State
from tests.laws.records import record

NAMED = {"say": {"name": "inspection"}, "say_zh": {"name": "检测申请"}}
TICKET = Contract(tool="create_ticket", noun="ticket", **NAMED)
STOCK = Contract(tool="reserve_stock", noun="stock")
SHIPMENT = Contract(tool="create_shipment", noun="shipment")
NOTICE = Contract(tool="send_notice", noun="notice", on_unknown=OnUnknown.LEAVE)
REFUND = Contract(
    tool="issue_refund", noun="refund",
    say={"confirmed": "Refunded: {provider_ref}."}, say_zh={"confirmed": "已退款：{provider_ref}"},
)  # fmt: skip


def of(contract, **changes):
    return record(**{"id": contract.tool, "tool": contract.tool, **changes}), contract


def ticket(**changes):
    return [of(TICKET, **changes)]


UNKNOWN = {"state": State.UNKNOWN, "attempt": 1, "doubt": 1}
CONFIRMED = {"state": State.CONFIRMED, "attempt": 1}
REFUSED = {"state": State.REJECTED, "attempt": 1, "final": 1}

SETTINGS = {
    "unknown": ticket(**UNKNOWN),
    "confirmed": ticket(**CONFIRMED, provider_ref="T900"),
    "refused": ticket(**REFUSED, kind=Kind.BUSINESS, code="OUT_OF_POLICY"),
    "exists": ticket(**REFUSED, kind=Kind.ALREADY_EXISTS, related_ref="T850"),
    "working": ticket(**UNKNOWN, evidence=Evidence.WORKING, handle="job-7"),
    "prepared": ticket(),
    "sent": ticket(state=State.SENT, attempt=1),
    "throttled": ticket(state=State.REJECTED, kind=Kind.THROTTLED, attempt=1),
    "disputed": ticket(**CONFIRMED, provider_ref="T900", disputed=1),
    "compensated": [of(STOCK, state=State.COMPENSATED, attempt=1, provider_ref="R5")],
    "order": [
        of(STOCK, **CONFIRMED, provider_ref="R5"),
        of(SHIPMENT, **CONFIRMED, provider_ref="S7"),
        of(NOTICE, **UNKNOWN),
    ],
    "awaits_approval": ticket(review="approval"),
    "manual": ticket(review="circuit_open"),
    "declined": ticket(**REFUSED | {"kind": Kind.WITHDRAWN, "reason": "declined"}),
    "going_back": [
        of(STOCK, **CONFIRMED, provider_ref="R5"),
        of(SHIPMENT, **REFUSED, kind=Kind.BUSINESS, code="NO"),
    ],
    "gone_back": [
        of(STOCK, state=State.COMPENSATED, attempt=1, provider_ref="R5"),
        of(SHIPMENT, **REFUSED, kind=Kind.BUSINESS, code="NO"),
    ],
    "stuck": [of(STOCK, **CONFIRMED, provider_ref="R5", review="undo_stuck")],
    "partly": ticket(**CONFIRMED, provider_ref="B7", reason="items_partly"),
    "overruled": ticket(**CONFIRMED, provider_ref="T900", disputed=OVERRULED),
    "refunded": [of(REFUND, **CONFIRMED, provider_ref="F31")],
    "nothing": [],
    "shown": ticket(**CONFIRMED, provider_ref="T900"),
    "shown_unknown": ticket(**UNKNOWN),
}

QUOTED = {
    name: ('{"order_id":"A123","issue":"noise in the left ear, I want to be refunded"}',)
    if known
    else ()
    for name, known in SETTINGS.items()
}
DELIVERED = ('{"order":"A123","state":"delivered"}',)
BESIDE = {
    name: {"quoted": QUOTED[name], "shown": DELIVERED if name.startswith("shown") else ()}
    for name in SETTINGS
}
