"""The transition table as every ledger holds it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ascertain.model.tables import NOTES, RULES

RULE_ROWS = sorted(
    (
        rule.start.value if rule.start else "",
        rule.event.value,
        rule.end.value,
        int(rule.unless_final),
    )
    for rule in RULES + NOTES
)


def are_ours(found: Iterable[tuple[Any, ...]], *, is_newer: bool) -> bool:
    """Whether the rows of a ledger are this release's.

    :param is_newer: a newer release has migrated it; it may know more moves, and none less.
    """
    rows = sorted(found)
    return (set(RULE_ROWS) <= set(rows)) if is_newer else rows == RULE_ROWS
