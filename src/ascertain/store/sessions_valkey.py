"""Sessions in Valkey or Redis: one hash for each session, one script and one round trip a verb.

All keys of a session carry its hash tag, so that a cluster keeps them together.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote

from ascertain.errors import LedgerError
from ascertain.model.session import Remembered, SessionRecord
from ascertain.store.sessions import SessionStoreDown, Snapshot, values_as_json, values_from_json

TIMEOUT_S: Final = 0.5
_LEAST_TTL_MS: Final = 1000


class ValkeySessions:
    """A :class:`~ascertain.store.sessions.SessionStore` on a server that speaks RESP.

    :param url: ``valkey://host:6379/0``, ``redis://...``, ``unix:///path``; with TLS
        ``valkeys://`` or ``rediss://``.
    :param client: instead of one made from the URL; for tests and for clusters.
    """

    def __init__(self, url: str, *, client: Any = None) -> None:
        self.url = _without_password(url)
        self._client: Any = client or _client_of(url)
        self._project: Callable[..., Any] = self._client.register_script(_lua("project"))
        self._serve: Callable[..., Any] = self._client.register_script(_lua("serve"))

    def project(self, session: SessionRecord, values: Sequence[Remembered], ttl_s: float) -> bool:
        """Keep these, unless the same version or a newer one is kept."""
        ttl_ms = max(_LEAST_TTL_MS, int(ttl_s * 1000))
        said = [session.epoch, session.version, ttl_ms, values_as_json(values)]
        return bool(self._run(self._project, session, said))

    def serve(self, session: SessionRecord) -> Snapshot | None:
        """What is kept of this epoch, at the session's version or above."""
        found = self._run(self._serve, session, [session.epoch, session.version])
        if not found:
            return None
        try:
            return Snapshot(int(found[0]), values_from_json(found[1]))
        except (TypeError, ValueError) as error:
            raise SessionStoreDown(f"it holds something foreign ({error})") from error

    def findings(self) -> list[str]:
        """Whether it may evict what it was given."""
        try:
            policy = self._client.config_get("maxmemory-policy").get("maxmemory-policy", "")
        except Exception as error:
            return [f"the eviction policy of {self.url} cannot be seen ({type(error).__name__})"]
        if policy == "noeviction":
            return []
        evicts = f"{self.url} evicts by maxmemory-policy {policy!r}"
        return [f"{evicts}: sessions are built from the ledger again and again; set noeviction"]

    def close(self) -> None:
        self._client.close()

    def _run(self, script: Callable[..., Any], session: SessionRecord, said: list[Any]) -> Any:
        try:
            return script(keys=[key_of(session.tenant, session.id)], args=said)
        except Exception as error:  # whatever a client raises: it is a projection, the ledger stays
            raise SessionStoreDown(f"{type(error).__name__}: {error}") from error


def key_of(tenant: str, session: str) -> str:
    """The key of a session; what is in braces decides where a cluster keeps it."""
    return f"ascertain:{{{quote(tenant, safe='')}:{quote(session, safe='')}}}:context"


def _lua(name: str) -> str:
    return files("ascertain.store").joinpath("lua", f"{name}.lua").read_text("utf-8")


def _client_of(url: str) -> Any:
    """A client of valkey-py or redis-py, whichever is installed; they say the same."""
    for module, kind, scheme in (("valkey", "Valkey", "valkey"), ("redis", "Redis", "redis")):
        try:
            library: Any = importlib.import_module(module)
        except ImportError:
            continue
        head, _, rest = url.partition("://")
        if head != "unix":
            head = scheme + ("s" if head.endswith("s") and head != "redis" else "")
        make: Any = getattr(library, kind).from_url
        return make(f"{head}://{rest}", socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
    raise LedgerError(
        "Neither valkey nor redis is installed, which sessions= needs.",
        next_step='pip install "ascertain[valkey]".',
    )


def _without_password(url: str) -> str:
    head, _, rest = url.partition("://")
    return f"{head}://{rest.rpartition('@')[2]}"
