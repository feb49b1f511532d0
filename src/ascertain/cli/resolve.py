"""``ascertain resolve ID``: a person's verdict."""

from __future__ import annotations

from typing import Annotated

import typer

from ascertain.cli.exits import Exit, UsageProblem, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, ActionId, AsJson, LedgerUrl, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Paper
from ascertain.report.reading import find_one
from ascertain.report.story import story_of
from ascertain.report.why import why
from ascertain.runtime.clock import LedgerClock
from ascertain.runtime.hands import Hands
from ascertain.runtime.registry import Registry
from ascertain.runtime.verdict import resolve

EPILOG = examples(
    "ascertain resolve 019ad2f0c1 --confirmed T900",
    "ascertain resolve 019ad2f0c1 --not-done --evidence 'not in the CRM'",
)


def command(
    id: ActionId,
    confirmed: Annotated[
        str | None,
        typer.Option(metavar="REF", help="It happened: the provider's reference."),
    ] = None,
    not_done: Annotated[
        bool, typer.Option("--not-done", help="It did not happen, and will not.")
    ] = False,
    evidence: Annotated[
        str, typer.Option(metavar="TEXT", help="How you know; --not-done needs it.")
    ] = "",
    ledger: LedgerUrl = DEFAULT_LEDGER,
    as_json: AsJson = False,
) -> int:
    """Decide what nobody could find out: it happened, or it did not.

    What is settled is never rewritten, and "not done" is refused while a process that sent it may
    still be alive, or what it sent may still be on its way. What was refused for a while is ended
    by "not done", and may be wished anew.
    """
    if (confirmed is None) != not_done:
        raise UsageProblem(
            "Say exactly one of --confirmed REF and --not-done --evidence TEXT.",
            next_step="ascertain resolve --help",
        )
    clock = LedgerClock()
    with opened(ledger) as found:
        record = find_one(found, id)
        hands = Hands(found, Registry(), clock=clock)
        try:
            after = resolve(
                hands, record.id, confirmed=confirmed, not_done=not_done, evidence=evidence
            )
        finally:
            hands.committer.close()
        story = story_of(found, after, clock())
    said = why(story)
    if as_json:
        put(f"{json_text({**story.as_dict(), 'sentence': said.sentence})}\n")
        return Exit.FINE
    paper = Paper()
    paper.line((str(after.state), str(after.state)), f" {after.provider_ref or ''}")
    paper.line(said.sentence)
    paper.write()
    return Exit.FINE
