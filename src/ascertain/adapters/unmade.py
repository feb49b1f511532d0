"""Calls of which the ledger holds nothing, as the model is told of them.

Those that were refused before anything was stored or sent, and those of tools not of ours.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ascertain.adapters.told import Fact
from ascertain.errors import (
    AscertainError,
    ForeignSession,
    IntentConflict,
    InvalidArguments,
    LedgerError,
    NotAllowed,
    SessionExpired,
    ToolChanged,
    UnknownTool,
)
from ascertain.model.tables import State
from ascertain.rules.facts import ASK_PERSON, CORRECT_ARGUMENTS, WAIT
from ascertain.rules.project import WorkflowState
from ascertain.rules.texts import clean

log = logging.getLogger("ascertain")


class Words(NamedTuple):
    """What may be done next, and the sentences for the person."""

    next_allowed: tuple[str, ...]
    english: str
    chinese: str


_INVALID: Final = Words(
    (CORRECT_ARGUMENTS, ASK_PERSON),
    "Nothing was sent: some details need correcting.",
    "没有提交：部分信息需要更正。",
)
_OTHERS: Final[tuple[tuple[type[Exception], Words], ...]] = (
    (InvalidArguments, _INVALID),
    (
        IntentConflict,
        Words(
            (ASK_PERSON,),
            "Nothing was sent: there is one already, with other details.",
            "没有提交：已有一项内容不同的申请。",
        ),
    ),
    (
        LedgerError,
        Words(
            (WAIT, ASK_PERSON),
            "Nothing was sent: it cannot be recorded now.",
            "没有提交：目前无法登记。",
        ),
    ),
    (
        ForeignSession,
        Words(
            (ASK_PERSON,),
            "Nothing was sent: you need to log in or be authorised for it.",
            "没有提交：需要登录或授权。",
        ),
    ),
    (
        SessionExpired,
        Words(
            (ASK_PERSON,),
            "Nothing was sent: this conversation has ended.",
            "没有提交：会话已结束。",
        ),
    ),
    (
        NotAllowed,
        Words((ASK_PERSON,), "This is not allowed now; it had no effect.", "目前不允许。"),
    ),
    (
        ToolChanged,
        Words(
            (ASK_PERSON,),
            "Nothing was sent: this tool has changed, and a person has to look at it first.",
            "没有提交：该工具已变更，须先由人工核查。",
        ),
    ),
    (UnknownTool, Words((ASK_PERSON,), "Nothing was sent: there is no such tool.", "没有提交。")),
    (
        TimeoutError,
        Words((ASK_PERSON,), "Nothing was sent: its time was up.", "没有提交：时间已到。"),
    ),
)
TOLD: Final[tuple[type[Exception], ...]] = tuple(kind for kind, _ in _OTHERS)
"""Errors that a model is told of; all others are mistakes of the program, and are raised."""

CUT_OFF: Final = "cut_off"
NOT_LISTED: Final = "not_listed"


def refused(tool: str, error: Exception) -> Fact:
    """The fact of a call that an error refused; of its text only what helps to correct it."""
    words = next((words for kind, words in _OTHERS if isinstance(error, kind)), _INVALID)
    reason = error.code if isinstance(error, AscertainError) else "deadline"
    told: dict[str, Any] = {}
    if isinstance(error, InvalidArguments):
        told["detail"] = clean(error.message, 400)
    elif isinstance(error, ToolChanged):
        told["fields"] = list(error.context.get("fields", ()))
    elif isinstance(error, IntentConflict):
        told["fields"] = list(error.context.get("fields", ()))
        told["earlier_state"] = str(error.context.get("state", ""))
    return _fact(tool, reason, words, told)


def cut_off(tool: str) -> Fact:
    """A call that the model did not write to its end; what it would have meant is a guess."""
    return _fact(tool, CUT_OFF, _INVALID, {"detail": "The call was cut off before its end."})


def not_listed(tool: str) -> Fact:
    """A tool that nobody declared, where such tools are refused."""
    words = Words((ASK_PERSON,), "Nothing was sent: this tool is not released.", "没有提交。")
    return _fact(tool, NOT_LISTED, words, {})


def no_answer(tool: str, error: Exception) -> Fact:
    """A tool that is none of ours and gave no answer: what it has done, nobody knows.

    Nothing of its exception is told; the operator's log says what kind it was, and where.
    """
    log.warning("%s was let through, and raised %s", clean(tool, 80), type(error).__name__)
    log.debug("%s raised", clean(tool, 80), exc_info=error)
    words = Words(
        (WAIT, ASK_PERSON),
        "There was no answer; what became of it is not known.",
        "没有收到答复，结果未知。",
    )
    action = {"name": clean(tool, 80), "state": str(State.UNKNOWN), "reason": "no_answer"}
    return _told(tool, words, action, WorkflowState.NEEDS_REVIEW)


def _fact(tool: str, reason: str, words: Words, told: Mapping[str, Any]) -> Fact:
    action = {
        "name": clean(tool, 80), "state": str(State.REJECTED), "attempt": 0, "reason": reason,
        **told,
    }  # fmt: skip
    return _told(tool, words, action, WorkflowState.REFUSED)


def _told(tool: str, words: Words, action: Mapping[str, Any], wish: WorkflowState) -> Fact:
    facts = {
        "workflow_state": str(wish),
        "actions": [dict(action)],
        "next_allowed": list(words.next_allowed),
        "say": {"en": words.english, "zh-CN": words.chinese},
    }
    return Fact(clean(tool, 80), facts, confirmed=False)
