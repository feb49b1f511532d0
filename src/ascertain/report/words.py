"""Times, lengths of time, people and programs, in plain words."""

from __future__ import annotations

from datetime import UTC, datetime

from ascertain.model.tables import Event
from ascertain.rules.lost import is_nameless

WHO: dict[str, str] = {
    "call": "call",
    "worker": "worker",
    "lookup": "look-up",
    "webhook": "webhook",
    "person": "person",
}

MOVES: dict[Event, str] = {
    Event.PREPARE: "the intent is stored",
    Event.SEND: "it is being sent",
    Event.WITHDRAW: "withdrawn, nothing was sent",
    Event.CONFIRM: "confirmed",
    Event.REJECT: "rejected",
    Event.UNSEND: "nothing of the attempt left",
    Event.LOSE: "the answer is lost",
    Event.COMPENSATE: "reversed",
    Event.NOTE: "evidence, nothing moves",
}

_UNITS = (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))


def clock(at: float) -> str:
    """The time of day, to the millisecond, as the wall clock here shows it."""
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M:%S.") + f"{at % 1:.3f}"[2:5]


def day_and_time(at: float) -> str:
    """Day and time, to the second, as the wall clock here shows it."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def iso(at: float | None) -> str | None:
    """For machines: UTC, to the millisecond."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def span(seconds: float, *, units: int = 2) -> str:
    """A length of time in its largest units: ``450 ms``, ``2 min 5 s``, ``3 d``.

    :param units: how many of them at most.
    """
    seconds = abs(seconds)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10 and seconds % 1 >= 0.05:
        return f"{seconds:.1f} s"
    parts: list[str] = []
    left = float(round(seconds))
    for unit, size in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count:.0f} {unit}")
        elif parts:
            break  # "3 d 5 s" says less than "3 d"
        if len(parts) == units:
            break
    return " ".join(parts) or "0 s"


def size(count: int) -> str:
    """A number of bytes: ``512 B``, ``48 KiB``, ``1.5 GiB``."""
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f} {unit}" if unit == "GiB" else f"{value:.0f} {unit}"


def ago(at: float, now: float) -> str:
    """How long ago, or in how long."""
    return f"in {span(at - now)}" if at > now else f"{span(now - at)} ago"


def many(count: int, one: str, several: str = "") -> str:
    """``1 call``, ``3 calls``."""
    return f"{count} {one if count == 1 else several or one + 's'}"


def sender_words(sender: str) -> str:
    """A sender's name (see ``runtime.sender``) as people say it: ``process 4711 on web-1``."""
    name, _, attempt = sender.partition("#")
    parts = name.split("/")
    if len(parts) != 5:
        return name
    if is_nameless(name):
        return "a process of which the ledger has lost the name"
    of = f" (attempt {attempt})" if attempt else ""
    return f"process {parts[3]} on {parts[0]}{of}"


def lowered(sentence: str) -> str:
    """A sentence as a part of another one: no capital, no full stop."""
    text = sentence.rstrip(".")
    if len(text) > 1 and text[0].isupper() and text[1].islower():
        return text[0].lower() + text[1:]
    if text.startswith("A "):
        return text[0].lower() + text[1:]
    return text


def joined(items: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
