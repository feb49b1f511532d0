"""What became of a transaction whose end was not heard."""

from __future__ import annotations

from collections.abc import Sequence

from ascertain.store.access import Run, first
from ascertain.store.batch import Work
from ascertain.store.ledger import Advanced, Reply, Reserved, Taken
from ascertain.store.rows import to_record


def is_written(run: Run, work: Work, replies: Sequence[Reply | None]) -> bool:
    """Whether a transaction whose COMMIT gave an error is in the ledger all the same.

    Events tell by their hash. Leases and schedules have none: the row tells, if nobody has changed
    it since.
    """
    for place, prepared in reversed(work):
        reply = replies[place]
        if isinstance(reply, Taken) and reply.records:
            record = reply.records[-1]
        elif isinstance(reply, Advanced) or (isinstance(reply, Reserved) and reply.via == "new"):
            record = reply.record
        else:
            continue
        if prepared.events:
            return bool(run("has_event", record.id, record.n, record.head))
        row = first(run("by_id", record.id))
        return row is not None and to_record(row) == record
    return False
