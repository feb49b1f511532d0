"""What can be seen of all who work on one ledger, and of what waits. Nothing decides by it."""

from __future__ import annotations

from typing import NamedTuple

from ascertain.model.rate import Shared, Usage


class Beat(NamedTuple):
    """The last sign of life of a worker.

    :param owner: its name as a sender. :param at: when it was seen.
    :param ended_at: when it said that it was ending; None: it did not.
    """

    owner: str
    at: float
    ended_at: float | None = None


class ToolQueue(NamedTuple):
    """How much waits of one tool; each action is counted once.

    :param due: somebody may take it now. :param leased: somebody is at work on it.
    :param later: it falls due later. :param counts: settled; its effects are counted later.
    :param waiting: nothing is due by itself: a person, or nobody, goes on with it.
    :param review: cases for a person, whatever else is counted of them.
    :param due_at: since when the oldest that is due has been so.
    :param at_least: which of these numbers are bounds: there is so much, or more. The others are
        exact.
    """

    tool: str
    due: int = 0
    leased: int = 0
    later: int = 0
    counts: int = 0
    waiting: int = 0
    review: int = 0
    due_at: float | None = None
    at_least: tuple[str, ...] = ()


class OldUnknown(NamedTuple):
    """The action that has been unknown for longest.

    :param review: the case that a person has of it, if any.
    """

    action_id: str
    tool: str
    sent_at: float
    review: str | None


class Happened(NamedTuple):
    """How often something happened to actions of a tool: ``confirmed``, ``rejected``, ``unknown``.

    ``recovered`` counts once more what had been unknown before it was confirmed or rejected.
    """

    tool: str
    what: str
    n: int


class RateUse(NamedTuple):
    """A provider's rate, and what of it is taken now."""

    rate: Shared
    usage: Usage
