"""``ascertain trace CHAIN``: five questions to a chain."""

from __future__ import annotations

from ascertain.cli.chains import state_cell
from ascertain.cli.exits import Exit, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, AsJson, LedgerUrl, Since, WishId, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.report.trace import QUESTIONS, Traced, trace
from ascertain.report.wishes import find_wish
from ascertain.runtime.clock import clock_of
from ascertain.runtime.durations import seconds

EPILOG = examples("ascertain trace chat-42", "ascertain trace chat-42/turn-7 --json")


def command(
    id: WishId, since: Since = "30d", ledger: LedgerUrl = DEFAULT_LEDGER, as_json: AsJson = False
) -> int:
    """Follow a chain: input, context, arguments, what was overwritten, when it was written back.

    Answers five questions about every call of it, from the ledger alone. Exit code 1: an answer
    says that something is wrong.
    """
    with opened(ledger) as found:
        now = clock_of(found)()
        wish = find_wish(found, id, now - (seconds(since, "--since") or 0.0))
        traced = trace(found, wish, now)
    wrong = any(answer.fine is False for one in traced for answer in one.answers)
    if as_json:
        calls = [one.as_dict() for one in traced]
        told = {"chain": wish.as_dict(), "questions": QUESTIONS, "calls": calls}
        put(f"{json_text(told)}\n")
        return Exit.FOUND if wrong else Exit.FINE
    paper = Paper()
    paper.line((wish.name or wish.id, "title"), "  ", state_cell(wish), (f"  {wish.id}", "quiet"))
    paper.pairs([(about, (question, "quiet")) for about, question in QUESTIONS.items()])
    for place, one in enumerate(traced, start=1):
        _call(paper, place, one)
    paper.write()
    return Exit.FOUND if wrong else Exit.FINE


def _call(paper: Paper, place: int, traced: Traced) -> None:
    record = traced.story.record
    state = str(record.state)
    paper.blank()
    paper.line(
        (f"{place}. {record.tool}", "title"), "  ", (state, state), (f"  {record.id}", "quiet")
    )
    paper.grid(
        [
            [(answer.about, "quiet"), _cell(answer.fine, answer.sentence)]
            for answer in traced.answers
        ]
    )


def _cell(fine: bool | None, sentence: str) -> Cell:
    return (sentence, "") if fine else (sentence, "quiet" if fine is None else "bad")
