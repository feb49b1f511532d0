"""What the protocol asks of the ledger, and what the ledger answers.

Each operation is written whole or not at all. An expected loss (somebody else moved the action) is
a reply, never an exception.

What has to hold, or to be written, *in the same transaction* as an action comes beside it: a chain
that still goes forward, context that was read at a version, context that an outcome provides.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from ascertain.model.action import ActionRecord, Draft
from ascertain.model.rate import Shared
from ascertain.model.record import Record


class Beside(Record):
    """What comes beside an operation; each kind is a frozen record of its own.

    Every kind has one room in ``store`` that says when it blocks the operation and what it writes.
    """


class Alone(Record):
    """What is written beside no action, in a transaction like everything else.

    Every kind has one function in ``store`` that writes it and gives the reply.
    """


class Lookalike(Beside):
    """A new action that a look-up by fields could take for another one; it blocks nothing.

    :param fields: a digest of what both have in common: the identity arguments.
    """

    fields: str


class ClaimBy(StrEnum):
    """Whose word it is that a reference belongs to an action."""

    LOOKUP = "lookup"
    ANSWER = "answer"
    VERDICT = "verdict"


class Claim(NamedTuple):
    """A provider's reference, and on whose word it is an action's own.

    Made only where the look-up goes by fields: there a record does not say whose it is, and two
    actions must not be confirmed by one.
    """

    by: ClaimBy
    provider_ref: str


class Reserve(NamedTuple):
    """Store an intent, unless it is stored already.

    In one statement of truth: the call id seen before in this session, else a live action of the
    same intent, else a final rejection that still binds, is returned instead (see
    ``rules.identity.match``). When an earlier final rejection does not bind, the new action must
    name it: if ``record.replaces`` does not, nothing is written and the reply says which.

    :param record: as it shall stand after ``drafts``, without ``n`` and ``head``.
    :param drafts: the events that lead there (``prepare``, and ``send`` if it is sent at once).
    :param arguments: canonical JSON of all arguments.
    :param contract_json: stored once per digest (``record.contract``).
    :param result: JSON of the result, of an action that is settled as it is stored (a read).
    :param epoch: of a send: in which epoch of the ledger it was decided; in another one nothing is
        written, and the reply is :class:`Blocked` by an :class:`~ascertain.model.epoch.OfEpoch`.
    """

    record: ActionRecord
    drafts: tuple[Draft, ...]
    arguments: str
    contract_json: str
    result: str | None = None
    beside: tuple[Beside, ...] = ()
    epoch: str | None = None


class Reserved(NamedTuple):
    """``via`` is ``new``, ``call_id``, ``intent`` or ``bound`` (a final rejection that binds).

    :param told: what was written beside it, as its kinds tell.
    """

    record: ActionRecord
    via: str
    told: tuple[Any, ...] = ()


class MustReplace(NamedTuple):
    """Nothing was written: the new action has to name ``previous`` as the one it replaces."""

    previous: ActionRecord


class Blocked(NamedTuple):
    """Nothing was written: what had to hold beside the action does not.

    :param by: what blocks. :param why: a stable code for machines.
    """

    by: Beside
    why: str


class Advance(NamedTuple):
    """Move an action, if ``before.n`` and ``before.fence`` are still what the ledger holds.

    :param after: as it shall stand after ``drafts``, without ``n`` and ``head``.
    :param drafts: may be empty: leases and schedules change without an event.
    With a ``claim`` the reference becomes this action's in the same transaction, or nothing is
    written and the reply is :class:`Contested`:

    * a look-up's word is refused where any other action of tenant and tool has the reference, and
      where a :class:`Lookalike` of it might have caused the record: it is in flight or in doubt,
      or confirmed since our first send without a reference;
    * an answer's word is refused only where another one has the reference by a look-up's or a
      person's word and is not disputed yet. Of two answers with one reference both are written,
      and the first keeps it;
    * a person's word is refused where any other has it and is not disputed.

    Who is disputed loses the reference to an answer's and a person's word.

    :param result: JSON of the result to keep with it; None: leave as it is.
    :param epoch: of a send, as with :class:`Reserve`; the reply is then :class:`Lost`, blocked,
        and tells nothing of how the action stands.
    """

    before: ActionRecord
    after: ActionRecord
    drafts: tuple[Draft, ...]
    result: str | None = None
    beside: tuple[Beside, ...] = ()
    claim: Claim | None = None
    epoch: str | None = None


class Advanced(NamedTuple):
    """Written; ``record`` carries the new ``n`` and ``head``.

    :param told: what was written beside it, as its kinds tell.
    """

    record: ActionRecord
    told: tuple[Any, ...] = ()


class Lost(NamedTuple):
    """Nothing was written: somebody else moved it. ``record`` is how it stands now.

    :param blocked: nobody moved it, but what had to hold beside it does not; a stable code.
    """

    record: ActionRecord
    blocked: str = ""


class Contested(NamedTuple):
    """Nothing was written: the reference may not be claimed. ``record`` is how the action stands.

    :param other: the action that has the reference, or that may have caused the record too.
    :param by: on whose word ``other`` has it; None: it does not, and is a rival only.
    :param claimed_at: since when.
    """

    record: ActionRecord
    other: ActionRecord
    by: ClaimBy | None = None
    claimed_at: float | None = None


class Take(NamedTuple):
    """Lease due actions: ``due_at <= now`` and no lease that still holds.

    Fair between tenants and tools: of each pair that has anything due one in turn, the oldest
    first, beginning behind the pair ``after`` in the order of their names.

    A lease held by one of ``gone`` (owners proven gone) holds no longer, whatever its time; these
    are taken after what is due.

    Of a tool named in ``rates`` only as many are taken as may be asked for now, and for each of
    them a turn at its provider is taken in the same transaction (see :mod:`ascertain.model.rate`).

    With ``action_id`` only that one is meant, due or not, unless a lease on it holds. Where its
    tool's rate is used up, it is not leased, and is due at the place in the queue that it is given,
    ``Taken.again_at``. What is not wanted any more needs no turn.

    Each taken one gets ``fence + 1``, ``lease_owner``, ``lease_until`` and a ``due_at`` at its end.
    ``Taken.previous`` shows whose expired lease it was.
    """

    owner: str
    now: float
    lease_until: float
    limit: int = 100
    tools: frozenset[str] | None = None
    gone: frozenset[str] = frozenset()
    action_id: str | None = None
    after: tuple[str, str] = ("", "")
    rates: tuple[tuple[str, Shared], ...] = ()


class Taken(NamedTuple):
    """``records`` under the new lease; ``previous`` as they stood before, same order.

    :param again_at: something is due that had to be left, because a rate is used up: when to come
        again; None: nothing was left for that reason.
    :param booked: whether a turn was taken with each, where a rate was named.
    """

    records: tuple[ActionRecord, ...]
    previous: tuple[ActionRecord, ...] = ()
    again_at: float | None = None
    booked: bool = True


class Told(NamedTuple):
    """An :class:`Alone` was written; ``value`` is what its kind says."""

    value: Any


Operation = Reserve | Advance | Take | Alone
Reply = Reserved | MustReplace | Blocked | Advanced | Lost | Contested | Taken | Told | Exception
