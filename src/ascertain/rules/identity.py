"""Which call is which intent, and the key that it keeps for ever.

The key is an HMAC of who wishes what, stored before it is used; a ledger that was lost and restored
meets the provider with the same keys. It is never made from model text, time, or a call id alone.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import NamedTuple, assert_never

from ascertain.errors import WeakKey
from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract, KeyFormat, OncePer
from ascertain.model.outcome import Kind
from ascertain.model.tables import State
from ascertain.rules.mac import Mac, prepared_hmac

MIN_BITS = 96
_BITS_PER_CHARACTER = {"hex": 4, "base32": 5}
_SEP = b"\x1f"
SINGLE = "~"
"""Between an intent and what makes each call of it another one: reads, and what is only watched."""


class Scope(NamedTuple):
    """Whose wish a call is: always from the authenticated session, never from arguments."""

    tenant: str
    principal: str
    session: str
    turn: str
    opening: str
    chain: str


def check_key_format(form: KeyFormat) -> None:
    """Refuse key formats in which two intents could meet.

    :raises WeakKey: fewer than 96 bits, or an unknown style.
    """
    if form.style == "uuid":
        return
    per_character = _BITS_PER_CHARACTER.get(form.style)
    if per_character is None:
        raise WeakKey(f"Key style {form.style!r} is not known (hex, base32, uuid).")
    if form.length * per_character < MIN_BITS:
        raise WeakKey(
            f"A {form.style} key of {form.length} characters carries "
            f"{form.length * per_character} bits; at least {MIN_BITS} are needed."
        )


def intent_digest(contract: Contract, scope: Scope, identity: str, ordinal: str) -> str:
    """Name the intent within its ``once_per`` scope (the turn is compared apart)."""
    parts = (scope.tenant, _within(contract, scope), contract.tool, identity, ordinal)
    return _digest(parts)


def slot_of(contract: Contract, scope: Scope) -> str:
    """The turn, where an intent is once per session; else empty.

    Inside a chain it is the chain: code that is run again in another turn finds its own actions.
    """
    if contract.once_per is not OncePer.SESSION:
        return ""
    return f"chain:{scope.chain}" if scope.chain else scope.turn


def intent_mac(secret: bytes) -> Mac:
    """The keyed hash of which keys are made."""
    return prepared_hmac(secret, "sha512")


def derive_key(
    mac: Mac, contract: Contract, *, intent: str, slot: str, replaces_key: str | None
) -> str:
    """The idempotency key, in the provider's format."""
    message = "\x1f".join((intent, slot, replaces_key or "")).encode()
    return _render(contract.key, mac(message))


def derive_step_key(mac: Mac, contract: Contract, key: str, step: str) -> str:
    """The sub-key of a named step inside one body."""
    return _render(contract.key, mac(f"{key}\x1f{step}".encode()))


def same_intent(one: ActionRecord, other: ActionRecord) -> bool:
    """Whether both are the same wish for the same tool; the turn and the attempt aside."""
    return one.tool == other.tool and _named(one.intent) == _named(other.intent)


def _named(intent: str) -> str:
    """What an intent is called, where it stands for a single call of it as well."""
    return intent.partition(SINGLE)[0]


def match(
    wanted: ActionRecord, candidates: Sequence[ActionRecord]
) -> tuple[ActionRecord | None, str]:
    """Find the stored action that a new call belongs to.

    :param candidates: stored actions of the same intent (any turn, any state), newest first.
    :returns: the action and ``intent`` (joined or replayed), ``bound`` (a final rejection that
        still binds), ``replace`` (the latest final rejection, which the new action must name), or
        ``(None, "new")``.
    """
    latest_rejection: ActionRecord | None = None
    for found in candidates:
        if found.state is State.REJECTED and found.final:
            latest_rejection = latest_rejection or found
            if _binds(found, wanted):
                return found, "bound"
            continue
        if found.slot == wanted.slot or found.open:
            return found, "intent"
    if latest_rejection is not None and wanted.replaces != latest_rejection.id:
        return latest_rejection, "replace"
    return None, "new"


def _binds(rejection: ActionRecord, wanted: ActionRecord) -> bool:
    """A final rejection answers only the same arguments, and only for a while."""
    if rejection.exact != wanted.exact or rejection.wording != wanted.wording:
        return False
    if rejection.kind is Kind.AUTH:
        return rejection.opening == wanted.opening
    if rejection.kind in (Kind.WITHDRAWN, Kind.TOOL_ERROR, Kind.ABSENT):
        return False
    same = rejection.turn == wanted.turn or (bool(wanted.chain) and rejection.chain == wanted.chain)
    return same and rejection.session == wanted.session


def _within(contract: Contract, scope: Scope) -> str:
    match contract.once_per:
        case OncePer.SESSION:
            return f"s:{scope.principal}\x1e{scope.session}"
        case OncePer.PRINCIPAL:
            return f"p:{scope.principal}"
        case OncePer.TENANT:
            return "t:"
        case _:
            assert_never(contract.once_per)


def _digest(parts: Sequence[str]) -> str:
    return hashlib.blake2b(_SEP.join(part.encode() for part in parts), digest_size=16).hexdigest()


def _render(form: KeyFormat, raw: bytes) -> str:
    if form.style == "uuid":
        text = raw[:16].hex()
        # version 8 (custom) and variant bits, so that strict parsers take it
        text = f"{text[:12]}8{text[13:16]}{'89ab'[int(text[16], 16) & 3]}{text[17:]}"
        body = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
    elif form.style == "base32":
        body = base64.b32encode(raw).decode().lower().rstrip("=")[: form.length]
    else:
        body = raw.hex()[: form.length]
    return f"{form.prefix}{body}"
