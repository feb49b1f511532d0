"""The named behaviours of a provider, as data: one row says what happens and what is answered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias, cast

from ascertain.testing.world.words import Json, Record, canonical

# never: no effect. now: before the reply. twice: delivered two times. working: the request is
# being worked on and takes effect later. transit: it is still on its way and lands later.
# accepted: taken as a job, with a handle, and carried out later.
When: TypeAlias = Literal["never", "now", "twice", "working", "transit", "accepted"]
# What is said, if anything is: the record made, an empty body, a handle, an error, nothing.
Says: TypeAlias = Literal["record", "empty", "handle", "error", "nothing"]
# What the wire does with it: `lost` is a reset, a FIN or silence, as the parameter `how` says.
Wire: TypeAlias = Literal["whole", "lost", "truncated"]
Kind: TypeAlias = Literal["post", "lookup"]

HOW = ("reset", "fin", "hang")
_LOST: Record = {"how": "reset", "hold_s": 60.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One behaviour: what it does to the world, what it says, and its parameters' defaults."""

    name: str
    when: When
    says: Says
    wire: Wire = "whole"
    http: int = 201
    code: str | None = None
    params: Record = field(default_factory=dict[str, Json])
    # The provider has judged the request and said no, rather than been unable to judge.
    refusal: bool = False


def _row(name: str, when: When, says: Says, wire: Wire = "whole", **params: Json) -> Row:
    lost = _LOST if wire != "whole" else {}
    return Row(name=name, when=when, says=says, wire=wire, params={**lost, **params})


def _error(
    name: str,
    http: int,
    code: str,
    when: When = "never",
    *,
    refusal: bool = False,
    **params: Json,
) -> Row:
    named: Record = {"code": code, **params}
    return Row(
        name=name, when=when, says="error", http=http, code=code, params=named, refusal=refusal
    )


_FOURTEEN_ROWS = (
    _row("ok", "now", "record"),
    _row("request_lost", "never", "nothing", "lost"),
    _row("reply_lost", "now", "nothing", "lost"),
    _row("slow_deadline", "working", "record", seconds=5.0),
    _row("slow_lease", "working", "record", seconds=30.0),
    _error("throttled", 429, "THROTTLED", retry_after_s=60),
    _error("throttled_date", 429, "THROTTLED", retry_after_s=60),
    _error("error_500_before", 500, "INTERNAL"),
    _error("error_500_after", 500, "INTERNAL", "now"),
    _error("unavailable_503_before", 503, "UNAVAILABLE", retry_after_s=None),
    _error("unavailable_503_after", 503, "UNAVAILABLE", "now", retry_after_s=None),
    _error("unauthorised_401", 401, "UNAUTHORISED", refusal=True),
    _error("forbidden_403", 403, "FORBIDDEN", refusal=True),
    _error(
        "business_refusal",
        409,
        "OPEN_TICKET_EXISTS",
        refusal=True,
        existing_ref="T850",
        belongs_to=None,
    ),
    _error("error_body_2xx", 200, "REFUSED_BY_POLICY", refusal=True),
    _row("truncated", "now", "record", "truncated", how="fin"),
    _row("duplicate_delivery", "twice", "record", reply="first", gap_s=0.0),
    _row("lookup_misses_first", "now", "nothing", "lost", misses=1),
)

_MORE_ROWS = (
    _row("late_execution", "transit", "nothing", "lost", seconds=3.0),
    _row("accepted_202", "accepted", "handle", seconds=3.0),
    _error("in_progress_409", 409, "in_progress"),
    _row("hang_no_effect", "never", "nothing", "lost", how="hang"),
    _error("unprocessed_503", 503, "not_processed", retry_after_s=None),
    _row("empty_body", "now", "empty"),
    _error("validation_422", 422, "VALIDATION", refusal=True),
    # A refusal that may be about our own record: it names the one with this key, if there is one.
    _error("already_exists", 409, "ALREADY_EXISTS", refusal=True, existing_ref="T850"),
)

_LOOKUP_ROWS = (
    _row("ok", "never", "record"),
    _row("miss", "never", "record"),
    _error("error_500", 500, "INTERNAL"),
    _row("hang", "never", "nothing", "lost", how="hang"),
    _row("reset", "never", "nothing", "lost"),
    _row("working", "never", "record"),
    _row("refused", "never", "record", code="REFUSED_BY_POLICY"),
)

ROWS: Mapping[str, Row] = MappingProxyType({row.name: row for row in _FOURTEEN_ROWS + _MORE_ROWS})
LOOKUP_ROWS: Mapping[str, Row] = MappingProxyType({row.name: row for row in _LOOKUP_ROWS})

#: The fourteen behaviours, split where one has several variants, by name.
BEHAVIOURS: tuple[str, ...] = tuple(row.name for row in _FOURTEEN_ROWS)
#: Behaviours beyond the fourteen.
MORE_BEHAVIOURS: tuple[str, ...] = tuple(row.name for row in _MORE_ROWS)
#: What a look-up may do.
LOOKUPS: tuple[str, ...] = tuple(row.name for row in _LOOKUP_ROWS)


def row_of(name: str, kind: Kind = "post") -> Row:
    """Return the row of a behaviour. Raises ValueError for a name that is not in the list."""
    rows = ROWS if kind == "post" else LOOKUP_ROWS
    if name not in rows:
        raise ValueError(f"no {kind} behaviour {name!r}; there are: {', '.join(rows)}")
    return rows[name]


@dataclass(frozen=True, slots=True, init=False)
class Behaviour:
    """A named behaviour with its parameters: `Behaviour("throttled", retry_after_s=2)`.

    Raises ValueError for a name or a parameter that is not in the list.
    """

    name: str
    params: Record = field(hash=False)
    kind: Kind

    def __init__(self, name: str, kind: Kind = "post", /, **params: Json) -> None:
        """Check the name and the parameters; those left out keep their defaults."""
        row = row_of(name, kind)
        unknown = sorted(set(params) - set(row.params))
        if unknown:
            known = ", ".join(row.params) or "none"
            raise ValueError(f"{name} has no parameter {', '.join(unknown)}; it has: {known}")
        if params.get("how", "reset") not in HOW:
            raise ValueError(f"how is one of {', '.join(HOW)}; got {params['how']!r}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "params", {**row.params, **params})
        object.__setattr__(self, "kind", kind)

    @property
    def row(self) -> Row:
        """The row of the table that this behaviour follows."""
        return row_of(self.name, self.kind)

    def seconds(self, name: str) -> float:
        """Return a parameter that is a number of seconds."""
        value = self.params[name]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{self.name}: {name} is a number of seconds, not {value!r}")
        return float(value)

    def text(self, name: str) -> str:
        """Return a parameter that is a text."""
        value = self.params[name]
        if not isinstance(value, str):
            raise TypeError(f"{self.name}: {name} is a text, not {value!r}")
        return value

    def spec(self) -> list[Json]:
        """Return what is stored: the name and the parameters."""
        return [self.name, self.params]


def lookup(name: str, **params: Json) -> Behaviour:
    """Return a behaviour of a look-up: `lookup("refused", code="CLOSED")`."""
    return Behaviour(name, "lookup", **params)


def script_text(entries: Sequence[str | Behaviour], kind: Kind) -> str:
    """Return a list of behaviours as the JSON that a script stores."""
    made = [Behaviour(entry, kind) if isinstance(entry, str) else entry for entry in entries]
    for entry in made:
        if entry.kind != kind:
            raise ValueError(f"{entry.name} is a {entry.kind} behaviour, used as a {kind} one")
    return canonical([entry.spec() for entry in made])


def script_entry(text: str, position: int, kind: Kind) -> Behaviour:
    """Return one entry of a stored script."""
    entries = cast("list[tuple[str, dict[str, Json]]]", json.loads(text))
    name, params = entries[position]
    return Behaviour(name, kind, **params)


#: The fourteen, each with the behaviours that stand for it.
FOURTEEN: Mapping[str, tuple[Behaviour, ...]] = MappingProxyType(
    {
        "ok": (Behaviour("ok"),),
        "request lost": (Behaviour("request_lost"),),
        "reply lost": (Behaviour("reply_lost"),),
        "slower than the deadline": (Behaviour("slow_deadline"),),
        "slower than the lease": (Behaviour("slow_lease"),),
        "429 within and over budget": (
            Behaviour("throttled", retry_after_s=1),
            Behaviour("throttled", retry_after_s=60),
            Behaviour("throttled_date", retry_after_s=60),
        ),
        "500 before and after the effect": (
            Behaviour("error_500_before"),
            Behaviour("error_500_after"),
        ),
        "503 before and after the effect": (
            Behaviour("unavailable_503_before"),
            Behaviour("unavailable_503_after"),
        ),
        "401/403": (Behaviour("unauthorised_401"), Behaviour("forbidden_403")),
        "business refusal": (Behaviour("business_refusal"),),
        "2xx with an error body": (Behaviour("error_body_2xx"),),
        "truncated body": (Behaviour("truncated"),),
        "duplicate delivery": (Behaviour("duplicate_delivery"),),
        "look-up that misses at first": (Behaviour("lookup_misses_first"),),
    }
)


class SixOutcomes(NamedTuple):
    """The six outcomes of an after-sales ticket service that a test should play."""

    normal: Behaviour
    reply_lost: Behaviour
    not_created_timeout: Behaviour
    throttled_beyond_budget: Behaviour
    forbidden: Behaviour
    already_open: Behaviour


#: Created as T900 · created, reply lost · not created, timed out · 429 beyond the budget · 403 ·
#: an open ticket T850 exists.
SIX = SixOutcomes(
    normal=Behaviour("ok"),
    reply_lost=Behaviour("reply_lost"),
    not_created_timeout=Behaviour("hang_no_effect"),
    throttled_beyond_budget=Behaviour("throttled", retry_after_s=60),
    forbidden=Behaviour("forbidden_403"),
    already_open=Behaviour("business_refusal", existing_ref="T850"),
)
