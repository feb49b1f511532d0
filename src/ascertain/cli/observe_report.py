"""``ascertain observe-report``: what guarding would have prevented."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from ascertain.cli.exits import Exit, UsageProblem, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, AsJson, LedgerUrl, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.errors import ContractError
from ascertain.report.observed import ObserveReport, observe_report
from ascertain.report.words import day_and_time, many, span
from ascertain.runtime.clock import clock_of
from ascertain.runtime.durations import seconds

EPILOG = examples(
    "ascertain observe-report",
    "ascertain observe-report --since 24h",
    "ascertain observe-report --since 2026-11-01 --json",
)
NOTHING_CHANGED = "Nothing was seen that guarding would have changed."
NOTHING_SEEN = (
    "Nothing was observed, so nothing can be said: put @app.observe on a function, or make the app "
    'with mode="observe".'
)
_SHOWN = 20


def command(
    ledger: LedgerUrl = DEFAULT_LEDGER,
    since: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="Only since then: 24h, 7d, or 2026-11-30T08:00."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Tell what was seen of observed tools, and what guarding would have prevented.

    The exit code is 1 where guarding would have changed something.
    """
    with opened(ledger) as found:
        now = clock_of(found)()
        start = None if since is None else _moment(since, now)
        report = observe_report(found, now, start)
    if as_json:
        put(f"{json_text(report.as_dict())}\n")
    else:
        _print(report)
    return Exit.FOUND if report.found else Exit.FINE


def _moment(text: str, now: float) -> float:
    try:
        return now - (seconds(text, "--since") or 0.0)
    except ContractError:
        pass
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise UsageProblem(
            f"--since {text!r} is neither a length of time nor a date.",
            next_step="Write 24h, 7d, 2026-11-30 or 2026-11-30T08:00.",
        ) from None


def _print(report: ObserveReport) -> None:
    paper = Paper()
    since = "" if report.since is None else f" since {day_and_time(report.since)}"
    paper.line((f"{many(report.calls, 'call')} observed{since}", "title"))
    if report.calls:
        _tools(paper, report)
    if report.again:
        _again(paper, report)
    if report.lost:
        _lost(paper, report)
    paper.blank()
    paper.line(("What guarding would have prevented", "title"))
    nothing = NOTHING_CHANGED if report.calls else NOTHING_SEEN
    for sentence in report.sentences or (nothing,):
        paper.grid([("-", sentence)])
    paper.write()


def _tools(paper: Paper, report: ObserveReport) -> None:
    paper.blank()
    titles = ("TOOL", "CALLS", "CONFIRMED", "REJECTED", "LOST", "SENT TWICE BELOW")
    rows: list[list[Cell]] = [
        [
            tool.tool, str(tool.calls), str(tool.confirmed), str(tool.rejected), str(tool.lost),
            str(tool.hidden),
        ]
        for tool in report.tools
    ]  # fmt: skip
    paper.table(titles, rows, keep=titles[1:])
    errors = [tool for tool in report.tools if tool.errors]
    for tool in errors:
        found = ", ".join(f"{reason} {count}x" for reason, count in tool.errors.most_common())
        paper.line(
            f"{tool.tool}: errors after which the effect may have happened: {found}", indent=2
        )


def _again(paper: Paper, report: ObserveReport) -> None:
    paper.blank()
    paper.line(("Called again although an earlier call was not refused", "title"))
    for found in report.again[:_SHOWN]:
        after = span(found.later_at - found.earlier_at)
        paper.line(
            f"{day_and_time(found.later_at)}  {found.tool}: {after} after a call that was "
            f"{found.earlier_state} by then; this one ended {found.later_state}.",
            indent=2,
        )
        paper.line((f"{found.earlier} and {found.later}", "quiet"), indent=4)
    _rest(paper, len(report.again))


def _lost(paper: Paper, report: ObserveReport) -> None:
    paper.blank()
    paper.line(("Answers that were lost", "title"))
    for found in report.lost[:_SHOWN]:
        then = (
            "The caller left it at that."
            if found.again_after_s is None
            else f"The caller called again after {span(found.again_after_s)}."
        )
        paper.line(f"{day_and_time(found.at)}  {found.tool}: {found.sentence} {then}", indent=2)
        paper.line((f"{found.action} [{found.reason}]", "quiet"), indent=4)
    _rest(paper, len(report.lost))


def _rest(paper: Paper, count: int) -> None:
    if count > _SHOWN:
        paper.line((f"... and {count - _SHOWN} more (--json has all)", "quiet"), indent=2)
