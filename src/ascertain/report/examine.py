"""All of a doctor's checks, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ascertain.errors import LedgerError
from ascertain.report.doctor import Check, Verdict, bad, ok
from ascertain.report.doctor_file import (
    file_checks,
    head_of,
    is_ledger_file,
    journal_check,
    missing,
    secret_check,
)
from ascertain.report.doctor_history import history_check
from ascertain.report.doctor_ledger import ledger_checks
from ascertain.report.doctor_server import server_checks
from ascertain.report.doctor_vitals import vital_checks
from ascertain.report.findings import Severity
from ascertain.report.lint import lint
from ascertain.report.words import many, span
from ascertain.runtime.app import Ascertain
from ascertain.store.ledger import Ledger, Vitals
from ascertain.store.place import path_of
from ascertain.store.postgres_place import is_postgres


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What a doctor found.

    :param vitals: what the store says of itself; None where it could not be opened.
    """

    ledger: str
    checks: tuple[Check, ...]
    vitals: Vitals | None

    @property
    def usable(self) -> bool:
        """Whether the ledger itself could be read."""
        return not any(
            check.name == "ledger" and check.verdict is Verdict.BAD for check in self.checks
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "ledger": self.ledger,
            "vitals": None if self.vitals is None else self.vitals._asdict(),
            "checks": [check.as_dict() for check in self.checks],
        }


def examine(
    ledger: Ledger, now: float, *, app: Ascertain | None = None, deep: bool = False
) -> Examination:
    """Examine a ledger, and the app that uses it. A ledger that is missing is not created.

    :param now: seconds since the epoch. :param deep: check the chains of closed actions too.
    """
    vitals: Vitals | None = None
    checks: list[Check] = []
    if is_postgres(ledger.url):
        vitals, content = _content(ledger, now, deep=deep)
        checks += [*server_checks(ledger.url, opens=vitals is not None), *content]
    elif is_ledger_file(path := path_of(ledger.url)):
        head = head_of(path)  # opening changes it
        before = list(file_checks(path))
        vitals, content = _content(ledger, now, deep=deep)
        opens = vitals is not None
        checks += [journal_check(path, head, opens=opens), *before]
        checks += [secret_check(path, opens=opens), *content]
    else:
        checks.append(
            bad(
                "ledger",
                missing(path),
                "Correct --ledger, or let the app make it at its first call.",
            )
        )
    if app is not None:
        checks += _app(app)
    return Examination(ledger=ledger.url, checks=tuple(checks), vitals=vitals)


def _content(ledger: Ledger, now: float, *, deep: bool) -> tuple[Vitals | None, list[Check]]:
    vitals: Vitals | None = None
    try:
        vitals = ledger.vitals()
        checks = [
            *vital_checks(vitals, server=is_postgres(ledger.url)),
            *([history_check(ledger.epochs(), now)] if is_postgres(ledger.url) else []),
            *ledger_checks(ledger, now, deep=deep),
        ]
    except LedgerError as error:
        return vitals, [bad("ledger", error.message, error.advice)]
    return vitals, [ok("ledger", f"{ledger.url} opens and can be read."), *checks]


def _app(app: Ascertain) -> list[Check]:
    findings = lint(app)
    checks = [
        Check(
            name="lint",
            verdict=Verdict.BAD if finding.severity is Severity.BAD else Verdict.WARN,
            sentence=f"[{finding.rule}] {finding.sentence}",
            next_step=finding.next_step,
        )
        for finding in findings
        if finding.counts
    ]
    if not checks:
        notes = many(len(findings), "note")
        checks = [ok("lint", f"Nothing to do about the tools ({notes}).")]
    lease = f"A lease lasts {span(app.hands.lease_s)} beyond the deadline of what it covers."
    loaded = f"The app was loaded, with {many(len(app.registry), 'tool')}."
    return [ok("app", f"{loaded} {lease}"), *checks]
