"""The secret of a ledger keys the intents' keys and the hash chain. It lies outside the database.

In this order: the argument; ``ASCERTAIN_SECRET``; the file ``<ledger>.secret`` (mode 0600), which
is made together with a new ledger and never again.
"""

from __future__ import annotations

import base64
import binascii
import errno
import hmac
import os
import secrets
from pathlib import Path

from ascertain.errors import LedgerCorrupt, LedgerFull, LedgerReadOnly, WeakKey

ENVIRONMENT = "ASCERTAIN_SECRET"
MIN_BYTES = 16
_NEW_BYTES = 32


def secret_id(secret: bytes) -> str:
    """A name for the secret that tells nothing about it; stored in the ledger."""
    return hmac.digest(secret, b"ascertain secret id", "sha256").hex()[:16]


def given_secret(argument: bytes | None) -> bytes | None:
    """The secret from the argument or the environment; None when neither says one.

    ``ASCERTAIN_SECRET`` is ``hex:...``, ``base64:...``, or the text itself (its UTF-8 bytes).

    :raises WeakKey: shorter than 16 bytes, or not readable as what it says it is.
    """
    if argument is not None:
        return _long_enough(argument, "secret=")
    text = os.environ.get(ENVIRONMENT, "")
    if not text:
        return None
    try:
        if text.startswith("hex:"):
            secret = bytes.fromhex(text.removeprefix("hex:"))
        elif text.startswith("base64:"):
            secret = base64.b64decode(text.removeprefix("base64:"), validate=True)
        else:
            secret = text.encode()
    except (ValueError, binascii.Error) as error:
        raise WeakKey(
            f"{ENVIRONMENT} cannot be read: {error}.",
            next_step="Write hex:<hex digits>, base64:<base64>, or plain text of 16 bytes or more.",
        ) from None
    return _long_enough(secret, ENVIRONMENT)


def read_secret_file(ledger: Path) -> bytes:
    """The secret beside an existing ledger.

    :raises LedgerCorrupt: it is not there, or not readable as a secret. A new one would give every
        known intent another key, so none is made.
    """
    path = _path(ledger)
    try:
        secret = bytes.fromhex(path.read_text("ascii").strip())
    except FileNotFoundError:
        raise LedgerCorrupt(
            f"The ledger {ledger} exists, but its secret {path} is missing.",
            next_step=f"Restore {path.name} from the backup of the ledger, or set {ENVIRONMENT}. "
            "A new secret would give known intents new keys, so none is made.",
        ) from None
    except PermissionError:
        raise LedgerReadOnly(
            f"The secret {path} cannot be read by this user.",
            next_step="Run as the user who owns it, or give the secret otherwise.",
        ) from None
    except ValueError:
        secret = b""
    if len(secret) < MIN_BYTES:
        raise LedgerCorrupt(
            f"The secret file {path} does not hold a secret (hex, 16 bytes or more).",
            next_step=f"Restore it from a backup, or set {ENVIRONMENT}.",
        )
    return secret


def make_secret_file(ledger: Path) -> bytes:
    """Make the secret of a new ledger, or read the one that somebody made at the same moment."""
    path = _path(ledger)
    if path.exists():
        return read_secret_file(ledger)
    secret = secrets.token_bytes(_NEW_BYTES)
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        _write_new(draft, secret.hex().encode() + b"\n")
        try:
            os.link(draft, path)  # whole or not at all, and only the first one wins
        except FileExistsError:
            return read_secret_file(ledger)
        finally:
            draft.unlink()
        _fsync_folder(path.parent)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise LedgerFull(f"There is no space left for the secret {path}.") from error
        raise LedgerReadOnly(f"The secret {path} cannot be created: {error.strerror}.") from error
    return secret


def check_secret(secret: bytes, known_id: str, ledger: Path | str) -> None:
    """Refuse a secret that is not the ledger's own.

    :param ledger: its file, or what people know it by.
    :raises LedgerCorrupt: the ledger was begun with another one.
    """
    beside = f", or {_path(ledger).name}" if isinstance(ledger, Path) else ""
    if not hmac.compare_digest(secret_id(secret), known_id):
        raise LedgerCorrupt(
            f"This is not the secret of the ledger {ledger}: it has the id {secret_id(secret)}, "
            f"the ledger was begun with {known_id}.",
            next_step=f"Give the right secret: {ENVIRONMENT}, secret={beside}.",
        )


def _path(ledger: Path) -> Path:
    return ledger.with_name(ledger.name + ".secret")


def _long_enough(secret: bytes, source: str) -> bytes:
    if len(secret) < MIN_BYTES:
        raise WeakKey(
            f"The secret from {source} has {len(secret)} bytes; at least {MIN_BYTES} are needed.",
            next_step='Make one: python -c "import secrets; print(secrets.token_hex(32))".',
        )
    return bytes(secret)


def _write_new(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, content)
        os.fsync(file)
    finally:
        os.close(file)


def _fsync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
