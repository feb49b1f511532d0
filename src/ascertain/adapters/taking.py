"""The one tool that models get from us: it takes what ``next_allowed`` offers, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from ascertain.adapters.calling import Step, Way, apart
from ascertain.adapters.told import Fact
from ascertain.errors import InvalidArguments, NotAllowed
from ascertain.rules.facts import undo
from ascertain.rules.project import WorkflowState
from ascertain.runtime.action import Action
from ascertain.runtime.refusing import Refusing
from ascertain.runtime.session import Session

NEXT: Final = "ascertain"
"""Its name."""

WHICH: Final = "Of an entry that begins with undo_, and only there: which one, by its provider_ref."


def taken(session: Session, arguments: Mapping[str, Any], undos: Sequence[str]) -> Way:
    """Take an entry, if it is offered now.

    :param undos: the entries that undo something.
    :raises InvalidArguments: it is not said as the tool's schema has it.
    :raises NotAllowed: it is not offered.
    """
    entry = arguments.get("entry")
    if isinstance(entry, str) and entry in undos:
        return (yield from _undone(session, entry, arguments))
    if not isinstance(entry, str) or len(arguments) != 1:
        raise InvalidArguments("ascertain takes one argument, entry, which is a text.")
    offered: list[str] = yield apart(_offered, session, entry)
    if not offered:
        with Refusing(NEXT, session):
            raise NotAllowed("It is not among what is allowed now; it had no effect.")
    facts: dict[str, Any] = {}
    for action_id in offered:
        facts = yield _step(session, entry, action_id)
    return Fact(NEXT, facts, confirmed=True)


def _undone(session: Session, entry: str, arguments: Mapping[str, Any]) -> Way:
    """An undo is of one action, which the model names: never of whatever there is.

    Asked for once more, it is told what has become of the first.
    """
    ref = arguments.get("provider_ref")
    if not isinstance(ref, str) or set(arguments) != {"entry", "provider_ref"}:
        raise InvalidArguments(f"{entry} takes provider_ref too: which one, by its reference.")
    found: Action[Any] | None = yield apart(_by_ref, session, entry, ref)
    if found is None:
        with Refusing(NEXT, session):
            raise NotAllowed("There is none of that reference; it had no effect.")
    facts: dict[str, Any] = yield apart(found.facts)
    if entry in facts["next_allowed"]:
        facts = yield _step(session, entry, found.id)
    elif facts["workflow_state"] == WorkflowState.COMPLETED:
        with Refusing(NEXT, session):
            raise NotAllowed("It cannot be undone any more; it had no effect.")
    over = facts["workflow_state"] == WorkflowState.COMPENSATED
    return Fact(NEXT, facts, confirmed=over)


def _step(session: Session, entry: str, action_id: str) -> Step:
    return Step(
        partial(session.take, entry, action_id), partial(session.take_async, entry, action_id)
    )


def _offered(session: Session, entry: str) -> list[str]:
    """The session's actions for which an entry is allowed now; it is checked again when taken."""
    return [
        action.id
        for action in session.actions(whole=True)
        if entry in cast("Sequence[str]", action.facts()["next_allowed"])
    ]


def _by_ref(session: Session, entry: str, ref: str) -> Action[Any] | None:
    """The session's newest action that an undo is asked of."""
    found = [
        action
        for action in session.actions(whole=True)
        if undo(action.contract) == entry and action.provider_ref == ref
    ]
    return found[-1] if found else None
