"""A call in its session's context: the gate, the call behind it, and what it brings.

What the gate did is told in the action's first event; a call that it does not let through is
recorded as withdrawn, with the cause, and nothing is sent.
"""

from __future__ import annotations

from typing import Any

from ascertain.errors import AscertainError
from ascertain.flow.call import Ended, Hold, Wanted, born, call, read, refuse_another
from ascertain.flow.effects import Flow, Look, Setting, admit, look, reserve, tell, vet
from ascertain.flow.gate import Held, Need, Passage, Passed, pass_gate, refuse, see_session
from ascertain.flow.joining import join_chain
from ascertain.model.operations import Reserve, Reserved
from ascertain.model.outcome import Kind
from ascertain.model.session import Needs, Provides
from ascertain.model.tables import State
from ascertain.rules import fold
from ascertain.rules.budget import Turn
from ascertain.rules.context import falls_due, values_of
from ascertain.rules.gate import GateReason

REGATES = 3
NOT_KEPT = "context_not_recorded"


def write_in_context(setting: Setting, need: Need, turn: Turn) -> Flow[Ended]:
    """Make a guarded write that provides or needs something of its session's context.

    :raises ForeignSession: the session is another principal's; nothing was sent.
    :raises SessionExpired: it has ended; nothing was sent.
    :raises NotShown: the caller names something that was not shown in it; nothing was sent.
    """
    passage = Passage()
    left = REGATES
    while left:
        if need.keys:
            passed = yield from pass_gate(setting, need, turn, passage)
        else:
            passed = _unread(need)
        if isinstance(passed, Held):
            return (yield from _hold(setting, need, turn, passage, passed))
        if not passed.recent:
            left -= 1  # to be refused with what was only known here costs no look
        wanted, values = passed.made
        if need.seat is not None:
            wanted = yield from join_chain(setting, wanted, need.seat, turn)
        said = (yield from vet(values)) if need.vets() else None
        good_until = passed.good_until(setting.contract.fresh_s)
        if setting.clock() > good_until:  # it waited for its chain, or for what it was asked
            passage.tiers.append(["again", str(GateReason.STALE)])
            continue
        hold, denied = (said, None) if isinstance(said, Hold) else (None, said)
        denied = wanted.denied or denied
        pledges = () if denied is not None else tuple(setting.contract.provides)
        read = tuple([(key, seen.version) for key, seen in passed.read.items()])
        needs = _needs(need, passed, setting.clock(), read, pledges)
        wanted = Wanted(
            wanted.record, wanted.arguments, wanted.contract_json, wanted.rebuild, denied,
            (*wanted.beside, needs), _told(passage, passed), hold, passed.recent, good_until,
            wanted.never_repeats,
        )  # fmt: skip
        ended = yield from call(setting, wanted, turn)
        if ended.how == "unsure":
            continue
        if ended.blocked is None:
            return ended
        refuse(need, ended.blocked.why)
        passage.tiers.append(["again", ended.blocked.why])
    held = Held(reason=GateReason.STALE, keys=need.keys)
    return (yield from _hold(setting, need, turn, passage, held))


def read_in_context(setting: Setting, need: Need, turn: Turn) -> Flow[Ended]:
    """Make a guarded read that provides or needs context. What it brings is recorded in one commit.

    :raises ForeignSession: the session is another principal's; nothing was sent.
    :raises SessionExpired: it has ended; nothing was sent.
    :raises NotShown: the caller names something that was not shown in it; nothing was sent.
    """
    passage = Passage()
    if need.keys:
        passed = yield from pass_gate(setting, need, turn, passage)
    else:
        passed = yield from see_session(setting, need)
    if isinstance(passed, Held):
        return (yield from _hold(setting, need, turn, passage, passed))
    wanted, values = passed.made
    if need.vets():
        yield from vet(values)
    if need.seat is not None:
        wanted = yield from join_chain(setting, wanted, need.seat, turn)
    ended = yield from read(setting, wanted.record, turn)
    keeps = setting.contract.provides or wanted.record.chain
    if ended.record.state is not State.CONFIRMED or not keeps:
        return ended
    return (yield from _keep(setting, need, wanted, ended, passage, passed))


def _keep(
    setting: Setting, need: Need, wanted: Wanted, ended: Ended, passage: Passage, passed: Passed
) -> Flow[Ended]:
    """Record a read with its result, and what it brings to the session."""
    now, record = setting.clock(), ended.record
    result = ended.report.result if ended.report is not None else None
    contract, limit = setting.contract, setting.context_limit_bytes
    kept = values_of(contract, result, record.provider_ref, limit_bytes=limit)
    needs = _needs(need, passed, now)
    brings = Provides(
        values=kept, now=now, began_at=passed.began_at, limit_bytes=limit, base=passed.base
    )
    assert ended.outcome is not None
    move = fold.answered(wanted.record, record, ended.outcome, now)
    try:
        reply = yield from reserve(
            Reserve(
                record=move.after,
                drafts=(born(_told(passage, passed)), *move.drafts),
                arguments=wanted.arguments,
                contract_json=wanted.contract_json,
                result=result,
                beside=(*wanted.beside, needs, brings),
            )
        )
    except AscertainError as error:
        # the answer stands; what depends on it finds nothing, and reads for itself
        yield from tell(record, NOT_KEPT, {"ledger": error.code})
        return ended
    if isinstance(reply, Reserved):
        return Ended(reply.record, ended.how, ended.report, ended.outcome)
    why = getattr(reply, "why", "")
    yield from tell(record, NOT_KEPT, {"ledger": why})
    refuse(need, why)
    return ended


def _needs(
    need: Need,
    passed: Passed,
    now: float,
    read: tuple[tuple[str, int], ...] = (),
    pledges: tuple[str, ...] = (),
) -> Needs:
    """What the action needs of its session; that is opened only where it has to be."""
    opens = falls_due(passed.session, now=now, expires_at=need.expires_at)
    return Needs(
        now=now, expires_at=need.expires_at, epoch=need.epoch() if opens else "", read=read,
        pledges=pledges, opens=opens,
    )  # fmt: skip


def _unread(need: Need) -> Passed:
    """A call that needs nothing: the ledger checks its session as it stores the action."""
    return Passed(filled={}, read={}, session=None, began_at=0.0, made=need.make({}, ""))


def _hold(setting: Setting, need: Need, turn: Turn, passage: Passage, held: Held) -> Flow[Ended]:
    """The call is not made: recorded as withdrawn, with the cause; nothing is sent.

    One that was made before, by its id, is what it is, whatever its session has forgotten since.

    :raises IntentConflict: the id is that of another wish, by what this caller gives.
    """
    if need.call_id:
        looked = yield from look(Look(need.tenant, need.session, (), call_id=need.call_id))
        known = looked.called
        mine = known is not None and known.principal == need.principal
        if known is not None and mine and known.tool == setting.contract.tool:
            again = None if looked.called_with is None else need.again(looked.called_with)
            if again is not None:
                sure = again.never_repeats
                refuse_another(again.record, known, "call_id", never_repeats=sure)
            return Ended(known, "replayed" if known.terminal else "joined")
    wanted = need.held(held.keys)
    told = {**_tiers(passage), "held": {"reason": str(held.reason), "keys": list(held.keys)}}
    if need.named:  # a step by that name has been tried
        wanted = yield from admit(wanted, need.seat, last=True)
    wanted = wanted._replace(denied=(Kind.WITHDRAWN, str(held.reason)), told=told)
    return (yield from call(setting, wanted, turn))


def _told(passage: Passage, passed: Passed) -> dict[str, Any]:
    """What the first event says: the versions that were read, who wrote them, the tiers taken."""
    told = _tiers(passage)
    if passed.read:
        told["context"] = {key: seen.version for key, seen in passed.read.items()}
        told["writers"] = {key: seen.writer for key, seen in passed.read.items()}
        told["filled"] = sorted(passed.filled)
    return told


def _tiers(passage: Passage) -> dict[str, Any]:
    return {"tiers": list(passage.tiers)} if passage.tiers else {}
