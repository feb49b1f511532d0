"""Checks on a ledger that lies on a database server."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ascertain.report.doctor import Check, bad, ok, warn
from ascertain.store.postgres_place import place_of
from ascertain.store.secret import ENVIRONMENT

_ENCRYPTS = frozenset({"require", "verify-ca", "verify-full"})


def server_checks(url: str, *, opens: bool) -> Iterator[Check]:
    """Where the secret comes from, and who can listen on the way.

    :param opens: whether the ledger could be opened, so that there is a secret somewhere.
    """
    yield _secret(opens=opens)
    yield _transport(url)


def _secret(*, opens: bool) -> Check:
    if os.environ.get(ENVIRONMENT):
        return ok("secret", f"The secret comes from {ENVIRONMENT}.")
    if opens:
        return ok("secret", "The secret is passed by the app (secret=).")
    return bad(
        "secret", f"No secret is given: {ENVIRONMENT} is not set.",
        f"Set {ENVIRONMENT} as whoever began the ledger did, or name the app that passes secret=.",
    )  # fmt: skip


def _transport(url: str) -> Check:
    options = place_of(url).options
    host = str(options.get("host") or options.get("hostaddr") or "")
    near = host == "" or host.startswith("/") or host in ("localhost", "127.0.0.1", "::1")
    mode = str(options.get("sslmode") or os.environ.get("PGSSLMODE") or "prefer")
    if near:
        return ok("transport", "The server is on this host.")
    if mode in _ENCRYPTS:
        return ok("transport", f"The connection is encrypted (sslmode={mode}).")
    return warn(
        "transport",
        f"With sslmode={mode} arguments and results may cross the network in the clear.",
        "Add sslmode=verify-full to the ledger's URL.",
    )
