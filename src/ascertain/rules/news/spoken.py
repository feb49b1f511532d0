"""What an exception, or a response in hand, tells of the provider's answer.

HTTP statuses are found by the names under which the clients keep them; other protocols have tables
of their own. An unknown class that carries no status says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

from ascertain.model.outcome import Kind
from ascertain.rules.news.exceptions import LEAVES, explicit_chain, leaf_key, peek, retry_count
from ascertain.rules.news.replies import code_of, read_path


class Verdict(NamedTuple):
    """What a code outside HTTP means: the kind of a refusal, or None: the effect is unknown."""

    reason: str
    kind: Kind | None = None


REASONS: Final[dict[str, str]] = {
    "protocol_unsettled": "The provider answered with a code that proves nothing about the effect.",
    "protocol_refusal": "The provider refused with a definite code.",
    "protocol_temporary": "The provider undid or declined it for now.",
    "refused_by_resender": "The refusal is of the last of the client's own tries only.",
}


class Said(NamedTuple):
    """What an exception, or a reply in hand, tells of the provider's answer.

    :param status: the HTTP status; None with a ``verdict``, which is of another protocol.
    :param code: the provider's code, where it comes apart from the body.
    :param retry_after: raw; :param location: raw.
    :param resent: the client says that it had sent the request before.
    """

    status: int | None = None
    code: str | None = None
    body: Any = None
    retry_after: str | None = None
    location: str | None = None
    resent: bool = False
    verdict: Verdict | None = None


# ------------------------------------------------------------------------------- other protocols

_UNSETTLED: Final = Verdict(reason="protocol_unsettled")
_BUSINESS: Final = Verdict(reason="protocol_refusal", kind=Kind.BUSINESS)
_INVALID: Final = Verdict(reason="protocol_refusal", kind=Kind.INVALID)
_AUTH: Final = Verdict(reason="protocol_refusal", kind=Kind.AUTH)
_UNDONE: Final = Verdict(reason="protocol_temporary", kind=Kind.UNAVAILABLE)
_DUPLICATE: Final = Verdict(reason="duplicate_refusal")
_THROTTLED: Final = Verdict(reason="throttled")
_LOST: Final = Verdict(reason="connection_lost")
_UNREADABLE: Final = Verdict(reason="unreadable_answer")
_RESENDER: Final = Verdict(reason="refused_by_resender")

GRPC: Final[dict[str, Verdict]] = {
    "UNAUTHENTICATED": _AUTH,
    "PERMISSION_DENIED": _AUTH,
    "INVALID_ARGUMENT": _INVALID,
    "OUT_OF_RANGE": _INVALID,
    "UNIMPLEMENTED": _INVALID,
    "NOT_FOUND": _INVALID,
    "FAILED_PRECONDITION": _BUSINESS,
    "ALREADY_EXISTS": _DUPLICATE,
    "ABORTED": _DUPLICATE,
    # A stream that was reset after the effect arrives as this one too.
    "RESOURCE_EXHAUSTED": _THROTTLED,
}
"""By the name of the code. UNAVAILABLE, DEADLINE_EXCEEDED and all others prove nothing."""

SQLSTATES: Final[dict[str, Verdict]] = {
    "40001": _UNDONE,  # serialization failure: rolled back
    "40P01": _UNDONE,  # deadlock: rolled back
    "23505": _DUPLICATE,  # unique violation
}

REDIS: Final[dict[str, Verdict]] = {
    # A wrong command is as wrong on each of the client's own tries ...
    "ResponseError": _INVALID,
    # ... but these depend on the moment, and the first of eleven tries may have been carried out.
    "ReadOnlyError": _RESENDER,
    "OutOfMemoryError": _RESENDER,
    "BusyLoadingError": _RESENDER,
}

MCP: Final[dict[int, Verdict]] = {
    # The others are made up by the client as well, for replies that came after the effect.
    -32602: _INVALID,
    -32020: _UNDONE,  # the headers do not fit: refused before the tool is run
}


def _other_protocol(node: BaseException, key: str) -> Said | None:
    root, _, name = key.partition(".")
    match root:
        case "grpc":
            return _grpc(node)
        case "smtplib":
            return _smtp(node, name)
        case "psycopg" | "asyncpg":
            return _sql(node, name)
        case "redis" if name in REDIS:
            return Said(verdict=REDIS[name])
        case "mcp":
            return _mcp(node)
        case "ascertain" if name == "ErrorResult":
            # An error result is also what servers make of a time-out after the effect.
            return Said(code=code_of(peek(node, "code")), verdict=_UNSETTLED)
        case "stripe" if name == "IdempotencyError":
            return Said(code="idempotency_error", verdict=_DUPLICATE)
        case _:
            return None


def _grpc(node: BaseException) -> Said | None:
    try:
        name = code_of(peek(node, "code")().name)
    except Exception:
        return None
    return None if name is None else Said(code=name, verdict=GRPC.get(name, _UNSETTLED))


def _sql(node: BaseException, name: str) -> Said | None:
    state = code_of(peek(node, "sqlstate"))
    if state is not None:
        return Said(code=state, verdict=SQLSTATES.get(state, _UNSETTLED))
    # Without a state it may be a connection that never was, or a lost COMMIT.
    return Said(verdict=_LOST) if name == "OperationalError" else None


def _mcp(node: BaseException) -> Said | None:
    number = peek(peek(node, "error"), "code")
    if not isinstance(number, int):
        return None
    return Said(code=code_of(number), verdict=MCP.get(number, _UNSETTLED))


_SMTP: Final = frozenset({"SMTPDataError", "SMTPSenderRefused", "SMTPRecipientsRefused"})


def _smtp(node: BaseException, name: str) -> Said | None:
    if name not in _SMTP:
        return None
    refused = peek(node, "recipients")
    if isinstance(refused, Mapping):
        rows = cast("Any", refused).values()
        codes = [read_path(row, "0") for row in rows]
    else:
        codes = [peek(node, "smtp_code")]
    known = [code for code in codes if isinstance(code, int) and 400 <= code < 600]
    if not known or len(known) < len(codes):
        return Said(verdict=_UNSETTLED)
    code = min(known)
    if code == 421 and name == "SMTPDataError":
        return Said(code=str(code), verdict=_UNSETTLED)  # "closing down" may follow acceptance
    return Said(code=str(code), verdict=_UNDONE if code < 500 else _BUSINESS)


# -------------------------------------------------------------------------------------------- HTTP


def http_status_of(value: Any) -> int | None:
    """A whole number that can be an HTTP status."""
    if isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600:
        return int(value)
    return None


def said_by(error: BaseException) -> Said | None:
    """Read the provider's answer off an exception or a cause that it names.

    A class known to be a lost answer ends the search: whatever lies beneath is of another attempt.
    """
    for node in explicit_chain(error):
        key = leaf_key(node)
        if key in LEAVES:
            return None
        said = _other_protocol(node, key) or _http(node, key)
        if said is not None:
            return said
    return None


def said_by_reply(reply: Any) -> Said | None:
    """The same of a client's response object, returned as it is."""
    status = http_status_of(peek(reply, "status_code"))
    if status is None:
        return None
    return Said(
        status=status,
        body=_body_of(reply),
        retry_after=_header(reply, "Retry-After"),
        location=_header(reply, "Location"),
        resent=_resent(reply),
    )


def _http(node: BaseException, key: str) -> Said | None:
    response = peek(node, "response")
    if isinstance(response, Mapping):
        return _from_botocore(cast("Any", response))
    status = http_status_of(peek(response, "status_code"))
    for name in ("status_code", "http_status"):
        status = status or http_status_of(peek(node, name))
    root = key.partition(".")[0]
    if root in ("urllib", "google"):
        status = status or http_status_of(peek(node, "code"))
    if root == "aiohttp":
        status = http_status_of(peek(node, "status"))
        if status is not None and node.__cause__ is not None:
            # aiohttp invents a 400 for a reply that is no HTTP, and names the cause.
            return Said(verdict=_UNREADABLE)
    if status is None:
        return None
    body = _body_of(response)
    if body is None:
        body = _mapping(peek(node, "json_body"))
    count = retry_count(node)
    return Said(
        status=status,
        code=code_of(_text(peek(node, "code"))),
        body=body,
        retry_after=_header(response, "Retry-After") or _header(node, "Retry-After"),
        location=_header(response, "Location") or _header(node, "Location"),
        resent=_resent(response) or _resent(node) or bool(count),
    )


def _from_botocore(response: Any) -> Said | None:
    status = http_status_of(read_path(response, "ResponseMetadata.HTTPStatusCode"))
    code = code_of(read_path(response, "Error.Code"))
    if status is None:
        return None
    headers = read_path(response, "ResponseMetadata.HTTPHeaders")
    return Said(
        status=status,
        code=code,
        body=response,
        retry_after=_text(read_path(headers, "retry-after")),
        resent=read_path(response, "ResponseMetadata.RetryAttempts") not in (None, 0),
    )


def _mapping(value: Any) -> Any:
    return cast("Any", value) if isinstance(value, Mapping) else None


def _body_of(response: Any) -> Any:
    """The JSON of a response that has been read; reading it now would be I/O."""
    if response is None or peek(response, "_content_consumed") is False:
        return None
    try:
        body = response.json()
    except Exception:
        return None
    if isinstance(body, Mapping | list):
        return cast("Any", body)
    close = peek(body, "close")  # a coroutine: this client reads asynchronously
    if callable(close):
        close()
    return None


def _resent(response: Any) -> bool:
    """Redirects followed, and urllib3's record of tries before this one."""
    tries = peek(peek(peek(response, "raw"), "retries"), "history")
    return _is_filled(peek(response, "history")) or _is_filled(tries)


def _is_filled(value: Any) -> bool:
    return isinstance(value, list | tuple) and value not in ([], ())


def _header(thing: Any, name: str) -> str | None:
    headers = peek(thing, "headers")
    for spelling in (name, name.lower()):
        try:
            found = headers.get(spelling)
        except Exception:
            return None
        if isinstance(found, str):
            return found
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
