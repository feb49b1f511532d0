"""What a tool and its provider promise. Nothing is guessed; undeclared is the worst case."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field
from enum import StrEnum
from typing import Any

from ascertain.model.breaker import Breaker
from ascertain.model.rate import Rate
from ascertain.model.record import Record


class Repeat(StrEnum):
    """Why a write may be repeated at all."""

    BY_KEY = "by_key"
    BY_NATURE = "by_nature"
    HARMLESS = "harmless"
    NEVER = "never"


class OncePer(StrEnum):
    """Within what one intent is one."""

    SESSION = "session"
    PRINCIPAL = "principal"
    TENANT = "tenant"


class OnUnknown(StrEnum):
    """What becomes of an action whose answer can never be had."""

    REVIEW = "review"
    LEAVE = "leave"


class Approval(StrEnum):
    """Which calls of a tool wait for a person's approval before anything is sent."""

    NONE = "none"
    BY_RULE = "by_rule"
    ALWAYS = "always"


class KeyFormat(Record):
    """How the idempotency key looks, in the provider's format.

    :param style: ``hex``, ``uuid`` or ``base32``.
    :param length: characters without the prefix (hex and base32).
    :param prefix: put in front, for providers that want one.
    """

    style: str = "hex"
    length: int = 32
    prefix: str = ""


class LookupPromise(Record):
    """What the look-up promises.

    :param by: ``key``, or ``fields`` (confirms only with exactly one record in the window that no
        other action has or may have caused).
    :param absence_final_after_s: seconds after the last possible send from which "absent" is final;
        None: never.
    :param fences: what asking also puts an end to: ``key`` (it can no longer take effect at all, as
        with cancel-by-key), ``attempt`` (what was sent so far cannot; a later attempt can), or ''.
    """

    by: str = "key"
    absence_final_after_s: float | None = None
    fences: str = ""


class Budget(Record):
    """Bounds in two halves, enforced by the program whatever the model asks.

    The *turn* half bounds one call: sends and seconds; when it is spent the call ends honestly and
    the worker goes on. The *action* half bounds the whole action: sends over all layers, look-ups
    without an answer, and the horizon in seconds after the first send; when it is spent, a person
    decides.
    """

    turn_sends: int = 2
    turn_s: float = 8.0
    sends: int = 6
    unanswered: int = 20
    horizon_s: float = 86400.0
    send_deadline_s: float = 5.0
    backoff_s: float = 0.2
    backoff_max_s: float = 60.0


class RefusalRule(Record):
    """Where a refusal stands in a reply and what it means.

    :param code: the provider's code, ``*`` for any.
    :param kind: what it means (see :class:`~ascertain.model.outcome.Kind`).
    :param http_status: only in replies of this HTTP status; None: in any, 2xx included.
    :param code_path: where the code stands in the JSON body, dotted (``error.code``).
    :param related_path: where the reference of an existing record stands.
    """

    code: str
    kind: str = "business"
    http_status: int | None = None
    code_path: str = "error.code"
    related_path: str = ""


class Contract(Record):
    """The declaration of one tool, as data; the contract in force is stored with each action.

    :param access: ``write`` (the safe default) or ``read``.
    :param identity: other value = other intent. :param wording: other value = same intent.
    :param key_lifetime_s: how long the provider remembers the key; None: not promised.
    :param key_margin_s: taken off the lifetime, for clocks and transport.
    :param refusal_covers_key: a refusal speaks for all attempts with the key.
    :param refusal_final_after_s: how long after the last possible send of the attempts in doubt a
        repeat must be sent, so that its refusal speaks for them too; None: never. The provider
        looks at the key first: what happened is answered as what happened, whatever else it would
        refuse; and what arrives later than this after its sending takes no effect.
    :param unprocessed: HTTP statuses that mean "refused before processing", by promise.
    :param via: names of the only clients by which this tool can send.
    :param receipt: dotted path of the reference in the returned value; '' = well-known names.
    :param receipt_required: no receipt, no confirmation.
    :param recount_after_s: seconds after a confirmation at which the look-up is asked how many
        effects there are; by default only where the provider does not deduplicate; 0: never.
    :param undo: name of the compensating tool; None = irreversible.
    :param undo_by: ``reference``: what happened is reversed by its reference; ``key``: the
        reversal works by our key whether or not it happened.
    :param undo_offered: a model may ask for the undo of a call that is in no chain
        (``undo_<noun>``); such a call begins a chain of its own.
    :param undoes: name of the tool whose effect this one reverses; '' where it is no compensation.
    :param provides: context key to the dotted path in the result; '' is all of it.
    :param context: parameter to the context key that alone fills it.
    :param either: parameter to the context key that fills it where the caller does not.
    :param optional_context: keys without which the tool can be called all the same.
    :param fresh_s: context key to how old its value may be, in seconds.
    :param approval: whether a call waits for a person's approval; ``by_rule``: a rule of the server
        says for each call whether it does.
    :param approval_within_s: how long after the call it may be approved and sent.
    :param approval_by_other: whose wish it is cannot approve it.
    :param breaker: when it is closed for automatic sends; None: never.
    :param rate: how often its provider may be spoken to; None: not declared.
    :param items: the list parameter of a batch, whose answer tells of each item; '' = no batch.
    :param caller_sends: only the run that calls it can send it: recovery asks, and sends nothing.
    """

    tool: str
    noun: str
    access: str = "write"
    identity: tuple[str, ...] = ()
    wording: tuple[str, ...] = ()
    once_per: OncePer = OncePer.SESSION
    key: KeyFormat = KeyFormat()
    key_lifetime_s: float | None = None
    key_margin_s: float = 60.0
    repeat: Repeat = Repeat.NEVER
    refusal_covers_key: bool = False
    refusal_final_after_s: float | None = None
    unprocessed: tuple[int, ...] = ()
    refusals: tuple[RefusalRule, ...] = ()
    error_paths: tuple[str, ...] = ("error.code",)
    via: tuple[str, ...] = ()
    receipt: str = ""
    receipt_required: bool = False
    lookup: LookupPromise | None = None
    on_unknown: OnUnknown = OnUnknown.REVIEW
    recount_after_s: float | None = None
    undo: str | None = None
    undo_within_s: float | None = None
    undo_by: str = "reference"
    undo_offered: bool = False
    undoes: str = ""
    budget: Budget = Budget()
    send_by_s: float | None = None
    approval: Approval = Approval.NONE
    approval_within_s: float = 3600.0
    approval_by_other: bool = False
    breaker: Breaker | None = None
    rate: Rate | None = None
    items: str = ""
    caller_sends: bool = False
    redact: tuple[str, ...] = ()
    provides: Mapping[str, str] = field(default_factory=dict[str, str])
    context: Mapping[str, str] = field(default_factory=dict[str, str])
    either: Mapping[str, str] = field(default_factory=dict[str, str])
    optional_context: tuple[str, ...] = ()
    fresh_s: Mapping[str, float] = field(default_factory=dict[str, float])
    say: Mapping[str, str] = field(default_factory=dict[str, str])
    say_zh: Mapping[str, str] = field(default_factory=dict[str, str])

    def as_json(self) -> str:
        """The contract as stored with each action."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @property
    def is_read(self) -> bool:
        return self.access == "read"

    @property
    def by_fields(self) -> bool:
        """Whether a record that the look-up finds does not say whose it is."""
        return self.lookup is not None and self.lookup.by == "fields"

    @property
    def recount_s(self) -> float | None:
        """When to count the effects after a confirmation; None: a double cannot come about."""
        if self.lookup is None or self.repeat is Repeat.BY_KEY:
            return None
        if self.lookup.fences == "attempt":
            return None
        if self.recount_after_s is not None:
            return self.recount_after_s or None
        return max(10.0, 2 * (self.lookup.absence_final_after_s or 0.0))

    @property
    def context_keys(self) -> tuple[str, ...]:
        """Every context key that a call looks at, in the order of the declaration."""
        return tuple(dict.fromkeys((*self.context.values(), *self.either.values(), *self.fresh_s)))

    @property
    def required_context_keys(self) -> tuple[str, ...]:
        """Those without which nothing is sent."""
        return tuple(key for key in self.context_keys if key not in self.optional_context)

    @property
    def in_context(self) -> bool:
        """Whether it provides or needs anything of its session's context."""
        return bool(self.provides or self.context or self.either or self.fresh_s)

    @property
    def best_effort(self) -> bool:
        return self.on_unknown is OnUnknown.LEAVE


def contract_from_json(text: str) -> Contract:
    """Read a stored contract back; unknown fields of a newer release are ignored."""
    raw: dict[str, Any] = json.loads(text)
    known = {name: raw[name] for name in Contract.__dataclass_fields__ if name in raw}
    known["key"] = KeyFormat(**known.get("key", {}))
    known["budget"] = Budget(**known.get("budget", {}))
    if known.get("lookup"):
        known["lookup"] = LookupPromise(**known["lookup"])
    if known.get("breaker"):
        known["breaker"] = Breaker(**known["breaker"])
    if known.get("rate"):
        known["rate"] = Rate(**known["rate"])
    known["refusals"] = tuple(RefusalRule(**rule) for rule in known.get("refusals", ()))
    for name in (
        "identity",
        "wording",
        "unprocessed",
        "error_paths",
        "via",
        "redact",
        "optional_context",
    ):
        if name in known:
            known[name] = tuple(known[name])
    for name, kind in (
        ("once_per", OncePer), ("repeat", Repeat), ("on_unknown", OnUnknown),
        ("approval", Approval),
    ):  # fmt: skip
        if name in known:
            known[name] = kind(known[name])
    return Contract(**known)
