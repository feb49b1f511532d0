"""Calls that are refused with an error leave no action; so their cause is in the log."""

from __future__ import annotations

import json
import logging
from types import TracebackType

from ascertain.errors import AscertainError, UnknownTool
from ascertain.runtime.scope import Opened, current

log = logging.getLogger("ascertain")


class Refusing:
    """The call of a tool: where an error refuses it, one line tells which, and where that was.

    Ids and codes only: the text of an error may repeat arguments.
    """

    __slots__ = ("_session", "_tool")

    def __init__(self, tool: str, session: Opened | None = None) -> None:
        """``session``: None, the one that this code runs in."""
        self._tool = tool
        self._session = session

    def __enter__(self) -> None:
        """Nothing is told of a call that is made."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, AscertainError) and log.isEnabledFor(logging.INFO):
            line = {"event": "refuse", "reason": error.code}
            if not isinstance(error, UnknownTool):  # what is no tool's name may be anything
                line["tool"] = self._tool
            session = self._where()
            if session is not None:
                line["session"] = session.scope.session
                if session.scope.chain:
                    line["chain"] = session.scope.chain
            log.info(json.dumps(line))

    def _where(self) -> Opened | None:
        """The turn or chain of the session that was entered here, else the session."""
        inner = current.get()
        asked = self._session
        if asked is None or (inner is not None and inner.scope.session == asked.scope.session):
            return inner
        return asked
