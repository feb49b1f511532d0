"""Which acceptance samples there are: every combination, and why some cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

TOOLS = ("reserve_stock", "charge_card", "create_shipment")
CALLS = (
    "confirmed", "business_refusal", "retryable_refusal", "lost_request", "lost_reply",
    "accepted",
)  # fmt: skip
LOOKUPS = ("found", "refused", "absent", "no_answer", "not_offered")
UNDOS = ("confirmed", "refused", "lost")
NO_UNDO = "nothing"
DEFINITE = ("confirmed", "retryable_refusal")


class Sample(NamedTuple):
    """One run.

    :param call: what becomes of the first send.
    :param lookup: what the provider says when it is asked; ``absent``: at first, then the truth.
    :param undo: what becomes of the compensation; ``nothing``: there is nothing to undo.
    """

    tool: str
    call: str
    lookup: str
    undo: str

    @property
    def name(self) -> str:
        return " / ".join(self[1:])


def what_never_arrived_has_no_record(sample: Sample) -> bool:
    """A request that was lost can be neither found nor refused by the provider's record of it."""
    return sample.call == "lost_request" and sample.lookup in ("found", "refused")


IMPOSSIBLE = (what_never_arrived_has_no_record,)


def what_was_refused_was_not_done(sample: Sample) -> bool:
    """Refused at once, or as the look-up tells: there is nothing that could be undone."""
    lost = sample.call in ("lost_reply", "accepted") and sample.lookup == "refused"
    return sample.call == "business_refusal" or lost


def what_is_contradicted_waits_for_a_person(sample: Sample) -> bool:
    """Confirmed by an answer and denied by a look-up: nothing is undone by itself."""
    return sample.call in DEFINITE and sample.lookup in ("refused", "absent")


def what_is_not_known_to_be_done_has_no_reference(sample: Sample) -> bool:
    """A job that was taken on and never heard of again: a reversal by reference has none."""
    unheard = sample.call == "accepted" and sample.lookup == "no_answer"
    return unheard and sample.tool != "charge_card"


NOTHING_TO_UNDO = (
    what_was_refused_was_not_done,
    what_is_contradicted_waits_for_a_person,
    what_is_not_known_to_be_done_has_no_reference,
)


def all_samples(tool: str) -> Iterator[Sample]:
    """The samples of one tool, in order."""
    for call, lookup in product(CALLS, LOOKUPS):
        first = Sample(tool, call, lookup, NO_UNDO)
        if any(rule(first) for rule in IMPOSSIBLE):
            continue
        if any(rule(first) for rule in NOTHING_TO_UNDO):
            yield first
            continue
        yield from (first._replace(undo=undo) for undo in UNDOS)


def left_out(tool: str) -> dict[str, int]:
    """How many of the 90 combinations each rule leaves out, by the rule's name."""
    counts = {rule.__name__: 0 for rule in (*IMPOSSIBLE, *NOTHING_TO_UNDO)}
    for call, lookup in product(CALLS, LOOKUPS):
        sample = Sample(tool, call, lookup, NO_UNDO)
        for rule in IMPOSSIBLE:
            if rule(sample):
                counts[rule.__name__] += len(UNDOS)
                break
        else:
            for rule in NOTHING_TO_UNDO:
                if rule(sample):
                    counts[rule.__name__] += len(UNDOS) - 1  # one stands for all
                    break
    return counts
