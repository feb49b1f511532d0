"""``ascertain why ID``: the rule that led here, in one sentence."""

from __future__ import annotations

from ascertain.cli.exits import Exit, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, ActionId, AsJson, LedgerUrl, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Paper
from ascertain.report.reading import find_one
from ascertain.report.story import story_of
from ascertain.report.why import why
from ascertain.runtime.clock import clock_of

EPILOG = examples("ascertain why 019ad2f0c1")


def command(id: ActionId, ledger: LedgerUrl = DEFAULT_LEDGER, as_json: AsJson = False) -> int:
    """Say in one sentence which rule led to an action's state, and what comes next."""
    with opened(ledger) as found:
        said = why(story_of(found, find_one(found, id), clock_of(found)()))
    if as_json:
        put(f"{json_text(said.as_dict())}\n")
        return Exit.FINE
    paper = Paper()
    paper.line(said.sentence)
    paper.write()
    return Exit.FINE
