"""What a person may say of an action, before anybody looks at how it stands."""

from __future__ import annotations

from collections.abc import Mapping

from ascertain.errors import ContractError
from ascertain.rules.cases import Verdict

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
