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
from ascertain.model.outcome import Effect, Evidence, Kind, Outcome
from ascertain.model.tables import By, Event
from ascertain.rules.fold import settle
from ascertain.rules.moves import Move, join_suspect, move

PERHAPS_SENT = "perhaps_sent"
HISTORY_LOST = "history_lost"
SEND_RESTORED = "send_restored"

_NAMELESS = "?"
_KNOWN_BY_KEY = (Repeat.BY_KEY, Repeat.BY_NATURE)


def may_lack_attempt(
    record: ActionRecord, contract: Contract, epoch: Epoch, replaced: ActionRecord | None = None
) -> bool:
    """Whether an attempt may have been made that this history does not know.

    So it is with everything that was stored before the epoch, or within the contract's horizon
    after it began (as long as an intent is pursued, it may be asked for again), and was not sent in
    the epoch yet.

    :param replaced: the action that a new one replaces. If it ended in this epoch, nothing that
        replaces it can be missing.
    """
    if not epoch.may_lack or record.created_at >= shadow_until(contract, epoch):
        return False
    if record.last_sent_at is not None and record.last_sent_at >= epoch.began_at:
        return False  # since then the ledger tells of every attempt
    return replaced is None or replaced.updated_at < epoch.began_at


def at_risk(
    record: ActionRecord, contract: Contract, epoch: Epoch, now: float,
    replaced: ActionRecord | None = None,
) -> bool:  # fmt: skip
    """Whether it could be sent now without knowing of an attempt that this history lacks.

    That is where such an attempt may be missing; save of a new intent, where the provider knows a
    repeat by the same key, within the key's lifetime as counted from the earliest attempt that can
    be missing. What was stored before the epoch is in doubt whatever the key: sent again, it may be
    refused while the attempt that is missing is on its way.

    :param replaced: as for :func:`may_lack_attempt`.
    """
    if not may_lack_attempt(record, contract, epoch, replaced):
        return False
    if record.created_at < epoch.began_at:
        return True
    if contract.repeat not in _KNOWN_BY_KEY:
        return True
    lifetime_s = contract.key_lifetime_s
    return lifetime_s is not None and now >= _since(epoch) + lifetime_s - contract.key_margin_s


def shadow_until(contract: Contract, epoch: Epoch) -> float:
    """Until when a new intent of this tool may be one that is missing."""
    return epoch.began_at + contract.budget.horizon_s


def perhaps_sent(
    record: ActionRecord, contract: Contract, epoch: Epoch, *, sender: str, lease_until: float,
    lease_s: float, now: float, by: By, wanted: bool = True,
) -> Move:  # fmt: skip
    """Its attempt may have been made: it is unknown, under our lease.

    Who made it cannot be named, so for a plain look-up the sender may always still be alive. Of its
    two events the send stands for the attempt that may be missing; nothing leaves with it.

    :param wanted: False: it would have been withdrawn. What became of it is found out, but nothing
        is sent again.
    """
    refused = record.refused if wanted else 1
    attempt, since = record.attempt + 1, _since(epoch)
    if contract.lookup is not None and contract.lookup.fences == "attempt":
        # a fence has to be above all that are missing
        attempt = max(attempt, contract.budget.sends)
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
        evidence=Evidence.NOT_ASKED, ask_at=None, not_before_at=None, handle=None, refused=refused,
        kind=record.kind if wanted else Kind.WITHDRAWN, code=record.code,
        suspect=join_suspect(record.suspect, f"{nameless(epoch)}#{attempt}"),
        lease_owner=sender, lease_until=lease_until, due_at=lease_until,
    )  # fmt: skip
    return Move(lost.after, (*sent.drafts, *lost.drafts))


def is_of_before(sent_at: float | None, epoch: Epoch) -> bool:
    """Whether an attempt was sent in the history before, where others may be missing beside it."""
    return epoch.may_lack and sent_at is not None and sent_at < epoch.began_at


def not_alone(record: ActionRecord, outcome: Outcome) -> ActionRecord:
    """The action as an answer to an attempt of the history before finds it.

    A refusal speaks for its own attempt. Another one may have been made in what is lost, and that
    is a doubt, which no such answer takes back.
    """
    refuses = outcome.effect in (Effect.REFUSED, Effect.NOT_SENT)
    return record.changed(doubt=record.doubt + 1) if refuses else record


def restored(
    record: ActionRecord, contract: Contract, outcome: Outcome, attempt: int,
    sent_at: float | None, now: float,
) -> Move:  # fmt: skip
    """The answer to an attempt of which the ledger has lost that it was sent: both are written."""
    at = now if sent_at is None else sent_at
    sent = move(
        record, Event.SEND, By.CALL, SEND_RESTORED, now,
        attempt=attempt, last_sent_at=at, ask_at=None, not_before_at=None, handle=None, refused=0,
        first_sent_at=at if record.first_sent_at is None else min(at, record.first_sent_at),
        last_possible_at=record.last_possible_at if record.doubt else None,
        final=0, kind=None, code=None, review=None, review_at=None,
    )  # fmt: skip
    wait_s = contract.budget.backoff_s
    known = not_alone(sent.after, outcome)
    settled = settle(known, contract, outcome, now=now, wait_s=wait_s)
    return settled._replace(drafts=sent.drafts + settled.drafts)


def nameless(epoch: Epoch) -> str:
    """Whoever sent before the epoch, and is not on record; can never be proven gone."""
    return f"{_NAMELESS}/{epoch.id}/{_NAMELESS}/{_NAMELESS}/{_NAMELESS}"


def is_nameless(sender: str) -> bool:
    """Whether a suspect is one of whom the ledger has lost the name."""
    return sender.startswith(f"{_NAMELESS}/")


def _since(epoch: Epoch) -> float:
    return epoch.began_at if epoch.kept_at is None else min(epoch.kept_at, epoch.began_at)
