"""``ascertain export``: actions, keys and receipts, with personal data masked."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from io import StringIO
from typing import Annotated, Any

import typer

from ascertain.cli.exits import Exit, UsageProblem
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, LedgerUrl, examples
from ascertain.cli.out import put
from ascertain.report.export import COLUMNS, Selection, as_cells, exported
from ascertain.runtime.clock import clock_of
from ascertain.runtime.durations import seconds
from ascertain.store.ledger import Filter

EPILOG = examples(
    "ascertain export --since 30d > actions.jsonl",
    "ascertain export --session chat-42 --csv > actions.csv",
)


def command(
    session: Annotated[str | None, typer.Option(help="Only of this session.")] = None,
    chain: Annotated[str | None, typer.Option(help="Only of this chain.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only of this tool.")] = None,
    since: Annotated[str | None, typer.Option(help="How far back: 24h, 30d.")] = None,
    principals: Annotated[
        bool, typer.Option("--principals", help="Show principals, not pseudonyms.")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="A table, without events.")] = False,
    ledger: LedgerUrl = DEFAULT_LEDGER,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object for each line (as it is anyway).")
    ] = False,
) -> int:
    """Write the action log, keys and provider receipts for somebody else, newest first.

    What contracts redact is masked everywhere, and a principal is a pseudonym: the same for the
    same principal, not to be guessed without the ledger's secret.
    """
    if as_csv and as_json:
        raise UsageProblem("--csv or --json, not both.", next_step="ascertain export --help")
    back_s = seconds(since, "--since")
    with opened(ledger) as found:
        now = clock_of(found)()
        selection = Selection(
            query=Filter(session=session, chain=chain, tool=tool),
            since_at=None if back_s is None else now - back_s,
            principals=principals,
        )
        lines = exported(found, selection, now)
        _write_table(lines) if as_csv else _write_lines(lines)
    return Exit.FINE


def _write_lines(lines: Iterable[dict[str, Any]]) -> None:
    for line in lines:
        put(f"{json.dumps(line, ensure_ascii=True, default=str)}\n")


def _write_table(lines: Iterable[dict[str, Any]]) -> None:
    sheet = StringIO()
    writer = csv.writer(sheet, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in lines:
        writer.writerow(as_cells(line))
        put(sheet.getvalue())
        sheet.seek(0)
        sheet.truncate()
    put(sheet.getvalue())
