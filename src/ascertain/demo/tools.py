"""The agent's own program: functions that talk HTTP, guarded. Nothing here knows a demo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from ascertain import Absent, Ascertain, Budget, Found, RefusalRule, Undone, key
from ascertain.demo.places import AFTERSALES, NOTICE, PAYMENT, SHIPPING, STOCK, Places
from ascertain.runtime.attempt import current_attempt
from ascertain.runtime.tool import Tool

CLIENT_TIMEOUT_S = 3.0
# One original send and one safe repeat in 1.2 s; then the call ends, and the background goes on.
TURN = Budget(turn_sends=2, turn_s=1.2, send_deadline_s=1.2, backoff_s=0.05, sends=6)
PATIENT = Budget(turn_sends=2, turn_s=6.0, send_deadline_s=2.0, backoff_s=0.05, sends=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The app and its guarded tools."""

    app: Ascertain
    reserve_stock: Tool[..., dict[str, Any]]
    charge_card: Tool[..., dict[str, Any]]
    create_shipment: Tool[..., dict[str, Any]]
    send_notice: Tool[..., dict[str, Any]]
    create_ticket: Tool[..., dict[str, Any]]
    request_exchange: Tool[..., dict[str, Any]]


def make_tools(places: Places, *, worker: str = "embedded") -> Tools:
    """The app on this demo's ledger, with tools for its providers."""
    app = Ascertain(places.ledger_url, worker=worker, lease_s=places.lease_s)
    return Tools(
        app=app,
        reserve_stock=_stock(app, _client(app, places, STOCK)),
        charge_card=_payment(app, _client(app, places, PAYMENT)),
        create_shipment=_shipping(app, _client(app, places, SHIPPING)),
        send_notice=_notice(app, _client(app, places, NOTICE)),
        create_ticket=_tickets(app, _client(app, places, AFTERSALES)),
        request_exchange=_exchanges(app, _client(app, places, AFTERSALES)),
    )


def _client(app: Ascertain, places: Places, name: str) -> httpx.Client:
    return app.watch(httpx.Client(base_url=places.urls[name], timeout=CLIENT_TIMEOUT_S))


def _post(client: httpx.Client, path: str, **fields: object) -> dict[str, Any]:
    reply = client.post(path, json=fields, headers={"Idempotency-Key": key()})
    body: dict[str, Any] = reply.raise_for_status().json()
    return body


def _find(client: httpx.Client, path: str, field: str, action: Any) -> Any:
    """What the provider has under the action's key."""
    rows = client.get(path, params={"request": action.key}).raise_for_status().json()
    return Found(rows[0][field], count=len(rows)) if rows else Absent


def _stock(app: Ascertain, stock: httpx.Client) -> Tool[..., dict[str, Any]]:
    @app.tool(
        identity=["order_id", "sku"],
        key_lifetime="24h",
        receipt="reservation_id",
        budget=PATIENT,
        say={"name": "stock"},
        say_zh={"name": "库存"},
    )
    def reserve_stock(order_id: str, sku: str, quantity: int) -> dict[str, Any]:
        """Take goods out of stock for an order."""
        return _post(stock, "/reservations", order_id=order_id, sku=sku, quantity=quantity)

    @reserve_stock.lookup(absence_final_after="1s")
    def find_reservation(action: Any) -> Any:
        return _find(stock, "/reservations", "reservation_id", action)

    @reserve_stock.compensate(
        within="24h", key_lifetime="24h", receipt="release_id", budget=PATIENT
    )
    def release_stock(undone: Undone) -> dict[str, Any]:
        """Put the goods back."""
        order, reservation = undone.arguments["order_id"], undone.provider_ref
        return _post(stock, "/releases", order_id=order, reservation=reservation)

    @release_stock.lookup(absence_final_after="1s")
    def find_release(action: Any) -> Any:
        return _find(stock, "/releases", "release_id", action)

    del find_reservation, find_release  # registered
    return reserve_stock


def _payment(app: Ascertain, payment: httpx.Client) -> Tool[..., dict[str, Any]]:
    @app.tool(
        identity=["order_id"],
        key_lifetime="24h",
        receipt="charge_id",
        budget=PATIENT,
        say={"name": "payment"},
        say_zh={"name": "付款"},
    )
    def charge_card(order_id: str, amount: int) -> dict[str, Any]:
        """Take the money for an order."""
        return _post(payment, "/charges", order_id=order_id, amount=amount)

    @charge_card.lookup(absence_final_after="1s")
    def find_charge(action: Any) -> Any:
        return _find(payment, "/charges", "charge_id", action)

    @charge_card.compensate(within="24h", key_lifetime="24h", receipt="void_id", budget=PATIENT)
    def void_payment(undone: Undone) -> dict[str, Any]:
        """Give the money back."""
        order, charge = undone.arguments["order_id"], undone.provider_ref
        return _post(payment, "/voids", order_id=order, charge=charge)

    @void_payment.lookup(absence_final_after="1s")
    def find_void(action: Any) -> Any:
        return _find(payment, "/voids", "void_id", action)

    del find_charge, find_void  # registered
    return charge_card


def _shipping(app: Ascertain, shipping: httpx.Client) -> Tool[..., dict[str, Any]]:
    @app.tool(
        identity=["order_id"],
        key_lifetime="24h",
        receipt="shipment_id",
        budget=PATIENT,
        refusals=[RefusalRule(code="NO_DELIVERY_THERE", kind="business")],
        say={"name": "shipment"},
        say_zh={"name": "运单"},
    )
    def create_shipment(order_id: str) -> dict[str, Any]:
        """Hand an order to the carrier."""
        return _post(shipping, "/shipments", order_id=order_id)

    return create_shipment


def _notice(app: Ascertain, notices: httpx.Client) -> Tool[..., dict[str, Any]]:
    @app.tool(
        identity=["order_id"],
        wording=["text"],
        on_unknown="leave",
        receipt="notice_id",
        budget=Budget(send_deadline_s=0.5, turn_s=2.0, backoff_s=0.05),
        say={"name": "notice"},
        say_zh={"name": "通知"},
    )
    def send_notice(order_id: str, text: str) -> dict[str, Any]:
        """Tell the customer that the order is on its way."""
        return _post(notices, "/notices", order_id=order_id, text=text)

    return send_notice


def _tickets(app: Ascertain, crm: httpx.Client) -> Tool[..., dict[str, Any]]:
    @app.tool(
        identity=["order_id"],
        wording=["issue"],
        key_lifetime="24h",
        receipt="ticket_id",
        budget=TURN,
        refusals=[
            RefusalRule(
                code="OPEN_TICKET_EXISTS",
                kind="already_exists",
                http_status=409,
                related_path="error.ref",
            )
        ],
        say={
            "name": "inspection",
            "confirmed": "Your inspection request is submitted: ticket {provider_ref}, result "
            "pending.",
        },
        say_zh={
            "name": "检测申请",
            "confirmed": "检测申请已提交，工单 {provider_ref}；处理结果待检测。",
        },
    )
    def create_ticket(order_id: str, issue: str) -> dict[str, Any]:
        """Ask for an inspection of what was delivered."""
        customer = current_attempt().principal
        return _post(crm, "/tickets", order_id=order_id, issue=issue, customer=customer)

    @create_ticket.lookup(absence_final_after="1s")
    def find_ticket(action: Any) -> Any:
        return _find(crm, "/tickets", "ticket_id", action)

    @create_ticket.check_related
    def is_of_this_customer(action: Any) -> bool:
        ticket = crm.get(f"/tickets/{action.related_ref}").raise_for_status().json()
        mine = (action.principal, action.arguments["order_id"])
        return bool((ticket.get("customer"), ticket.get("order_id")) == mine)

    del find_ticket, is_of_this_customer  # registered
    return create_ticket


def _exchanges(app: Ascertain, crm: httpx.Client) -> Tool[..., dict[str, Any]]:
    @app.tool(
        identity=["order_id"],
        key_lifetime="24h",
        receipt="exchange_id",
        budget=TURN,
        say={"name": "exchange"},
        say_zh={"name": "换货申请"},
    )
    def request_exchange(order_id: str) -> dict[str, Any]:
        """Ask for another piece instead of a faulty one."""
        return _post(crm, "/exchanges", order_id=order_id)

    return request_exchange
