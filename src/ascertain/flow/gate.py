"""The gate before a call: what it needs of its session is there, its own, and current.

It yields effects like the call behind it, so that sync and async calls wait and read anew alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple, assert_never

from ascertain.errors import ForeignSession, InvalidArguments, NotShown, SessionExpired
from ascertain.flow.call import Wanted
from ascertain.flow.effects import Flow, Look, Looked, Setting, Settle, fetch, look, settle
from ascertain.model.session import KeyState, Memory, Pledge, Remembered, SessionRecord
from ascertain.model.tables import State
from ascertain.rules.budget import Turn
from ascertain.rules.context import was_shown
from ascertain.rules.gate import (
    Fill,
    GateReason,
    GateStep,
    GateWhat,
    KeyFacts,
    KeyView,
    Tiers,
    judge,
    key_state,
)

MOST_READS = 3
_read = json.JSONDecoder().decode


def _nothing() -> None:
    """What is known where nothing is kept."""


def _nobody(_stored: str) -> None:
    """What an earlier call was filled with is not known."""


def _always() -> bool:
    return True


class Source(NamedTuple):
    """A read that can be run for a key; ``like``: with the arguments of this earlier action."""

    tool: str
    like: str = ""


class Need(NamedTuple):
    """What one call needs, and how an action is made of it.

    :param given: the caller's arguments. :param expires_at: of the session, if it lives on.
    :param sources: the reads that can be run for a key whose last value is given.
    :param elsewhere: keys that other tools provide, once somebody calls them.
    :param keys: of the context, that the call looks at.
    :param recent: what this process knew of them a moment ago, if it knew all.
    :param vets: whether anything has to be asked now, before the call is made.
    :param make: the action with these arguments filled in, and the chain that it joins.
    :param held: the action of a call that is not made, because of these keys.
    :param again: the action as it would be made of what the caller gives, and of what an earlier
        call of it was filled with, by its stored arguments; None: they fit the tool no more.
    :param seat: the call in the chain that it is made in; None: in none.
    :param named: whether it is a step by a name there.
    """

    tenant: str
    session: str
    principal: str
    call_id: str
    given: Mapping[str, Any]
    expires_at: float
    epoch: Callable[[], str]
    tiers: Tiers
    sources: Callable[[str, Remembered | None], tuple[Source, ...]]
    elsewhere: frozenset[str]
    make: Callable[[Mapping[str, Any], str], tuple[Wanted, dict[str, Any]]]
    held: Callable[[tuple[str, ...]], Wanted]
    keys: tuple[str, ...]
    recent: Callable[[], Memory | None] = _nothing
    vets: Callable[[], bool] = _always
    seat: Any = None
    named: bool = False
    again: Callable[[str], Wanted | None] = _nobody


@dataclass(slots=True, kw_only=True)
class Passage:
    """How far a call has come at the gate."""

    waited: int = 0
    recent: bool = True  # whether what this process knows of a moment ago may do
    tiers: list[list[Any]] = field(default_factory=list[list[Any]])
    tried: set[Source] = field(default_factory=set[Source])


class Passed(NamedTuple):
    """What the gate lets through: values by parameter, and what was read for them.

    :param session: as it was seen; None: there was none, or nobody looked.
    :param recent: it was not read from the ledger, but known here of a moment ago.
    """

    filled: Mapping[str, Any]
    read: Mapping[str, Remembered]
    session: SessionRecord | None
    began_at: float
    made: tuple[Wanted, dict[str, Any]]
    recent: bool = False

    @property
    def base(self) -> int:
        """The session's version when it was seen."""
        return 0 if self.session is None else self.session.version

    def good_until(self, fresh_s: Mapping[str, float]) -> float:
        """Until when none of what was read is older than its use allows."""
        ends = [seen.began_at + fresh_s[key] for key, seen in self.read.items() if key in fresh_s]
        return min(ends, default=inf)


class Held(NamedTuple):
    reason: GateReason
    keys: tuple[str, ...]


def see_session(setting: Setting, need: Need) -> Flow[Passed]:
    """See at which version the session is, for a call that needs nothing of it."""
    began_at = setting.clock()
    looked = yield from look(Look(need.tenant, need.session, ()))
    session = _own(need, looked, began_at)
    return Passed({}, {}, session, began_at, need.make({}, ""))


def pass_gate(setting: Setting, need: Need, turn: Turn, passage: Passage) -> Flow[Passed | Held]:
    """See what the session knows, wait for it or read it anew, until the call may be made or not.

    A write may be made by what this process knows of a moment ago, for the transaction that stores
    it checks the versions; it is never held, and nothing is waited for or read, without a look.
    """
    contract = setting.contract
    history = bool(contract.either) and any(name in contract.either for name in need.given)
    if passage.recent and not (contract.is_read or history or need.seat is not None):
        passage.recent = False
        passed = _by_recent(setting, need)
        if passed is not None:
            return passed
    asking = Look(need.tenant, need.session, need.keys, history)
    while True:
        began_at = setting.clock()
        looked = yield from look(asking)
        session = _own(need, looked, began_at)
        values = {value.key: value for value in looked.memory.values}
        wanted = _wanted_keys(setting, need, looked)
        views = [
            _view(setting, need, passage, looked, key, needed) for key, needed in wanted.items()
        ]
        step = judge(views, waited=passage.waited, waits=need.tiers.waits)
        key = list(wanted)[step.key] if step.key >= 0 else ""
        left_s = turn.until - setting.clock()
        if step.what is GateWhat.WAIT and left_s <= 0:
            step = GateStep(GateWhat.HOLD, step.reason, step.key)
        match step.what:
            case GateWhat.GO:
                return _passed(setting, need, session, values, began_at)
            case GateWhat.HOLD:
                return Held(reason=step.reason, keys=_same(views, list(wanted), step))
            case GateWhat.WAIT:
                passage.waited += 1
                waited_s = yield from settle(
                    Settle(asking, key, looked, min(need.tiers.wait_s, left_s))
                )
                passage.tiers.append(["wait", key, round(waited_s * 1000)])
            case GateWhat.READ:
                source = _untried(need, passage, key, values.get(key))[0]
                passage.tried.add(source)
                answered = yield from fetch(source.tool, source.like)
                passage.tiers.append(["read", key, source.tool, answered])
            case _:
                assert_never(step.what)


def _by_recent(setting: Setting, need: Need) -> Passed | None:
    """Let a call through by what this process knew a moment ago; None: it has to look."""
    known = need.recent()
    if known is None:
        return None
    now, fresh_s = setting.clock(), setting.contract.fresh_s
    values = {value.key: value for value in known.values}
    if any(_is_stale(values.get(key), within_s, now) for key, within_s in fresh_s.items()):
        return None
    passed = _passed(setting, need, known.session, values, now, recent=True)
    return passed if isinstance(passed, Passed) else None


def _own(need: Need, looked: Looked, now: float) -> SessionRecord | None:
    """The session, which is the principal's own and has not ended."""
    session = looked.memory.session
    if session is not None:
        if session.principal != need.principal:
            refuse(need, "foreign_session")
        if session.expires_at <= now:
            refuse(need, "session_expired")
    return session


def _is_stale(found: Remembered | None, within_s: float | None, now: float) -> bool:
    """Whether a value is older than its use allows."""
    return found is not None and within_s is not None and now - found.began_at > within_s


def _wanted_keys(setting: Setting, need: Need, looked: Looked) -> dict[str, bool]:
    """The keys that this call needs, and whether it must not be made without each.

    :raises NotShown: the caller names a value of which this session knows nothing, and nothing that
        could have shown it is under way.
    """
    contract, given = setting.contract, need.given
    optional = contract.optional_context
    wanted: dict[str, bool] = {}
    for key in (*contract.context.values(), *contract.fresh_s):
        wanted[key] = key not in optional
    for name, key in contract.either.items():
        if name not in given:
            wanted[key] = key not in optional
            continue
        shown = [value.value for value in looked.history if value.key == key]
        if was_shown(given[name], shown):
            continue
        if looked.active.get(key, (0, 0))[0] == 0:
            raise NotShown(
                f"{contract.tool}: this {name} was not shown in this session; nothing was sent.",
                path=name, expected=f"a value of {key!r} from this session", got="another value",
            )  # fmt: skip
        wanted[key] = True  # it may be what is just now being looked up
    return wanted


def _view(
    setting: Setting, need: Need, passage: Passage, looked: Looked, key: str, needed: bool
) -> KeyView:
    memory = looked.memory
    found = next((value for value in memory.values if value.key == key), None)
    usable = found is not None and found.value is not None and not found.reversed
    version = found.version if found is not None else 0
    pledges = [pledge for pledge in memory.pledges if pledge.key == key and pledge.base >= version]
    executing, pending = looked.active.get(key, (0, 0))
    stale = _is_stale(found, setting.contract.fresh_s.get(key), setting.clock())
    facts = KeyFacts(
        executing=executing + sum(not _doubted(pledge) for pledge in pledges),
        pending=pending,
        doubted=sum(_doubted(pledge) for pledge in pledges),
        has_value=usable,
        expired=stale,
    )
    state = key_state(facts)
    if state is KeyState.READY:
        return KeyView(state, needed=needed)
    if _untried(need, passage, key, found):
        fill = Fill.READ
    else:
        fill = Fill.TOOL if key in need.elsewhere else Fill.NONE
    return KeyView(state, stale=stale, needed=needed, fill=fill)


def _doubted(pledge: Pledge) -> bool:
    return pledge.state is State.UNKNOWN


def _untried(
    need: Need, passage: Passage, key: str, found: Remembered | None
) -> tuple[Source, ...]:
    if not need.tiers.reads or len(passage.tried) >= MOST_READS:
        return ()
    return tuple(source for source in need.sources(key, found) if source not in passage.tried)


def _same(views: list[KeyView], keys: list[str], step: GateStep) -> tuple[str, ...]:
    """All keys for which the call is held, the one that decided first."""
    if step.reason is not GateReason.MISSING:
        return (keys[step.key],)
    missing = [
        key
        for key, view in zip(keys, views, strict=True)
        if view.needed and judge([view], waited=1, waits=1).reason is GateReason.MISSING
    ]
    return tuple(dict.fromkeys((keys[step.key], *missing)))


def _passed(
    setting: Setting,
    need: Need,
    session: SessionRecord | None,
    values: Mapping[str, Remembered],
    began_at: float,
    *,
    recent: bool = False,
) -> Passed | Held:
    contract = setting.contract
    filled: dict[str, Any] = {}
    used: dict[str, Remembered] = {}
    sources = {**contract.context, **{
        name: key for name, key in contract.either.items() if name not in need.given
    }}  # fmt: skip
    for name, key in sources.items():
        found = values.get(key)
        if found is not None and found.value is not None and not found.reversed:
            filled[name] = _read(found.value)
            used[key] = found
    for key in contract.fresh_s:
        if key in values and not values[key].reversed:
            used[key] = values[key]
    chain = max(used.values(), key=lambda value: value.version).chain if used else ""
    try:
        made = need.make(filled, chain)
    except InvalidArguments as error:
        # several were shown, say, and the call takes one: it is for the person to say which
        name = str(error.context.get("path", "")).partition(".")[0].partition("[")[0]
        if name not in filled:
            raise
        return Held(reason=GateReason.MISSING, keys=(sources[name],))
    return Passed(filled, used, session, began_at, made, recent)


def refuse(need: Need, why: str) -> None:
    """Raise what a session that must not be used means.

    :raises ForeignSession: it is another principal's. :raises SessionExpired: it has ended.
    """
    if why == "foreign_session":
        raise ForeignSession(
            f"The session {need.session!r} belongs to another principal than "
            f"{need.principal!r}; nothing was sent."
        )
    if why == "session_expired":
        raise SessionExpired(f"The session {need.session!r} has ended; nothing was sent.")
