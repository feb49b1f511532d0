"""`python -m ascertain.demo.agent PLACES PART...`: an agent in a process of its own.

It makes the calls that a model would ask for and writes down what the model and the person are
told. It knows nothing of what the providers are about to do, and judges nothing.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ascertain import Action, Ref, Session, Step
from ascertain.demo.places import Places
from ascertain.demo.sabotage import SABOTAGES
from ascertain.demo.telling import Told, tell
from ascertain.demo.tools import Tools, make_tools
from ascertain.rules.project import WorkflowState
from ascertain.runtime.chain import Chain

CUSTOMER = "u7"
WISH = ("fulfilled", "履约")
ISSUE = "noise in the left ear"
PATIENCE_S = 20.0
_LOOK_S = 0.05
_UNDER_WAY = (WorkflowState.RUNNING, WorkflowState.COMPENSATING)

Later = Callable[[], None]


def ask_for_inspection(tools: Tools, story: str, order: str, request: str) -> Later:
    """One inspection request."""
    session = _session(tools, story)
    with session:
        made = tools.create_ticket.options(intent=request)(order_id=order, issue=ISSUE)
    asked = f"Order {order}: {ISSUE}. Please submit an inspection request."
    return _say(story, order, asked, lambda: [made.refresh()], lambda now: now[0].facts())


def ask_for_exchange(tools: Tools, story: str, order: str) -> Later:
    """One exchange request."""
    with _session(tools, story):
        made = tools.request_exchange(order_id=order)
    asked = f"Order {order}: please exchange the headphones."
    return _say(story, order, asked, lambda: [made.refresh()], lambda now: now[0].facts())


def ship(tools: Tools, story: str, order: str) -> Later:
    """One shipment."""
    with _session(tools, story):
        made = tools.create_shipment(order_id=order)
    asked = f"Ship order {order}."
    return _say(story, order, asked, lambda: [made.refresh()], lambda now: now[0].facts())


def fulfil(tools: Tools, story: str, order: str) -> Later:
    """Stock, shipment, notice: one wish."""
    session = _session(tools, story)
    with session:
        tools.reserve_stock(order_id=order, sku="headphones", quantity=1)
        tools.create_shipment(order_id=order)
        tools.send_notice(order_id=order, text=f"Order {order} is on its way.")
    return _say(story, order, f"Fulfil order {order}.", session.actions, lambda _: session.facts())


def fulfil_in_a_chain(tools: Tools, story: str, order: str) -> Later:
    """Stock, payment, shipment, notice: one wish, which turns back where it cannot be had."""
    session = _session(tools, story)
    with session, session.chain(f"fulfil {order}", wish=WISH) as wish:
        tools.reserve_stock(order_id=order, sku="headphones", quantity=1)
        tools.charge_card(order_id=order, amount=89)
        tools.create_shipment(order_id=order)
        tools.send_notice(order_id=order, text=f"Order {order} is on its way.")
    return _say_of_chain(wish, story, order)


def fulfil_as_declared(tools: Tools, story: str, order: str) -> Later:
    """The same wish as data, stored before its first step, so that others can finish it."""
    this = {"order_id": order}
    with _session(tools, story) as session:
        wish = session.chain(
            f"fulfil {order}",
            wish=WISH,
            steps=[
                Step("stock", tools.reserve_stock, {**this, "sku": "headphones", "quantity": 1}),
                Step("payment", tools.charge_card, {**this, "amount": 89}, after=["stock"]),
                Step("shipment", tools.create_shipment, this, after=["payment"]),
                Step("notice", tools.send_notice, {**this, "text": Ref("shipment.provider_ref")}),
            ],
        )
        wish.run()
    return _say_of_chain(wish, story, order)


def ask_for_many(tools: Tools, story: str, orders: str) -> Later:
    """One inspection request for each of the orders, all at the same time."""
    lasts: list[Later] = []

    def ask(order: str) -> None:
        lasts.append(ask_for_inspection(tools, story, order, f"R-{order}"))

    calls = [threading.Thread(target=ask, args=(order,)) for order in orders.split("+")]
    for call in calls:
        call.start()
    for call in calls:
        call.join()

    def later() -> None:
        for last in lasts:
            last()

    return later


def _session(tools: Tools, story: str) -> Session:
    return tools.app.session(f"chat-{story}", principal=CUSTOMER, turn="1", wish=WISH)


def _say_of_chain(wish: Chain, story: str, order: str) -> Later:
    """Tell how the wish stands now; and again, when what it began has come to an end."""
    tell(Told(story=story, order=order, asked=f"Fulfil order {order}.", facts=wish.facts()))
    first = wish.state

    def news() -> Told | None:
        if wish.state is first:
            return None
        return Told(story=story, order=order, asked="And now?", facts=wish.facts())

    return lambda: _tell_at_rest(lambda: wish.state in _UNDER_WAY, news)


def _say(
    story: str,
    order: str,
    asked: str,
    look: Callable[[], list[Action[Any]]],
    facts_of: Callable[[list[Action[Any]]], dict[str, Any]],
) -> Later:
    """Tell how it stands now; and again, when it has come to rest, if there is news."""
    first = facts_of(look())
    tell(Told(story=story, order=order, asked=asked, facts=first))

    def news() -> Told | None:
        """A later "was it submitted?" is answered from the record; no new intent arises."""
        last = facts_of(look())
        if last["say"] == first["say"]:
            return None
        return Told(story=story, order=order, asked="Was it submitted?", facts=last)

    return lambda: _tell_at_rest(lambda: any(one.record.due_at is not None for one in look()), news)


def _tell_at_rest(under_way: Callable[[], bool], news: Callable[[], Told | None]) -> None:
    """Wait until it has come to rest, with a bound; then tell what is new."""
    until = time.monotonic() + PATIENCE_S
    while under_way() and time.monotonic() < until:
        time.sleep(_LOOK_S)
    told = news()
    if told is not None:
        tell(told)


PARTS: dict[str, Callable[..., Later]] = {
    "inspect": ask_for_inspection,
    "exchange": ask_for_exchange,
    "fulfil": fulfil,
    "chain": fulfil_in_a_chain,
    "declared": fulfil_as_declared,
    "ship": ship,
    "many": ask_for_many,
}


def main(argv: list[str]) -> int:
    """Play the parts, one after the other, then answer what was still open."""
    parser = argparse.ArgumentParser(prog="python -m ascertain.demo.agent", description=__doc__)
    parser.add_argument("places", help="file that says where everything is")
    parser.add_argument("parts", nargs="+", metavar="PART:STORY:ORDER[:REQUEST]")
    parser.add_argument("--sabotage", choices=sorted(SABOTAGES))
    args = parser.parse_args(argv)
    if args.sabotage:
        SABOTAGES[args.sabotage].apply()
    tools = make_tools(Places.read(args.places))
    with tools.app:
        open_ends: list[Later] = []
        for part in args.parts:
            name, *rest = part.split(":")
            open_ends.append(PARTS[name](tools, *rest))
        for later in open_ends:
            later()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
