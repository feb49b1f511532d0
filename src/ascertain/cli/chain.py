"""``ascertain chain ID``: one wish over time."""

from __future__ import annotations

from ascertain.cli.chains import state_cell
from ascertain.cli.exits import Exit, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, AsJson, LedgerUrl, Since, WishId, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.report.left import left_said
from ascertain.report.timeline import MARKS, Bar, Timeline, timeline_of
from ascertain.report.wishes import Wish, find_wish
from ascertain.report.words import ago, clock, day_and_time, span
from ascertain.runtime.clock import clock_of
from ascertain.runtime.durations import seconds

EPILOG = examples("ascertain chain chat-42", "ascertain chain chat-42/turn-7 --json")
WIDTH = 32


def command(
    id: WishId, since: Since = "30d", ledger: LedgerUrl = DEFAULT_LEDGER, as_json: AsJson = False
) -> int:
    """Draw a wish over time: its actions as bars, and every event in order.

    A turn is found by its session's index; a chain among the actions made since --since.
    """
    with opened(ledger) as found:
        now = clock_of(found)()
        wish = find_wish(found, id, now - (seconds(since, "--since") or 0.0))
        line = timeline_of(found, wish, now, width=WIDTH)
    if as_json:
        events = [{"action": story.record.id, **m.as_dict()} for story, m in line.moments]
        put(f"{json_text({'chain': wish.as_dict(), 'events': events})}\n")
        return Exit.FINE
    paper = Paper()
    _head(paper, wish, now)
    _bars(paper, line)
    _events(paper, line)
    paper.write()
    return Exit.FINE


def _head(paper: Paper, wish: Wish, now: float) -> None:
    first = wish.first
    paper.line((wish.name or wish.id, "title"), "  ", state_cell(wish), (f"  {wish.id}", "quiet"))
    whose = f"principal {first.principal or '-'}, session {first.session}"
    began = f"{day_and_time(wish.began_at)}, {ago(wish.began_at, now)}"
    rows: list[tuple[str, Cell]] = [("for", whose), ("since", began)]
    if wish.around is not None and wish.around.chain.backward:
        rows.append(("turned", (f"it goes back: {wish.around.chain.reason}", "warn")))
    said = left_said(wish, now)
    if said:
        rows.append(("left", (said, "warn")))
    paper.pairs(rows)
    paper.blank()


def _bars(paper: Paper, line: Timeline) -> None:
    length = span(line.end_at - line.begin_at)
    scale = f"{clock(line.begin_at)[:-4]}{f'+ {length}':>{WIDTH - 8}}"
    rows: list[list[Cell]] = [["", (scale, "quiet"), ""]]
    for bar in line.bars:
        record = bar.story.record
        state = str(record.state)
        ref = f" {record.provider_ref}" if record.provider_ref else ""
        drawn = "".join(MARKS.get(one or "", " ") for one in bar.slices)
        rows.append([_name(bar), (drawn, state), (f"{state}{ref}", state)])
    paper.grid(rows)
    legend = "  ".join(f"{mark} {state}" for state, mark in MARKS.items())
    paper.line((legend, "quiet"), indent=2)


def _name(bar: Bar) -> str:
    name = bar.story.record.tool
    return name if len(name) <= 18 else f"{name[:17]}…"


def _events(paper: Paper, line: Timeline) -> None:
    paper.blank()
    if not line.moments:
        paper.line(("Their events have been removed; this is what was kept.", "quiet"))
        return
    rows: list[list[Cell]] = []
    for story, moment in line.moments:
        event = moment.event
        arrow: Cell = (moment.arrow, event.end if moment.moves else "quiet")
        rows.append([clock(event.at), story.record.tool, arrow])
        rows.append(["", "", (f"{moment.who}: {moment.sentence}", "quiet")])
    paper.grid(rows)
