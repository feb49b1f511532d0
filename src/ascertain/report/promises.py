"""A contract in a few short phrases."""

from __future__ import annotations

from ascertain.model.contract import Approval, Contract, OncePer, Repeat
from ascertain.report.words import span

_ONCE = {
    OncePer.SESSION: "once per session (turn by turn)",
    OncePer.PRINCIPAL: "once per principal",
    OncePer.TENANT: "once per tenant",
}


def promises_of(contract: Contract) -> list[str]:
    """What the tool and its provider promise, most important first."""
    if contract.is_read:
        return ["a read: retried in bounds, never unknown"]
    said = ["a write", _ONCE[contract.once_per], repeat_words(contract), lookup_words(contract)]
    if contract.refusal_covers_key:
        said.append("a refusal covers the key")
    elif contract.refusal_final_after_s is not None:
        after = span(contract.refusal_final_after_s)
        said.append(f"a refusal covers the key {after} after the last send")
    if contract.best_effort:
        said.append("best effort: an open end needs nobody")
    if contract.items:
        said.append(f"a batch: an answer for each of {contract.items}")
    if contract.approval is not Approval.NONE:
        said.append(_approval_words(contract))
    if contract.undo is None:
        said.append("irreversible")
    else:
        within = "" if contract.undo_within_s is None else f" within {span(contract.undo_within_s)}"
        said.append(f"reversed by {contract.undo}{within}")
    return said


def _approval_words(contract: Contract) -> str:
    """Which calls wait for a person, how long, and for whom."""
    which = "every call" if contract.approval is Approval.ALWAYS else "a call, by rule,"
    whom = " by another person" if contract.approval_by_other else ""
    return f"{which} waits for approval{whom}, up to {span(contract.approval_within_s)}"


def repeat_words(contract: Contract) -> str:
    """Why it may be repeated, and for how long."""
    match contract.repeat:
        case Repeat.NEVER:
            return "never repeated blindly"
        case Repeat.BY_NATURE:
            return "may be repeated: it sets or deletes"
        case Repeat.HARMLESS:
            return "may be repeated: a double is harmless"
        case Repeat.BY_KEY if contract.key_lifetime_s is None:
            return "may be repeated by key (no lifetime promised)"
        case Repeat.BY_KEY:
            return f"may be repeated by key for {span(contract.key_lifetime_s or 0.0)}"


def lookup_words(contract: Contract) -> str:
    """How the provider can be asked, and what its "absent" is worth."""
    promise = contract.lookup
    if promise is None:
        return "no look-up"
    if promise.fences:
        return f"look-up by {promise.by} that fences: absence is final at once"
    if promise.absence_final_after_s is None:
        return f"look-up by {promise.by}, absence never final"
    after = span(promise.absence_final_after_s)
    return f"look-up by {promise.by}, absence final after {after}"
