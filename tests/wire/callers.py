"""The clients under test behind one face, so that each case is told once for all of them."""

import asyncio
import contextvars
import importlib
import ssl
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from ascertain.model.outcome import WireTrace
from ascertain.wire.log import WireLog, current_log
from ascertain.wire.watch import watch

# Making the default one takes longer than most cases do.
TRUSTS_NONE = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
# Long enough for what has to happen before it, also on a busy machine.
DEADLINE_S = 0.4
SLACK_S = 1.0
BODY = b'{"order": "A123"}'


@dataclass
class Seen:
    """What the caller got, and what the hooks saw."""

    trace: WireTrace
    log: WireLog
    took_s: float
    error: Exception | None = None
    http_status: int | None = None
    body: bytes | None = None


@dataclass
class Options:
    """How a client is made; each caller says it in its library's words."""

    timeout_s: float | None = 3.0
    verify: str | None = None
    proxy: str | None = None
    retries: int = 0
    follow: bool = False
    more: dict[str, Any] = field(default_factory=dict)


class Caller:
    """One client, watched, opened for some calls."""

    def __init__(self, library, options):
        self.lib = importlib.import_module(library)
        self.options = options
        self.client = watch(self.make(), name="crm")

    def call(self, method, url, *, body=BODY, deadline_s=None, log=None, **how):
        """Make one call inside an attempt of its own."""
        if log is None:
            log = WireLog(None if deadline_s is None else time.monotonic() + deadline_s)
        context = contextvars.copy_context()
        context.run(current_log.set, log)
        started = time.monotonic()
        error = answer = None
        try:
            answer = self.run(context, method, url, body, how)
        except Exception as exc:
            error = exc
        took_s = time.monotonic() - started
        http_status, content = answer or (None, None)
        return Seen(log.trace(), log, took_s, error, http_status, content)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def timeouts(self):
        raise NotImplementedError


class HttpxCaller(Caller):
    def make(self):
        return self.lib.Client(**self._how(self.lib.HTTPTransport))

    def _how(self, transport):
        options = self.options
        verify = (
            ssl.create_default_context(cafile=options.verify) if options.verify else TRUSTS_NONE
        )
        how = {
            "timeout": options.timeout_s,
            "follow_redirects": options.follow,
            "trust_env": False,
            "verify": verify,
        }
        if options.proxy:
            how["proxy"] = options.proxy
        if options.retries:
            how["transport"] = transport(retries=options.retries)
        return how | options.more

    def run(self, context, method, url, body, how):
        def go():
            reply = self.client.request(method, url, content=body, **how)
            return reply.status_code, reply.content

        return context.run(go)

    def close(self):
        self.client.close()

    @property
    def timeouts(self):
        return self.lib.TimeoutException


class AsyncHttpxCaller(HttpxCaller):
    def __init__(self, library, options):
        super().__init__(library, options)
        self.runner = asyncio.Runner()

    def make(self):
        return self.lib.AsyncClient(**self._how(self.lib.AsyncHTTPTransport))

    def run(self, context, method, url, body, how):
        async def go():
            reply = await self.client.request(method, url, content=body, **how)
            return reply.status_code, reply.content

        return self.runner.run(go(), context=context)

    def close(self):
        self.runner.run(self.client.aclose())
        self.runner.close()


class RequestsCaller(Caller):
    def make(self):
        session = self.lib.Session()
        session.trust_env = False
        options = self.options
        if options.verify:
            session.verify = options.verify
        if options.proxy:
            session.proxies = {"http": options.proxy, "https": options.proxy}
        if options.retries:
            policy = importlib.import_module("urllib3.util").Retry
            retries = policy(options.retries, backoff_factor=0.5)
            for scheme in ("http://", "https://"):
                session.mount(scheme, self.lib.adapters.HTTPAdapter(max_retries=retries))
        return session

    def run(self, context, method, url, body, how):
        def go():
            reply = self.client.request(
                method,
                url,
                data=body,
                timeout=self.options.timeout_s,
                allow_redirects=self.options.follow,
                **how,
            )
            return reply.status_code, reply.content

        return context.run(go)

    def close(self):
        self.client.close()

    @property
    def timeouts(self):
        return self.lib.exceptions.Timeout


def client_of(lib, **how):
    return watch(lib.Client(trust_env=False, verify=TRUSTS_NONE, **how), name="crm")


def async_client_of(lib, **how):
    return watch(lib.AsyncClient(trust_env=False, verify=TRUSTS_NONE, **how), name="crm")


KINDS = {
    f"{library}{suffix}": (kind, library)
    for library, suffix, kind in (
        ("httpx", "", HttpxCaller),
        ("httpx", "-async", AsyncHttpxCaller),
        ("httpx2", "", HttpxCaller),
        ("httpx2", "-async", AsyncHttpxCaller),
        ("requests", "", RequestsCaller),
    )
    if find_spec(library)
}


def open_caller(kind, **options):
    """A watched client of this kind."""
    make, library = KINDS[kind]
    return make(library, Options(**options))
