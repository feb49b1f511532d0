"""Rules on what tools declare for chains and for persons: undoing, snapshots, approvals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ascertain.model.contract import Approval
from ascertain.report.findings import Finding, Severity
from ascertain.report.words import span
from ascertain.runtime.registry import Entry, Registry

SOON_S = 300.0
"""Within less than this a person is rarely found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """What a rule may know of the app beside the tool.

    :param undoes: some tool has a compensation, so chains of this app may go back.
    :param session_ttl_s: how long a session lives after it was last used.
    """

    registry: Registry
    session_ttl_s: float

    @property
    def undoes(self) -> bool:
        return any(entry.contract.undoes for entry in self.registry)


def chain_findings(entry: Entry, chains: Chains) -> Iterator[Finding]:
    """What may go wrong when a chain with this tool goes back, or a person has to approve."""
    if entry.observed or entry.contract.is_read:
        return
    yield from _undoing(entry, chains)
    yield from _approving(entry, chains)


def _finding(rule: str, severity: Severity, entry: Entry, what: str, next_step: str) -> Finding:
    return Finding(
        rule=rule, severity=severity, tool=entry.name, sentence=f"{entry.name} {what}.",
        next_step=next_step,
    )  # fmt: skip


def _undoing(entry: Entry, chains: Chains) -> Iterator[Finding]:
    contract = entry.contract
    if contract.undoes or not chains.undoes:
        return
    if contract.undo is None:
        if not contract.best_effort:
            yield _finding(
                "irreversible-step", Severity.WARN, entry,
                "is essential and nothing reverses it: once confirmed in a chain that goes back it "
                "ends with a person, and what came before it is not undone until then",
                f"Add @{entry.name}.compensate, or make it the last step of its chains.",
            )  # fmt: skip
        return
    undo = chains.registry.find(contract.undo)
    if undo is None or undo.contract.undoes != entry.name:
        yield _finding(
            "undo-unregistered", Severity.BAD, entry,
            f"says that {contract.undo} reverses it, which is no compensation of it here: a chain "
            "that goes back ends with a person",
            f"Declare it with @{entry.name}.compensate.",
        )  # fmt: skip
        return
    if contract.undo_within_s is not None and contract.undo_within_s < contract.budget.horizon_s:
        yield _finding(
            "undo-before-horizon", Severity.INFO, entry,
            f"can be undone for {span(contract.undo_within_s)}, but what became of it may be found "
            f"out only after {span(contract.budget.horizon_s)}: then a person has to decide",
            "Make the budget's horizon_s shorter than within=.",
        )  # fmt: skip
    if entry.snapshot is None:
        yield _finding(
            "no-snapshot", Severity.INFO, entry,
            "shows a person who has to undo it nothing of how it stands at the provider",
            f"Add @{entry.name}.snapshot.",
        )  # fmt: skip


def _approving(entry: Entry, chains: Chains) -> Iterator[Finding]:
    contract = entry.contract
    if contract.approval is Approval.NONE:
        return
    within_s = contract.approval_within_s
    if within_s < SOON_S:
        yield _finding(
            "approval-too-soon", Severity.WARN, entry,
            f"waits {span(within_s)} for a person: nobody may be there in time, and then it is "
            "withdrawn",
            "Say approval_within= as long as it takes to find somebody.",
        )  # fmt: skip
    if contract.in_context and within_s > chains.session_ttl_s:
        yield _finding(
            "approval-beyond-session", Severity.WARN, entry,
            f"may be approved for {span(within_s)}, but the session whose context it has read ends "
            f"after {span(chains.session_ttl_s)}: approved later, it is not sent",
            "Make approval_within= shorter, or session_ttl= of the app longer.",
        )  # fmt: skip
    if not contract.approval_by_other:
        yield _finding(
            "approval-by-oneself", Severity.INFO, entry,
            "may be approved by whose wish it is",
            "Say approval_by_other=True where it takes somebody else.",
        )  # fmt: skip
