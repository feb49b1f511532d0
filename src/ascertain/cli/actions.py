"""``ascertain actions``: list what is in a ledger."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

import typer

from ascertain.cli.exits import Exit, UsageProblem, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, AsJson, LedgerUrl, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.model.action import ActionRecord
from ascertain.model.tables import State
from ascertain.report.reading import is_observed, walk
from ascertain.report.shown import shown_records
from ascertain.report.story import record_as_dict
from ascertain.report.words import many, span
from ascertain.runtime.clock import clock_of
from ascertain.store.ledger import Filter

EPILOG = examples(
    "ascertain actions --open",
    "ascertain actions --review --json",
    "ascertain actions --session chat-42 --tool create_ticket",
)


def command(
    ledger: LedgerUrl = DEFAULT_LEDGER,
    session: Annotated[str | None, typer.Option(help="Only of this session.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only of this tool.")] = None,
    state: Annotated[
        str | None, typer.Option(help=f"Only in this state: {', '.join(State)}.")
    ] = None,
    only_open: Annotated[
        bool, typer.Option("--open", help="Only what has still to end in a known truth.")
    ] = False,
    review: Annotated[bool, typer.Option("--review", help="Only what waits for a person.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: AsJson = False,
) -> int:
    """List actions, newest first.

    Observed calls are marked, and left out with --open and --review: nobody acts on them.
    """
    if state is not None and state not in list(State):
        raise UsageProblem(f"{state!r} is no state.", next_step=f"One of {', '.join(State)}.")
    query = Filter(session=session, tool=tool, state=state, open_only=only_open, review_only=review)
    with opened(ledger) as found:
        now = clock_of(found)()
        fitting = (r for r in walk(found, query) if not (is_observed(r) and (only_open or review)))
        records = shown_records(found, list(islice(fitting, limit + 1)))
        url = found.url
    more, records = len(records) > limit, records[:limit]
    if as_json:
        put(f"{json_text({'actions': [record_as_dict(r) for r in records], 'more': more})}\n")
        return Exit.FINE
    _print(records, url, now, more=more)
    return Exit.FINE


def _print(records: list[ActionRecord], url: str, now: float, *, more: bool) -> None:
    paper = Paper()
    if not records:
        paper.line(f"No such actions in {url}.")
        paper.write()
        return
    titles = ("ID", "STATE", "TOOL", "REFERENCE", "AGE", "NOTE")
    rows = [_row(record, now) for record in records]
    paper.table(titles, rows, keep=("ID", "STATE", "AGE", "NOTE"))
    tail = "; there are more (--limit)" if more else ""
    paper.line((f"{many(len(records), 'action')}{tail}", "quiet"))
    paper.write()


def _row(record: ActionRecord, now: float) -> list[Cell]:
    state = str(record.state)
    return [
        record.id,
        (state, state),
        record.tool,
        record.provider_ref or record.related_ref or "-",
        span(now - record.created_at, units=1),
        _note(record),
    ]


def _note(record: ActionRecord) -> Any:
    if is_observed(record):
        return ("observed", "quiet")
    if record.disputed:
        return ("disputed", "bad")
    if record.review is not None:
        return ("review", "warn")
    if record.state is State.REJECTED:
        return str(record.kind or record.reason) if record.final else "for now"
    if record.maybe_twice:
        return ("maybe twice", "warn")
    return f"attempt {record.attempt}" if record.attempt > 1 else ""
