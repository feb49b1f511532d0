"""What an action is known to be where the ledger may have lost a part of its history.

An attempt may have been made that this history does not tell of. Where the provider recognises our
key, that does no harm: the key is derived, so it is the same one. Everything else is taken as what
it may be, a sent attempt whose answer was lost: it is asked about, or goes to a person; it is not
sent as if nothing had been.
"""

from __future__ import annotations

from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract, Repeat
from ascertain.model.epoch import Epoch
from ascertain.model.outcome import Evidence, Outcome
from ascertain.model.tables import By, Event
from ascertain.rules.fold import settle
from ascertain.rules.moves import Move, join_suspect, move

PERHAPS_SENT = "perhaps_sent"
HISTORY_LOST = "history_lost"
SEND_RESTORED = "send_restored"

_NAMELESS = "?"
_KNOWN_BY_KEY = (Repeat.BY_KEY, Repeat.BY_NATURE)


def at_risk(
    record: ActionRecord, contract: Contract, epoch: Epoch, now: float,
    replaced: ActionRecord | None = None,
) -> bool:  # fmt: skip
    """Whether to send it now could repeat an attempt that this history does not know.

    So it is with everything that was stored before the epoch, or within the contract's horizon
    after it began (as long as an intent is pursued, it may be asked for again), and was not sent in
    the epoch yet; save where the provider knows a repeat by the same key, within the key's lifetime
    as counted from the earliest attempt that can be missing.

    :param replaced: the action that a new one replaces. If it ended in this epoch, nothing that
        replaces it can be missing.
    """
    if not epoch.may_lack or record.created_at >= shadow_until(contract, epoch):
        return False
    if record.last_sent_at is not None and record.last_sent_at >= epoch.began_at:
        return False  # since then the ledger tells of every attempt
    if replaced is not None and replaced.updated_at >= epoch.began_at:
        return False
    if contract.repeat not in _KNOWN_BY_KEY:
        return True
    lifetime_s = contract.key_lifetime_s
    return lifetime_s is not None and now >= _since(epoch) + lifetime_s - contract.key_margin_s


def shadow_until(contract: Contract, epoch: Epoch) -> float:
    """Until when a new intent of this tool may be one that is missing."""
    return epoch.began_at + contract.budget.horizon_s


def perhaps_sent(
    record: ActionRecord, contract: Contract, epoch: Epoch, *, sender: str, lease_until: float,
    lease_s: float, now: float, by: By,
) -> Move:  # fmt: skip
    """Its attempt may have been made: it is unknown, under our lease.

    Who made it cannot be named, so for a plain look-up the sender may always still be alive. Of its
    two events the send stands for the attempt that may be missing; nothing leaves with it.
    """
    attempt, since = record.attempt + 1, _since(epoch)
    first = since if record.first_sent_at is None else min(since, record.first_sent_at)
    sent = move(
        record, Event.SEND, by, PERHAPS_SENT, now, detail={"epoch": epoch.n},
        attempt=attempt, first_sent_at=first, final=0, kind=None, code=None,
        review=None, review_at=None,
    )  # fmt: skip
    covers_s = contract.budget.send_deadline_s + lease_s
    lost = move(
        sent.after, Event.LOSE, by, HISTORY_LOST, now, detail={"epoch": epoch.n},
        sends=record.sends + 1, doubt=record.doubt + 1, last_sent_at=max(now, epoch.began_at),
        last_possible_at=max(now, epoch.began_at + covers_s),
        evidence=Evidence.NOT_ASKED, ask_at=None, not_before_at=None, handle=None, refused=0,
        suspect=join_suspect(record.suspect, f"{nameless(epoch)}#{attempt}"),
        lease_owner=sender, lease_until=lease_until, due_at=lease_until,
    )  # fmt: skip
    return Move(lost.after, (*sent.drafts, *lost.drafts))


def restored(
    record: ActionRecord, contract: Contract, outcome: Outcome, attempt: int, now: float
) -> Move:
    """The answer to an attempt of which the ledger has lost that it was sent: both are written."""
    sent = move(
        record, Event.SEND, By.CALL, SEND_RESTORED, now,
        attempt=attempt, last_sent_at=now, ask_at=None, not_before_at=None, handle=None, refused=0,
        first_sent_at=now if record.first_sent_at is None else record.first_sent_at,
        last_possible_at=record.last_possible_at if record.doubt else None,
        final=0, kind=None, code=None, review=None, review_at=None,
    )  # fmt: skip
    wait_s = contract.budget.backoff_s
    settled = settle(sent.after, contract, outcome, now=now, wait_s=wait_s)
    return settled._replace(drafts=sent.drafts + settled.drafts)


def nameless(epoch: Epoch) -> str:
    """Whoever sent before the epoch, and is not on record; can never be proven gone."""
    return f"{_NAMELESS}/{epoch.id}/{_NAMELESS}/{_NAMELESS}/{_NAMELESS}"


def is_nameless(sender: str) -> bool:
    """Whether a suspect is one of whom the ledger has lost the name."""
    return sender.startswith(f"{_NAMELESS}/")


def _since(epoch: Epoch) -> float:
    return epoch.began_at if epoch.kept_at is None else min(epoch.kept_at, epoch.began_at)
