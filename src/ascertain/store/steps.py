"""What the file of a migration says: its steps, and whose writing it still bears.

``-- step`` begins a step, which is one transaction; ``-- step alone`` one whose single statement
cannot be in a transaction, and may be run again (``IF NOT EXISTS``). A file without them is one
step. ``-- oldest writer: 4`` says that whoever knows migration 4 may write while this one is done,
and after it. A migration that does not say so bears only those who know itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_STEP = re.compile(r"^-- step( alone)?$", re.MULTILINE)
_OLDEST = re.compile(r"^-- oldest writer: (\d+)$", re.MULTILINE)
_SAYS_SOMETHING = re.compile(r"^\s*[^\s-]", re.MULTILINE)


class Step(NamedTuple):
    """A part of a migration that is done whole or not at all.

    :param alone: its statement cannot be in a transaction; it may be run again.
    """

    text: str
    alone: bool


def steps_of(script: str) -> list[Step]:
    """The steps of a migration, in order."""
    first, *rest = _STEP.split(script)
    found = [Step(first, alone=False)]
    found += [
        Step(text, mark is not None) for mark, text in zip(rest[::2], rest[1::2], strict=True)
    ]
    return [step for step in found if _SAYS_SOMETHING.search(step.text)]


def in_one(script: str) -> str:
    """The same for one transaction, on tables that nobody uses yet."""
    return script.replace("INDEX CONCURRENTLY", "INDEX")


def oldest_writer_in(scripts: Iterable[tuple[int, str]]) -> int:
    """The migration that a writer must know at least after these (number, script); 0: none."""
    return max((_oldest(number, script) for number, script in scripts), default=0)


def _oldest(number: int, script: str) -> int:
    said = _OLDEST.search(script)
    return int(said[1]) if said is not None else number
