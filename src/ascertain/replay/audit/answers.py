"""What a recorded answer proves about the effect of its call; only what stands in it.

A recording has no wire: what is read here are words, codes and marks that tools, clients and
frameworks leave in an answer. What they do not settle is in doubt.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Any, Final, NamedTuple

from ascertain.replay.formats.conversation import ToolAnswer
from ascertain.replay.formats.shapes import list_in, object_in

_HEAD = 300  # an error says so at its beginning
_SHORT = 200  # a text as short as this is a message, and not a document


class Known(StrEnum):
    """What is known of a call's effect by its answer."""

    CONFIRMED = "confirmed"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Trust(StrEnum):
    """How sure a reading or a finding is."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


ORDER: Final[dict[Trust, int]] = {Trust.LOW: 0, Trust.MEDIUM: 1, Trust.HIGH: 2}


def least(*trusts: Trust) -> Trust:
    """The weakest link."""
    return min(trusts, key=ORDER.__getitem__)


class Reading(NamedTuple):
    """What an answer proves, why (half a sentence), and how sure that is."""

    known: Known
    why: str
    trust: Trust = Trust.HIGH
    ref: str = ""


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_TIMEOUT = _any(
    r"\btime[d\-_ ]*out\b", r"timeout(?:error|exception|expired)?\b", r"deadline[ _]?exceeded",
    r"\betimedout\b", "超时",
)  # fmt: skip
_UNSENT = _any(
    r"connection refused", r"\beconnrefused\b", r"connecterror\b", r"name or service not known",
    r"name resolution", r"\benotfound\b", r"getaddrinfo", r"no route to host",
)  # fmt: skip
_LOST = _any(
    r"connection (?:was |has been |is )?(?:reset|lost|closed|aborted|broken|dropped|terminated)",
    r"\beconnreset\b", r"server disconnected", r"broken pipe", r"remoteprotocolerror",
    r"incompleteread", r"remote end closed", r"socket hang ?up", r"connectionreset",
    r"connectionerror\b", "连接(?:已)?(?:中断|断开|重置|丢失)",
)  # fmt: skip
_SERVER = _any(
    r"internal server error", r"bad gateway", r"service (?:is )?(?:temporarily )?unavailable",
    r"gateway time-?out", r"(?:http|status|code|error)[\w ]{0,12}[ :=(]+5\d\d\b",
    r"^\W*5\d\d\b", "服务器(?:内部)?错误", "服务(?:暂时)?不可用",
)  # fmt: skip
_AMBIGUOUS_4XX = _any(r"(?:http|status|code|error)[\w ]{0,12}[ :=(]+(?:408|409|425)\b")
_REFUSED = _any(
    r"(?:http|status|code|error)[\w ]{0,12}[ :=(]+4\d\d\b", r"not found\b", r"\binvalid\b",
    r"does(?: not|n't) exist", r"\bforbidden\b", r"unauthori[sz]ed", r"permission", r"\bdenied\b",
    r"\bvalidation", r"\bmissing\b", r"\brequired\b", r"insufficient", r"not enough", r"\bdeclined",
    r"\brejected\b", r"already (?:exists?|been|cancell?ed|taken)",
    r"(?:does|do) not add up", r"not (?:allowed|eligible|"
    r"supported|permitted|available)", r"cannot be\b", r"too (?:many requests|large|long)",
    r"rate limit", r"bad request", r"no such\b", r"unknown (?:tool|function|argument)",
    r"\bdoes not match\b", r"should be\b", r"must be\b",
    "不存在", "无效", "被拒绝", "无权", "余额不足",
)  # fmt: skip
_ERROR = _any(
    r"^\W*(?:\w+\.)*\w*(?:error|exception|failure)\b",
    r"^\W*(?:failed|timeout|traceback|timed out)",
    r"^\W*(?:http|status)\W{0,3}[45]\d\d", r"^\W*[45]\d\d\b", r"^\W*tool .{0,60}(?:failed|error)",
    r"^\W*(?:错误|失败|超时|请求超时|连接)",
)  # fmt: skip
_EMPTY = frozenset({"", "null", "none", "{}", "[]", '""', "undefined"})
_REFERENCES = (
    "ref", "reference", "receipt", "provider_ref", "id", "number", "ticket_id", "order_id",
    "confirmation", "confirmation_number", "tracking_number",
)  # fmt: skip
_MARKS = ("error", "errors", "exception", "error_message", "errorMessage")


def read(answer: ToolAnswer | None) -> Reading:
    """What an answer proves; None: no answer is recorded."""
    if answer is None:
        return Reading(Known.UNKNOWN, "no answer is recorded", Trust.LOW)
    text = answer.text.strip()
    if text.casefold() in _EMPTY and not answer.error_type:
        trust = Trust.MEDIUM if answer.error is not False else Trust.LOW
        return Reading(Known.UNKNOWN, "the answer is empty", trust)
    value = _loaded(text)
    facts = _facts(value)
    if facts is not None:
        return facts
    if _is_error(answer, text, value):
        return _of_error(f"{answer.error_type} {text}".strip(), value)
    return Reading(
        Known.CONFIRMED, "it was answered without an error", Trust.HIGH, _reference(value)
    )


def _loaded(text: str) -> Any:
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _facts(value: Any) -> Reading | None:
    """Facts as guarded tools tell them: they say themselves what is known."""
    fields = object_in(value)
    actions = list_in(fields.get("actions"))
    if "workflow_state" not in fields or not actions:
        return None
    last = object_in(actions[-1])
    ref = str(last.get("provider_ref") or "")
    match last.get("state"):
        case "confirmed" | "compensated":
            return Reading(Known.CONFIRMED, "its facts say confirmed", Trust.HIGH, ref)
        case "rejected":
            return Reading(Known.REFUSED, "its facts say rejected", Trust.HIGH, ref)
        case _:
            return Reading(Known.UNKNOWN, "its facts say that it is not known", Trust.HIGH, ref)


def is_guarded(answer: ToolAnswer | None) -> bool:
    """Whether the answer is the facts of a guarded tool, which repeats nothing blindly."""
    return answer is not None and _facts(_loaded(answer.text.strip())) is not None


def _is_error(answer: ToolAnswer, text: str, value: Any) -> bool:
    if answer.error or answer.error_type:
        return True
    if value is not None:
        return _marked(object_in(value))
    head = text[:_HEAD]
    if _ERROR.search(head):
        return True
    return len(text) <= _SHORT and any(p.search(text) for p in (_TIMEOUT, _LOST, _UNSENT, _SERVER))


def _marked(fields: dict[str, Any]) -> bool:
    if any(fields.get(name) for name in _MARKS):
        return True
    if fields.get("ok") is False or fields.get("success") is False or fields.get("isError") is True:
        return True
    code = _code(fields)
    return str(fields.get("status")).casefold() in ("error", "failed", "timeout") or code >= 400


def _code(fields: dict[str, Any]) -> int:
    for name in ("status_code", "statusCode", "http_status", "status", "code"):
        found = fields.get(name)
        if isinstance(found, int) and not isinstance(found, bool) and 100 <= found <= 599:
            return found
    return 0


def _of_error(text: str, value: Any) -> Reading:
    """What an error proves of the effect, by its code or its words."""
    code = _code(object_in(value)) or _code(object_in(object_in(value).get("error")))
    if code >= 500 or code in (408, 409, 425):
        return Reading(Known.UNKNOWN, f"it was answered with HTTP {code}")
    if code >= 400:
        return Reading(Known.REFUSED, f"it was refused with HTTP {code}")
    head = text[: 2 * _HEAD]
    for pattern, known, why, trust in (
        (_UNSENT, Known.REFUSED, "no connection was made", Trust.MEDIUM),
        (_TIMEOUT, Known.UNKNOWN, "it timed out", Trust.HIGH),
        (_LOST, Known.UNKNOWN, "the connection was lost", Trust.HIGH),
        (_SERVER, Known.UNKNOWN, "the server failed (5xx)", Trust.HIGH),
        (_AMBIGUOUS_4XX, Known.UNKNOWN, "its code does not say whether it happened", Trust.MEDIUM),
        (_REFUSED, Known.REFUSED, "it was refused", Trust.MEDIUM),
    ):
        if pattern.search(head):
            return Reading(known, why, trust)
    return Reading(Known.UNKNOWN, "its error does not say whether it happened", Trust.LOW)


def _reference(value: Any) -> str:
    """The provider's reference, where it stands under one of the usual names."""
    fields = object_in(value)
    for name in (*_REFERENCES, *(key for key in fields if str(key).endswith(("_id", "_number")))):
        found = fields.get(name)
        if isinstance(found, str | int) and not isinstance(found, bool) and str(found):
            return str(found)
    return ""
