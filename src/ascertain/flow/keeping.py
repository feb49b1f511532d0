"""A read that belongs to a chain is stored after its answer: one commit, none before the wire."""

from __future__ import annotations

from ascertain.flow.call import BORN, Ended, Wanted
from ascertain.flow.effects import Flow, Setting, reserve
from ascertain.model.action import Draft
from ascertain.model.operations import Reserve, Reserved
from ascertain.model.tables import By, Event, State
from ascertain.rules.moves import closed


def keep_read(setting: Setting, wanted: Wanted, ended: Ended) -> Flow[Ended]:
    """Store the read with its result, as confirmed as it was; without an answer nothing is."""
    report = ended.report
    if ended.record.state is not State.CONFIRMED or report is None or report.result is None:
        return ended
    now = setting.clock()
    reason, attempt = ended.record.reason, ended.record.attempt
    record = wanted.record.changed(
        state=State.CONFIRMED, reason=reason, attempt=attempt, sends=ended.record.sends,
        provider_ref=ended.record.provider_ref, first_sent_at=now, last_sent_at=now,
        updated_at=now, **closed(),
    )  # fmt: skip
    drafts = (
        BORN,
        Draft(State.PREPARED, Event.SEND, State.SENT, By.CALL, "send", 1, {}),
        Draft(State.SENT, Event.CONFIRM, State.CONFIRMED, By.CALL, reason, attempt, {}),
    )
    reply = yield from reserve(
        Reserve(
            record=record,
            drafts=drafts,
            arguments=wanted.arguments,
            contract_json=wanted.contract_json,
            result=report.result,
            beside=wanted.beside,
        )
    )
    if isinstance(reply, Reserved) and reply.via == "new":
        return Ended(reply.record, "new", report, ended.outcome)
    return ended
