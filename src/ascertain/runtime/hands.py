"""What all drivers share: the ledger and its committer, the clock, the tools, small effects."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ascertain.errors import LedgerError
from ascertain.flow.effects import Setting
from ascertain.model.action import ActionRecord
from ascertain.model.contract import Approval, Contract, contract_from_json
from ascertain.model.epoch import Epoch
from ascertain.model.operations import Advance, Advanced, Reply, Reserve, Reserved
from ascertain.model.tables import State
from ascertain.rules.breaker import News
from ascertain.rules.breaker import name_of as breaker_name
from ascertain.rules.identity import Scope, intent_mac
from ascertain.rules.left import LEFT_S
from ascertain.rules.mac import Mac
from ascertain.rules.texts import MASK
from ascertain.runtime import sender
from ascertain.runtime.breaking import Breaking
from ascertain.runtime.clock import Clock
from ascertain.runtime.committer import Committer
from ascertain.runtime.contexts import DEFAULT_LIMIT_BYTES, Contexts
from ascertain.runtime.invoke import Asked, asked_of
from ascertain.runtime.registry import Entry, Registry
from ascertain.store.ledger import Filter, Ledger
from ascertain.values.canonical import identity_text

log = logging.getLogger("ascertain")

GUARDED = "guard"
LOGGED = ("kind", "code", "http", "request_id", "retry_after_s", "count")

ALIKE_AT_ONCE = 1000
STORE_TIMEOUT_S = 5.0
LEASE_MARGIN_S = 2.0
DEFAULT_LEASE_S = STORE_TIMEOUT_S + LEASE_MARGIN_S


class Hands:
    """Everything that performing an effect needs, apart from how to wait."""

    def __init__(
        self,
        ledger: Ledger,
        registry: Registry,
        *,
        clock: Clock,
        contexts: Contexts | None = None,
        queue_bound: int = 10_000,
        lease_s: float = DEFAULT_LEASE_S,
        context_limit_bytes: int = DEFAULT_LIMIT_BYTES,
        chain_left_s: float = LEFT_S,
        dice: Callable[[], float] = random.random,
    ) -> None:
        self.ledger = ledger
        self.registry = registry
        self.clock = clock
        self.contexts = contexts or Contexts(ledger, clock)
        self.dice = dice
        self.lease_s = lease_s
        self.context_limit_bytes = context_limit_bytes
        self.chain_left_s = chain_left_s
        self.breaking = Breaking(ledger, clock, self._can_be_asked)
        self.committer = Committer(ledger, queue_bound=queue_bound)
        self.poke: Callable[[float], None] = _nobody
        self.on_effect: Callable[[str, object], None] | None = None  # for crash tests
        self._settings: dict[str, tuple[str, Contract, Setting]] = {}
        self._mac: Mac | None = None

    @property
    def mac(self) -> Mac:
        """The keyed hash of which keys are made."""
        if self._mac is None:
            self._mac = intent_mac(self.ledger.secret())
        return self._mac

    def setting(self, entry: Entry, contract: Contract | None = None) -> Setting:
        """Where and under which contract a flow runs."""
        me = sender.me()
        contract = contract or entry.contract
        known = self._settings.get(entry.name)
        if known is not None and known[0] == me and known[1] is contract:
            return known[2]
        setting = Setting(
            contract=contract, sender=me, clock=self.clock, dice=self.dice, lease_s=self.lease_s,
            context_limit_bytes=self.context_limit_bytes, epoch=self._epoch,
        )  # fmt: skip
        self._settings[entry.name] = (me, contract, setting)
        return setting

    def _epoch(self) -> Epoch:
        return self.ledger.epoch

    def contract_of(self, record: ActionRecord, entry: Entry | None) -> Contract | None:
        """The contract in force for an open action: the stored one, not a looser new one."""
        if entry is not None and record.contract == entry.contract_digest:
            return entry.contract
        text = self.ledger.contract(record.contract)
        stored = None if text is None else contract_from_json(text)
        if stored is None or entry is None:
            return stored
        return stricter(stored, entry.contract)

    def arguments_of(self, entry: Entry, record: ActionRecord) -> dict[str, Any]:
        """The stored arguments, as the body takes them."""
        text = self.ledger.arguments(record.id)
        if text is None:
            raise LedgerError(f"The arguments of action {record.id} are no longer stored.")
        return entry.signature.restore(text)

    def arguments_json(self, record: ActionRecord) -> dict[str, Any]:
        """The stored arguments as JSON; empty where they are no longer stored."""
        text = self.ledger.arguments(record.id)
        found: dict[str, Any] = {} if text is None else json.loads(text)
        return found

    def asked(self, entry: Entry, record: ActionRecord) -> Asked:
        return asked_of(record, self.arguments_of(entry, record))

    def inquire(self, senders: Iterable[str]) -> frozenset[str]:
        """Which of them are proven gone."""
        return frozenset(name for name in senders if sender.is_gone(name))

    def written(self, operation: object, reply: Reply) -> None:
        """Tell logs, the worker and the session store what was just written."""
        if isinstance(reply, Reserved | Advanced) and reply.told:
            assert isinstance(operation, Reserve | Advance)
            self.contexts.written(reply, operation.beside)
        if isinstance(operation, Advance) and isinstance(reply, Advanced):
            record = reply.record
            if record.due_at is not None and record.lease_owner is None:
                self.poke(record.due_at)
            elif record.chain and record.final:
                self.poke(record.updated_at)  # it may have turned its chain
            if record.mode == GUARDED:
                if record.state is State.CONFIRMED and self.breaking.idle:
                    self.breaking.definite_at[record.tool] = record.updated_at
                else:
                    self._heard(record, operation)
            if operation.drafts and log.isEnabledFor(logging.INFO):
                for draft in operation.drafts:
                    self._tell(record, str(draft.event), draft.reason, draft.detail)
        elif isinstance(operation, Reserve) and log.isEnabledFor(logging.INFO):
            record = operation.record
            self._tell(record, "reserve", record.reason, {})

    def _tell(self, record: ActionRecord, event: str, reason: str, detail: dict[str, Any]) -> None:
        """One line per step: ids, digests and codes; no arguments, no personal data.

        A digest of what is redacted could be guessed from, and a code that the tool made up from
        its arguments would repeat it: a code has no blank in it.
        """
        line: dict[str, Any] = {
            "event": event,
            "action": record.id,
            "tool": record.tool,
            "state": str(record.state),
            "key": record.key,
            "arguments": record.exact,
            "attempt": record.attempt,
            "sends": record.sends,
            "reason": reason,
            "chain": record.chain or None,
        }
        line |= {name: detail[name] for name in LOGGED if name in detail}
        entry = self.registry.find(record.tool)
        if entry is None or entry.contract.redact:
            line["arguments"] = MASK
            if " " in str(line.get("code", "")):
                line["code"] = MASK
        if record.review is not None:
            line["review"] = record.review
        log.info(json.dumps({name: value for name, value in line.items() if value is not None}))
        if int(detail.get("sends", 1)) > 1:
            log.warning(
                "%s: %s requests left for one attempt; a client below retries by itself (action "
                "%s)", record.tool, detail["sends"], record.id,
            )  # fmt: skip

    def _heard(self, record: ActionRecord, operation: Advance) -> None:
        """What was learned of the provider goes to the tool's breaker."""
        entry = self.registry.find(record.tool)
        if entry is None or entry.contract.breaker is None:
            return
        for draft in operation.drafts:
            self.breaking.happened(entry.contract, draft, operation.before.last_sent_at)
        before = operation.before
        if record.asked > before.asked and record.unanswered == before.unanswered:
            self.breaking.hear(entry.contract, News.ANSWERS)  # also where it told nothing new

    def _can_be_asked(self, contract: Contract) -> bool:
        """Whether the provider answers look-ups of this tool, or reads of the same group."""
        if contract.lookup is not None:
            return True
        name = breaker_name(contract)
        return any(
            entry.contract.is_read and breaker_name(entry.contract) == name
            for entry in self.registry
        )

    def alike(self, entry: Entry, record: ActionRecord) -> tuple[ActionRecord, ...] | None:
        """The other actions with the same identity arguments whose effects may lie in the window of
        its look-up: back to a horizon before its first send, read page by page, and only these are
        kept. None: its own arguments are stored no more.
        """
        mine = self._identity(entry, record)
        if mine is None:
            return None
        since = (record.first_sent_at or record.created_at) - entry.contract.budget.horizon_s
        query = Filter(tenant=record.tenant, tool=record.tool, limit=ALIKE_AT_ONCE)
        found: list[ActionRecord] = []
        while True:
            page = self.ledger.find(query)
            found += [
                one for one in page
                if one.id != record.id and one.attempt and one.created_at >= since
                and self._identity(entry, one) == mine
            ]  # fmt: skip
            if len(page) < ALIKE_AT_ONCE or page[-1].created_at < since:
                return tuple(found)
            query = query._replace(before_id=page[-1].id)

    def _identity(self, entry: Entry, record: ActionRecord) -> str | None:
        """Its identity as text; None where its arguments are stored no more."""
        text = self.ledger.arguments(record.id)
        if text is None:
            return None
        values = entry.signature.restore(text)
        identity, _, _ = entry.roles
        return identity_text({name: values[name] for name in identity}, entry.normalise)

    def session_records(self, scope: Scope, *, whole: bool = False) -> list[ActionRecord]:
        found = self.ledger.find(
            Filter(
                tenant=scope.tenant,
                session=scope.session,
                turn=None if whole else scope.turn,
                limit=1000,
            )
        )
        return found[::-1]


def found_another(reply: object) -> bool:
    """Whether a call has found an action that is stored, maybe with other words.

    Whatever is sent for it is sent with its own arguments: one key, one request.
    """
    return isinstance(reply, Reserved) and reply.via != "new"


def stricter(stored: Contract, now: Contract) -> Contract:
    """Open actions keep the stricter of the contract they were sent under and today's."""
    lifetimes = [c.key_lifetime_s for c in (stored, now) if c.key_lifetime_s is not None]
    settling = [
        c.lookup.absence_final_after_s
        for c in (stored, now)
        if c.lookup is not None and c.lookup.absence_final_after_s is not None
    ]
    refusals = [c.refusal_final_after_s for c in (stored, now)]
    promised = [after_s for after_s in refusals if after_s is not None]
    lookup = now.lookup
    if lookup is not None and settling:
        same = stored.lookup is None or stored.lookup.fences == lookup.fences
        fences = lookup.fences if same else ""
        lookup = replace(lookup, absence_final_after_s=max(settling), fences=fences)
    return replace(
        now,
        repeat=now.repeat
        if stored.repeat is now.repeat
        else min(stored.repeat, now.repeat, key=_risk),
        key_lifetime_s=min(lifetimes) if lifetimes else None,
        refusal_covers_key=stored.refusal_covers_key and now.refusal_covers_key,
        refusal_final_after_s=max(promised) if len(promised) == len(refusals) else None,
        unprocessed=tuple(set(stored.unprocessed) & set(now.unprocessed)),
        lookup=lookup,
        approval=max(stored.approval, now.approval, key=_APPROVALS.index),
        approval_by_other=stored.approval_by_other or now.approval_by_other,
        caller_sends=stored.caller_sends or now.caller_sends,
        key=stored.key,
    )


_APPROVALS = list(Approval)


def _risk(repeat: str) -> int:
    return ("never", "by_key", "by_nature", "harmless").index(str(repeat))


def _nobody(_due_at: float) -> None:
    """No worker is there to be woken."""
