"""``ascertain demo``: see it work, and see processes die."""

from __future__ import annotations

from typing import Annotated

import typer

from ascertain.cli.options import AsJson, examples

EPILOG = examples("ascertain demo", "ascertain demo --sabotage new-key")


def command(
    sabotage: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Break one rule, and see it noticed: new-key, blind-resend, say-failed, "
            "forget-doubt, drop-fence, forget-direction, stale-context.",
        ),
    ] = None,
    no_color: Annotated[bool, typer.Option("--no-color", help="Without colour.")] = False,
    as_json: AsJson = False,
) -> int:
    """Play the stories: an agent, its providers, lost replies and killed processes.

    For each story: what the model was told, what the person sees, the ledger, and what the
    provider really did. The exit code is 1 if any of them disagree.
    """
    from ascertain.demo import run_demo

    return run_demo(sabotage, as_json, False if no_color else None)
