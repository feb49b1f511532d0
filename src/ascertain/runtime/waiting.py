"""The part of an app in which a person speaks of calls that wait to be sent."""

from __future__ import annotations

from typing import Any, Protocol

from ascertain.runtime.action import Action
from ascertain.runtime.approving import approve, decline, digest_of, release
from ascertain.runtime.hands import Hands


class _App(Protocol):
    """The app, as far as this needs it."""

    hands: Hands

    def action(self, action_id: str) -> Action[Any]: ...


class WordOnWaiting:
    """Approve, decline, release."""

    def approve(self: _App, action_id: str, *, by: str, digest: str) -> Action[Any]:
        """A person approves one exact call that waits; it is sent within moments.

        :param by: who approves, from the authenticated session of that person.
        :param digest: of the call that was looked at (see :meth:`approval_digest`).
        :raises NotAllowed: it waits for no approval, the digest names another call, the time has
            passed, or whose wish it is cannot approve it.
        """
        approve(self.hands, action_id, by=by, digest=digest)
        return self.action(action_id)

    def approval_digest(self: _App, action_id: str) -> str:
        """The name of one exact call: tool, key, whose wish, and every argument.

        :raises ActionNotFound: there is no such action.
        """
        return digest_of(self.hands, self.action(action_id).record)

    def decline(self: _App, action_id: str, *, by: str, why: str = "") -> Action[Any]:
        """A person declines a call that waits; nothing was sent, and it is over.

        :raises NotAllowed: it does not wait to be sent.
        """
        decline(self.hands, action_id, by=by, why=why)
        return self.action(action_id)

    def release(self: _App, action_id: str, *, by: str) -> Action[Any]:
        """Let go a call that was taken as manual work while its breaker was open.

        It is sent now; what no worker has sent within five minutes is withdrawn.

        :raises NotAllowed: it was not, the breaker is not closed, or the time has passed.
        """
        release(self.hands, action_id, by=by)
        return self.action(action_id)
