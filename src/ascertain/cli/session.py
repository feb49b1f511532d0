"""``ascertain session ID``: one conversation."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ascertain.cli.chains import state_cell
from ascertain.cli.exits import Exit, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, AsJson, LedgerUrl, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.report.remembered import Context, Key, context_of
from ascertain.report.wishes import Member, Wish, of_session
from ascertain.report.words import ago, clock, many, span
from ascertain.rules import texts
from ascertain.rules.texts import clean
from ascertain.runtime.clock import clock_of

EPILOG = examples(
    "ascertain session chat-42",
    "ascertain session chat-42 --values",
    "ascertain session chat-42 --json",
)


def command(
    id: Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")],
    values: Annotated[
        bool,
        typer.Option("--values", help="Show what is remembered, masked as the contracts say."),
    ] = False,
    ledger: LedgerUrl = DEFAULT_LEDGER,
    as_json: AsJson = False,
) -> int:
    """Show a session: its wishes, what the person is told of each, and what it remembers."""
    with opened(ledger) as found:
        now = clock_of(found)()
        wishes = of_session(found, id)
        tenants = dict.fromkeys(wish.first.tenant for wish in wishes)
        read = (context_of(found, tenant, id, now) for tenant in tenants)
        contexts = [context for context in read if context is not None]
    if as_json:
        told = {
            "session": id,
            "wishes": [wish.as_dict() for wish in wishes],
            "contexts": [context.as_dict(values=values) for context in contexts],
        }
        put(f"{json_text(told)}\n")
        return Exit.FINE
    paper = Paper()
    actions = sum(len(wish.members) for wish in wishes)
    owners = ", ".join(sorted({wish.first.principal for wish in wishes if wish.first.principal}))
    paper.line(
        (id, "title"),
        (f"  principal {owners or '-'}, {many(len(wishes), 'wish', 'wishes')}, ", "quiet"),
        (many(actions, "action"), "quiet"),
    )
    for wish in wishes:
        _wish(paper, wish)
    for context in contexts:
        _context(paper, context, values=values)
    paper.write()
    return Exit.FINE


def _context(paper: Paper, context: Context, *, values: bool) -> None:
    ends = f"{'ended' if context.ended else 'ends'} {ago(context.expires_at, context.now)}"
    paper.blank()
    paper.line(
        ("context", "title"),
        f"  {context.state}, version {context.version}",
        (f", {ends}", "quiet"),
    )
    paper.grid([row for key in context.keys for row in _key_rows(key, values=values)])


def _key_rows(key: Key, *, values: bool) -> list[list[Cell]]:
    known = key.known
    age = "" if key.age_s is None else f", {span(key.age_s)} old"
    version = f"version {known.version}{age}" if known.version else "-"
    state = f"{known.state} ({known.why})" if known.why else str(known.state)
    by = f"by {key.writer}" if key.writer else ""
    rows: list[list[Cell]] = [[key.name, state, f"{version} {by}".strip()]]
    if known.writer:
        rows.append(["", "", (f"action {known.writer}", "quiet")])
    if values and key.has_value:
        rows.append(["", "", clean(json.dumps(known.value, ensure_ascii=False), 200)])
    return rows


def _wish(paper: Paper, wish: Wish) -> None:
    kind = "chain" if wish.is_chain else "turn"
    paper.blank()
    paper.line((f"{kind} {wish.id}", "title"), "  ", state_cell(wish))
    paper.grid([row for member in wish.members for row in _rows(member)])


def _rows(member: Member) -> list[list[Cell]]:
    record = member.record
    state = str(record.state)
    ref = record.provider_ref or record.related_ref or ""
    said = "" if member.contract is None else texts.say(record, member.contract)
    words = f"{state} {ref}".strip()
    return [
        [clock(record.created_at), record.tool, (words, state)],
        ["", "", said],
        ["", "", (f"action {record.id}", "quiet")],
    ]
