"""Guarded calls inside a Temporal activity: a retried activity finds the action that it made."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from typing import Any, ParamSpec, Self, TypeVar, overload

from temporalio import activity
from temporalio.exceptions import ApplicationError

from ascertain.errors import AscertainError, ContractError, LedgerError, Unsettled
from ascertain.runtime.action import Action
from ascertain.runtime.app import Ascertain
from ascertain.runtime.deadline import deadline
from ascertain.runtime.tool import AsyncTool, Tool
from ascertain.temporal.activities import stand_of

P = ParamSpec("P")
R = TypeVar("R")

MARGIN = 0.1
MARGIN_MOST_S = 2.0


class Acting:
    """The session in which an activity acts; made by :func:`acting`.

    Called with a tool, it gives the tool back with this activity's call id:
    ``here(create_ticket)(order_id="A123", issue="noise")``, awaited where the tool is async.
    """

    def __init__(self, app: Ascertain, principal: str, tenant: str | None, turn: str) -> None:
        info = activity.info()
        self._app = app
        self._session = app.session(
            info.workflow_id or info.activity_id, principal=principal, tenant=tenant, turn=turn
        )
        self._call_id = f"{info.workflow_run_id}/{info.activity_id}"
        self._names: set[str] = set()
        self._deadline: AbstractContextManager[Any] | None = None

    @overload
    def __call__(self, tool: AsyncTool[P, R], *, name: str = "") -> AsyncTool[P, R]: ...
    @overload
    def __call__(self, tool: Tool[P, R], *, name: str = "") -> Tool[P, R]: ...
    def __call__(self, tool: Any, *, name: str = "") -> Any:
        """The tool with the id of this call: workflow run, activity, tool, and ``name``.

        :param name: tells several calls of one tool in one activity apart; the same in every try.
        :raises ContractError: a second call of the tool without a name of its own.
        """
        if not isinstance(tool, Tool | AsyncTool):
            raise ContractError(f"acting() guards tools of the app, not {tool!r:.60}.")
        guarded: Tool[..., Any] | AsyncTool[..., Any] = tool  # pyright: ignore[reportUnknownVariableType]
        own = f"{guarded.name}:{name}" if name else guarded.name
        if own in self._names:
            raise ContractError(
                f"A second call of {own} in one activity: a retry could not tell them apart.",
                next_step='Name each: here(tool, name="first")(...); or make it another activity.',
            )
        self._names.add(own)
        return guarded.in_engine(f"{self._call_id}/{own}")

    def __enter__(self) -> Self:
        left_s = _left_s()
        if left_s is not None:
            self._deadline = deadline(left_s)
            self._deadline.__enter__()
        self._session.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._session.__exit__()
        if self._deadline is not None:
            self._deadline.__exit__(None, None, None)
        if isinstance(error, AscertainError):
            raise as_failure(error) from None

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.__exit__(kind, error, trace)


def acting(app: Ascertain, *, principal: str, tenant: str | None = None, turn: str = "") -> Acting:
    """The session of the activity that runs here, as a (sync or async) context manager.

    ::

        @activity.defn
        def open_ticket(order: dict) -> dict:
            with acting(app, principal=order["user"]) as here:
                ticket = here(create_ticket)(order_id=order["id"], issue=order["issue"])
            return told(ticket)

    The session is the workflow's id; the call's id is its run and the activity's id. Whenever
    Temporal runs the activity again, the call finds its action: nothing is sent blindly. Where a
    workflow is reset, or continued as new, the intent (session, tool, identity) finds it; what is
    meant once more there, says so by ``turn``, or by ``tool.options(ordinal=...)``.

    An outcome is a value, also an unknown one: it needs no retry, recovery goes on by itself.
    Inside the block our errors become failures of the activity, with the code as type: those of the
    ledger may be tried again, for nothing was sent; all others may not. ``unwrap()`` raises
    ``unsettled``, with the facts as details.

    :param principal: whose wish it is; from what is authenticated, never from a model.
    :param turn: a wish of its own within the workflow.
    """
    return Acting(app, principal, tenant, turn)


def told(action: Action[Any]) -> dict[str, Any]:
    """A guarded call's outcome as an activity returns it: JSON, and never more than is known.

    ``settled`` is whether the state is known for good; if not, the workflow with the id ``action``
    goes on with it. ``result`` is the value of a confirmed call.
    """
    stand = stand_of(action.record, action.record.updated_at)
    text = action.result_json
    return {
        "action": stand.action, "tool": stand.tool, "state": stand.state, "settled": stand.settled,
        "provider_ref": stand.provider_ref, "reason": stand.reason,
        "result": None if text is None else json.loads(text), "facts": action.facts(),
    }  # fmt: skip


def as_failure(error: AscertainError) -> ApplicationError:
    """The error as a failure of the activity; only what sent nothing may be tried again."""
    details = [error.facts] if isinstance(error, Unsettled) else []
    return ApplicationError(
        str(error), *details, type=error.code, non_retryable=not isinstance(error, LedgerError)
    )


def _left_s() -> float | None:
    """What is left of the activity's own time, less what telling about it takes."""
    info = activity.info()
    whole = info.start_to_close_timeout
    if whole is None:
        return None
    whole_s = whole.total_seconds()
    return whole_s - min(MARGIN * whole_s, MARGIN_MOST_S)
