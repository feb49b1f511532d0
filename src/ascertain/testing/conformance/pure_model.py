"""A ledger in a dictionary: the rules of one, without any of the difficulties."""

from __future__ import annotations

from collections.abc import Callable

from ascertain.errors import IllegalTransition
from ascertain.model.action import ActionRecord, Draft
from ascertain.model.tables import NOTES, RULES, Event, State
from ascertain.rules import claims, fold
from ascertain.rules.identity import match
from ascertain.store.ledger import (
    Advance,
    Advanced,
    Claim,
    ClaimBy,
    Contested,
    Lookalike,
    Lost,
    MustReplace,
    Operation,
    Reply,
    Reserve,
    Reserved,
    Take,
    Taken,
)

_LEGAL = {(rule.start, rule.event, rule.end) for rule in RULES + NOTES}
_NOT_FROM_FINAL = {(rule.start, rule.event, rule.end) for rule in RULES if rule.unless_final}


class PureLedger:
    """What a ledger answers, but for the hashes: ``head`` stays empty."""

    def __init__(self) -> None:
        self.actions: dict[str, ActionRecord] = {}
        self.events: dict[str, list[tuple[Event, State, float]]] = {}
        self.fields: dict[str, str] = {}
        self.claims: dict[tuple[str, str, str], tuple[str, ClaimBy, float]] = {}

    def submit(self, operation: Operation) -> Reply:
        """One operation, at once."""
        match operation:
            case Reserve():
                return self._reserve(operation)
            case Advance():
                return self._advance(operation)
            case Take():
                return self._take(operation)
            case _:
                raise AssertionError("what stands beside no action is not part of this model")

    def _reserve(self, operation: Reserve) -> Reply:
        wanted = operation.record
        if not _leads(None, wanted, operation.drafts):
            return IllegalTransition()
        for record in self.actions.values():
            same_call = (record.tenant, record.session) == (wanted.tenant, wanted.session)
            if wanted.call_id is not None and record.call_id == wanted.call_id and same_call:
                return Reserved(record=record, via="call_id")
        candidates = sorted(
            (record for record in self.actions.values() if record.intent == wanted.intent),
            key=lambda record: record.id,
            reverse=True,
        )
        found, via = match(wanted, candidates)
        if found is not None:
            if via == "replace":
                return MustReplace(previous=found)
            return Reserved(record=found, via=via)
        for one in operation.beside:
            if isinstance(one, Lookalike) and not wanted.final:
                self.fields[wanted.id] = one.fields
        return Reserved(record=self._write(wanted, operation.drafts, 0), via="new")

    def _advance(self, operation: Advance) -> Reply:
        before, after = operation.before, operation.after
        if not _leads(before, after, operation.drafts):
            return IllegalTransition()
        current = self.actions[before.id]
        if (current.n, current.fence) != (before.n, before.fence):
            return Lost(record=current)
        if operation.claim is not None:
            contested = self._contest(current, operation.claim)
            if contested is not None:
                return contested
            self._claim(after, operation.claim)
        return Advanced(record=self._write(after, operation.drafts, before.n))

    def _contest(self, current: ActionRecord, claim: Claim) -> Contested | None:
        held = self.claims.get((current.tenant, current.tool, claim.provider_ref))
        if held is not None and held[0] != current.id:
            holder, by, at = self.actions[held[0]], held[1], held[2]
            if claims.stands_against(claim.by, by, holder):
                return Contested(record=current, other=holder, by=by, claimed_at=at)
        if claim.by is not ClaimBy.LOOKUP:
            return None
        mine, since = self.fields.get(current.id, ""), current.first_sent_at or 0.0
        for fields in (mine, "") if mine else (None,):
            for other in sorted(self.fields):
                record = self.actions[other]
                alike = fields is None or self.fields[other] == fields
                same = (record.tenant, record.tool) == (current.tenant, current.tool)
                if other != current.id and alike and same and claims.may_be_rival(record, since):
                    return Contested(record=current, other=record)
        return None

    def _claim(self, after: ActionRecord, claim: Claim) -> None:
        name = (after.tenant, after.tool, claim.provider_ref)
        held = self.claims.get(name)
        if held is None or held[0] == after.id or not claims.is_shared(claim.by, held[1]):
            self.claims[name] = (after.id, claim.by, after.updated_at)
        if after.state is State.CONFIRMED and after.provider_ref is not None:
            self.fields.pop(after.id, None)

    def _take(self, operation: Take) -> Reply:
        now, gone = operation.now, operation.gone

        def held(record: ActionRecord) -> bool:
            return record.lease_until is not None and record.lease_until > now

        def due(record: ActionRecord) -> bool:
            return record.due_at is not None and record.due_at <= now and not held(record)

        def of_gone(record: ActionRecord) -> bool:
            return record.due_at is not None and held(record) and record.lease_owner in gone

        found = [*self._in_turn(due, operation.after), *self._in_turn(of_gone, ("", ""))]
        found = found[: operation.limit]
        if operation.action_id is not None:
            one = self.actions.get(operation.action_id)
            free = one is not None and (not held(one) or one.lease_owner in gone)
            found = [one] if one is not None and free else []
        until = operation.lease_until
        for record in found:
            self.actions[record.id] = fold.take(record, owner=operation.owner, until=until)
        records = tuple(self.actions[record.id] for record in found)
        return Taken(records=records, previous=tuple(found))

    def _in_turn(
        self, which: Callable[[ActionRecord], bool], after: tuple[str, str]
    ) -> list[ActionRecord]:
        """One of each tenant and tool in turn, the oldest first, from behind ``after`` on."""
        queues = dict[tuple[str, str], list[ActionRecord]]()
        for record in sorted(
            self.actions.values(), key=lambda record: (record.due_at or 0.0, record.id)
        ):
            if which(record):
                queues.setdefault((record.tenant, record.tool), []).append(record)
        around = sorted(queues, key=lambda pair: (pair <= after, pair))
        ranked = [
            (rank, place, record)
            for place, pair in enumerate(around)
            for rank, record in enumerate(queues[pair])
        ]
        return [record for _, _, record in sorted(ranked, key=lambda one: one[:2])]

    def _write(self, record: ActionRecord, drafts: tuple[Draft, ...], n: int) -> ActionRecord:
        self.actions[record.id] = record._replace(n=n + len(drafts), head=b"")
        self.events.setdefault(record.id, []).extend(
            (draft.event, draft.end, record.updated_at) for draft in drafts
        )
        return self.actions[record.id]


def _leads(before: ActionRecord | None, after: ActionRecord, drafts: tuple[Draft, ...]) -> bool:
    state = before.state if before else None
    final = bool(before.final) if before else False
    for draft in drafts:
        move = draft[:3]
        if move not in _LEGAL or move[0] != state:
            return False
        if final and move in _NOT_FROM_FINAL:
            return False
        state = move[2]
    return state == after.state
