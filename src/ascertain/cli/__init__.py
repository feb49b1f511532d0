"""The command line: ``ascertain COMMAND``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

NEEDS_EXTRA = """\
ascertain: the command line needs two small libraries that are not installed ({missing}).
  next: pip install "ascertain[cli]"
  code: cli_not_installed
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code (see ``docs/reference/cli.md``).

    :param argv: without the program's name; by default what it was started with.
    """
    try:
        import rich
        import typer
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.stderr.write(NEEDS_EXTRA.format(missing=error.name))
        return 2
    del rich, typer
    from ascertain.cli.run import run

    return run(sys.argv[1:] if argv is None else list(argv))
