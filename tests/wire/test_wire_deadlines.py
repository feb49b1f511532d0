"""F10, U11: servers that take for ever, against the attempt's own deadline.

The client's own time limit is longer in every case, and no single read waits long where bytes drip:
only the hooks can end these calls. All cases of one client run side by side, for what they do is
wait; each is then a test of its own.
"""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import pytest

from tests.wire import behaviours
from tests.wire.behaviours import by_path
from tests.wire.callers import BODY, open_caller
from tests.wire.certificates import server_tls
from tests.wire.server import Server, blackhole

DEADLINE_S = 1.0
SLACK_S = 0.8
LIMIT_S = 30.0


@dataclass(frozen=True)
class Case:
    """One server that takes for ever, and what is to be said of it."""

    behave: object
    left: bool = True
    heads: int = 1
    effects: int = 0
    http_status: int | None = None
    path: str = "/"
    scheme: str = "http"
    tls: bool = False
    late: bool = False
    proxied: bool = False
    body: bytes = BODY


def at(path, **more):
    return Case(by_path, path=path, **more)


CASES = {
    "tcp": Case(None, left=False, heads=0),
    "handshake": Case(behaviours.never_read, left=False, heads=0, scheme="https"),
    "tunnel": Case(
        behaviours.proxy_then("hang"), left=False, heads=0, scheme="https", proxied=True
    ),
    "tunnel_then_handshake": Case(
        behaviours.proxy_opening_late(0.9), left=False, heads=0, scheme="https", proxied=True
    ),
    "forward_proxy": Case(behaviours.proxy_then("hang"), proxied=True),
    "late_accept": at("/ok", effects=1, late=True),
    "never_read": Case(behaviours.never_read, heads=0, body=b"x" * 16_000_000),
    "slowly_read": Case(behaviours.sip, heads=0, body=b"x" * 16_000_000),
    "no_effect": at("/read_hang"),
    "effect": at("/effect_hang", effects=1),
    "drip_head": at("/drip_head", effects=1),
    "half_body": at("/half_length_hang", effects=1, http_status=200),
    "drip_body": at("/drip_body", effects=1, http_status=200),
    "drip_chunk_line": at("/drip_chunk_line", effects=1, http_status=200),
    "tls_effect": at("/effect_hang", effects=1, scheme="https", tls=True),
    "tls_half_body": at("/half_length_hang", effects=1, http_status=200, scheme="https", tls=True),
    "tls_drip_head": at("/drip_head", effects=1, scheme="https", tls=True),
    "tls_drip_body": at("/drip_body", effects=1, http_status=200, scheme="https", tls=True),
}


def run(case, kind, certificate):
    """Play one case to its end: (what was seen, the server's ledger, the client's timeouts)."""
    with contextlib.ExitStack() as stack:
        tls = server_tls(certificate) if case.tls else None
        behave = case.behave or behaviours.accept_fin
        server = stack.enter_context(Server(behave, tls=tls, late=case.late))
        options = {"timeout_s": 30.0}
        url = server.url(case.path, case.scheme)
        if case.behave is None:
            url = f"http://127.0.0.1:{stack.enter_context(blackhole())}/"
        if case.proxied:
            options["proxy"], url = server.url("", "http"), f"{case.scheme}://crm.invalid/"
        if case.tls:
            options["verify"] = certificate[0]
        with open_caller(kind, **options) as caller:
            seen = caller.call("POST", url, deadline_s=DEADLINE_S, body=case.body)
            timeouts = caller.timeouts
        return seen, server.settle(), timeouts


@pytest.fixture(scope="session")
def played(certificate):
    """All cases of one client, run side by side when the first of them is asked for."""

    @cache
    def all_of(kind):
        with ThreadPoolExecutor(len(CASES)) as threads:
            running = {
                name: threads.submit(run, case, kind, certificate) for name, case in CASES.items()
            }
            return {name: future.result(LIMIT_S) for name, future in running.items()}

    return all_of


@pytest.mark.parametrize("name", CASES)
def test_req_U11_a_call_ends_at_the_deadline_and_its_trace_is_true(kind, name, played):
    case = CASES[name]
    seen, ledger, timeouts = played(kind)[name]
    story = f"{seen.trace} error={seen.error!r} took={seen.took_s:.2f} ledger={ledger}"
    assert seen.took_s < DEADLINE_S + SLACK_S, f"outlasted its deadline: {story}"
    assert seen.took_s > DEADLINE_S / 2, f"it was over before it began to wait: {story}"
    assert isinstance(seen.error, timeouts), story
    assert len(ledger.heads) == case.heads, story
    assert len(ledger.effects) == case.effects, story
    trace = seen.trace
    assert (trace.sends, trace.left, trace.unsafe) == (1, case.left, True), story
    assert trace.exits == {"crm"}, story
    assert trace.http_status == case.http_status, story
    assert trace.answered == (case.http_status is not None), story
    assert trace.complete is (None if case.http_status is None else False), story
    assert len(seen.trace.targets) == 1, story
    assert not seen.log.sends[0].in_flight


def test_req_F10_with_and_without_effect_look_the_same_to_the_hooks(kind, played):
    traces = {
        name: (seen.trace.left, seen.trace.answered, seen.trace.complete, type(seen.error))
        for name, (seen, _, _) in played(kind).items()
    }
    assert traces["no_effect"] == traces["effect"] == traces["late_accept"]
