"""Names of what transactions stand on, beside the rows that they write.

SQLite lets one writer in at a time, so what a transaction has read stands until it has written.
Where several write at once, those that read and write the same thing name it, and one waits for
the other.
"""

from __future__ import annotations

_BETWEEN = "\n"


def intent_name(intent: str) -> str:
    """What is stored of an intent: whether there is any action of it."""
    return f"intent{_BETWEEN}{intent}"


def session_name(tenant: str, session: str) -> str:
    """What a session remembers, and at which version."""
    return _BETWEEN.join(("session", tenant, session))


def chain_name(chain: str) -> str:
    """The direction of a chain, and who is in it."""
    return f"chain{_BETWEEN}{chain}"


def references_name(tenant: str, tool: str) -> str:
    """Which references and look-alikes a tool's actions have."""
    return _BETWEEN.join(("references", tenant, tool))
