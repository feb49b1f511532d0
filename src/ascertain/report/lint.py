"""What is worth knowing about an app's tools before they are used."""

from __future__ import annotations

from collections.abc import Iterator

from ascertain.report.findings import Finding, Severity, by_weight
from ascertain.report.lint_around import around_findings
from ascertain.report.lint_chains import Chains, chain_findings
from ascertain.report.lint_clients import client_findings
from ascertain.report.lint_contract import Around, contract_findings
from ascertain.report.words import span
from ascertain.runtime.app import Ascertain
from ascertain.runtime.hands import LEASE_MARGIN_S, STORE_TIMEOUT_S


def lint(app: Ascertain) -> list[Finding]:
    """Every finding, the worst first. Nothing is called, opened or sent."""
    around = Around(lease_s=app.hands.lease_s)
    chains = Chains(registry=app.registry, session_ttl_s=app.contexts.ttl_s)
    findings = list(_of_app(app))
    for entry in app.registry:
        findings += contract_findings(entry, around)
        findings += chain_findings(entry, chains)
        findings += client_findings(entry)
    findings += _of_context(app)
    findings += _of_rates(app)
    findings += around_findings(app)
    return by_weight(list(dict.fromkeys(findings)))


def _of_rates(app: Ascertain) -> Iterator[Finding]:
    """Tools that speak to a provider of which another one says how often it may be spoken to."""
    rated = {rate.name: tool for tool, rate in reversed(app.registry.rates)}
    for entry in app.registry:
        contract = entry.contract
        group = contract.breaker.group if contract.breaker is not None else ""
        if group in rated and contract.rate is None:
            yield Finding(
                rule="rate-forgotten", severity=Severity.WARN, tool=entry.name,
                sentence=f"{entry.name} declares no rate, and {rated[group]} does for the same "
                f"provider, {group}: what {entry.name} sends is not counted, and the provider may "
                "see more than its rate.",
                next_step=f"Declare the rate= of {rated[group]}, or another group for its breaker.",
            )  # fmt: skip


def _of_context(app: Ascertain) -> Iterator[Finding]:
    """Keys that nobody provides, and reads of which each needs the other first."""
    for tool, sentence in app.gate.findings():
        yield Finding(
            rule="context", severity=Severity.BAD, tool=tool, sentence=f"{tool} {sentence}.",
            next_step="Declare provides= on the tool that brings it, name it in session_keys= of "
            "the app, or make it optional_context=.",
        )  # fmt: skip


def _of_app(app: Ascertain) -> Iterator[Finding]:
    if len(app.registry) == 0:
        yield Finding(
            rule="no-tools", severity=Severity.WARN, tool="",
            sentence="The app has no tools.",
            next_step="Import the modules that declare them where the app is made.",
        )  # fmt: skip
    if app.mode == "observe":
        yield Finding(
            rule="observe-mode", severity=Severity.INFO, tool="",
            sentence="The whole app only observes: nothing is prevented.",
            next_step="`ascertain observe-report` tells what guarding would change.",
        )  # fmt: skip
    least = STORE_TIMEOUT_S + LEASE_MARGIN_S
    if app.hands.lease_s < least:
        yield Finding(
            rule="lease-too-short", severity=Severity.BAD, tool="",
            sentence=f"A lease lasts only {span(app.hands.lease_s)} beyond what it covers; waiting "
            f"for the ledger ({span(STORE_TIMEOUT_S)}) and a margin need {span(least)}.",
            next_step="Leave lease_s= out, or make it longer.",
        )  # fmt: skip
