"""The words in which a case is told: tools, the provider, what happens, what must be so.

A case is data. ``stage.py`` builds its tools, ``steps.py`` plays what happens, and ``judge.py``
compares.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ascertain import Budget
from ascertain.testing.world import Behaviour, Provider

SETTLING_S = 0.5

# Generous where time is not the point: a loaded machine must not turn "answered" into "timed out".
BUDGET = Budget(
    turn_sends=2, turn_s=20.0, sends=4, unanswered=5, send_deadline_s=8.0, backoff_s=0.03,
    backoff_max_s=0.2,
)  # fmt: skip
# Where the point is that no answer comes: the deadline is real, and short.
HASTY = replace(BUDGET, send_deadline_s=0.9)
NO_HURRY_S = 15.0

# One side of the provider for each kind of promise.
PROVIDERS: dict[str, Provider] = {
    "known": Provider(),
    "keyed": Provider(lookup=False),
    "listed": Provider(honours_key=False),
    "lagging": Provider(honours_key=False, lookup_lag_s=1.2),
    "fenced": Provider(honours_key=False, lookup_fences=True),
    "keeping": Provider(stores_refusals=True),
    "gated": Provider(lookup=False, refuses_unprocessed=True),
    "blind": Provider(honours_key=False, lookup=False),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that the World does not know: given in this process, through a watched client.

    :param http: the HTTP status; 0: no answer comes in time.
    :param effect: whether the provider carried it out.
    :param headers: pairs; a value ``@+2`` is the HTTP date in two seconds.
    """

    http: int
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    effect: bool = False


LOST = Behaviour("reply_lost")
NEVER_CAME = Behaviour("request_lost")
TIMED_OUT = Behaviour("reply_lost", how="hang")
UNHEARD = Behaviour("hang_no_effect")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of the case.

    It takes ``order`` (identity), ``text`` (wording), ``amount`` and ``variant`` (exact), unless
    ``said`` says otherwise.

    :param at: which side of the provider it writes to, or "" for a body of its own.
    :param meets: what its successive creates meet; or, by order, what each order's do.
    :param asked: what its successive look-ups meet.
    :param replies: answers given in this process instead, by order or for all.
    :param said: what else the tool promises.
    :param body: how it sends (see ``bodies.py``). :param look: how it is looked up.
    :param client: which client it holds.
    """

    name: str
    at: str = "blind"
    read: bool = False
    asynchronous: bool = False
    meets: tuple[Any, ...] | dict[str, tuple[Any, ...]] = ()
    asked: tuple[Any, ...] = ()
    replies: tuple[Reply, ...] | dict[str, tuple[Reply, ...]] = ()
    said: dict[str, Any] = field(default_factory=dict)
    budget: Budget = BUDGET
    body: str = "post"
    look: str = "by_key"
    settling_s: float | None = SETTLING_S
    client: str = "httpx"


# -------------------------------------------------------------------------------- what is heard


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the caller must be told. Only what is named is compared.

    :param next: all of ``next_allowed``. :param offers: some of it. :param says: part of the
        sentence. :param error: the class of the exception. :param within_s, after_s: how long the
        call may take, and must take at least.
    """

    state: str | None = None
    how: str | None = None
    kind: str | None = None
    ref: bool | None = None
    next: tuple[str, ...] | None = None
    offers: tuple[str, ...] = ()
    says: str = ""
    error: str | None = None
    fields: tuple[str, ...] | None = None
    accepted: bool | None = None
    same_as: str | None = None
    value: Any = None
    workflow: str | None = None
    actions: tuple[str, ...] | None = None
    retry_after_s: tuple[float, float] | None = None
    within_s: float | None = None
    after_s: float = 0.0


# ------------------------------------------------------------------------------- what happens


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a tool. ``when``: the provider has seen so many of a tool's creates.

    :param raw: a model's arguments as they come, instead of ``order`` and the others.
    """

    tool: str
    order: str = "A1"
    text: str = ""
    amount: int = 0
    variant: str = ""
    raw: Any = None
    name: str = ""
    session: str = "chat"
    principal: str = "u7"
    tenant: str = "default"
    turn: str = ""
    call_id: str | None = None
    ordinal: int | None = None
    deadline_s: float | None = None
    when: tuple[str, int] | None = None
    then: Told = Told()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Somebody asks what became of it all, and calls no tool."""

    session: str = "chat"
    principal: str = "u7"
    turn: str = ""
    then: Told = Told()


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """One entry of ``next_allowed`` is taken."""

    entry: str
    action: str = ""
    session: str = "chat"
    principal: str = "u7"
    then: Told = Told()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A person decides about the action of this call."""

    action: str
    confirmed: str | None = None
    not_done: bool = False
    then: Told = Told()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recover:
    """A worker passes, again and again until the tool's actions are so.

    :param once: a single time. :param for_s: for so long, whatever comes of it.
    """

    until: tuple[str, str] | None = None
    once: bool = False
    for_s: float = 0.0
    within_s: float = NO_HURRY_S
    when: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Wait until the ledger has an action of this tool so, and the provider so many effects."""

    tool: str
    state: str = ""
    reason: str = ""
    effects: int = 0
    within_s: float = NO_HURRY_S


@dataclass(frozen=True, slots=True)
class Together:
    """Steps in threads of their own, begun at once (each waits for its ``when``)."""

    steps: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Calls as tasks of one event loop.

    :param cancel: names of calls that are cancelled; ``cancel_when``: as soon as the provider has
        seen so many of a tool's creates; ``cancel_at``: at a crash point of the call; neither:
        before the task has begun.
    :param group: in one task group, which cancels all others when one of them raises.
    :param seen: waited for before the loop ends.
    """

    calls: tuple[Call, ...]
    cancel: tuple[str, ...] = ()
    cancel_when: tuple[str, int] | None = None
    cancel_at: str = ""
    group: bool = False
    seen: tuple[Seen, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Die:
    """A step during which the process is killed: at a crash point, or once the provider saw it.

    :param at: ``invoke.before`` and the like, for the ``nth`` time.
    """

    step: Any
    at: str = ""
    nth: int = 1
    when: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Restart:
    """The process ends, in good order, and another one goes on."""


# ------------------------------------------------------------------------------ what must be so


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An action of the ledger. ``count`` says how many there are of its tool and order."""

    tool: str
    order: str | None = None
    variant: str | None = None
    tenant: str | None = None
    state: str | None = None
    kind: str | None = None
    sends: int | None = None
    attempts: int | None = None
    asked_at_most: int | None = None
    ref: bool | None = None
    reason: str | None = None
    review: str | None = None
    in_review: bool | None = None
    disputed: bool | None = None
    replaces: bool | None = None
    count: int | None = 1
    events: tuple[str, ...] = ()
    next: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A report, told as a scenario.

    :param kind: what sort of thing went wrong. :param source: where the fact was reported.
    :param story: in our own words.
    :param effects: at the provider, by tool or by ``tool/order``. :param posts: creates that came
        there, by tool, all layers counted.
    :param unsaid: words that nobody may have been told.
    :param broken: what the provider did not keep of its promises: more than one effect is its own.
    """

    id: str
    kind: str
    story: str
    tools: tuple[Tool, ...]
    play: tuple[Any, ...]
    effects: dict[str, int]
    ledger: tuple[Row, ...]
    source: str = ""
    posts: dict[str, int] = field(default_factory=dict)
    at_most_posts: dict[str, int] = field(default_factory=dict)
    apart_s: dict[str, float] = field(default_factory=dict)
    key_at_most: dict[str, int] = field(default_factory=dict)
    unsaid: tuple[str, ...] = ()
    lease_s: float = 0.4
    broken: str = ""

    def __str__(self) -> str:
        return f"{self.id} {self.kind}"


def shares_its_ledger(case: Case) -> bool:
    """Whether several are at work in it at once, or one after the other."""
    return any(isinstance(step, Together | Loop | Die | Restart | Verdict) for step in case.play)
