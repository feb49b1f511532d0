"""``ascertain migrate``: bring a ledger to this release's schema."""

from __future__ import annotations

from typing import Annotated

import typer

from ascertain.cli.exits import Exit, json_text
from ascertain.cli.options import DEFAULT_LEDGER, ENVIRONMENT, AsJson, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Paper
from ascertain.report.words import many
from ascertain.runtime.durations import seconds
from ascertain.store.migrating import Plan, apply, plan, verify
from ascertain.store.open import shown_url

EPILOG = examples(
    "ascertain migrate postgresql://keeper@db.example/shop",
    "ascertain migrate postgresql://keeper@db.example/shop --apply",
)


def command(
    url: Annotated[
        str, typer.Argument(metavar="URL", envvar=ENVIRONMENT, help="Where the ledger lies.")
    ] = DEFAULT_LEDGER,
    do: Annotated[bool, typer.Option("--apply", help="Do it; others may go on working.")] = False,
    wait: Annotated[
        str, typer.Option(metavar="TIME", help="How long each step may try to get the tables.")
    ] = "60s",
    as_json: AsJson = False,
) -> int:
    """Show what has to be done to a ledger's tables; do it with --apply; compare with a new one.

    Exit code 1: something has to be done, or the tables are not as this release makes them. A file
    is also migrated by whoever opens it; a ledger in PostgreSQL only by this command: in steps that
    hold up no call, and go on where a killed one stopped.
    """
    found = apply(url, wait_s=seconds(wait, "--wait") or 0.0) if do else plan(url)
    left = plan(url) if do else found
    differences = verify(url) if left.schema == left.newest else []
    if as_json:
        told = {
            "ledger": shown_url(url),
            "before": found.schema,
            "schema": left.schema,
            "newest": left.newest,
            "done": [_step(step) for step in found.steps] if do else [],
            "left": [_step(step) for step in left.steps],
            "differences": differences,
        }
        put(f"{json_text(told)}\n")
    else:
        _print(url, found, left, differences, done=do)
    return Exit.FOUND if left.steps or differences else Exit.FINE


def _step(step: tuple[int, str]) -> dict[str, int | str]:
    return {"number": step[0], "title": step[1]}


def _print(url: str, found: Plan, left: Plan, differences: list[str], *, done: bool) -> None:
    paper = Paper()
    for number, title in found.steps:
        paper.line("done  " if done else "to do ", (f"{number:04d}", "title"), f" {title}")
    for sentence in differences:
        paper.line(("differs ", "bad"), sentence)
    if left.steps:
        rest = f"{many(len(left.steps), 'migration')} to do; --apply does it"
    elif differences:
        rest = "the tables are not as this release makes them: was something changed by hand?"
    else:
        rest = "nothing is left to do, and the tables are those of a new ledger"
    paper.line(f"{shown_url(url)} has schema {left.schema} of {left.newest}: {rest}.")
    paper.write()
