"""Writes that were called again within one wish: blind retries and probable duplicates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ascertain.model.contract import Repeat
from ascertain.replay.audit.answers import Known, Trust, least
from ascertain.replay.audit.calls import Seen, sameness
from ascertain.replay.audit.finding import Exhibit, Kind, exhibit
from ascertain.replay.effects import By

_MEANT_TWICE = re.compile(
    r"\b(?:twice|both|two|three|second|another|again|each|copies|more)\b|两|再|另|又|第二",
    re.IGNORECASE,
)


class Repeated(NamedTuple):
    """A call that repeats an earlier one.

    :param differ: arguments in which they differ, though they mean the same.
    """

    kind: Kind
    trust: Trust
    earlier: Seen
    later: Seen
    sentence: str
    reasons: tuple[str, ...]
    evidence: tuple[Exhibit, ...]


def repeats(calls: Sequence[Seen], wish: Callable[[Seen], str]) -> Iterator[Repeated]:
    """Every write that repeats an earlier one of the same turn which was not refused.

    :param wish: what the person said in a call's turn.
    """
    writes = [one for one in calls if one.effect.writes]
    for number, later in enumerate(writes):
        for earlier in reversed(writes[:number]):
            if earlier.turn != later.turn or earlier.call.tool != later.call.tool:
                continue
            differ = sameness(earlier, later)
            if differ is None:
                continue
            if _before_answer(earlier, later) or earlier.reading.known is not Known.REFUSED:
                found = _judged(earlier, later, differ, calls, wish(later))
                if found is not None:
                    yield found
            break  # the nearest one that means the same says what was known


def _before_answer(earlier: Seen, later: Seen) -> bool:
    """Whether the later call was made before the earlier one was answered."""
    return earlier.answered_at < 0 or earlier.answered_at > later.place


def _judged(
    earlier: Seen, later: Seen, differ: tuple[str, ...], calls: Sequence[Seen], wish: str
) -> Repeated | None:
    if later.guarded or (earlier.key and earlier.key == later.key):
        return None  # the tool, or the provider by its key, knows it again
    contract = later.contract
    if contract is not None and contract.repeat in (Repeat.BY_NATURE, Repeat.HARMLESS):
        return None
    side_by_side = earlier.answered_at > later.place
    blind = not side_by_side and earlier.reading.known is Known.UNKNOWN
    trust, reasons = _weighed(earlier, later, differ, wish, side_by_side=side_by_side)
    looks = [one for one in calls if _looked_between(one, earlier, later)] if blind else []
    if looks:
        trust = least(trust, Trust.LOW)
        reasons.append(f"{looks[-1].call.tool} was asked in between")
    if side_by_side:
        sentence = f"{later.call.tool} was called twice side by side, before either was answered"
    elif blind:
        sentence = f"{later.call.tool} was called again although {earlier.reading.why}"
    else:
        sentence = f"{later.call.tool} was called again although {earlier.reading.why} before"
    return Repeated(
        kind=Kind.BLIND_RETRY if blind else Kind.PROBABLE_DUPLICATE,
        trust=trust, earlier=earlier, later=later, sentence=f"{sentence}.",
        reasons=tuple(reasons), evidence=tuple(_evidence(earlier, later, looks)),
    )  # fmt: skip


def _weighed(
    earlier: Seen, later: Seen, differ: tuple[str, ...], wish: str, *, side_by_side: bool
) -> tuple[Trust, list[str]]:
    """How sure it is, and what makes it so."""
    trust, reasons = Trust.HIGH if side_by_side else earlier.reading.trust, list[str]()
    said_by_contract = later.effect.by in (By.CONTRACT, By.RECORDING)
    if later.effect.by is By.NOTHING:
        trust = least(trust, Trust.LOW)
    elif not said_by_contract and earlier.reading.known is not Known.UNKNOWN:
        trust = least(trust, Trust.MEDIUM)
    if differ:
        confirmed = earlier.reading.known is Known.CONFIRMED and later.contract is None
        trust = least(trust, Trust.LOW if confirmed else Trust.MEDIUM)
        reasons.append(f"the arguments differ in wording only: {', '.join(differ)}")
    else:
        reasons.append("the arguments are the same")
    if later.call.call_id and later.call.call_id == earlier.call.call_id:
        reasons.append("it is the same call id: a layer below the model repeated it")
    if earlier.key and later.key:
        reasons.append("it went under another idempotency key")
    if earlier.reading.known is not Known.UNKNOWN and _same_answer(earlier, later):
        trust = least(trust, Trust.MEDIUM)
        reasons.append("both answers are the same: the provider may have known it again")
    if _MEANT_TWICE.search(wish) and earlier.reading.known is not Known.UNKNOWN:
        trust = least(trust, Trust.LOW)
        reasons.append("the person may have asked for more than one")
    return trust, reasons


def _same_answer(earlier: Seen, later: Seen) -> bool:
    one, other = earlier.answer, later.answer
    return one is not None and other is not None and bool(one.text) and one.text == other.text


def _looked_between(one: Seen, earlier: Seen, later: Seen) -> bool:
    """Whether a read in between could have told what became of the earlier call."""
    if one.effect.writes or not earlier.answered_at < one.place < later.place:
        return False
    if one.reading.known is not Known.CONFIRMED:
        return False
    mine = {str(value) for value in (earlier.call.args or {}).values()}
    asked = {str(value) for value in (one.call.args or {}).values()}
    return bool(mine & asked)


def _evidence(earlier: Seen, later: Seen, looks: Sequence[Seen]) -> Iterator[Exhibit]:
    yield from _shown(earlier)
    for look in looks[-1:]:
        yield from _shown(look)
    yield from _shown(later)


def _shown(one: Seen) -> Iterator[Exhibit]:
    yield exhibit("call", one.call.where, one.text())
    if one.answer is not None:
        kind = f"{one.answer.error_type}: " if one.answer.error_type else ""
        yield exhibit("answer", one.answer.where, f"{kind}{one.answer.text}")
