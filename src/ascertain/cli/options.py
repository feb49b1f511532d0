"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

DEFAULT_LEDGER = "sqlite:///ascertain.db"
ENVIRONMENT = "ASCERTAIN_LEDGER"

LedgerUrl = Annotated[
    str,
    typer.Option(
        "--ledger",
        metavar="URL",
        envvar=ENVIRONMENT,
        help="Where the ledger lies.",
        show_default=True,
    ),
]
MaybeLedgerUrl = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="URL",
        envvar=ENVIRONMENT,
        help=f"Where the ledger lies; by default the app's, else {DEFAULT_LEDGER}.",
    ),
]
WishId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="A chain's id; of a turn SESSION/TURN, or SESSION if it has no turns."
    ),
]
Since = Annotated[str, typer.Option(metavar="TIME", help="How far back: 24h, 30d.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
ActionId = Annotated[
    str, typer.Argument(metavar="ID", help="The action's id, or its beginning if that is unique.")
]
AppName = Annotated[
    str, typer.Argument(metavar="MODULE:APP", help="Where the app is, such as shop.tools:app.")
]
MaybeAppName = Annotated[
    str | None,
    typer.Argument(metavar="MODULE:APP", help="Where the app is, such as shop.tools:app."),
]


def examples(*lines: str) -> str:
    """The examples at the end of a command's help, kept as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
