"""Which action a reference belongs to, inside the transaction that writes a confirmation.

Only for tools whose look-up goes by fields. The rules are those of
:class:`~ascertain.model.operations.Advance`. A backend must see to it that of two transactions that
read and write the same claim one waits for the other: what is read here stands until it is written.
"""

from __future__ import annotations

from ascertain.model.action import ActionRecord
from ascertain.model.operations import Claim, ClaimBy, Contested, Lookalike
from ascertain.model.tables import State
from ascertain.rules.claims import is_shared, stands_against
from ascertain.store.access import Run
from ascertain.store.rows import to_record

Holding = tuple[ActionRecord, ClaimBy | None, float | None]


class LookalikeRoom:
    """Remembers which actions a look-up could take for a new one."""

    def blocks(self, run: Run, record: ActionRecord, beside: Lookalike, /) -> str:
        """Never: two may look alike."""
        del run, record, beside
        return ""

    def write(self, run: Run, record: ActionRecord, beside: Lookalike, /) -> None:
        """What is denied as it is stored had no effect, and is left out."""
        if not record.final:
            run("put_lookalike", record.id, record.tenant, record.tool, beside.fields)


def contest(run: Run, before: ActionRecord, claim: Claim) -> Contested | None:
    """Why ``before`` may not claim the reference; None where it may, or has moved on anyway."""
    found = _holder(run, before, claim)
    if found is None and claim.by is ClaimBy.LOOKUP:
        found = _rival(run, before)
    if found is None:
        return None
    rows = run("by_id", before.id)
    current = to_record(rows[0]) if rows else None
    if current is None or (current.n, current.fence) != (before.n, before.fence):
        return None  # it cannot be written in any case
    other, by, claimed_at = found
    return Contested(record=current, other=other, by=by, claimed_at=claimed_at)


def keep(run: Run, record: ActionRecord, claim: Claim) -> None:
    """The reference is this action's from now on, unless another has it by an answer too."""
    name = (record.tenant, record.tool, claim.provider_ref)
    held = run("claim_of", *name)
    if not held or held[0][0] == record.id or not is_shared(claim.by, ClaimBy(held[0][1])):
        run("put_claim", *name, record.id, str(claim.by), record.updated_at)
    if record.state is State.CONFIRMED and record.provider_ref is not None:
        run("forget_lookalike", record.id)


def _holder(run: Run, before: ActionRecord, claim: Claim) -> Holding | None:
    """Another action that has the reference and does not have to give it up."""
    held = run("claim_of", before.tenant, before.tool, claim.provider_ref)
    if not held or held[0][0] == before.id:
        return None
    action_id, by, claimed_at = held[0][0], ClaimBy(held[0][1]), held[0][2]
    holder = to_record(run("by_id", action_id)[0])
    return (holder, by, claimed_at) if stands_against(claim.by, by, holder) else None


def _rival(run: Run, before: ActionRecord) -> Holding | None:
    """Another action that might have caused the record that the look-up found."""
    rows = run("fields_of", before.id)
    fields = rows[0][0] if rows else ""
    who, since = (before.tenant, before.tool), before.first_sent_at or 0.0
    if fields:
        rivals = run("rivals", *who, fields, before.id, since)
        rivals = rivals or run("rivals", *who, "", before.id, since)
    else:
        rivals = run("rivals_of_all", *who, before.id, since)
    return (to_record(rivals[0]), None, None) if rivals else None
