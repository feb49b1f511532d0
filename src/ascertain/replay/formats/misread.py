"""What is said of a recording that cannot be read."""

from __future__ import annotations

from typing import ClassVar

from ascertain.errors import AscertainError

CALLS = (
    'Each line is one object with "conv" (text), "order" (whole number), "tool" (text), "kind" '
    '(read, write or generic) and "args" (object); "turn", "error" and "result" may be there.'
)


class RecordingError(AscertainError):
    """The recording cannot be read; nothing was done with it."""

    code: ClassVar[str] = "recording_error"
    next_step: ClassVar[str] = CALLS


class Misfit(Exception):
    """A value of a recording is not what its format says. The file and the line come later.

    :param what: what is wrong, as a sentence. :param expected: what would be right.
    """

    def __init__(self, what: str, expected: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.expected = expected
