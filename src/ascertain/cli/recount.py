"""``ascertain recount MODULE:APP``: do the person's page, the ledger and the provider agree?"""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from ascertain.cli.exits import Exit, json_text
from ascertain.cli.load import load_app
from ascertain.cli.options import AppName, AsJson, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.report.words import many
from ascertain.rules.recount import SENTENCES, Row, Said
from ascertain.runtime.app import Ascertain
from ascertain.runtime.recount import CONCURRENCY, LIMIT, RATE, SINCE, Recount, as_dict

EPILOG = examples(
    "ascertain recount shop.tools:app",
    "ascertain recount shop.tools:app --tool create_ticket --since 24h --json",
)
NOT_ASKED = {
    "tool_unknown": "this app has no such tool",
    "never_sent": "nothing was ever sent",
    "no_lookup": "its tool has no look-up",
    "budget_spent": "its look-ups are spent",
    "removed": "its arguments have been removed",
    "in_hand": "somebody is at work on it",
}
_ERASE = "\r\x1b[K"


def command(
    app: AppName,
    tool: Annotated[str | None, typer.Option(help="Only actions of this tool.")] = None,
    since: Annotated[str, typer.Option(help="How far back: 24h, 7d.")] = SINCE,
    limit: Annotated[int, typer.Option(min=1, help="At most so many actions, the newest.")] = LIMIT,
    rate: Annotated[float, typer.Option(min=0.001, help="Look-ups per second.")] = RATE,
    concurrency: Annotated[int, typer.Option(min=1, help="Look-ups at once.")] = CONCURRENCY,
    as_json: AsJson = False,
) -> int:
    """Ask every provider for its own record of recent actions, and list what differs.

    Compares what the person is told, the ledger, and the provider's record. Only look-ups are made;
    nothing is sent. Evidence against a settled action is stored and opens a case; what was unknown
    is settled by what the provider says. Exit code 1: something differs, or a provider did not
    answer.
    """
    loaded = load_app(app)
    try:
        found = asyncio.run(
            loaded.recount_async(
                tool=tool, since=since, limit=limit, rate=rate, concurrency=concurrency,
                tell=_Progress(),
            )
        )  # fmt: skip
    finally:
        _Progress.erase()
        loaded.close()
    if as_json:
        put(f"{json_text({'ledger': loaded.url, **as_dict(found)})}\n")
    else:
        _print(loaded, found, since)
    return Exit.FINE if found.agrees else Exit.FOUND


class _Progress:
    """One line on a terminal that counts."""

    def __init__(self) -> None:
        self._done = 0
        self._differing = 0

    def __call__(self, row: Row) -> None:
        self._done += 1
        self._differing += bool(row.differences)
        if sys.stderr.isatty():
            sys.stderr.write(f"{_ERASE}{self._done} compared, {self._differing} differ")
            sys.stderr.flush()

    @staticmethod
    def erase() -> None:
        if sys.stderr.isatty():
            sys.stderr.write(_ERASE)
            sys.stderr.flush()


def _print(app: Ascertain, found: Recount, since: str) -> None:
    paper = Paper()
    for row in [*found.differing, *found.unanswered]:
        _row(paper, row)
    more = " (there are more: --limit)" if found.more else ""
    paper.line(
        (f"Read {many(found.scanned, 'action')} of the last {since} in {app.url}{more}.", "quiet")
    )
    paper.grid(_tally(found))
    verdict: Cell = ("All that could be asked for agree.", "ok")
    if not found.agrees:
        differing, silent = len(found.differing), len(found.unanswered)
        verdict = (f"{many(differing, 'action')} differ, {silent} without an answer.", "bad")
    elif not found.asked:
        verdict = ("Nobody could be asked about anything.", "quiet")
    paper.line(verdict)
    paper.write()


def _row(paper: Paper, row: Row) -> None:
    record = row.record
    state = str(record.state)
    paper.line((record.id, "title"), f"  {record.tool}  ", (state, state))
    paper.pairs(
        [
            ("ledger", _of_ledger(row)),
            ("provider", _of_provider(row)),
            ("person", row.told or "-"),
            *[("differs", (SENTENCES[rule], "bad")) for rule in row.differences],
            *[("note", note) for note in row.notes],
        ]
    )
    paper.blank()


def _of_ledger(row: Row) -> str:
    record = row.record
    words = f"{record.state} {record.provider_ref or ''}".strip()
    return f"{words}, disputed" if record.disputed else words


def _of_provider(row: Row) -> Cell:
    match row.said:
        case Said.FOUND:
            times = "" if row.count == 1 else f", {row.count} times"
            return f"{row.provider_ref}{times}"
        case Said.NO_ANSWER:
            return ("no answer", "warn")
        case Said.NOT_ASKED:
            return NOT_ASKED[row.why]
        case _:
            return str(row.said)


def _tally(found: Recount) -> list[list[Cell]]:
    agree = sum(row.agrees for row in found.rows)
    rows: list[list[Cell]] = [[f"{agree}", "agree with the provider's record"]]
    settled = sum(row.settled for row in found.rows)
    if settled:
        rows.append([f"{settled}", "had been unknown and were settled by it"])
    for why, words in NOT_ASKED.items():
        count = sum(row.why == why for row in found.rows)
        if count:
            rows.append([f"{count}", f"not asked: {words}"])
    return rows
