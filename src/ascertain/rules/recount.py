"""Three views of one action side by side: what the person is told, the ledger, the provider."""

from __future__ import annotations

from enum import StrEnum

from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract
from ascertain.model.outcome import Answer, Evidence
from ascertain.model.record import Record
from ascertain.model.tables import State
from ascertain.rules import texts
from ascertain.rules.budget import may_ask
from ascertain.rules.cases import as_found
from ascertain.rules.moves import differs
from ascertain.rules.replies.check import check_reply


class Difference(StrEnum):
    """How two of the views differ."""

    EXTRA_EFFECTS = "extra_effects"
    REFERENCE_DIFFERS = "reference_differs"
    CONFIRMED_BUT_ABSENT = "confirmed_but_absent"
    NOT_DONE_BUT_FOUND = "not_done_but_found"
    TOLD_DIFFERS = "told_differs"
    LEDGER_DIFFERS = "ledger_differs"


SENTENCES: dict[Difference, str] = {
    Difference.EXTRA_EFFECTS: "The provider holds more than one effect of it.",
    Difference.REFERENCE_DIFFERS: "The provider has it under another reference.",
    Difference.CONFIRMED_BUT_ABSENT: "It is confirmed, and the provider has no record of it.",
    Difference.NOT_DONE_BUT_FOUND: "It counts as not done, and the provider has a record of it.",
    Difference.TOLD_DIFFERS: "What the person is told is not what is on record.",
    Difference.LEDGER_DIFFERS: "The ledger does not agree with its own history.",
}


class Said(StrEnum):
    """What the provider said of an action."""

    FOUND = "found"
    ABSENT = "absent"
    REFUSED = "refused"
    WORKING = "working"
    NO_ANSWER = "no_answer"
    NOT_ASKED = "not_asked"


def why_not_asked(record: ActionRecord, contract: Contract | None, now: float) -> str:
    """Why there is nothing to ask the provider about this action; empty: ask.

    :param contract: of the tool that would ask; None: there is none.
    """
    if contract is None:
        return "tool_unknown"
    if not record.attempt:
        return "never_sent"
    if contract.lookup is None:
        return "no_lookup"
    if record.open and not may_ask(record, contract, now):
        return "budget_spent"
    return ""


def said(answer: Answer | None) -> Said:
    """An answer in one word."""
    if answer is None:
        return Said.NOT_ASKED
    if answer.found:
        return Said.FOUND
    if answer.refused:
        return Said.REFUSED
    match answer.evidence:
        case Evidence.ABSENT:
            return Said.ABSENT
        case Evidence.WORKING:
            return Said.WORKING
        case _:
            return Said.NO_ANSWER


def against_provider(
    record: ActionRecord,
    contract: Contract,
    answer: Answer,
    now: float,
    *,
    before: ActionRecord | None = None,
) -> list[Difference]:
    """How the ledger and the provider's own record differ. What is unknown contradicts nothing.

    :param record: as it stands after the answer was written. :param before: as it was, for an
        answer against what a person had found makes the finding itself a contradiction.
    """
    found: list[Difference] = []
    stands, _ = as_found(before if before is not None and before.overruled else record)
    if answer.found:
        ambiguous = contract.lookup is not None and contract.lookup.by == "fields"
        if answer.count > 1 and not (ambiguous and record.state is State.UNKNOWN):
            found.append(Difference.EXTRA_EFFECTS)
        if stands is State.CONFIRMED and differs(record.provider_ref, answer.provider_ref):
            found.append(Difference.REFERENCE_DIFFERS)
        if stands is State.REJECTED:
            found.append(Difference.NOT_DONE_BUT_FOUND)
    elif stands is State.CONFIRMED and (
        answer.refused or (answer.evidence is Evidence.ABSENT and _settled(record, contract, now))
    ):
        found.append(Difference.CONFIRMED_BUT_ABSENT)
    return found


def against_person(record: ActionRecord, contract: Contract) -> list[str]:
    """The sentences that a tool lets a person read, and that the ledger does not bear out."""
    told = (texts.say(record, contract, language) for language in texts.LANGUAGES)
    return [
        finding.said for text in told for finding in check_reply(text, [(record, contract)])
    ]  # fmt: skip


class Row(Record):
    """One action of a recount.

    :param before: its state when the recount came by.
    :param why: why the provider was not asked; empty if it was.
    :param provider_ref: under which the provider has it. :param count: how many effects it holds.
    :param notes: what was found in words, beside the differences.
    """

    record: ActionRecord
    before: State
    said: Said
    why: str = ""
    provider_ref: str | None = None
    count: int | None = None
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    told: str = ""

    @property
    def settled(self) -> bool:
        """Whether the answer has just settled what was unknown."""
        return self.before is State.UNKNOWN and self.record.state is not State.UNKNOWN

    @property
    def agrees(self) -> bool:
        """Whether the provider was asked, answered, and nothing differs."""
        unasked = self.said in (Said.NOT_ASKED, Said.NO_ANSWER)
        return not unasked and not self.differences


def _settled(record: ActionRecord, contract: Contract, now: float) -> bool:
    settling = None if contract.lookup is None else contract.lookup.absence_final_after_s
    if settling is None:
        return False
    return record.last_possible_at is None or now >= record.last_possible_at + settling
