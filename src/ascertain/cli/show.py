"""``ascertain show ID``: the timeline of one action."""

from __future__ import annotations

import json
from typing import Any

from ascertain.cli.exits import Exit, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, ActionId, AsJson, LedgerUrl, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.model.action import ActionRecord
from ascertain.report.promises import promises_of
from ascertain.report.reading import find_one, is_observed
from ascertain.report.reasons import sentence_of
from ascertain.report.story import Moment, Story, holder_is_gone, story_of
from ascertain.report.words import ago, clock, day_and_time, many, sender_words
from ascertain.runtime.clock import clock_of

_LONGEST_JSON = 600
EPILOG = examples("ascertain show 019ad2f0c1", "ascertain show 019ad2f0c1 --json")


def command(id: ActionId, ledger: LedgerUrl = DEFAULT_LEDGER, as_json: AsJson = False) -> int:
    """Show what is known of one action, how that came about, and what comes next.

    Arguments that the tool's contract redacts are masked, in what came back too.
    """
    with opened(ledger) as found:
        story = story_of(found, find_one(found, id), clock_of(found)())
    if as_json:
        put(f"{json_text(story.as_dict())}\n")
        return Exit.FINE
    paper = Paper()
    _head(paper, story)
    timeline(paper, story)
    paper.write()
    return Exit.FINE


def _head(paper: Paper, story: Story) -> None:
    record = story.record
    state = str(record.state)
    paper.line(
        (record.tool, "title"),
        "  ",
        (_state(record), state),
        "  ",
        (f"action {record.id}", "quiet"),
    )
    if record.disputed:
        paper.line(("Disputed: evidence contradicts what was settled.", "bad"), indent=2)
    paper.blank()
    paper.pairs(list(_facts(story)))


def _state(record: ActionRecord) -> str:
    words = str(record.state)
    if record.provider_ref:
        words += f" {record.provider_ref}"
    if record.state == "rejected":
        words += f" ({record.kind or record.reason}, {'final' if record.final else 'for now'})"
    return f"{words}, observed" if is_observed(record) else words


def _facts(story: Story) -> list[tuple[str, Cell]]:
    record, now = story.record, story.now
    contract = story.contract
    promises = "not in this ledger" if contract is None else "; ".join(promises_of(contract))
    whose = [f"principal {record.principal}", f"session {record.session}"]
    whose += [f"turn {record.turn}"] if record.turn else []
    whose += [f"tenant {record.tenant}"] if record.tenant != "default" else []
    rows: list[tuple[str, Cell]] = [
        ("key", record.key),
        ("for", ", ".join(whose)),
        ("since", f"{day_and_time(record.created_at)}, {ago(record.created_at, now)}"),
        ("contract", promises),
        ("attempts", _attempts(record)),
    ]
    if story.arguments is not None and story.asked is None:  # what is to be approved is not cut
        rows.append(("arguments", _json(story.arguments)))
    if story.result is not None:
        rows.append(("result", _json(story.result)))
    if record.replaces:
        rows.append(("replaces", f"action {record.replaces}"))
    if record.related_ref:
        rows.append(("related", f"existing record {record.related_ref}"))
    if record.handle:
        rows.append(("handle", record.handle))
    if record.lease_owner and record.lease_until is not None:
        rows.append(("lease", _lease(record, record.lease_owner, record.lease_until, now)))
    if record.suspect:
        alive = ", ".join(sender_words(name) for name in record.suspect.split(",") if name)
        rows.append(("may live", f"{alive}: it could still send"))
    if record.review is not None:
        rows.append(("review", (sentence_of(record.review), "warn")))
    rows += _asked(story)
    rows.append(("next", story.upcoming.in_words(now)))
    rows += [(f"told {language}", said) for language, said in story.told.items()]
    return rows


def _asked(story: Story) -> list[tuple[str, Cell]]:
    """What is to be approved, exactly, and by which digest."""
    asked = story.asked
    if asked is None:
        return []
    values = (
        f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in asked.arguments.items()
    )
    rows: list[tuple[str, Cell]] = [("to approve", "; ".join(values))]
    whom = " by another person" if asked.by_other else ""
    rows.append(("digest", (asked.digest, "title")))
    rows.append(("until", f"{day_and_time(asked.until)}{whom}"))
    return rows


def _json(value: Any) -> str:
    """One line of JSON; a long one is cut, ``--json`` has all of it."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_JSON else f"{text[: _LONGEST_JSON - 1]}…"


def _lease(record: ActionRecord, owner: str, until: float, now: float) -> str:
    whom = sender_words(owner)
    if holder_is_gone(record):
        return f"of {whom}, which is gone"
    return f"of {whom}, {'ends' if until > now else 'ended'} {ago(until, now)}"


def _attempts(record: ActionRecord) -> str:
    said = [many(record.attempt, "attempt"), many(record.sends, "send")]
    said.append(f"{record.doubt} in doubt" if record.doubt else "no doubt")
    if record.asked:
        unanswered = f" ({record.unanswered} without an answer)" if record.unanswered else ""
        said.append(f"{many(record.asked, 'look-up')}{unanswered}")
    return ", ".join(said)


def timeline(paper: Paper, story: Story) -> None:
    """What happened to an action, event by event."""
    paper.blank()
    if not story.moments:
        removed = story.removed[0].upper() + story.removed[1:]
        paper.line((f"{removed}; this is what was kept of it.", "quiet"))
        return
    paper.line(("Timeline", "title"))
    rows: list[list[Cell]] = []
    day = ""
    for moment in story.moments:
        today = day_and_time(moment.event.at)[:10]
        if day and today != day:
            rows.append(["", today, "", ""])
        day = today
        rows += _moment(moment)
    paper.grid(rows)


def _moment(moment: Moment) -> list[list[Cell]]:
    event = moment.event
    attempt = f"  attempt {event.attempt}" if event.attempt else ""
    arrow: Cell = (f"{moment.arrow}{attempt}", event.end if moment.moves else "quiet")
    rows: list[list[Cell]] = [
        [f"{event.n}", clock(event.at), moment.who, arrow],
        ["", "", "", f"{moment.sentence} [{event.reason}]"],
    ]
    if moment.evidence:
        rows.append(["", "", "", ("; ".join(moment.evidence), "quiet")])
    return rows
