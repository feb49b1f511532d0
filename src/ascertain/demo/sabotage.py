"""One rule of the library, replaced: what the demo is there to notice.

Each patch works on the production functions in the agent's and the worker's processes, and on
nothing of the demo. The parent process, which judges, is never patched.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.model.operations import Advance
from ascertain.model.outcome import Effect, Kind, Outcome
from ascertain.model.session import KeyState
from ascertain.rules import identity
from ascertain.rules.decide import Decision, Reason, View, What
from ascertain.rules.gate import KeyFacts
from ascertain.store.ledger import Operation, Reply
from ascertain.store.sqlite import SqliteLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class Sabotage:
    """One rule that no longer holds.

    :param rule: what is replaced, in one sentence. :param story: the one that it breaks.
    """

    rule: str
    story: str
    apply: Callable[[], None]


def _wrap(targets: Sequence[str], broken: Callable[[Any], Any]) -> None:
    """Put something else wherever the library reads these names.

    :param broken: makes it of the right one.
    :raises AttributeError: there is no such name any more, so the sabotage would do nothing.
    """
    for target in targets:
        owner, _, name = target.rpartition(".")
        place = pkgutil.resolve_name(owner)
        setattr(place, name, broken(getattr(place, name)))


def _new_key() -> None:
    def broken(right: Callable[..., Any]) -> Callable[..., Any]:
        def open_attempt(entry: Any, record: ActionRecord, deadline_s: float, mac: Any) -> Any:
            if record.attempt > 1:
                step = f"send {record.attempt}"
                key = identity.derive_step_key(mac, entry.contract, record.key, step)
                record = record._replace(key=key)
            return right(entry, record, deadline_s, mac)

        return open_attempt

    _wrap(["ascertain.runtime.sync.open_attempt", "ascertain.runtime.aio.open_attempt"], broken)


def _blind_resend() -> None:
    def broken(right: Callable[[View], Decision]) -> Callable[[View], Decision]:
        def decide(view: View) -> Decision:
            decision = right(view)
            if decision.reason in (Reason.CANNOT_ASK, Reason.LEFT_OPEN) and view.sends_left:
                return Decision(What.RESEND, Reason.SAME_KEY)
            return decision

        return decide

    _wrap(["ascertain.flow.pursue.decide", "ascertain.flow.call.decide"], broken)


def _say_failed() -> None:
    def broken(right: Callable[..., Outcome]) -> Callable[..., Outcome]:
        def classify(*args: Any, **named: Any) -> Outcome:
            outcome = right(*args, **named)
            if outcome.effect is not Effect.UNKNOWN:
                return outcome
            return outcome._replace(effect=Effect.REFUSED, kind=Kind.BUSINESS, retryable=False)

        return classify

    readers = ("flow.attempt", "flow.call", "runtime.sync")
    _wrap([f"ascertain.{reader}.classify" for reader in readers], broken)


def _forget_doubt() -> None:
    def broken(right: Callable[..., Any]) -> Callable[..., Any]:
        def settle(record: ActionRecord, *args: Any, **named: Any) -> Any:
            return right(record._replace(doubt=0), *args, **named)

        return settle

    _wrap(["ascertain.rules.fold.settle"], broken)


Submit = Callable[..., list[Reply]]


def _drop_fence() -> None:
    def rebased(ledger: SqliteLedger, operation: Operation) -> Operation:
        if not isinstance(operation, Advance):
            return operation
        now = ledger.get(operation.before.id)
        if now is None or (now.n, now.fence) == (operation.before.n, operation.before.fence):
            return operation
        drafts = operation.drafts
        if drafts:
            drafts = (drafts[0]._replace(start=now.state), *drafts[1:])
        return operation._replace(before=now, drafts=drafts)

    def broken(right: Submit) -> Submit:
        def submit(
            ledger: SqliteLedger, operations: Sequence[Operation], **how: Any
        ) -> list[Reply]:
            return right(ledger, [rebased(ledger, operation) for operation in operations], **how)

        return submit

    _wrap(["ascertain.store.sqlite.SqliteLedger.submit"], broken)


def _forget_direction() -> None:
    def broken(_: Callable[..., str]) -> Callable[..., str]:
        return lambda *_: ""

    _wrap(["ascertain.rules.chain.gate", "ascertain.rules.chain.blocks"], broken)


def _stale_context() -> None:
    def broken(right: Callable[[KeyFacts], KeyState]) -> Callable[[KeyFacts], KeyState]:
        return lambda seen: right(seen._replace(executing=0, pending=0))

    _wrap(["ascertain.flow.gate.key_state"], broken)


SABOTAGES: Mapping[str, Sabotage] = {
    "new-key": Sabotage(
        rule="one intent, one key: each repeat now goes out under a key of its own",
        story="a2",
        apply=_new_key,
    ),
    "blind-resend": Sabotage(
        rule="what can be neither asked nor repeated safely is held: now it is sent again",
        story="b",
        apply=_blind_resend,
    ),
    "say-failed": Sabotage(
        rule="a lost answer is unknown: now it counts as a final refusal",
        story="a1",
        apply=_say_failed,
    ),
    "forget-doubt": Sabotage(
        rule="a refusal speaks for its own attempt: now earlier attempts in doubt are forgotten",
        story="a6",
        apply=_forget_doubt,
    ),
    "drop-fence": Sabotage(
        rule="who lost the action writes no more: now the last write wins, whoever holds it",
        story="f",
        apply=_drop_fence,
    ),
    "forget-direction": Sabotage(
        rule="a wish that is being undone sends nothing forward: now its next step goes out",
        story="g",
        apply=_forget_direction,
    ),
    "stale-context": Sabotage(
        rule="what is being looked up is waited for: now what the session knew before is used",
        story="i",
        apply=_stale_context,
    ),
}
