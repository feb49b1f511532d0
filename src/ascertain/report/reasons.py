"""Every reason that an event or an action can carry, in one plain sentence."""

from __future__ import annotations

from ascertain.rules.decide import SENTENCES
from ascertain.rules.news.classify import REASONS as OUTCOMES

# What the protocol itself says, beside what attempts and look-ups taught.
PROTOCOL: dict[str, str] = {
    "prepared": "The intent is stored with its key; nothing has been sent.",
    "send": "The attempt is recorded; the wire is next.",
    "lease_expired": "The lease of its sender ran out without an outcome: the answer is lost.",
    "perhaps_sent": "It may have been sent before the ledger lost a part of its history.",
    "history_lost": "Of an attempt that the ledger may have lost, no answer is known.",
    "send_restored": "Its answer came; that it had been sent, the ledger had lost.",
    "deadline": "The deadline passed while the tool was still at work.",
    "still_running": "The caller stopped waiting while the tool was still at work.",
    "unchecked": "Whether it is permitted could not be checked, so nothing was sent.",
    "answer_not_recorded": "An answer was seen, and the ledger did not take it; see the log.",
    "rate_used_up": "Its provider's rate was used up until its turn had ended; nothing was sent.",
    "consent": "The person has not agreed to this effect.",
    "permission": "The caller is not, or no longer, permitted to do this.",
    "duplicate_refusal": "The provider says that it has this already; it may be our own effect.",
    "refusal_not_covering": "The refusal speaks for its own attempt; an earlier one is in doubt.",
    "not_sent_but_doubt": "Nothing of this attempt left, but an earlier one is in doubt.",
    "absent_fenced": "The provider has no record and will not take the key any more.",
    "absent_final": "The provider has no record, and a late arrival is no longer possible.",
    "absent_unfenced": "The provider has no record, but an earlier sender may still be alive.",
    "no_answer": "The look-up gave no answer.",
    "several_match": "Several records fit the fields; which one is ours cannot be told.",
    "rival_in_doubt": "One record fits, and another action with the same fields may have made it.",
    "reference_taken": "The only record that fits is another action's already.",
    "reference_of_another": "Its reference, which a look-up had found, is another action's.",
    "found_by_lookup": "The look-up found it at the provider.",
    "found_partly": "The look-up found some items at the provider; the others were declined.",
    "asked_early": "A look-up found nothing while the send was under way, which says nothing.",
    "found_early": "A look-up found it before its sender had an answer.",
    "recounted": "The provider's records were counted: there is one.",
    "checked": "The provider was asked again; nothing new came of it.",
    "sender_gone": "An earlier sender is proven gone.",
    "verdict_confirmed": "A person found that it happened.",
    "verdict_not_done": "A person found that it did not happen and will not.",
    "one_too_many": "A person found more effects of it than were wished for.",
    "items_later": "Some items of the batch were refused for a while, and are not asked for again.",
    "chain_left": "The code of its chain did not come to its end, and nobody ran it again.",
    "chain_ended": "The code of its chain was run again, and came to its end.",
    "verdict_turn_back": "A person decided that what is confirmed in its chain is undone.",
    "undone_by_hand": "A person reversed it by hand.",
    "undo_not_wanted": "A person had settled what it reverses.",
    "verdict_kept": "A person decided that it stays, although its chain was undone.",
    "undo_removed": "Its arguments have been removed, so nothing undoes it by itself.",
    "undone": "The action that reverses it is confirmed.",
    "ledger_silent": "The ledger failed while it was being found out; a worker goes on with it.",
    "review_assigned": "The case was given to somebody, with a deadline.",
    "marked_pending": "It was marked as pending.",
    "duplicate_effect": "The provider holds more than one effect of it.",
    "harmless_double": "The provider holds more than one effect of it, which is declared harmless.",
    "found_after_settled": "The provider has a record, although it was settled as not done.",
    "confirmed_but_absent": "It is confirmed, but the provider has no record of it.",
    "confirmed_after_rejected": "An attempt was confirmed after it had been settled as rejected.",
    "approved": "A person approved this exact call.",
    "declined": "A person declined it; nothing was sent.",
    "approval_invalid": "The record of its approval does not hold, so nothing is sent.",
    "released": "A person let it go after its breaker had closed.",
    "asked": "A person was asked for.",
    "tool_unknown": "No worker that came by has a tool of this name.",
    "late_confirmed": "A result came late: that attempt was confirmed.",
    "late_refused": "A result came late: that attempt was refused.",
    "late_not_sent": "A result came late: nothing of that attempt had left.",
    "late_accepted": "A result came late: that attempt was accepted.",
    "late_unknown": "That attempt ended late, without a definite answer.",
}

_DECIDED = {str(reason): sentence for reason, sentence in SENTENCES.items()}


def sentence_of(reason: str) -> str:
    """The reason in words; a code that nobody knows stays a code."""
    if reason.startswith("review:"):
        return f"Handed to a person: {lower_first(sentence_of(reason.removeprefix('review:')))}"
    if reason.startswith("waits_for:"):
        step = reason.removeprefix("waits_for:")
        return f"It waits for the step {step!r} of its chain, and was not started."
    if reason.startswith("precondition: "):
        return f"The precondition {reason.removeprefix('precondition: ')!r} does not hold."
    known = PROTOCOL.get(reason) or OUTCOMES.get(reason) or _DECIDED.get(reason)
    if known is not None:
        return known
    if reason.startswith("http_") and reason[5:].isdecimal():
        return f"The provider answered with HTTP {reason[5:]}."
    return f"Reason: {reason}."


def lower_first(sentence: str) -> str:
    """A sentence after a colon."""
    if sentence[:2].istitle():
        return sentence[0].lower() + sentence[1:]
    return sentence
