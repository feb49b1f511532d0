"""A read that belongs to a chain is stored after its answer: one commit, none before the wire."""

from __future__ import annotations

from ascertain.flow.call import BORN, Ended, Wanted
from ascertain.flow.effects import Flow, Setting, reserve
from ascertain.model.operations import Reserve, Reserved
from ascertain.model.tables import State
from ascertain.rules import fold


def keep_read(setting: Setting, wanted: Wanted, ended: Ended) -> Flow[Ended]:
    """Store the read with its result, as confirmed as it was; without an answer nothing is."""
    report = ended.report
    if ended.record.state is not State.CONFIRMED or report is None or report.result is None:
        return ended
    assert ended.outcome is not None
    move = fold.answered(wanted.record, ended.record, ended.outcome, setting.clock())
    reply = yield from reserve(
        Reserve(
            record=move.after,
            drafts=(BORN, *move.drafts),
            arguments=wanted.arguments,
            contract_json=wanted.contract_json,
            result=report.result,
            beside=wanted.beside,
        )
    )
    if isinstance(reply, Reserved) and reply.via == "new":
        return Ended(reply.record, "new", report, ended.outcome)
    return ended
