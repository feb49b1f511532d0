"""The stories as data: what goes wrong, which intents there are, where each of them must end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ascertain.demo.places import AFTERSALES, NOTICE, PAYMENT, SHIPPING, STOCK
from ascertain.model.outcome import Kind
from ascertain.model.tables import State
from ascertain.rules.project import WorkflowState


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """Something that a person wants, once; and where it must end.

    :param provider, collection: where its effects would be.
    :param effects: how many there must be at the provider in the end.
    :param left: who an open end is left to: ``person`` or ``contract``; empty: nobody, it ends.
    :param taken_over: its sender is gone or frozen, so a worker must have taken it up.
    :param existing: references that the provider had before anybody asked.
    :param undoes: the tool whose effect this one reverses.
    """

    order: str
    tool: str
    provider: str
    collection: str
    state: State = State.CONFIRMED
    kind: Kind | None = None
    related_ref: str | None = None
    effects: int = 1
    left: str = ""
    taken_over: bool = False
    existing: tuple[str, ...] = ()
    undoes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One story.

    :param request: how the person's own number for it reads (``R7``).
    :param workflow: what the wish must have come to, where there is more than one action.
    :param must_hear: sentences that must be told, word by word, by order.
    :param conversations: whether each order is spoken of in a conversation of its own.
    """

    id: str
    title: str
    what: str
    intents: tuple[Intent, ...]
    request: str = ""
    workflow: WorkflowState | None = None
    must_hear: tuple[tuple[str, str], ...] = ()
    conversations: bool = False

    @property
    def sessions(self) -> tuple[str, ...]:
        """Ids of its sessions."""
        if self.conversations:
            return tuple(f"chat-{self.id}-{intent.order}" for intent in self.intents)
        return (f"chat-{self.id}",)

    @property
    def effects_only_for_it(self) -> frozenset[tuple[str, str]]:
        """Providers and collections in which nothing may happen but what its intents ask for."""
        if not self.conversations:
            return frozenset()
        return frozenset((intent.provider, intent.collection) for intent in self.intents)


def _ticket(order: str, **end: object) -> Intent:
    return Intent(
        order=order, tool="create_ticket", provider=AFTERSALES, collection="tickets",
        **end,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    )  # fmt: skip


def _step(order: str, tool: str, **end: object) -> Intent:
    provider, collection = _STEPS[tool]
    return Intent(
        order=order, tool=tool, provider=provider, collection=collection,
        **end,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    )  # fmt: skip


_STEPS = {
    "reserve_stock": (STOCK, "reservations"),
    "charge_card": (PAYMENT, "charges"),
    "create_shipment": (SHIPPING, "shipments"),
    "send_notice": (NOTICE, "notices"),
    "void_payment": (PAYMENT, "voids"),
    "release_stock": (STOCK, "releases"),
    "refund": (PAYMENT, "refunds"),
}

REFUNDS = tuple(f"I{number}" for number in range(801, 841))

MANY = tuple(f"D{number}" for number in range(401, 421))

_ALL = (
    Story(
        id="a1",
        title="The reply is lost",
        what="The provider makes ticket T900, and its answer never arrives.",
        request="R7",
        intents=(_ticket("A123"),),
        must_hear=(("A123", "Your inspection request is submitted: ticket T900, result pending."),),
    ),
    Story(
        id="a2",
        title="The reply is lost, and the look-up misses at first",
        what="Asked by the same key, the provider does not show its new record yet.",
        request="R8",
        intents=(_ticket("A124"),),
    ),
    Story(
        id="a3",
        title="A ticket is open already",
        what="OPEN_TICKET_EXISTS: T850, and it belongs to this customer and this order.",
        request="R9",
        intents=(
            _ticket(
                "A125",
                state=State.REJECTED,
                kind=Kind.ALREADY_EXISTS,
                related_ref="T850",
                effects=0,
                existing=("T850",),
            ),
        ),
        must_hear=(
            ("A125", "There already is one (T850); no new inspection was made."),
            ("A125", "已有处理中的记录（T850），没有新建检测申请。"),
        ),
    ),
    Story(
        id="a4",
        title="429, and the wait is beyond the budget",
        what="Retry-After is longer than this turn may last; the background goes on, same key.",
        request="R10",
        intents=(_ticket("A126"),),
        must_hear=(
            ("A126", "Not confirmed as submitted yet; it is being checked."),
            ("A126", "暂未确认提交"),
        ),
    ),
    Story(
        id="a5",
        title="403",
        what="The customer is not authorised; nothing is tried in another way.",
        request="R11",
        intents=(_ticket("A127", state=State.REJECTED, kind=Kind.AUTH, effects=0),),
        must_hear=(
            (
                "A127",
                "The inspection was not made: you need to log in or be authorised for it.",
            ),
        ),
    ),
    Story(
        id="a6",
        title="A refusal after a lost reply",
        what="Attempt 1 took effect, its reply was lost; attempt 2 is refused; no look-up.",
        intents=(
            Intent(
                order="A128",
                tool="request_exchange",
                provider=AFTERSALES,
                collection="exchanges",
                state=State.UNKNOWN,
                left="person",
            ),
        ),
        must_hear=(
            (
                "A128",
                "The state of the exchange is not confirmed yet; a person will check it.",
            ),
            ("A128", "申请状态暂时未确认，会人工核查"),
        ),
    ),
    Story(
        id="b",
        title="Stock and shipment confirmed, the notice unknown",
        what="The notice goes out, its answer never comes; no look-up, no safe repeat.",
        intents=(
            Intent(order="A200", tool="reserve_stock", provider=STOCK, collection="reservations"),
            Intent(order="A200", tool="create_shipment", provider=SHIPPING, collection="shipments"),
            Intent(
                order="A200",
                tool="send_notice",
                provider=NOTICE,
                collection="notices",
                state=State.UNKNOWN,
                left="contract",
            ),
        ),
        workflow=WorkflowState.PARTIALLY_COMPLETED,
        must_hear=(
            ("A200", "fulfilled, notice awaiting confirmation"),
            ("A200", "履约完成、通知待确认"),
        ),
    ),
    Story(
        id="c",
        title="The agent is killed between send and record",
        what="kill -9 with two calls under way: C301 took effect, C302 did not. A worker recovers.",
        intents=(_ticket("C301", taken_over=True), _ticket("C302", taken_over=True)),
    ),
    Story(
        id="d",
        title="Two workers race",
        what=f"The agent is killed with {len(MANY)} calls under way; two workers want them all.",
        intents=tuple(_ticket(order, taken_over=True) for order in MANY),
    ),
    Story(
        id="f",
        title="A frozen agent wakes after the take-over",
        what="Told that T860 is open, it freezes; a worker takes over, T860 is closed by now, and "
        "a second attempt is under way; then the agent wakes with its old news.",
        request="R12",
        intents=(_ticket("F500", taken_over=True, existing=("T860",)),),
    ),
    Story(
        id="g",
        title="An essential step is refused, and what was done is undone",
        what="Stock and payment are confirmed, the carrier does not deliver there. The answer to "
        "the voided payment is lost, too.",
        intents=(
            _step("G600", "reserve_stock", state=State.COMPENSATED),
            _step("G600", "charge_card", state=State.COMPENSATED),
            _step("G600", "create_shipment", state=State.REJECTED, kind=Kind.BUSINESS, effects=0),
            _step("G600", "send_notice", state=State.REJECTED, kind=Kind.WITHDRAWN, effects=0),
            _step("G600", "void_payment", undoes="charge_card"),
            _step("G600", "release_stock", undoes="reserve_stock"),
        ),
        workflow=WorkflowState.COMPENSATED,
        must_hear=(
            ("G600", "It is being undone."),
            ("G600", "It has been undone."),
            ("G600", "已撤销。"),
        ),
    ),
    Story(
        id="h",
        title="A half-finished order is finished by another process",
        what="Four declared steps; kill -9 while the answer to the second is on its way.",
        intents=(
            _step("H700", "reserve_stock"),
            _step("H700", "charge_card", taken_over=True),
            _step("H700", "create_shipment"),
            _step("H700", "send_notice"),
        ),
        workflow=WorkflowState.COMPLETED,
        must_hear=(("H700", "Fulfilled."), ("H700", "履约已完成。")),
    ),
    Story(
        id="i",
        title="Query, then refund, said once",
        what=f"{len(REFUNDS)} conversations at once. The agent asks for the order and for its "
        "refund in one breath; the refund names no order. Before, an older one was spoken of.",
        intents=tuple(_step(order, "refund") for order in REFUNDS),
        conversations=True,
    ),
)

STORIES: Mapping[str, Story] = {story.id: story for story in _ALL}
