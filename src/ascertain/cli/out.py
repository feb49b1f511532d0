"""The way out: everything that a command prints goes through here."""

from __future__ import annotations

import os
import sys


class ReaderGone(Exception):
    """Nobody reads the output any more."""


def put(text: str) -> None:
    """Write to stdout.

    :raises ReaderGone: nobody reads it any more.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        raise ReaderGone from None
