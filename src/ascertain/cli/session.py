"""``ascertain session ID``: one conversation."""

from __future__ import annotations

from typing import Annotated

import typer

from ascertain.cli.chains import state_cell
from ascertain.cli.exits import Exit, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, AsJson, LedgerUrl, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.report.wishes import Member, Wish, of_session
from ascertain.report.words import clock, many
from ascertain.rules import texts

EPILOG = examples("ascertain session chat-42", "ascertain session chat-42 --json")


def command(
    id: Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")],
    ledger: LedgerUrl = DEFAULT_LEDGER,
    as_json: AsJson = False,
) -> int:
    """Show a session: its wishes in order, their actions, and what the person is told of each."""
    with opened(ledger) as found:
        wishes = of_session(found, id)
    if as_json:
        put(f"{json_text({'session': id, 'wishes': [wish.as_dict() for wish in wishes]})}\n")
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
    paper.write()
    return Exit.FINE


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
