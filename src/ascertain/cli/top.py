"""``ascertain top``: what waits, what becomes of calls, and who works on it, at this moment."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import Annotated

import typer

from ascertain.cli.exits import Exit, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.load import load_app
from ascertain.cli.options import DEFAULT_LEDGER, ENVIRONMENT, AsJson, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.model.rate import Speaker
from ascertain.report.breakers import sentence_of
from ascertain.report.top import WHAT, Top, look, used
from ascertain.report.words import clock, many, span
from ascertain.report.workers import Health, Seen
from ascertain.runtime.clock import clock_of

EPILOG = examples(
    "ascertain top",
    "ascertain top sqlite:////var/lib/shop/ledger.db",
    "ascertain top shop.tools:app --once",
    "ascertain top shop.tools:app --json",
)
EVERY_S = 1.0
_MANY_TOOLS = 40
_COUNTED = ("due", "leased", "later", "review")
_SHORT = {"confirmed": "CONF", "rejected": "REJ", "unknown": "UNKN", "recovered": "RECOV"}
_HEALTH = {
    Health.ALIVE: "ok", Health.SILENT: "warn", Health.DEAD: "bad", Health.ENDED: "quiet",
}  # fmt: skip
_OPEN_SCREEN, _CLOSE_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _END_LINE, _END_PAGE = "\x1b[H", "\x1b[K\n", "\x1b[J"


def command(
    where: Annotated[
        str,
        typer.Argument(
            metavar="URL_OR_APP",
            envvar=ENVIRONMENT,
            help="The ledger's URL, or the app as MODULE:APP.",
        ),
    ] = DEFAULT_LEDGER,
    once: Annotated[bool, typer.Option("--once", help="Print one page, then end.")] = False,
    as_json: AsJson = False,
) -> int:
    """Watch a ledger: what waits, the oldest unknown, the last minute, rates, breakers, workers.

    On a terminal it is drawn anew each second, until Ctrl-C. Elsewhere, with --once or with --json
    one page is printed. It reads what is open and never what is closed.
    """
    url = where if "://" in where else load_app(where).url
    with opened(url) as ledger:
        now = clock_of(ledger)
        if as_json:
            put(f"{json_text(look(ledger, now()).as_dict())}\n")
        elif once or not sys.stdout.isatty():
            put(_page(look(ledger, now())))
        else:
            _watch(lambda: _page(look(ledger, now())))
    return Exit.FINE


def _watch(page: Callable[[], str]) -> None:
    """Draw it each second; the last page stays when it ends."""
    drawn = page()
    put(_OPEN_SCREEN)
    try:
        while True:
            put(_screen(drawn))
            time.sleep(EVERY_S)
            drawn = page()
    except KeyboardInterrupt:
        return
    finally:
        put(f"{_CLOSE_SCREEN}{drawn}")


def _screen(page: str) -> str:
    """A page over the one before, as much of it as there is room for."""
    lines = page.splitlines()
    room = max(2, shutil.get_terminal_size().lines - 1)
    if len(lines) > room:
        lines = [*lines[: room - 1], f"... {many(len(lines) - room + 1, 'more line')}"]
    return f"{_HOME}{''.join(f'{line}{_END_LINE}' for line in lines)}{_END_PAGE}"


def _page(top: Top) -> str:
    paper = Paper()
    paper.line(("ascertain top", "title"), f"  {clock(top.at)[:8]}  {top.url}")
    paper.blank()
    paper.pairs([*_queue(top), ("unknown", _oldest(top))], indent=0)
    _tools(paper, top)
    _rates(paper, top)
    for one in top.breakers:
        paper.line(("breaker ", "quiet"), (f"{one.name} {one.circuit}: ", "bad"),
                   sentence_of(one, top.at))  # fmt: skip
    _workers(paper, top)
    return paper.text()


def _queue(top: Top) -> list[tuple[str, Cell]]:
    def n(what: str) -> str:
        return _number(top.total(what), bound=top.is_bound(what))

    due = f"{n('due')} due now"
    if top.due_at is not None:
        due += f", the oldest for {span(top.at - top.due_at)}"
    later = [f"{n('leased')} leased", f"{n('later')} due later"]
    if top.total("counts"):
        later.append(f"{n('counts')} to be counted")
    waiting = f"{n('review')} in review, {n('waiting')} not due by themselves"
    return [("queue", f"{due}; {', '.join(later)}"), ("", waiting)]


def _number(n: int, *, bound: bool) -> str:
    return f"{n}+" if bound else str(n)


def _oldest(top: Top) -> Cell:
    oldest = top.oldest
    if oldest is None:
        return ("nothing is unknown", "ok")
    review = f", in review ({oldest.review})" if oldest.review is not None else ""
    age = span(top.at - oldest.sent_at)
    return (f"the oldest for {age}: {oldest.tool} {oldest.action_id}{review}", "unknown")


def _tools(paper: Paper, top: Top) -> None:
    paper.blank()
    if not top.tools:
        paper.line(("Nothing is open, and nothing has happened within a minute.", "quiet"))
        return
    titles = ("TOOL", *(what.upper() for what in _COUNTED), *(_SHORT[what] for what in WHAT))
    busiest = sorted(
        top.tools, key=lambda row: (-row.queue.due, -sum(row.last.values()), row.queue.tool)
    )
    rows: list[list[Cell]] = [
        [
            row.queue.tool,
            *(
                _number(getattr(row.queue, what), bound=what in row.queue.at_least)
                for what in _COUNTED
            ),
            *(str(row.last.get(what, 0)) for what in WHAT),
        ]
        for row in busiest[:_MANY_TOOLS]
    ]
    paper.table(titles, rows, keep=titles[1:])
    more = len(busiest) - _MANY_TOOLS
    beside = f"; {many(more, 'more tool')}" if more > 0 else ""
    paper.line((f"{', '.join(_SHORT.values())}: within the last minute{beside}", "quiet"))


def _rates(paper: Paper, top: Top) -> None:
    for one in top.rates:
        by_callers, by_workers = used(one, Speaker.CALLER), used(one, Speaker.WORKER)
        taken = by_callers + by_workers
        words = f"{taken} of {one.rate.limit} in {span(one.rate.window_s)} taken"
        style = "warn" if taken >= one.rate.limit else ""
        paper.line(
            ("rate ", "quiet"), f"{one.rate.name}: ", (words, style),
            f" ({by_workers} by workers, {by_callers} by callers)",
        )  # fmt: skip


def _workers(paper: Paper, top: Top) -> None:
    paper.blank()
    if not top.workers:
        paper.line(("No worker was seen within an hour. ", "warn"),
                   ("next: ascertain worker MODULE:APP", "quiet"))  # fmt: skip
    else:
        titles = ("WORKER", "PID", "HEALTH", "SEEN", "LEASES")
        rows = [_worker(one, top.at) for one in top.workers]
        paper.table(titles, rows, keep=titles[1:])
    if top.others:
        paper.line((f"{many(top.others, 'lease')} of callers in the middle of a call", "quiet"))


def _worker(one: Seen, now: float) -> list[Cell]:
    seen = f"{span(max(0.0, now - one.beat_at), units=1)} ago"
    return [one.host, one.pid, (str(one.health), _HEALTH[one.health]), seen, str(one.leases)]
