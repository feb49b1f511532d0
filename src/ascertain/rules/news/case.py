"""One invocation under judgement: what its hooks prove, and how an outcome is made of it."""

from __future__ import annotations

from typing import Any, Final

from ascertain.model.contract import Contract
from ascertain.model.outcome import RETRYABLE_KINDS, Effect, Kind, Outcome, Report, WireTrace
from ascertain.model.record import Record
from ascertain.rules.news.replies import seconds_of

ASK_AFTER_S: Final = 5.0
"""When to ask for an accepted job whose provider named no time."""


class Case(Record):
    """One invocation under judgement, off the short path."""

    report: Report
    contract: Contract
    now: float

    @property
    def trace(self) -> WireTrace | None:
        return self.report.trace

    @property
    def closed(self) -> bool:
        """Whether the tool can send only by exits that are watched."""
        trace = self.report.trace
        return trace is not None and _only_by(trace, self.contract.via)

    @property
    def nothing_left(self) -> bool:
        """Positive proof, by the hooks, for every send that there can have been.

        A client may try to connect several times. Each try is a send of its own, ``left`` speaks
        for all of them, and a send that is still in flight counts as one that left.
        """
        trace = self.report.trace
        return self.closed and trace is not None and not trace.left

    @property
    def seen(self) -> WireTrace | None:
        """The trace, if it shows the write itself and not only reads beside it."""
        trace = self.report.trace
        if trace is None or not trace.sends:
            return None
        return trace if trace.unsafe or self.closed or self.contract.is_read else None

    @property
    def several(self) -> bool:
        trace = self.report.trace
        return trace is not None and len(trace.targets) > 1 and not self.report.steps

    def outcome(
        self,
        effect: Effect,
        reason: str,
        *,
        kind: Kind | None = None,
        code: str | None = None,
        retryable: bool = False,
        value: Any = None,
        provider_ref: str | None = None,
        related_ref: str | None = None,
        handle: str | None = None,
        ask_after_s: float | None = None,
        retry_after_s: float | None = None,
        http_status: int | None = None,
    ) -> Outcome:
        trace = self.report.trace
        sends = 0
        if trace is not None:
            sends = trace.sends if self.contract.is_read else trace.writes
        return Outcome(
            effect=effect,
            reason=reason,
            kind=kind,
            code=code,
            retryable=retryable,
            value=value,
            provider_ref=provider_ref,
            related_ref=related_ref,
            handle=handle,
            ask_after_s=ask_after_s,
            retry_after_s=retry_after_s,
            http_status=http_status or (trace.http_status if trace is not None else None),
            request_id=trace.request_id if trace is not None else None,
            sends=sends or int(effect is not Effect.NOT_SENT),
            several_effects=self.several,
        )

    def accepted(
        self, reason: str, handle: str | None, ask_after_s: Any, *, http_status: int | None = None
    ) -> Outcome:
        """Taken on, with a job handle if there is one."""
        after_s = seconds_of(ask_after_s)
        return self.outcome(
            Effect.ACCEPTED,
            reason,
            handle=handle,
            ask_after_s=ASK_AFTER_S if after_s is None else after_s,
            http_status=http_status,
        )

    def unknown(self, reason: str, **more: Any) -> Outcome:
        return self.outcome(Effect.UNKNOWN, reason, **more)

    def not_sent(self, reason: str, *, retryable: bool = True, **more: Any) -> Outcome:
        return self.outcome(Effect.NOT_SENT, reason, retryable=retryable, **more)

    def refused(
        self, reason: str, kind: Kind, *, resent: bool = False, in_its_words: bool = False,
        retryable: bool = False, **more: Any,
    ) -> Outcome:  # fmt: skip
        """A refusal, if it can speak for all that was sent in this attempt.

        :param resent: the client is known to have sent it before.
        :param in_its_words: the tool says so itself, and knows what it sent.
        """
        trace = self.report.trace
        if not self.contract.is_read:
            if self.several:
                return self.unknown("several_effects", **more)
            again = resent or (trace is not None and trace.unsafe and trace.writes > 1)
            if again and not in_its_words and not self.contract.refusal_covers_key:
                return self.unknown("refused_after_resend", **more)
        retryable = retryable or kind in RETRYABLE_KINDS
        return self.outcome(Effect.REFUSED, reason, kind=kind, retryable=retryable, **more)


def _only_by(trace: WireTrace, via: tuple[str, ...]) -> bool:
    return bool(via) and trace.exits.issubset(via)
