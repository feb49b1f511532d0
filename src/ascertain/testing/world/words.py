"""The words of the World: what a provider promises, what it did, what it was asked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TypeAlias, cast

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Record: TypeAlias = dict[str, Json]

_REF = re.compile(r"(?P<letters>.*?)(?P<number>[0-9]+)")


def canonical(value: object) -> str:
    """One text for one JSON value, so that two texts can be compared."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What one side of the provider promises and keeps. One per collection; JSON-able.

    `honours_key`: it deduplicates by the `Idempotency-Key` header and replays the stored reply.
    `key_lifetime_s`: seconds from the first receipt until the key is forgotten; None: never.
    `answers_key_first`: before it refuses anything it looks at the key: what happened under it is
    answered as what happened, whatever credentials or rules would say now.
    `stores_refusals`: a refusal is kept under the key, so that it also covers what is under way.
    `lookup`: it answers `GET /{collection}?request=KEY`.
    `lookup_fences`: asking for an absent key makes sure that this key never takes effect.
    `lookup_lag_s`: seconds until a look-up sees a new record.
    `refuses_unprocessed`: it says of its 429 and 503 that nothing was processed. A behaviour with
    an effect behind such an answer is a promise broken by the provider.
    `first_ref`: the first reference it gives (T900, then T901, ...).
    `ref_field`: a second name under which a record carries its reference ("ticket_id").
    `key_field`: the field in which records carry the key; where no header comes, the field of the
    arguments from which the key is taken.
    """

    honours_key: bool = True
    key_lifetime_s: float | None = 24 * 3600.0
    answers_key_first: bool = False
    stores_refusals: bool = False
    lookup: bool = True
    lookup_fences: bool = False
    lookup_lag_s: float = 0.0
    refuses_unprocessed: bool = False
    first_ref: str = "T900"
    ref_field: str = "ticket_id"
    key_field: str = "request"

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if self.lookup_fences and not self.lookup:
            raise ValueError("lookup_fences=True needs lookup=True: asking is what fences")
        if self.lookup_fences and self.lookup_lag_s:
            raise ValueError("a look-up that fences cannot lag: set lookup_lag_s=0")
        if self.stores_refusals and not self.honours_key:
            raise ValueError("stores_refusals=True needs honours_key=True: it is kept by the key")
        if self.answers_key_first and not self.honours_key:
            raise ValueError("answers_key_first=True needs honours_key=True: it knows no keys")
        if self.key_lifetime_s is not None and self.key_lifetime_s <= 0:
            raise ValueError("key_lifetime_s must be above 0 seconds, or None for ever")
        if self.lookup_lag_s < 0:
            raise ValueError("lookup_lag_s must be 0 seconds or more")
        if _REF.fullmatch(self.first_ref) is None:
            raise ValueError(f"first_ref must end in digits, as in T900; got {self.first_ref!r}")

    def ref(self, n: int) -> str:
        """Return the n-th reference, counted from 0."""
        found = _REF.fullmatch(self.first_ref)
        assert found is not None, "checked when the provider was made"
        number = found["number"]
        return f"{found['letters']}{int(number) + n:0{len(number)}d}"

    def to_json(self) -> str:
        """Return the provider as one line of JSON."""
        return canonical({field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def from_json(cls, text: str) -> Provider:
        """Read what `to_json` wrote; fields left out keep their defaults. Raises ValueError."""
        loaded = json.loads(text)
        if not isinstance(loaded, dict):
            raise ValueError(f"a provider is a JSON object, not {text[:60]!r}")
        spec = cast("dict[str, Json]", loaded)
        unknown = sorted(set(spec) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"a provider has no field {', '.join(unknown)}")
        return cls(**spec)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


# The five contracts under which a write may stand, by name.
FIVE_CONTRACTS: Mapping[str, Provider] = {
    "key_and_lookup": Provider(),
    "key_only": Provider(lookup=False, answers_key_first=True),
    "lookup_only": Provider(honours_key=False),
    "fencing_lookup": Provider(honours_key=False, lookup_fences=True),
    "neither": Provider(honours_key=False, lookup=False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Something that really happened. Times are seconds since 1970 on this machine's clock.

    `delivery` counts the effects of one key: above 1, the same intent took effect again.
    `arrival` is the number of the request that caused it.
    """

    collection: str
    ref: str
    key: str | None
    args: Record
    received_at: float
    executed_at: float
    delivery: int
    arrival: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One request head that reached the provider, and what became of it.

    `answered` is the HTTP status as text ("201"), or what the wire did instead: "reset", "fin",
    "hang", "truncated", "body_cut" (the request itself never came whole), "pending" (being worked
    on). `code` is the provider's error code. `connection` numbers the connections.
    """

    number: int
    connection: int
    received_at: float
    method: str
    target: str
    collection: str
    key: str | None
    args: Record | None
    behaviour: str
    answered: str
    answered_at: float | None
    code: str | None
    retry_after_s: float | None
