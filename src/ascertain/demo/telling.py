"""What an agent's process writes to its output: one line of JSON for each thing that was said."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the model and the person heard at one moment.

    :param story: to which it belongs. :param order: the order that it is about.
    :param asked: what the person had said, or what had happened.
    :param facts: all that the model received; ``say`` in it is for the person.
    """

    story: str
    order: str
    asked: str
    facts: dict[str, Any]

    @property
    def say(self) -> dict[str, str]:
        """What the person sees, by language."""
        say: dict[str, str] = self.facts["say"]
        return say


_lock = threading.Lock()


def tell(told: Told) -> None:
    """Write it down, at once."""
    line = json.dumps(asdict(told), ensure_ascii=False)
    with _lock:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def read_told(line: str) -> Told:
    """Read a line back."""
    return Told(**json.loads(line))
