"""Watch a call without changing it: record, judge, report. Nothing is refused, repeated or held."""

from __future__ import annotations

from ascertain.flow.attempt import land
from ascertain.flow.call import BORN, Ended, Wanted
from ascertain.flow.effects import Flow, Setting, invoke, reserve
from ascertain.model.operations import Lookalike, Reserve, Reserved
from ascertain.model.tables import By
from ascertain.rules import fold
from ascertain.rules.news.classify import classify


def observe(setting: Setting, wanted: Wanted) -> Flow[Ended]:
    """Run the body once, as if nobody were watching, and keep the evidence."""
    now = setting.clock()
    deadline_s = setting.contract.budget.send_deadline_s
    move = fold.send(
        wanted.record, setting.contract, sender=setting.sender,
        lease_until=now + deadline_s + setting.lease_s, now=now, by=By.CALL,
    )  # fmt: skip
    reply = yield from reserve(
        Reserve(
            record=move.after._replace(due_at=None),
            drafts=(BORN, *move.drafts),
            arguments=wanted.arguments,
            contract_json=wanted.contract_json,
            beside=tuple(one for one in wanted.beside if isinstance(one, Lookalike)),
        )
    )
    assert isinstance(reply, Reserved)  # an observed intent is its own, and nothing blocks it
    report = yield from invoke(reply.record, float("inf"))
    outcome = classify(report, setting.contract, now=setting.clock())
    record = yield from land(setting, reply.record, report, outcome)
    return Ended(record, "new", report, outcome)
