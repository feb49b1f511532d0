"""Until when something may still take effect, so that nobody can say "not done"."""

from __future__ import annotations

from math import inf

from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract
from ascertain.model.epoch import Epoch
from ascertain.model.outcome import Evidence
from ascertain.model.tables import State
from ascertain.rules.lost import may_lack_attempt


def may_still_arrive(record: ActionRecord, contract: Contract, *, now: float) -> bool:
    """Whether something sent earlier may still take effect, so that nobody can say "not done"."""
    until = may_arrive_until(record, contract)
    return until is not None and now < until


def may_arrive_until(record: ActionRecord, contract: Contract) -> float | None:
    """Until when something sent earlier may still take effect; None: nothing can.

    Without end while an attempt is under way or its sender may still send (:func:`clear_suspects`
    comes first). Else what was sent may be on its way: as long as the contract says that absence or
    a refusal takes to be final, else as long as a send takes. Where all was refused, nothing is.
    """
    if record.state is State.SENT or record.suspect:
        return inf
    if record.last_possible_at is None or record.evidence is Evidence.ABSENT_FINAL:
        return None
    if record.state is not State.UNKNOWN:
        return None
    return record.last_possible_at + _on_its_way_s(contract)


def missing_may_arrive_until(
    record: ActionRecord, contract: Contract, epoch: Epoch, lease_s: float
) -> float | None:
    """Until when an attempt that is missing may still take effect; None: none is."""
    if not may_lack_attempt(record, contract, epoch):
        return None
    covers_s = contract.budget.send_deadline_s
    return epoch.began_at + covers_s + lease_s + _on_its_way_s(contract)


def _on_its_way_s(contract: Contract) -> float:
    """How long after its sender had to end what it sent may still arrive."""
    settling = contract.lookup.absence_final_after_s if contract.lookup is not None else None
    promised = [s for s in (settling, contract.refusal_final_after_s) if s is not None]
    return max(promised, default=contract.budget.send_deadline_s)
