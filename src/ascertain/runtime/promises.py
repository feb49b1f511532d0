"""What may be said when a tool is declared, and the contract that it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypedDict, TypeVar

from ascertain.errors import ContractError
from ascertain.model.breaker import Breaker as Rule
from ascertain.model.contract import (
    Approval,
    Budget,
    Contract,
    KeyFormat,
    OncePer,
    OnUnknown,
    RefusalRule,
    Repeat,
)
from ascertain.model.record import Record
from ascertain.runtime.durations import seconds
from ascertain.runtime.rates import Rate, rate_of
from ascertain.wire.watch import exit_name

E = TypeVar("E", bound=StrEnum)


class Breaker(Record):
    """When a tool is closed for automatic sends, because its provider keeps giving no answer.

    :param after: so many sends in a row without a definite answer.
    :param within: how long back they count.
    :param cool_down: how long nothing is sent before the provider is tried again.
    :param defects: so many breaks in a row of the tool's own code after something may have left.
    :param manual: how long calls that come meanwhile can be released, where ``send_by`` says less.
    :param group: the provider, where several tools open and close together.
    """

    after: int = 5
    within: float | str = 60.0
    cool_down: float | str = 30.0
    defects: int = 3
    manual: float | str = "24h"
    group: str = ""

    def rule(self, tool: str) -> Rule:
        """The same as data.

        :raises ContractError: a number that makes no sense.
        """
        times = {
            name: seconds(getattr(self, name), f"{tool}: breaker {name}") or 0.0
            for name in ("within", "cool_down", "manual")
        }
        counts = {"after": self.after, "defects": self.defects}
        for name, value in {**times, **counts}.items():
            if isinstance(value, bool) or not value > 0:
                raise ContractError(f"{tool}: breaker {name}={value!r} must be above 0.")
        return Rule(
            after=self.after, within_s=times["within"], cool_down_s=times["cool_down"],
            defects=self.defects, manual_s=times["manual"], group=self.group,
        )  # fmt: skip


class ReadPromises(TypedDict, total=False):
    """What may be said of any tool.

    * ``name``: by default the function's. ``noun``: what its effect is called, by default the name
      without its leading verb.
    * ``budget``: bounds in two halves, see :class:`~ascertain.Budget`.
    * ``refusals``, ``error_paths``: where a reply says no, and what that means.
    * ``breaker``: of a read: its answers tell whether the provider of that group is back.
    * ``rate``: how often its provider may be spoken to (``50/s``), by all processes together; with
      a group, see :class:`~ascertain.runtime.rates.Rate`.
    * ``say``, ``say_zh``: sentences for the person, by state; ``name`` is what it is called.
    * ``redact``: arguments that are masked wherever they are shown, and in results too.
    * ``provides``: what its result brings to the session: context key to dotted path in the result
      (``*`` is every item of a list), or a list of names that are both.
    * ``context``: parameter to the context key that alone fills it; no caller or model gives it.
    * ``either``: the same where the caller may give it, out of what was shown in the session.
    * ``optional_context``: keys without which it can be called all the same.
    * ``fresh``: how old the value of a context key may be (``60s``); an older one is read anew.
    * ``schema``: the JSON schema of its arguments, of a function that takes ``**arguments``.
    """

    name: str
    noun: str
    budget: Budget
    refusals: Sequence[RefusalRule]
    error_paths: Sequence[str]
    breaker: Breaker | bool
    rate: Rate | str | None
    say: Mapping[str, str]
    say_zh: Mapping[str, str]
    redact: Sequence[str]
    provides: Mapping[str, str] | Sequence[str]
    context: Mapping[str, str]
    either: Mapping[str, str]
    optional_context: Sequence[str]
    fresh: Mapping[str, float | str]
    schema: Mapping[str, Any]


class Promises(ReadPromises, total=False):
    """What may be said of a write. Nothing is assumed that is not said.

    * ``identity``: arguments of which another value is another intent; by default all that are not
      ``wording`` (free text: another value is the same intent). The rest is exact: another value on
      a live intent is a conflict.
    * ``once_per``: within what an intent is one: ``session``, ``principal`` or ``tenant``.
    * ``key_lifetime``: how long the provider remembers the key and does not repeat for it (seconds,
      or ``24h``). Promising it makes ``repeat="by_key"`` the default, else it is ``never``.
    * ``repeat``: ``by_key``, ``by_nature`` (a set or a delete), ``harmless`` or ``never``.
    * ``refusal_covers_key``: a refusal speaks for every attempt with the key.
    * ``refusal_final_after``: the provider looks at the key before anything else (credentials,
      arguments, its own rules), and nothing takes effect later than this after it was sent: a
      refusal of a repeat that is sent so long after the attempts in doubt speaks for them too.
    * ``unprocessed``: HTTP statuses that mean "refused before anything was processed".
    * ``via``: the only (watched) clients by which the tool can send.
    * ``receipt``: dotted path of the reference in the result; ``receipt_required``: no
      confirmation without it.
    * ``on_unknown``: ``review``, or ``leave`` for best effort.
    * ``recount_after``: when the effects are counted after a confirmation; 0: never.
    * ``undo``, ``undo_within``: the compensating tool and its deadline; undeclared = irreversible.
    * ``send_by``: until when a prepared action may be sent; by default the turn's end.
    * ``permission``, ``preconditions``: checked before the call and again before late sends.
    * ``consent``: the effect that the person must have agreed to in this session.
    * ``normalise``: per identity argument, a function that makes equal what means the same.
    * ``approval``: a person approves each exact call before anything is sent (True), or a rule of
      the server says for which (``approval=lambda asked: asked.arguments["amount"] > 100``).
      ``approval_within``: how long after the call it may be approved and sent, by default an hour;
      ``approval_by_other``: whose wish it is cannot approve it.
    * ``breaker``: when the tool is closed for automatic sends, see :class:`Breaker`; False: never.
    * ``items``: the list parameter of a batch, whose answer tells of each item (``Items``).
    * ``caller_sends``: only the run that calls it can send it, because its body belongs to that run
      (a tool of an agent framework): recovery asks, and sends nothing.
    """

    identity: Sequence[str]
    wording: Sequence[str]
    once_per: str
    key_lifetime: float | str
    key_margin: float | str
    key_format: KeyFormat | str
    repeat: str
    refusal_covers_key: bool
    refusal_final_after: float | str
    unprocessed: Sequence[int]
    via: Sequence[object]
    receipt: str
    receipt_required: bool
    on_unknown: str
    recount_after: float | str
    undo: str
    undo_within: float | str
    send_by: float | str
    permission: Callable[[Any], Any]
    preconditions: Mapping[str, Callable[[Any], Any]]
    consent: str
    normalise: Mapping[str, Callable[[Any], Any]]
    approval: bool | Callable[[Any], Any]
    approval_within: float | str
    approval_by_other: bool
    items: str
    caller_sends: bool


_AS_SAID = (
    "refusal_covers_key", "receipt", "receipt_required", "undo", "budget", "approval_by_other",
    "items", "caller_sends",
)  # fmt: skip
_TUPLES = (
    "identity", "wording", "unprocessed", "redact", "refusals", "error_paths", "optional_context",
)  # fmt: skip
_MAPPINGS = ("say", "say_zh")
_CONTEXT = ("provides", "context", "either", "fresh")
_SECONDS = {
    "key_lifetime": "key_lifetime_s",
    "key_margin": "key_margin_s",
    "refusal_final_after": "refusal_final_after_s",
    "recount_after": "recount_after_s",
    "undo_within": "undo_within_s",
    "send_by": "send_by_s",
    "approval_within": "approval_within_s",
}
_CHOICES: dict[str, type[StrEnum]] = {
    "once_per": OncePer,
    "repeat": Repeat,
    "on_unknown": OnUnknown,
}
_OF_THE_ENTRY = ("name", "noun", "permission", "preconditions", "consent", "normalise", "schema")
_OTHERS = ("key_format", "via", "approval", "breaker", "rate")


def contract_of(tool: str, said: Mapping[str, Any], *, access: str = "write") -> Contract:
    """The contract that a declaration makes.

    :raises ContractError: something said that has no meaning, or a value that makes no sense.
    """
    _refuse_strangers(tool, said)
    fields: dict[str, Any] = {name: said[name] for name in _AS_SAID if name in said}
    fields |= {name: _several(tool, name, said[name]) for name in _TUPLES if name in said}
    fields |= {name: dict(said[name]) for name in _MAPPINGS if name in said}
    fields |= {field: seconds(said[name], name) for name, field in _SECONDS.items() if name in said}
    fields |= {
        name: _member(kind, said[name], name) for name, kind in _CHOICES.items() if name in said
    }
    fields |= _context_of(tool, said)
    form = said.get("key_format", KeyFormat())
    fields["key"] = KeyFormat(style=form) if isinstance(form, str) else form
    fields["via"] = _exits(tool, said.get("via", ()))
    fields["approval"] = _approval(tool, said.get("approval", False))
    fields["rate"] = rate_of(tool, said.get("rate"))
    fields["breaker"] = _breaker(tool, said.get("breaker", access != "read"))
    if access == "read":
        fields["repeat"] = Repeat.HARMLESS
    elif "repeat" not in said and fields.get("key_lifetime_s"):
        fields["repeat"] = Repeat.BY_KEY
    return Contract(tool=tool, noun=said.get("noun") or noun_of(tool), access=access, **fields)


def noun_of(name: str) -> str:
    """The tool's name without its leading verb: ``send_notice`` gives ``notice``."""
    _, _, rest = name.partition("_")
    return rest or name


def _refuse_strangers(tool: str, said: Mapping[str, Any]) -> None:
    known = {
        *_AS_SAID, *_TUPLES, *_MAPPINGS, *_SECONDS, *_CHOICES, *_OF_THE_ENTRY, *_OTHERS,
        *_CONTEXT,
    }  # fmt: skip
    strangers = sorted(set(said) - known)
    if strangers:
        raise ContractError(f"{tool}: {', '.join(strangers)} is not something a tool can promise.")


def _context_of(tool: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of the context, as the contract keeps it."""
    fields: dict[str, Any] = {}
    for name in ("context", "either", "provides"):
        value: Any = said.get(name, {})
        if name == "provides" and not hasattr(value, "items"):
            value = {key: key for key in _several(tool, name, value)}
        pairs: list[tuple[Any, Any]] = list(value.items())
        if not all(isinstance(one, str) for pair in pairs for one in pair):
            raise ContractError(f"{tool}: {name}= holds something that is no text.")
        fields |= {name: dict(pairs)} if pairs else {}
    fresh: Mapping[str, Any] = said.get("fresh", {})
    if fresh:
        fields["fresh_s"] = {key: seconds(age, f"fresh {key}") or 0.0 for key, age in fresh.items()}
    return fields


def _several(tool: str, name: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        raise ContractError(f"{tool}: {name}={value!r} must be a list, {name}=[{value!r}].")
    return tuple(value)


def _approval(tool: str, said: object) -> Approval:
    if callable(said):
        return Approval.BY_RULE
    if not isinstance(said, bool):
        raise ContractError(f"{tool}: approval={said!r} is True, False or a rule of the server.")
    return Approval.ALWAYS if said else Approval.NONE


def _breaker(tool: str, said: object) -> Rule | None:
    if isinstance(said, Breaker):
        return said.rule(tool)
    if not isinstance(said, bool):
        raise ContractError(f"{tool}: breaker={said!r} is Breaker(...), True or False.")
    return Rule() if said else None


def _exits(tool: str, clients: Sequence[object]) -> tuple[str, ...]:
    names: list[str] = []
    for client in clients:
        name = exit_name(client)
        if name is None:
            raise ContractError(
                f"{tool}: via= names a {type(client).__name__} that is not watched.",
                next_step="Wrap it first: client = app.watch(client).",
            )
        names.append(name)
    return tuple(names)


def _member(kind: type[E], value: str, what: str) -> E:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(repr(str(member)) for member in kind)
        raise ContractError(f"{what}={value!r}: it is one of {known}.") from None
