"""Ask the provider for its own record of an action, settled or not; nothing is sent."""

from __future__ import annotations

from typing import Any, NamedTuple

from ascertain.flow import pace
from ascertain.flow.effects import Ask, Flow, Setting, advance, ask, inquire, pause, take
from ascertain.flow.pursue import judged
from ascertain.flow.recover import inspect
from ascertain.model.action import ActionRecord
from ascertain.model.operations import Take
from ascertain.model.outcome import Answer, Report
from ascertain.rules import evidence
from ascertain.rules.budget import backoff_s
from ascertain.rules.news.classify import judge_lookup


class Counted(NamedTuple):
    """How an action stands after the provider was asked.

    :param answer: None: nobody asked, for somebody else is at work on it.
    """

    record: ActionRecord
    answer: Answer | None


def recount(setting: Setting, record: ActionRecord) -> Flow[Counted]:
    """Ask once. What is open is leased and goes on from the answer as after any look-up.

    Of what is settled only evidence against it is written: that all is as it was known is no news,
    and a look at everything must not make the ledger grow.
    """
    if record.open:
        return (yield from _of_open(setting, record))
    going = yield from pace.go(setting, None, None)
    while not going.may and (yield from pause(max(0.0, going.at - setting.clock()))):
        going = yield from pace.go(setting, None, None)
    if not going.may:
        return Counted(record, None)
    asked_at = setting.clock()
    report = yield from ask(record, setting.contract.budget.send_deadline_s)
    yield from pace.give_back(setting, going.ticket, report)
    answer = yield from judged(setting, record, report)
    wait_s = backoff_s(setting.contract, record.asked + 1, setting.dice())
    move = evidence.answered(
        record, setting.contract, answer, asked_at=asked_at, now=setting.clock(), wait_s=wait_s
    )
    if record.disputed == move.after.disputed or not move.after.disputed:
        return Counted(record, answer)
    reply = yield from advance(record, move)
    return Counted(reply.record, answer)


def _of_open(setting: Setting, record: ActionRecord) -> Flow[Counted]:
    owner = record.lease_owner
    gone = (yield from inquire((owner,))) if owner else frozenset[str]()
    now = setting.clock()
    until = now + setting.contract.budget.send_deadline_s + setting.lease_s
    taken = yield from take(
        Take(owner=setting.sender, now=now, lease_until=until, gone=gone, action_id=record.id)
    )
    if not taken.records:
        return Counted(record, None)
    heard: list[Report] = []
    after = yield from _listening(inspect(setting, taken.records[0]), heard)
    answer = judge_lookup(heard[-1], setting.contract) if heard else None
    return Counted(after, answer)


def _listening(flow: Flow[ActionRecord], heard: list[Report]) -> Flow[ActionRecord]:
    """The same flow, with its errors; what its look-ups brought is kept too."""
    reply: Any = None
    thrown: Exception | None = None
    try:
        while True:
            effect = flow.send(reply) if thrown is None else flow.throw(thrown)
            reply = thrown = None
            try:
                reply = yield effect
            except Exception as error:
                thrown = error
            else:
                if isinstance(effect, Ask):
                    heard.append(reply)
    except StopIteration as end:
        ended: ActionRecord = end.value
        return ended
