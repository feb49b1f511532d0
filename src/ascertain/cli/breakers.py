"""``ascertain breakers``: which tools are closed for automatic sends."""

from __future__ import annotations

from typing import Annotated

import typer

from ascertain.cli.exits import Exit, UsageProblem, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, AsJson, LedgerUrl, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.model.breaker import BreakerRecord, Circuit
from ascertain.report.breakers import as_dict, sentence_of
from ascertain.report.words import ago
from ascertain.runtime.clock import clock_of
from ascertain.runtime.hands import Hands
from ascertain.runtime.registry import Registry

EPILOG = examples("ascertain breakers", "ascertain breakers --close crm --by li")
_STYLES = {Circuit.CLOSED: "ok", Circuit.OPEN: "bad", Circuit.PROBING: "warn"}


def command(
    close: Annotated[
        str | None, typer.Option(metavar="NAME", help="Let automatic sends go again.")
    ] = None,
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who decides.")] = "",
    ledger: LedgerUrl = DEFAULT_LEDGER,
    as_json: AsJson = False,
) -> int:
    """List the circuit breakers that have ever opened, or close one.

    The exit code is 1 where one is not closed. What came while it was open is not sent by closing
    it: ascertain actions --review lists it.
    """
    if close is not None and not by.strip():
        raise UsageProblem("--close needs --by NAME.", next_step="ascertain breakers --help")
    with opened(ledger) as found:
        clock = clock_of(found)
        if close is not None:
            hands = Hands(found, Registry(), clock=clock)
            try:
                hands.breaking.close(close, by)
            finally:
                hands.committer.close()
        records = found.breakers.all()
    if as_json:
        put(f"{json_text({'breakers': [as_dict(record) for record in records]})}\n")
    else:
        _print(records, clock())
    held = any(record.circuit is not Circuit.CLOSED for record in records)
    return Exit.FOUND if held else Exit.FINE


def _print(records: list[BreakerRecord], now: float) -> None:
    paper = Paper()
    if not records:
        paper.line("No breaker has ever opened.")
        paper.write()
        return
    rows: list[list[Cell]] = [
        [
            (str(record.circuit), _STYLES[record.circuit]),
            record.name,
            ago(record.changed_at, now),
            sentence_of(record, now),
        ]
        for record in records
    ]
    paper.grid(rows, indent=0)
    paper.write()
