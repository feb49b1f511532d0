"""``ascertain sli``: do chained calls come to their end?"""

from __future__ import annotations

from typing import Annotated

import typer

from ascertain.cli.exits import Exit, UsageProblem, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, AsJson, LedgerUrl, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.report.sli import OBJECTIVE, Tally, Window, windows
from ascertain.report.wishes import Found, recent
from ascertain.report.words import many
from ascertain.runtime.clock import clock_of
from ascertain.runtime.durations import seconds

EPILOG = examples("ascertain sli", "ascertain sli --window 1h,6h,3d --json")
_SHOWN = 5


def command(
    window: Annotated[str, typer.Option(help="Windows, such as 1h,6h,3d.")] = "1h,6h,3d",
    objective: Annotated[
        float, typer.Option(min=0.0, max=0.99999, help="The share that was promised.")
    ] = OBJECTIVE,
    ledger: LedgerUrl = DEFAULT_LEDGER,
    as_json: AsJson = False,
) -> int:
    """Sessions that completed their chained calls, of all that had any; and per chain.

    A chain counts as good when every call of it has a definite end. Exit code 1: in some window the
    errors come faster than the objective allows (burn rate above 1).
    """
    wanted = _windows(window)
    with opened(ledger) as found:
        now = clock_of(found)()
        seen = recent(found, now - max(length for _, length in wanted))
        url = found.url
    measured = windows(seen, wanted, now)
    missed = any((one.sessions.burn_rate(objective) or 0.0) > 1.0 for one in measured)
    if as_json:
        told = {
            "objective": objective,
            "scanned": seen.scanned,
            "windows": [one.as_dict(objective) for one in measured],
        }
        put(f"{json_text(told)}\n")
    else:
        _print(measured, seen, objective, url)
    return Exit.FOUND if missed else Exit.FINE


def _windows(text: str) -> list[tuple[str, float]]:
    found = [(name.strip(), seconds(name.strip(), "--window")) for name in text.split(",")]
    if not all(length for _, length in found):
        raise UsageProblem(f"{text!r}: a window has a length.", next_step="--window 1h,6h,3d")
    return [(name, length) for name, length in found if length]


def _print(measured: list[Window], seen: Found, objective: float, url: str) -> None:
    paper = Paper()
    titles = ("WINDOW", "OF", "SLI", "BURN", "COMPLETED", "REFUSED", "BROKEN", "UNDER WAY")
    rows = [
        [one.name if of == "sessions" else "", of, *_cells(tally, objective)]
        for one in measured
        for of, tally in (("sessions", one.sessions), ("chains", one.wishes))
    ]
    paper.table(titles, rows, keep=titles)
    widest = max(measured, key=lambda one: one.seconds)
    if widest.broken:
        more = ", ..." if len(widest.broken) > _SHOWN else ""
        paper.line(("Broken: ", "bad"), f"{', '.join(widest.broken[:_SHOWN])}{more}")
    paper.line(
        (f"Objective {objective:.4g}; read {many(seen.scanned, 'action')} of {url}.", "quiet")
    )
    paper.write()


def _cells(tally: Tally, objective: float) -> list[Cell]:
    sli, burn = tally.sli, tally.burn_rate(objective)
    if sli is None or burn is None:
        ratio: list[Cell] = ["-", "-"]
    else:
        style = "bad" if burn > 1 else "ok"
        ratio = [(f"{sli:.2%}", style), (f"{burn:.2f}", style)]
    counts = (tally.completed, tally.refused, tally.broken, tally.under_way)
    return [*ratio, *(str(count) for count in counts)]
