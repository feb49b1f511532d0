"""``ascertain epochs``: where the history of a ledger may have broken off."""

from __future__ import annotations

from typing import Annotated

import typer

from ascertain.cli.exits import Exit, UsageProblem, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, AsJson, LedgerUrl, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Paper
from ascertain.errors import NotAllowed
from ascertain.model.epoch import Epoch
from ascertain.report.doctor_history import sentence_of
from ascertain.runtime.clock import LedgerClock
from ascertain.store.ledger import Ledger

EPILOG = examples(
    "ascertain epochs --ledger postgresql://db.example/shop",
    "ascertain epochs --nothing-lost --by li",
)


def command(
    nothing_lost: Annotated[
        bool,
        typer.Option("--nothing-lost", help="Vouch that nothing is missing in the newest epoch."),
    ] = False,
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who vouches.")] = "",
    ledger: LedgerUrl = DEFAULT_LEDGER,
    as_json: AsJson = False,
) -> int:
    """List the epochs of a ledger, or vouch for the newest one.

    An epoch begins where a ledger goes on with another history than the one that was known: after
    a fail-over, a restored backup. The exit code is 1 while something may be missing in the newest.
    """
    if nothing_lost and not by.strip():
        raise UsageProblem("--nothing-lost needs --by NAME.", next_step="ascertain epochs --help")
    with opened(ledger) as found:
        found.secret()  # a break that nobody has noticed is noticed now
        if nothing_lost:
            _vouch(found, by)
        epochs = found.epochs(100)
    if as_json:
        put(f"{json_text({'epochs': [epoch._asdict() for epoch in epochs]})}\n")
    else:
        _print(epochs)
    return Exit.FOUND if epochs and epochs[0].may_lack else Exit.FINE


def _vouch(ledger: Ledger, by: str) -> None:
    newest = ledger.epochs(1)
    if newest and newest[0].missing:
        raise NotAllowed(
            f"A commit of action {newest[0].missing} was acknowledged, and is missing: something "
            "is lost.",
            next_step="Let the calls of the former history be settled: ascertain review.",
        )
    if not newest or not ledger.settle_epoch(newest[0].id, by, LedgerClock()()):
        raise NotAllowed("There is no epoch in which something may be missing.")


def _print(epochs: list[Epoch]) -> None:
    paper = Paper()
    if not epochs:
        paper.line("This ledger has no epochs: the history of a file does not break off.")
    for epoch in epochs:
        paper.line(sentence_of(epoch))
    paper.write()
