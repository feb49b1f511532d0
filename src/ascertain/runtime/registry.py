"""The tools of an app: contract, body, look-up, and what was compiled from them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from ascertain.errors import ContractError, DuplicateTool, UnknownTool
from ascertain.model.contract import Budget, Contract, LookupPromise, OncePer, Repeat
from ascertain.model.rate import Shared
from ascertain.rules.context import Declaration, misfits, undeclared
from ascertain.rules.identity import check_key_format
from ascertain.rules.rate import shared
from ascertain.values.arguments import Codec, Signature
from ascertain.values.canonical import digest

Check = Callable[[Any], Any]


@dataclass(slots=True, kw_only=True, eq=False)
class Entry:
    """One registered tool.

    :ivar sendable: whether its body can run here; of a tool that only its caller's run can send,
        in that run only.
    """

    contract: Contract
    body: Callable[..., Any]
    signature: Signature
    codec: Codec
    is_async: bool
    observed: bool = False
    sendable: bool = True
    lookup: Callable[[Any], Any] | None = None
    lookup_is_async: bool = False
    related: Callable[[Any], Any] | None = None
    permission: Check | None = None
    approval: Check | None = None
    preconditions: Mapping[str, Check] = field(default_factory=dict[str, Check])
    consent: str | None = None
    snapshot: Callable[[Any], Any] | None = None
    normalise: Mapping[str, Callable[[Any], Any]] = field(
        default_factory=dict[str, Callable[[Any], Any]]
    )
    called: int = 0
    layers: set[str] = field(default_factory=set[str])
    _json: str | None = None
    _digest: str = ""
    _roles: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]] | None = None
    _context_keys: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        return self.contract.tool

    @property
    def contract_json(self) -> str:
        """The contract in force, as it is stored with each action."""
        if self._json is None:
            self._json = self.contract.as_json()
            self._digest = digest(self._json)
        return self._json

    @property
    def contract_digest(self) -> str:
        return self._digest or (self.contract_json and self._digest)

    @property
    def roles(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """The names of the identity arguments, of the exact and of the wording ones.

        Without a declared identity every argument that is no wording is identity.
        """
        if self._roles is None:
            names, wording = self.signature.names, self.contract.wording
            identity = self.contract.identity or [name for name in names if name not in wording]
            exact = [name for name in names if name not in identity and name not in wording]
            self._roles = tuple(identity), tuple(exact), tuple(wording)
        return self._roles

    @property
    def context_keys(self) -> tuple[str, ...]:
        """Every context key that a call looks at."""
        if self._context_keys is None:
            self._context_keys = self.contract.context_keys
        return self._context_keys

    def promise(self, **changes: Any) -> None:
        """Change the contract while the tool is being declared."""
        self.contract = replace(self.contract, **changes)
        self._json, self._digest, self._roles, self._context_keys = None, "", None, None

    def add_lookup(self, function: Callable[[Any], Any], promise: LookupPromise) -> None:
        """Attach the look-up.

        :raises ContractError: a second one, or an async one on a sync tool.
        """
        if self.lookup is not None:
            raise ContractError(f"{self.name} has a look-up already.")
        is_async = inspect.iscoroutinefunction(function)
        if is_async and not self.is_async:
            raise ContractError(
                f"{self.name} is a sync tool; its look-up must be a plain function too."
            )
        self.lookup, self.lookup_is_async = function, is_async
        self.promise(lookup=promise)


class Registry:
    """All tools of an app, by name."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._rates: tuple[tuple[str, Shared], ...] | None = None

    def add(self, entry: Entry) -> None:
        """Register a tool.

        :raises DuplicateTool: the name or the noun is taken.
        :raises ContractError: another tool declares another rate of the same provider.
        """
        for other in self._entries.values():
            if other.name == entry.name:
                raise DuplicateTool(f"A tool named {entry.name!r} is registered already.")
            both_write = not (other.contract.is_read or entry.contract.is_read)
            if both_write and other.contract.noun == entry.contract.noun:
                raise DuplicateTool(
                    f"{entry.name!r} and {other.name!r} share the noun {entry.contract.noun!r}, so "
                    f"query_{entry.contract.noun} would be ambiguous."
                )
            check_rates(other.contract, entry.contract)
        # a new one: others, a worker's thread too, may be going through the old one just now
        self._entries = {**self._entries, entry.name: entry}
        self._rates = None

    @property
    def rates(self) -> tuple[tuple[str, Shared], ...]:
        """The rate of each tool whose provider has one."""
        if self._rates is None:
            found = ((entry.name, shared(entry.contract)) for entry in self._entries.values())
            self._rates = tuple((name, rate) for name, rate in found if rate is not None)
        return self._rates

    def get(self, name: str) -> Entry:
        """The tool of that name.

        :raises UnknownTool: there is none.
        """
        entry = self._entries.get(name)
        if entry is None:
            known = ", ".join(sorted(self._entries)) or "none"
            raise UnknownTool(f"There is no tool {name!r} (registered: {known}).")
        return entry

    def find(self, name: str) -> Entry | None:
        return self._entries.get(name)

    def by_noun(self, noun: str) -> Entry | None:
        """The write whose effect is called ``noun``."""
        for entry in self._entries.values():
            if entry.contract.noun == noun and not entry.contract.is_read:
                return entry
        return None

    def __iter__(self) -> Any:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)


def check_contract(contract: Contract, signature: Signature) -> None:
    """Refuse declarations that cannot be kept.

    :raises ContractError: with the reason and what to change.
    """
    check_key_format(contract.key)
    names = set(signature.names)
    for role in ("identity", "wording", "redact"):
        missing = [name for name in getattr(contract, role) if name not in names]
        if missing:
            raise ContractError(
                f"{contract.tool}: {role}={missing} are not parameters of the tool "
                f"({', '.join(sorted(names)) or 'it has none'})."
            )
    parameter = contract.items.partition(".")[0]
    if parameter and parameter not in names:
        raise ContractError(f"{contract.tool}: items={contract.items!r} names no parameter of it.")
    both = set(contract.identity) & set(contract.wording)
    if both:
        raise ContractError(f"{contract.tool}: {sorted(both)} cannot be identity and wording.")
    if contract.repeat is Repeat.BY_NATURE and contract.once_per is OncePer.SESSION:
        raise ContractError(
            f"{contract.tool}: repeat='by_nature' needs once_per='principal' or 'tenant', else a "
            "late repeat could overwrite what another session did meanwhile."
        )
    if contract.key_lifetime_s is not None and contract.key_lifetime_s <= contract.key_margin_s:
        raise ContractError(
            f"{contract.tool}: key_lifetime of {contract.key_lifetime_s:g} s is within the margin "
            f"of {contract.key_margin_s:g} s, so the key could never be sent again."
        )
    if not contract.approval_within_s > 0:
        raise ContractError(f"{contract.tool}: approval_within must be above 0, or none can come.")
    if contract.refusal_final_after_s is not None:
        _check_refusal_final_after(contract, contract.refusal_final_after_s)
    _check_context(contract, signature)
    _check_budget(contract.tool, contract.budget)


def check_rates(one: Contract, other: Contract) -> None:
    """Refuse two rates of one provider.

    :raises ContractError: with both.
    """
    first, second = shared(one), shared(other)
    if first is None or second is None or first.name != second.name or first == second:
        return
    raise ContractError(
        f"{one.tool} and {other.tool} share the provider {first.name!r} and declare different "
        f"rates: {first.limit} in {first.window_s:g} s, and {second.limit} in "
        f"{second.window_s:g} s.",
        next_step="Declare the same rate for both, or give one of them a group of its own.",
    )


def _check_context(contract: Contract, signature: Signature) -> None:
    found = misfits(Declaration(contract=contract, parameters=signature.required))
    if found:
        raise ContractError(f"{contract.tool}: {found[0]}.")
    schema, parts = signature.result.schema()
    for key, path in contract.provides.items():
        if undeclared(path, schema, parts):
            raise ContractError(
                f"{contract.tool}: provides={key!r} reads the result at {path!r}, which its return "
                "annotation does not have."
            )


def _check_refusal_final_after(contract: Contract, after_s: float) -> None:
    if contract.repeat is not Repeat.BY_KEY:
        raise ContractError(
            f"{contract.tool}: refusal_final_after speaks of repeats by key, and repeat is "
            f"{str(contract.repeat)!r}.",
            next_step="Promise key_lifetime= too, or leave refusal_final_after out.",
        )
    if not 0 < after_s < inf:
        raise ContractError(
            f"{contract.tool}: refusal_final_after={after_s:g} s must be above 0: a request takes "
            "time to arrive.",
            next_step="Say refusal_covers_key=True if a refusal is stored under the key.",
        )


def _check_budget(tool: str, budget: Budget) -> None:
    positive: dict[str, object] = {
        "turn_sends": budget.turn_sends,
        "turn_s": budget.turn_s,
        "sends": budget.sends,
        "unanswered": budget.unanswered,
        "horizon_s": budget.horizon_s,
        "send_deadline_s": budget.send_deadline_s,
        "backoff_s": budget.backoff_s,
        "backoff_max_s": budget.backoff_max_s,
    }
    for name, value in positive.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
            raise ContractError(
                f"{tool}: budget {name}={value!r} must be a number above 0; nothing waits for ever."
            )


def refuse_async_checks(entry: Entry) -> None:
    """Refuse checks that sync code cannot wait for.

    :raises ContractError: a coroutine function among the checks of a sync tool.
    """
    if entry.is_async:
        return
    checks = [entry.permission, entry.approval, *entry.preconditions.values()]
    if any(inspect.iscoroutinefunction(check) for check in checks if check is not None):
        raise ContractError(f"{entry.name} is a sync tool; its checks must be plain functions too.")
