"""What is said of a call about its place in a chain."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A named step.

    :param best_effort: None: as the tool's contract says (``on_unknown="leave"``).
    :param after: the steps it depends on; None: in an ordered chain all earlier essential ones.
    """

    step: str
    best_effort: bool | None = None
    after: tuple[str, ...] | None = None
