"""What the proxy and its host say to each other in ``_meta``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

PREFIX: Final = "ascertain.dev/"
FACT: Final = "ascertain.dev/fact"
KEY: Final = "ascertain.dev/idempotency-key"
SESSION: Final = "ascertain.dev/session"
TURN: Final = "ascertain.dev/turn"
ORDINAL: Final = "ascertain.dev/ordinal"

# Where hosts put their own id of a tool call. A JSON-RPC id is none: each try has a new one.
CALL_IDS: Final = (KEY, "claudecode/toolUseId")
_RESERVED: Final = "io.modelcontextprotocol/"
_LONGEST: Final = 512


class Said(NamedTuple):
    """What a host says of one call; empty where it says nothing.

    :param call_id: its own id of the call; the same id is the same action.
    :param session: the conversation. :param turn: the message that is answered.
    :param ordinal: names an intended second.
    """

    call_id: str = ""
    session: str = ""
    turn: str = ""
    ordinal: str = ""


def said_by_host(meta: Mapping[str, Any] | None) -> Said:
    """Read a call's ``_meta``; only plain texts count."""
    if not meta:
        return Said()
    call_id = next((text for name in CALL_IDS if (text := _text(meta, name))), "")
    return Said(call_id, _text(meta, SESSION), _text(meta, TURN), _text(meta, ORDINAL))


def forwarded(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """What of a host's ``_meta`` goes on to the server: all that is not ours or the protocol's."""
    return {
        name: value
        for name, value in (meta or {}).items()
        if name not in ("progressToken", "progress_token")
        and not name.startswith((PREFIX, _RESERVED))
    }


def _text(meta: Mapping[str, Any], name: str) -> str:
    value = meta.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.isprintable() or len(value) > _LONGEST:
        return ""
    return value
