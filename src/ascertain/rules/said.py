"""What a person may say of an action, whatever it stands at, and whether it was said already."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ascertain.errors import ContractError
from ascertain.model.action import EventRecord
from ascertain.model.tables import By
from ascertain.rules.cases import ONE_TOO_MANY, Verdict
from ascertain.rules.chain import BY_HAND

_ASKED = {
    Verdict.TURN_BACK: ("who decided it, and why?", "Say that"),
    Verdict.KEPT: ("who decided it, and why?", "Say that"),
    Verdict.UNDONE: ("how was it reversed?", "Say where that can be seen"),
}


def check_said(said: Mapping[Verdict, bool], confirmed: str | None, evidence: str) -> Verdict:
    """The one verdict that is said, with what it needs.

    :raises ContractError: not exactly one, a confirmation without a reference, or anything else
        without evidence.
    """
    found = [verdict for verdict, is_said in said.items() if is_said]
    if len(found) != 1:
        raise ContractError(
            "Say exactly one of: confirmed with a reference; not done, too many, undone, turn back "
            "or kept, with evidence.",
            next_step="--confirmed REF | --not-done | --too-many | --undone | --turn-back | "
            "--kept, each but the first with --evidence TEXT.",
        )
    if confirmed is not None and not confirmed.strip():
        raise ContractError(
            "A confirmation names the provider's reference.",
            next_step="Look it up at the provider: --confirmed REF.",
        )
    verdict = found[0]
    if verdict is not Verdict.CONFIRMED and not evidence.strip():
        asked, then = _ASKED.get(verdict, ("how do you know?", "Say where you looked"))
        word = verdict.value.replace("_", " ").capitalize()
        raise ContractError(
            f"'{word}' needs evidence: {asked}",
            next_step=f"{then}: --{verdict.value.replace('_', '-')} --evidence TEXT.",
        )
    return verdict


_WRITTEN = {
    **{verdict: f"verdict_{verdict.value}" for verdict in Verdict},
    Verdict.TOO_MANY: ONE_TOO_MANY,
    Verdict.UNDONE: BY_HAND,
}


def is_last_word(
    events: Sequence[EventRecord], verdict: Verdict, confirmed: str | None, evidence: str
) -> bool:
    """Whether just this is the last that a person said of the action.

    Whoever says it again has not heard that it was written: it is no news, and no mistake.

    :param events: of the action, oldest first.
    """
    last = next((event for event in reversed(events) if event.by == By.PERSON), None)
    if last is None or last.reason != _WRITTEN[verdict]:
        return False
    detail: dict[str, Any] = json.loads(last.detail)
    same_ref = confirmed is None or detail.get("ref", confirmed) == confirmed
    return same_ref and bool(detail.get("evidence", "") == evidence)
