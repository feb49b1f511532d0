"""What a guarded call returns: never a guess."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ascertain.errors import Unsettled
from ascertain.model.action import ActionRecord
from ascertain.model.tables import State
from ascertain.rules import texts
from ascertain.rules.chain import may_be_undone
from ascertain.rules.facts import facts_of
from ascertain.runtime.batching import items_in

if TYPE_CHECKING:
    from ascertain.model.contract import Contract
    from ascertain.runtime.hands import Hands
    from ascertain.runtime.registry import Entry

T = TypeVar("T")

NOT_LOADED: Any = object()


class Action(Generic[T]):
    """One action, as it stood when it was read.

    :ivar how: ``new``, ``replayed`` (settled before this call), ``joined`` (another call was under
        way), or ``bound`` (a final refusal that still answers these arguments).
    """

    __slots__ = ("_entry", "_hands", "_text", "_value", "how", "record")

    def __init__(
        self,
        record: ActionRecord,
        entry: Entry,
        hands: Hands,
        *,
        how: str = "new",
        text: str | None = None,
        value: Any = NOT_LOADED,
    ) -> None:
        self.record = record
        self.how = how
        self._entry = entry
        self._hands = hands
        self._text = text
        self._value = value

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def tool(self) -> str:
        return self.record.tool

    @property
    def contract(self) -> Contract:
        """What its tool promises."""
        return self._entry.contract

    @property
    def state(self) -> State:
        """What is known: prepared, sent, confirmed, rejected, unknown or compensated."""
        return self.record.state

    @property
    def key(self) -> str:
        """The idempotency key; the same for every attempt."""
        return self.record.key

    @property
    def provider_ref(self) -> str | None:
        """The provider's own reference, once it is known."""
        return self.record.provider_ref

    @property
    def related_ref(self) -> str | None:
        """An existing record that a refusal speaks of, once it is checked to be the caller's."""
        return self.record.related_ref

    @property
    def attempt(self) -> int:
        """How many attempts were made."""
        return self.record.attempt

    @property
    def reason(self) -> str:
        """A stable code for why the state is what it is."""
        return self.record.reason

    @property
    def kind(self) -> str | None:
        """What a refusal means (business, invalid, auth, ...)."""
        return None if self.record.kind is None else str(self.record.kind)

    @property
    def replayed(self) -> bool:
        """Whether the action was settled before this call; nothing was sent for it now."""
        return self.how in ("replayed", "bound")

    @property
    def confirmed(self) -> bool:
        return self.record.state is State.CONFIRMED

    @property
    def result(self) -> T | None:
        """The value, as its stored JSON decodes through the return annotation.

        None where there is none: not confirmed, found without a value, or not storable.
        """
        if not self.confirmed:
            return None  # an answer that is not on record is no answer
        if self._value is NOT_LOADED:
            text = self.result_json
            self._value = None if text is None else self._entry.codec.decode(text)
        return cast("T | None", self._value)

    @property
    def result_json(self) -> str | None:
        """The value of a confirmed action as JSON text, as it is stored; None where none is."""
        if self.confirmed and self._text is None and self.record.n:
            return self._hands.ledger.result(self.record.id)
        return self._text if self.confirmed else None

    @property
    def items(self) -> list[dict[str, Any]]:
        """What is known of each item of a batch, in order; empty where nothing is, or it is none.

        Each has ``item``, ``state``, and where known ``provider_ref``, ``error_code``, ``kind``.
        """
        if not self._entry.contract.items or not self.record.n:
            return []
        return items_in(self._hands.ledger.result(self.record.id))

    def unwrap(self) -> T:
        """The value of a confirmed action.

        :raises Unsettled: it is not confirmed; the error carries the facts.
        """
        if not self.confirmed:
            raise Unsettled(
                f"{self.tool} is {self.state} ({self.reason}), not confirmed.", facts=self.facts()
            )
        return cast("T", self.result)

    def facts(self) -> dict[str, Any]:
        """All that the model may be told, and what may be done next."""
        chain, contract = self.record.chain, self._entry.contract
        looks = chain and (not self.confirmed or may_be_undone(self.record, contract))
        around = self._hands.ledger.chains.around(chain) if looks else None
        return facts_of(
            [(self.record, contract)],
            self._hands.clock(),
            items={self.id: self.items} if contract.items else {},
            chains={} if around is None else {around.chain.id: around},
        )

    def say(self, language: str = "en") -> str:
        """One honest sentence for the person (``en`` or ``zh-CN``)."""
        return texts.say(self.record, self._entry.contract, language)

    def refresh(self) -> Action[T]:
        """The action as the ledger holds it now."""
        record = self._hands.ledger.get(self.record.id) or self.record
        return Action(record, self._entry, self._hands, how=self.how)

    def __repr__(self) -> str:
        ref = f" {self.provider_ref}" if self.provider_ref else ""
        return f"<Action {self.tool} {self.state}{ref} {self.id}>"
