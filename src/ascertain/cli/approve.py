"""``ascertain approve ID``: a person's word on a call that waits to be sent."""

from __future__ import annotations

from typing import Annotated

import typer

from ascertain.cli.deciding import decided
from ascertain.cli.exits import UsageProblem
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, ActionId, AsJson, LedgerUrl, examples
from ascertain.model.action import ActionRecord
from ascertain.report.reading import find_one
from ascertain.runtime.approving import approve, decline, release
from ascertain.runtime.clock import clock_of
from ascertain.runtime.hands import Hands

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
    with opened(ledger) as found:
        record = find_one(found, id)

        def write(hands: Hands) -> ActionRecord:
            if digest is not None:
                return approve(hands, record.id, by=by, digest=digest)
            if declined:
                return decline(hands, record.id, by=by, why=evidence)
            return release(hands, record.id, by=by)

        return decided(found, clock_of(found), write, as_json=as_json)
