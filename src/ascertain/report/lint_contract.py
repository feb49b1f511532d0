"""Rules on what tools declare. Each looks at one tool and yields what it finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ascertain.model.contract import Contract, Repeat
from ascertain.report.findings import Finding, Severity
from ascertain.report.words import span
from ascertain.runtime.registry import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What a rule may know beside the tool.

    :param lease_s: how long a lease lasts beyond the deadline of what it covers.
    """

    lease_s: float


def contract_findings(entry: Entry, around: Around) -> Iterator[Finding]:
    """All findings on one tool's declaration."""
    if entry.observed:
        yield _finding(
            "observed", Severity.INFO, entry,
            "is only observed: its calls are recorded and judged, and nothing is prevented",
            "`ascertain observe-report` tells what guarding would change; then use @app.tool.",
        )  # fmt: skip
        return
    if entry.contract.is_read:
        return
    yield from _settling(entry)
    yield from _repeating(entry)
    if not entry.contract.undoes:  # its intent is what it reverses, and nothing reverses it
        yield from _identity(entry)
        yield from _reversal(entry)
    yield from _times(entry, around)


def _finding(rule: str, severity: Severity, entry: Entry, what: str, next_step: str) -> Finding:
    return Finding(
        rule=rule, severity=severity, tool=entry.name, sentence=f"{entry.name} {what}.",
        next_step=next_step,
    )  # fmt: skip


def is_blind(contract: Contract) -> bool:
    """Whether it can be neither asked nor repeated."""
    return contract.repeat is Repeat.NEVER and contract.lookup is None


def _settling(entry: Entry) -> Iterator[Finding]:
    contract, promise = entry.contract, entry.contract.lookup
    if is_blind(contract):
        ends = (
            "stays open for good"
            if contract.best_effort
            else "ends in review: a person has to find out"
        )
        yield _finding(
            "blind-write", Severity.WARN, entry,
            f"has neither a key that the provider honours nor a look-up, so a lost answer {ends}",
            "Declare key_lifetime= if the provider deduplicates by key, or add @tool.lookup.",
        )  # fmt: skip
    if promise is not None and promise.absence_final_after_s is None and not promise.fences:
        yield _finding(
            "absence-never-final", Severity.WARN, entry,
            'has a look-up whose "absent" never becomes final, so what did not happen stays '
            "unknown until the budget is spent",
            "Say absence_final_after= (how late can a request still take effect?) or fences=True.",
        )  # fmt: skip
    if contract.key_lifetime_s is not None and promise is None:
        yield _finding(
            "key-without-lookup", Severity.INFO, entry,
            f"can be repeated by key for {span(contract.key_lifetime_s)} but not be asked; what is "
            "open after that goes to a person",
            "Add @tool.lookup where the provider can be asked by key.",
        )  # fmt: skip


def _repeating(entry: Entry) -> Iterator[Finding]:
    contract, budget = entry.contract, entry.contract.budget
    lifetime = contract.key_lifetime_s
    if contract.repeat is Repeat.BY_KEY and lifetime is None:
        yield _finding(
            "key-without-lifetime", Severity.WARN, entry,
            "is repeated by key, but nobody said for how long the provider remembers the key; "
            f"it may be repeated for {span(budget.horizon_s)}",
            "Say key_lifetime=, from the provider's documentation.",
        )  # fmt: skip
    if lifetime is not None and budget.horizon_s > lifetime:
        severity = Severity.WARN if contract.lookup is None else Severity.INFO
        yield _finding(
            "horizon-beyond-key", severity, entry,
            f"has a horizon of {span(budget.horizon_s)}, but its key lives for {span(lifetime)}: "
            "after that nothing is sent any more",
            "Set the budget's horizon_s to the key's lifetime or less.",
        )  # fmt: skip
    if contract.repeat is Repeat.BY_NATURE:
        yield _finding(
            "repeat-by-nature", Severity.INFO, entry,
            "is repeated because it sets or deletes; a late repeat undoes what was done meanwhile "
            "outside of this ledger",
            "Keep it so only if nobody else writes there, or if the last writer may win.",
        )  # fmt: skip
    if contract.repeat is Repeat.HARMLESS:
        yield _finding(
            "repeat-harmless", Severity.INFO, entry,
            "may come about twice, as it declares; the fact then says maybe_twice",
            "Keep it so only if a double costs nothing.",
        )  # fmt: skip


def _identity(entry: Entry) -> Iterator[Finding]:
    contract = entry.contract
    if contract.identity or not entry.signature.names:
        return
    but = f" but {', '.join(contract.wording)}" if contract.wording else ""
    yield _finding(
        "identity-undeclared", Severity.INFO, entry,
        f"does not say which arguments make an intent, so all{but} do: a model that rewords one "
        "makes a second intent",
        "Say identity=[...], and wording=[...] for free text.",
    )  # fmt: skip


def _reversal(entry: Entry) -> Iterator[Finding]:
    if entry.contract.undo is None:
        yield _finding(
            "undo-undeclared", Severity.INFO, entry,
            "does not say how it is reversed, so it counts as irreversible",
            "Say undo= and undo_within= where another tool reverses it.",
        )  # fmt: skip


def _times(entry: Entry, around: Around) -> Iterator[Finding]:
    budget = entry.contract.budget
    lease_s = around.lease_s + budget.send_deadline_s
    if budget.turn_s > lease_s:
        yield _finding(
            "turn-beyond-lease", Severity.WARN, entry,
            f"tries for {span(budget.turn_s)} in one call, longer than a lease lasts "
            f"({span(lease_s)}); when the caller dies, others wait for all of it",
            "Make turn_s shorter: the background goes on after the turn.",
        )  # fmt: skip
    if budget.send_deadline_s > budget.turn_s:
        yield _finding(
            "deadline-beyond-turn", Severity.INFO, entry,
            f"gives a send {span(budget.send_deadline_s)}, but the turn ends after "
            f"{span(budget.turn_s)}",
            "Make send_deadline_s shorter than turn_s, or the turn longer.",
        )  # fmt: skip
