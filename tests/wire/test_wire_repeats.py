"""F18, U11: what a client sends again by itself is counted, send by send."""

import pytest

from ascertain.model.outcome import Effect
from tests.pure.stand_ins import BY_CRM, judge
from tests.wire.behaviours import by_path
from tests.wire.callers import BODY, KINDS, open_caller
from tests.wire.server import Server, refusing


@pytest.mark.parametrize("code", [307, 308])
def test_req_F18_a_redirect_posts_again_and_both_targets_are_named(kind, server, code):
    with open_caller(kind, follow=True) as caller:
        seen = caller.call("POST", server.url(f"/redirect?code={code}&to=/ok"))
    ledger = server.settle()
    assert [(head.method, head.path, head.body) for head in ledger.heads] == [
        ("POST", "/redirect", BODY),
        ("POST", "/ok", BODY),
    ]
    assert seen.trace.sends == 2
    assert seen.trace.targets == (
        f"POST {server.address}/redirect",
        f"POST {server.address}/ok",
    )
    assert seen.trace.http_status == 200
    assert seen.trace.complete is True


def test_req_F18_a_redirect_that_becomes_a_read_is_one_write_and_one_read(kind, server):
    with open_caller(kind, follow=True) as caller:
        seen = caller.call("POST", server.url("/redirect?code=303&to=/ok"))
    assert [head.method for head in server.settle().heads] == ["POST", "GET"]
    assert seen.trace.sends == 2
    assert seen.trace.targets == (f"POST {server.address}/redirect",)


def test_req_F18_a_redirect_to_a_dead_host_does_not_hide_the_first_send(kind, server):
    with refusing() as port, open_caller(kind, follow=True) as caller:
        there = f"/redirect?code=307&to=http://127.0.0.1:{port}/ok"
        seen = caller.call("POST", server.url(there))
    assert len(server.settle().heads) == 1
    assert seen.error is not None
    assert seen.trace.left
    assert [send.left for send in seen.log.sends] == [True, False]
    assert not seen.trace.answered, "the last send had no answer"
    assert judge(seen.error, contract=BY_CRM, trace=seen.trace).effect is Effect.UNKNOWN


def test_req_F18_without_leave_to_follow_a_redirect_is_one_send(kind, server):
    with open_caller(kind) as caller:
        seen = caller.call("POST", server.url("/redirect?code=307&to=/ok"))
    assert len(server.settle().heads) == seen.trace.sends == 1
    assert seen.trace.http_status == 307


def test_req_F18_connects_that_are_tried_again_are_counted_and_nothing_left(kind):
    # Both libraries wait between tries: not at all, then half a second.
    with refusing() as port, open_caller(kind, retries=1) as caller:
        seen = caller.call("POST", f"http://127.0.0.1:{port}/ok")
    assert seen.trace.sends == 2
    assert not seen.trace.left
    assert judge(seen.error, contract=BY_CRM, trace=seen.trace).effect is Effect.NOT_SENT
    assert judge(seen.error, trace=seen.trace).effect is Effect.UNKNOWN, "another way out unseen"


def test_req_U11_connects_are_not_tried_again_beyond_the_deadline(kind):
    with refusing() as port, open_caller(kind, retries=30) as caller:
        # The waits are half a second, a second, two: the second one is cut short.
        seen = caller.call("POST", f"http://127.0.0.1:{port}/ok", deadline_s=0.7)
    assert seen.took_s < 1.4
    assert isinstance(seen.error, caller.timeouts)
    assert not seen.trace.left


# --------------------------------------------------------------------------- keep-alive connections


def twice(kind, first):
    """One call that primes the connection, then the one that is looked at."""
    with Server(by_path) as server:
        with open_caller(kind) as caller:
            primed = caller.call("POST", server.url(first))
            assert primed.http_status == 200
            seen = caller.call("POST", server.url("/ok"), deadline_s=5.0)
        ledger = server.settle()
    return seen, [head for head in ledger.heads if head.path == "/ok"], ledger


@pytest.mark.parametrize("end", ["rst", "fin"])
def test_req_F10_a_reused_connection_that_breaks_unread_proves_nothing(kind, end):
    seen, heads, ledger = twice(kind, f"/then_next_byte_{end}")
    assert (heads, ledger.effects) == ([], [f"/then_next_byte_{end}"])
    assert ledger.connections == 1, "the connection was not reused: the case tests nothing"
    assert seen.error is not None
    assert seen.trace.left
    assert (seen.trace.sends, seen.trace.answered) == (1, False)


def test_req_F10_a_reused_connection_that_breaks_after_the_effect_looks_the_same(kind):
    seen, heads, ledger = twice(kind, "/then_execute_and_fin")
    assert len(heads) == 1
    assert ledger.effects == ["/then_execute_and_fin", "/ok"]
    assert ledger.connections == 1
    assert seen.error is not None
    assert seen.trace.left
    assert (seen.trace.sends, seen.trace.answered) == (1, False)


def test_req_F10_a_connection_that_was_closed_while_idle_is_replaced(kind):
    seen, heads, ledger = twice(kind, "/then_idle_fin")
    # The client may or may not have noticed the end in time; either way the books agree.
    assert len(heads) == (1 if seen.http_status == 200 else 0)
    assert seen.trace.sends == 1
    assert seen.trace.left
    assert seen.trace.answered == (seen.http_status == 200)
    assert ledger.connections == 1 + len(heads)


def test_req_F10_each_call_on_a_kept_connection_has_its_own_trace(kind, server):
    with open_caller(kind) as caller:
        for _ in range(3):
            seen = caller.call("POST", server.url("/ok"))
            assert (seen.trace.sends, seen.trace.complete) == (1, True)
    ledger = server.settle()
    assert (ledger.connections, len(ledger.heads)) == (1, 3)


# ----------------------------------------------------------------------------------- authentication


@pytest.mark.parametrize("kind", list(KINDS))
def test_req_F18_a_second_request_for_authentication_is_counted(kind, server):
    with open_caller(kind) as caller:
        digest = caller.lib.auth.HTTPDigestAuth if kind == "requests" else caller.lib.DigestAuth
        seen = caller.call("POST", server.url("/digest"), auth=digest("ann", "pw"))
    ledger = server.settle()
    assert len(ledger.heads) == 2
    assert len(ledger.effects) == 1
    assert seen.trace.sends == 2
    assert [send.http_status for send in seen.log.sends] == [401, 200]
    assert seen.trace.complete is True
