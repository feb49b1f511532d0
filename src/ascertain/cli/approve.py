"""``ascertain approve ID``: a person's word on a call that waits to be sent."""

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
from ascertain.runtime.approving import approve, decline, release
from ascertain.runtime.clock import LedgerClock
from ascertain.runtime.hands import Hands
from ascertain.runtime.registry import Registry

EPILOG = examples(
    "ascertain show 019ad2f0c1",
    "ascertain approve 019ad2f0c1 --by li --digest 54fcbfd36d3eab77d3ebc1ffd5e3",
    "ascertain approve 019ad2f0c1 --by li --decline --evidence 'too often'",
    "ascertain approve 019ad2f0c1 --by li --release",
)


def command(
    id: ActionId,
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who decides.")],
    digest: Annotated[
        str | None,
        typer.Option(metavar="DIGEST", help="Approve exactly this call, as `show` names it."),
    ] = None,
    declined: Annotated[
        bool, typer.Option("--decline", help="It is not to be sent; it is withdrawn.")
    ] = False,
    released: Annotated[
        bool,
        typer.Option("--release", help="Send what came while its breaker was open, now."),
    ] = False,
    evidence: Annotated[str, typer.Option(metavar="TEXT", help="Why it is declined.")] = "",
    ledger: LedgerUrl = DEFAULT_LEDGER,
    as_json: AsJson = False,
) -> int:
    """Approve, decline or release a call that waits, and of which nothing was sent.

    An approval holds for exactly the call with this digest, until it expires. The worker sends it,
    after permission is checked again.
    """
    if (digest is not None) + declined + released != 1:
        raise UsageProblem(
            "Say exactly one of --digest DIGEST, --decline and --release.",
            next_step="ascertain approve --help",
        )
    clock = LedgerClock()
    with opened(ledger) as found:
        record = find_one(found, id)
        hands = Hands(found, Registry(), clock=clock)
        try:
            if digest is not None:
                after = approve(hands, record.id, by=by, digest=digest)
            elif declined:
                after = decline(hands, record.id, by=by, why=evidence)
            else:
                after = release(hands, record.id, by=by)
        finally:
            hands.committer.close()
        story = story_of(found, after, clock())
    said = why(story)
    if as_json:
        put(f"{json_text({**story.as_dict(), 'sentence': said.sentence})}\n")
        return Exit.FINE
    paper = Paper()
    paper.line((str(after.state), str(after.state)), f" {after.tool}")
    paper.line(said.sentence)
    paper.write()
    return Exit.FINE
