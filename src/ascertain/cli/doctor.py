"""``ascertain doctor``: is the ledger well, and does anybody recover?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from ascertain.adapters.mcp.config import DEFAULT_FILE
from ascertain.cli.exits import Exit, json_text
from ascertain.cli.load import load_app
from ascertain.cli.options import (
    DEFAULT_LEDGER,
    AsJson,
    MaybeAppName,
    MaybeLedgerUrl,
    examples,
)
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.errors import LedgerError
from ascertain.report.doctor import Check, Verdict
from ascertain.report.doctor_mcp import mcp_checks
from ascertain.report.examine import examine
from ascertain.report.words import many
from ascertain.runtime.clock import LedgerClock, clock_of
from ascertain.store.ledger import Ledger
from ascertain.store.open import open_ledger, same_ledger
from ascertain.store.postgres_place import is_postgres

EPILOG = examples(
    "ascertain doctor",
    "ascertain doctor shop.tools:app",
    "ascertain doctor --ledger sqlite:////var/lib/shop/ledger.db --deep",
)


def command(
    app: MaybeAppName = None,
    ledger: MaybeLedgerUrl = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Check the hash chain of closed actions too.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Examine a ledger; with an app, its tools and times too.

    Each check is ok, warn or bad, with the next step. A missing ledger is not created.
    """
    loaded = None if app is None else load_app(app)
    found: Ledger
    if ledger is None and loaded is not None:
        found = loaded.ledger
    else:
        url = ledger or DEFAULT_LEDGER
        found = open_ledger(url, **({"make": False} if is_postgres(url) else {}))
        if loaded is not None and same_ledger(url, loaded.url):
            found = loaded.ledger  # the app may know its secret
    try:
        seen = examine(found, _now(found), app=loaded, deep=deep)
    finally:
        found.close()
    seen = replace(seen, checks=(*seen.checks, *mcp_checks(DEFAULT_FILE)))
    if as_json:
        put(f"{json_text(seen.as_dict())}\n")
    else:
        _print(seen.checks)
    if not seen.usable:
        return Exit.LEDGER
    is_well = all(check.verdict is Verdict.OK for check in seen.checks)
    return Exit.FINE if is_well else Exit.FOUND


def _now(ledger: Ledger) -> float:
    """Its own time; where it cannot be asked, the checks say why, and this host's does."""
    try:
        return clock_of(ledger)()
    except LedgerError:
        return LedgerClock()()


def _print(checks: Sequence[Check]) -> None:
    paper = Paper()
    rows: list[list[Cell]] = []
    for check in checks:
        verdict = str(check.verdict)
        rows.append([(verdict, verdict), (check.name, "title"), check.sentence])
        if check.next_step:
            rows.append(["", "", (f"next: {check.next_step}", "quiet")])
    paper.grid(rows, indent=0)
    counts = {verdict: sum(c.verdict is verdict for c in checks) for verdict in Verdict}
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    paper.blank()
    paper.line((f"{many(len(checks), 'check')}: {summary}", "quiet"))
    paper.write()
