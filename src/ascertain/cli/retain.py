"""``ascertain retain``: keep old actions in an archive, and remove them from the ledger."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Annotated, Any

import typer

from ascertain.cli.exits import Exit, UsageProblem, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, AsJson, LedgerUrl, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Paper
from ascertain.report.words import day_and_time, iso, many
from ascertain.runtime.clock import clock_of
from ascertain.runtime.durations import seconds
from ascertain.store.archive import Archive, verified
from ascertain.store.ledger import Ledger
from ascertain.store.secret import given_secret

EPILOG = examples(
    "ascertain retain --older-than 90d --dry-run",
    "ascertain retain --older-than 90d --archive 2026.jsonl",
    "ascertain retain --verify 2026.jsonl",
)
_SHOWN = 20
_ERASE = "\r\x1b[K"


def command(
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="TIME", help="Ended before: 90d.")
    ] = None,
    archive: Annotated[
        str | None, typer.Option(metavar="FILE", help="Keep them here first; it is appended to.")
    ] = None,
    values: Annotated[
        bool,
        typer.Option("--values/--no-values", help="Keep arguments and results in the archive."),
    ] = True,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="At most so many, the oldest.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    verify: Annotated[
        str | None, typer.Option(metavar="FILE", help="Check an archive, line by line.")
    ] = None,
    ledger: LedgerUrl = DEFAULT_LEDGER,
    as_json: AsJson = False,
) -> int:
    """Archive closed actions and remove them from the ledger; tombstones stay.

    Old is what ended before then altogether: the action, its chain, its session, the time within
    which it may be undone. Each batch is on the disk in the archive before it is removed. An old
    call stays known, and is never sent again. Exit code 1: something does not verify.
    """
    if verify is not None:
        return _verify(verify, ledger, as_json=as_json)
    age_s = seconds(older_than, "--older-than")
    if age_s is None:
        raise UsageProblem("How old? --older-than TIME.", next_step="--older-than 90d")
    if archive is None and not dry_run:
        raise UsageProblem(
            "Where to? --archive FILE, or --dry-run.", next_step="--archive archive.jsonl"
        )
    with opened(ledger) as found:
        now = clock_of(found)()
        if dry_run:
            return _dry_run(found, now - age_s, as_json=as_json)
        with Archive(str(archive), secret=found.secret(), values=values) as keep:
            told = _retain(found, keep, now - age_s, now, limit)
    if as_json:
        put(f"{json_text(told)}\n")
    else:
        _print(told)
    return Exit.FOUND if told["damaged"] else Exit.FINE


def _retain(
    ledger: Ledger, keep: Archive, closed_before: float, now: float, limit: int | None
) -> dict[str, Any]:
    tools: Counter[str] = Counter()
    damaged: list[str] = []
    undoable = 0
    try:
        for batch in ledger.retain(closed_before=closed_before, keep=keep, at=now, limit=limit):
            tools.update(record.tool for record in batch.removed)
            damaged += batch.damaged
            undoable += batch.undoable
            _progress(f"{tools.total()} archived and removed")
    finally:
        _progress("")
    return {
        "ledger": ledger.url,
        "closed_before": closed_before,
        "closed_before_utc": iso(closed_before),
        "archive": keep.name,
        "removed": tools.total(),
        "tools": dict(tools.most_common()),
        "undoable": undoable,
        "damaged": damaged,
    }


def _print(told: dict[str, Any]) -> None:
    paper = Paper()
    for sentence in told["damaged"][:_SHOWN]:
        paper.line(("does not verify, left alone: ", "bad"), sentence)
    _tools(paper, told["tools"])
    if told["undoable"]:
        paper.line((f"{many(told['undoable'], 'action')} left: they may still be undone.", "quiet"))
    paper.line(
        f"{many(told['removed'], 'action')} archived in {told['archive']} and removed from "
        f"{told['ledger']}; their tombstones stay."
    )
    paper.write()


def _dry_run(ledger: Ledger, closed_before: float, *, as_json: bool) -> int:
    tools: Counter[str] = Counter()
    oldest_at: float | None = None
    for page in ledger.old(closed_before=closed_before):
        tools.update(record.tool for record in page)
        ended = [record.updated_at for record in page] + ([] if oldest_at is None else [oldest_at])
        oldest_at = min(ended, default=None)
    if as_json:
        told = {
            "ledger": ledger.url,
            "closed_before": closed_before,
            "closed_before_utc": iso(closed_before),
            "dry_run": True,
            "would_remove": tools.total(),
            "tools": dict(tools.most_common()),
            "oldest_at": oldest_at,
            "oldest_utc": iso(oldest_at),
        }
        put(f"{json_text(told)}\n")
        return Exit.FINE
    paper = Paper()
    _tools(paper, tools)
    since = "" if oldest_at is None else f", the oldest of {day_and_time(oldest_at)}"
    paper.line(
        f"{many(tools.total(), 'action')} ended before {day_and_time(closed_before)} in "
        f"{ledger.url}{since}; nothing was changed."
    )
    paper.write()
    return Exit.FINE


def _tools(paper: Paper, tools: dict[str, int]) -> None:
    if tools:
        paper.grid([[f"{count}", tool] for tool, count in Counter(tools).most_common(_SHOWN)])


def _verify(file: str, url: str, *, as_json: bool) -> int:
    secret = given_secret(None)
    if secret is None:
        with opened(url) as ledger:
            secret = ledger.secret()
    lines = again = 0
    ids: set[str] = set()
    wrong: list[str] = []
    try:
        for line in verified(file, secret):
            lines += 1
            again += line.again
            wrong += line.wrong
            if line.action_id is not None:
                ids.add(line.action_id)
            if lines % 1000 == 0:
                _progress(f"{lines} lines read")
    finally:
        _progress("")
    if as_json:
        told = {
            "archive": file, "lines": lines, "actions": len(ids), "again": again, "wrong": wrong,
        }  # fmt: skip
        put(f"{json_text(told)}\n")
        return Exit.FOUND if wrong else Exit.FINE
    paper = Paper()
    for sentence in wrong[:_SHOWN]:
        paper.line(("wrong ", "bad"), sentence)
    if len(wrong) > _SHOWN:
        paper.line((f"and {len(wrong) - _SHOWN} more: --json lists them", "quiet"))
    twice = f", {many(again, 'line')} of them once more" if again else ""
    verdict = "not all of it holds" if wrong else "every chain holds"
    paper.line(f"{file}: {many(len(ids), 'action')} in {many(lines, 'line')}{twice}; {verdict}.")
    paper.write()
    return Exit.FOUND if wrong else Exit.FINE


def _progress(words: str) -> None:
    """One line on a terminal; no words: it goes away."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{_ERASE}{words}")
        sys.stderr.flush()
