"""What people and files may see of an action: whatever its contract redacts is masked.

Everything that shows an action, its arguments or its result to somebody takes them from here. What
is masked shows that there was something, and nothing of it: neither its length nor its kind, and
the same mask for every value. None stays, for it says that there was nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Container
from dataclasses import dataclass
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract
from ascertain.report.reading import contract_of
from ascertain.rules.texts import MASK
from ascertain.store.ledger import Ledger
from ascertain.values.misfit import is_array, is_object

_TELLING = 4  # a shorter text stands in too many others to be looked for inside them
_WORDS = ("code", "provider_ref", "related_ref", "handle")
_DIGESTS = ("intent", "exact", "wording")  # without a key: what is short could be guessed from them


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One action as it may be shown.

    Masked are the arguments that ``redact`` names; in the result every member of such a name; and
    in all that the provider or a person wrote, every text that is a masked one or holds it. The
    digests that are made of them are masked too.

    :param arguments: by name; None where they are not stored any more.
    :param result: None where there is none, or it was None.
    """

    record: ActionRecord
    arguments: Any
    result: Any
    hidden: tuple[str, ...] = ()
    names: Container[str] = ()

    def cover_value(self, key: str, path: str, value: Any) -> Any:
        """What the session remembers of the result at this path: masked where its name is."""
        if any(name in self.names for name in (key, *path.split("."))):
            return _masked(value)
        return _without(value, self.names, self.hidden)

    def cover(self, detail: dict[str, Any]) -> dict[str, Any]:
        """What came with an event: the words in it masked in the same way; numbers are ours."""
        return {
            name: _covered(value, self.hidden) if isinstance(value, str) else value
            for name, value in detail.items()
        }


def shown(ledger: Ledger, record: ActionRecord, contract: Contract | None) -> Shown:
    """Read and mask.

    Where the contract is gone nobody can say what was to be masked, so all values of arguments and
    result are.
    """
    arguments, result = _read(ledger.arguments(record.id)), _read(ledger.result(record.id))
    if contract is None:
        arguments = _without(arguments, _Everything(), ())
        result = _masked(result)
        return Shown(record=record, arguments=arguments, result=result, names=_Everything())
    names = frozenset(contract.redact)
    if not names:
        return Shown(record=record, arguments=arguments, result=result)
    hidden = tuple({text for name in names for text in _texts(_member(arguments, name)) if text})
    words = {name: _covered(getattr(record, name), hidden) for name in _WORDS}
    return Shown(
        record=record.changed(**words, **dict.fromkeys(_DIGESTS, MASK)),
        arguments=_without(arguments, names, ()),
        result=_without(result, names, hidden),
        hidden=hidden,
        names=names,
    )


def shown_records(ledger: Ledger, records: list[ActionRecord]) -> list[ActionRecord]:
    """Actions as a list may show them; arguments are read only where something is redacted."""
    contracts: dict[str, Contract | None] = {}
    for record in records:
        if record.contract not in contracts:
            contracts[record.contract] = contract_of(ledger, record)
    return [
        shown(ledger, record, contract).record
        if (contract := contracts[record.contract]) is not None and contract.redact
        else record
        for record in records
    ]


def _read(text: str | None) -> Any:
    """The stored JSON; what cannot be read (somebody changed it) is not shown either."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return MASK


def _member(value: Any, name: str) -> Any:
    return value.get(name) if is_object(value) else None


def _masked(value: Any) -> Any:
    return None if value is None else MASK


def _without(value: Any, names: Container[str], hidden: Collection[str]) -> Any:
    """The value with every member of these names masked, and every text that holds one of those."""
    if is_object(value):
        return {
            _covered(name, hidden): _masked(member)
            if name in names
            else _without(member, names, hidden)
            for name, member in value.items()
        }
    if is_array(value):
        return [_without(item, names, hidden) for item in value]
    return _covered(value, hidden)


def _covered(value: Any, hidden: Collection[str]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    said = _text(value)
    tells = any(text == said or (len(text) >= _TELLING and text in said) for text in hidden)
    return MASK if tells else value


def _texts(value: Any) -> list[str]:
    """All leaves of a value, as text. Truth values say too little to be looked for."""
    if is_object(value):
        value = list(value.values())
    if is_array(value):
        return [text for item in value for text in _texts(item)]
    return [] if value is None or isinstance(value, bool) else [_text(value)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


class _Everything:
    """A set in which everything is."""

    def __contains__(self, name: object) -> bool:
        return True
