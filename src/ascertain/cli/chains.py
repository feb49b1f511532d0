"""``ascertain chains``: wishes, and what they have come to."""

from __future__ import annotations

from typing import Annotated

import typer

from ascertain.cli.exits import Exit, UsageProblem, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, AsJson, LedgerUrl, Since, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.report.wishes import Wish, recent
from ascertain.report.words import many, span
from ascertain.rules.project import WorkflowState
from ascertain.runtime.clock import clock_of
from ascertain.runtime.durations import seconds

EPILOG = examples(
    "ascertain chains",
    "ascertain chains --open --since 30d",
    "ascertain chains --state needs_review --json",
)
STYLES: dict[WorkflowState, str] = {
    WorkflowState.COMPLETED: "ok",
    WorkflowState.COMPENSATED: "ok",
    WorkflowState.PARTIALLY_COMPLETED: "warn",
    WorkflowState.AWAITING_CONFIRMATION: "warn",
    WorkflowState.COMPENSATING: "warn",
    WorkflowState.NEEDS_REVIEW: "bad",
    WorkflowState.REFUSED: "rejected",
}


def command(
    state: Annotated[
        str | None, typer.Option(help=f"Only in this state: {', '.join(WorkflowState)}.")
    ] = None,
    only_open: Annotated[
        bool, typer.Option("--open", help="Only what has still to come to its end.")
    ] = False,
    since: Since = "7d",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    ledger: LedgerUrl = DEFAULT_LEDGER,
    as_json: AsJson = False,
) -> int:
    """List wishes, newest first: chains, and turns whose calls are in no chain.

    What a wish has come to is derived from its actions. Reads the actions made since --since.
    """
    if state is not None and state not in list(WorkflowState):
        raise UsageProblem(
            f"{state!r} is no state.", next_step=f"One of {', '.join(WorkflowState)}."
        )
    with opened(ledger) as found:
        now = clock_of(found)()
        seen = recent(found, now - (seconds(since, "--since") or 0.0))
        url = found.url
    fitting = [w for w in seen.wishes if state in (None, w.state) and (w.is_open or not only_open)]
    shown = fitting[:limit]
    if as_json:
        more = len(fitting) > limit
        chains = [wish.as_dict() for wish in shown]
        put(f"{json_text({'chains': chains, 'more': more, 'scanned': seen.scanned})}\n")
        return Exit.FINE
    paper = Paper()
    if shown:
        wish_table(paper, shown, now)
    tail = "; there are more (--limit)" if len(fitting) > limit else ""
    read = f"read {many(seen.scanned, 'action')} of the last {since} in {url}"
    paper.line((f"{many(len(shown), 'wish', 'wishes')}{tail}; {read}", "quiet"))
    paper.write()
    return Exit.FINE


def wish_table(paper: Paper, wishes: list[Wish], now: float) -> None:
    """Wishes, one to a line."""
    titles = ("ID", "STATE", "ACTIONS", "OPEN", "PRINCIPAL", "AGE")
    paper.table(titles, [_row(wish, now) for wish in wishes], keep=("ID", "STATE", "AGE"))


def state_cell(wish: Wish) -> Cell:
    """The state of a wish, in its colour."""
    return (str(wish.state), STYLES.get(wish.state, "info"))


def _row(wish: Wish, now: float) -> list[Cell]:
    count = sum(member.record.open for member in wish.members)
    return [
        wish.id, state_cell(wish), str(len(wish.members)), str(count or "-"),
        wish.first.principal or "-", span(now - wish.began_at),
    ]  # fmt: skip
