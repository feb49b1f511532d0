"""``ascertain sessions``: conversations, and what is open in them."""

from __future__ import annotations

from typing import Annotated

import typer

from ascertain.cli.exits import Exit, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, AsJson, LedgerUrl, Since, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.report.conversations import Conversation, conversations
from ascertain.report.wishes import recent
from ascertain.report.words import many, span
from ascertain.runtime.clock import clock_of
from ascertain.runtime.durations import seconds

EPILOG = examples("ascertain sessions", "ascertain sessions --open --since 30d --json")


def command(
    only_open: Annotated[
        bool, typer.Option("--open", help="Only those in which something is open.")
    ] = False,
    since: Since = "7d",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    ledger: LedgerUrl = DEFAULT_LEDGER,
    as_json: AsJson = False,
) -> int:
    """List sessions, the one that changed last first. Reads the actions made since --since."""
    with opened(ledger) as found:
        now = clock_of(found)()
        seen = recent(found, now - (seconds(since, "--since") or 0.0))
        url = found.url
    fitting = [one for one in conversations(seen) if one.open or not only_open]
    shown = fitting[:limit]
    if as_json:
        told = {
            "sessions": [one.as_dict() for one in shown],
            "more": len(fitting) > limit,
            "scanned": seen.scanned,
        }
        put(f"{json_text(told)}\n")
        return Exit.FINE
    paper = Paper()
    if shown:
        titles = ("SESSION", "PRINCIPAL", "WISHES", "ACTIONS", "OPEN", "REVIEW", "CHANGED")
        paper.table(titles, [_row(one, now) for one in shown], keep=("SESSION", "CHANGED"))
    tail = "; there are more (--limit)" if len(fitting) > limit else ""
    read = f"read {many(seen.scanned, 'action')} of the last {since} in {url}"
    paper.line((f"{many(len(shown), 'session')}{tail}; {read}", "quiet"))
    paper.write()
    return Exit.FINE


def _row(one: Conversation, now: float) -> list[Cell]:
    return [
        one.id, ", ".join(one.principals) or "-", str(len(one.wishes)), str(one.actions),
        (str(one.open or "-"), "warn" if one.open else ""),
        (str(one.in_review or "-"), "bad" if one.in_review else ""),
        f"{span(now - one.changed_at)} ago",
    ]  # fmt: skip
