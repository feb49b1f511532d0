"""How it is to use: calls, sessions, attempts, nested tools, deadlines, forks."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

import ascertain
from ascertain import (
    Ascertain,
    Attempt,
    Budget,
    NotSent,
    Refused,
    State,
    current_attempt,
    deadline,
    key,
)
from ascertain.errors import ContractError, LedgerBusy, LedgerClosed, NotAllowed
from ascertain.store.ledger import Filter
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

QUICK = Budget(turn_s=1.0, send_deadline_s=0.5, backoff_s=0.01, backoff_max_s=0.05)


@pytest.fixture
def app(tmp_path):
    with Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none", lease_s=0.3) as app:
        yield app


def test_what_is_public_is_sorted_and_there():
    """``__all__`` is the face, in order."""
    assert ascertain.__all__ == sorted(ascertain.__all__)
    assert all(hasattr(ascertain, name) for name in ascertain.__all__)


def test_the_attempt_is_injected_wherever_it_stands_and_hidden_from_schemas(app):
    """A parameter annotated Attempt is ours, not the model's."""

    @app.tool()
    def pay(order_id: str, attempt: Attempt = None, amount: int = 1) -> dict:  # type: ignore[assignment]
        assert attempt.key == key() == current_attempt().key
        assert attempt.remaining_s > 0
        return {"id": attempt.key[:6], "n": attempt.number}

    with app.session("s", principal="u"):
        action = pay(order_id="A1")
    assert action.unwrap() == {"id": action.key[:6], "n": 1}
    assert set(pay.schema()["properties"]) == {"order_id", "amount"}


def test_an_attempt_can_be_bound_to_another_thread(app):
    """Work handed to a pool still knows its key."""
    with ThreadPoolExecutor(1) as pool:

        @app.tool()
        def pay(order_id: str) -> dict:
            return {"id": pool.submit(current_attempt().bind(key)).result()}

        with app.session("s", principal="u"):
            action = pay(order_id="A1")
    assert action.provider_ref == action.key


def test_a_guarded_tool_inside_a_guarded_tool_is_a_child_action(app):
    """The inner action names its parent."""

    @app.tool()
    def reserve_stock(order_id: str) -> dict:
        return {"id": "S1"}

    @app.tool()
    def place_order(order_id: str) -> dict:
        return {"id": "O1", "stock": reserve_stock(order_id=order_id).provider_ref}

    with app.session("s", principal="u"):
        outer = place_order(order_id="A1")
    (inner,) = app.ledger.find(Filter(tool="reserve_stock"))
    assert inner.parent == outer.id
    assert outer.unwrap() == {"id": "O1", "stock": "S1"}


def test_a_streaming_write_is_drained_before_it_is_confirmed(app):
    """A generator has happened only once it is read to its end."""
    done = []

    @app.tool()
    def export(order_id: str) -> list:
        def rows():
            yield 1
            done.append(order_id)
            yield 2

        return rows()  # type: ignore[return-value]

    with app.session("s", principal="u"):
        action = export(order_id="A1")
    assert (action.unwrap(), done) == ([1, 2], ["A1"])


def test_results_are_what_their_stored_json_decodes_to_the_first_time_too(app):
    """A dataclass comes back as a dataclass, from the call and from the ledger."""

    @dataclass
    class Ticket:
        id: str
        amount: int

    def create(order_id: str):
        return Ticket("T1", 3)

    create.__annotations__["return"] = Ticket
    tool = app.tool(name="create_ticket")(create)
    with app.session("s", principal="u"):
        first, again = tool(order_id="A1"), tool(order_id="A1")
    assert first.unwrap() == again.unwrap() == Ticket("T1", 3)
    assert app.action(first.id).unwrap() == Ticket("T1", 3)


def test_a_body_may_say_that_nothing_was_sent_and_it_goes_again(app):
    """NotSent is positive proof for its own attempt."""
    tries = []

    @app.tool(budget=QUICK)
    def pay(order_id: str) -> dict:
        tries.append(current_attempt().number)
        if len(tries) == 1:
            raise NotSent("circuit open")
        return {"id": "P1"}

    with app.session("s", principal="u"):
        action = pay(order_id="A1")
    assert (action.state, tries) == (State.CONFIRMED, [1, 2])


def test_a_refusal_ends_only_what_it_speaks_of(app):
    """The body says the provider's own code."""

    @app.tool()
    def pay(order_id: str) -> dict:
        raise Refused("CARD_DECLINED")

    with app.session("s", principal="u") as session:
        action = pay(order_id="A1")
        facts = session.facts()
    assert (action.state, action.kind, action.record.code) == (
        State.REJECTED, "business", "CARD_DECLINED",
    )  # fmt: skip
    assert facts["actions"][0]["error_code"] == "CARD_DECLINED"


def test_turns_make_the_same_wish_new_and_an_open_one_stays_the_same(app):
    """A later turn may wish it again; what is still open from an earlier one is joined."""
    lost = iter([True, False])

    @app.tool(identity=["order_id"], budget=QUICK)
    def pay(order_id: str) -> dict:
        if order_id == "open" and next(lost):
            raise TimeoutError
        return {"id": f"P-{current_attempt().action_id[-4:]}"}

    with app.session("s", principal="u", turn="m1") as session:
        first, still_open = pay(order_id="A1"), pay(order_id="open")
        with session.turn("m2"):
            second, joined = pay(order_id="A1"), pay(order_id="open")
    assert first.id != second.id
    assert joined.id == still_open.id
    assert joined.state is State.UNKNOWN


def test_an_ambient_deadline_bounds_everything_and_has_passed_before_nothing_is_sent(app):
    """The least of call, turn and process."""

    @app.tool(budget=QUICK)
    def pay(order_id: str) -> dict:
        return {"id": f"{current_attempt().remaining_s < 0.2}"}

    with app.session("s", principal="u"), deadline(0.15):
        with deadline(5):
            assert pay(order_id="A1").provider_ref == "True"
        with deadline(0), pytest.raises(TimeoutError, match="nothing was sent"):
            pay(order_id="A2")
    assert len(app.ledger.find(Filter())) == 1


async def test_async_tools_run_side_by_side_and_share_commits(tmp_path):
    """A hundred callers, far fewer transactions."""
    async with Ascertain(ledger_url(f"{tmp_path}/ledger.db")) as app:
        batches = []
        submit = app.ledger.submit
        app.ledger.submit = lambda ops, **how: batches.append(len(ops)) or submit(ops, **how)  # type: ignore[method-assign]

        @app.tool()
        async def pay(order_id: str) -> dict:
            await asyncio.sleep(0)
            return {"id": order_id}

        async def caller(n: int) -> State:
            async with app.session(f"s{n}", principal="u"):
                return (await pay(order_id=f"A{n}")).state

        states = await asyncio.gather(*(caller(n) for n in range(100)))
    assert set(states) == {State.CONFIRMED}
    assert len(batches) < 100, (
        "two hundred commits in one transaction each would be no group commit"
    )


async def ticking(ticks: list[int]) -> None:
    """The other work on the loop."""
    while True:
        ticks.append(1)
        await asyncio.sleep(0.01)


async def test_the_event_loop_is_never_blocked_by_a_commit(tmp_path):
    """While the ledger is slow, the loop goes on."""
    async with Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none") as app:
        submit, slow = app.ledger.submit, threading.Event()

        def slowly(operations, **how):
            slow.wait(0.3)
            return submit(operations, **how)

        app.ledger.submit = slowly  # type: ignore[method-assign]
        ticks: list[int] = []

        @app.tool()
        async def pay(order_id: str) -> dict:
            return {"id": "P1"}

        ticker = asyncio.create_task(ticking(ticks))
        async with app.session("s", principal="u"):
            await pay(order_id="A1")
        ticker.cancel()
    assert len(ticks) > 15


def test_a_sync_lookup_and_body_of_other_worlds_are_refused_at_registration(app):
    """A sync tool cannot await."""

    @app.tool()
    def pay(order_id: str) -> dict:
        return {}

    with pytest.raises(ContractError, match="plain function"):

        @pay.lookup()
        async def find(action):
            return None


def test_an_async_tool_called_by_name_from_sync_code_says_what_to_do(app):
    """`call_async` is the way."""

    @app.tool()
    async def pay(order_id: str) -> dict:
        return {}

    with app.session("s", principal="u") as session, pytest.raises(NotAllowed, match="call_async"):
        session.call("pay", {"order_id": "A1"})


def test_a_forked_child_has_handles_of_its_own(tmp_path):
    """Prefork servers: the app is made before the fork."""
    app = Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none").open()

    @app.tool()
    def pay(order_id: str) -> dict:
        return {"id": f"P-{os.getpid()}"}

    with app.session("s", principal="u"):
        pay(order_id="parent")

    def child(n: int) -> None:
        with app.session(f"s{n}", principal="u"):
            assert pay(order_id=f"child-{n}").confirmed

    workers = [
        multiprocessing.get_context("fork").Process(target=child, args=(n,)) for n in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(app.ledger.find(Filter())) == 4
    assert list(app.ledger.verify()) == []
    app.close()


def test_more_work_than_the_bound_is_refused_before_anything_is_sent(tmp_path):
    """LedgerBusy names the bound; nothing was sent on its account."""
    app = Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none", queue_bound=0)
    sent = []

    @app.tool()
    def pay(order_id: str) -> dict:
        sent.append(order_id)
        return {}

    with app.session("s", principal="u"), pytest.raises(LedgerBusy, match="bound 0"):
        pay(order_id="A1")
    assert sent == []
    app.close()


def test_a_closed_app_says_so(tmp_path):
    """Used after close()."""
    app = Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none").open()

    @app.tool()
    def pay(order_id: str) -> dict:
        return {}

    app.close()
    with app.session("s", principal="u"), pytest.raises(LedgerClosed):
        pay(order_id="A1")


def test_an_interrupted_sync_call_is_recorded_and_raised_again(app):
    """Ctrl-C in the body: unknown on record, and the interrupt goes on."""

    @app.tool()
    def pay(order_id: str) -> dict:
        raise KeyboardInterrupt

    with app.session("s", principal="u"), pytest.raises(KeyboardInterrupt):
        pay(order_id="A1")
    (record,) = app.ledger.find(Filter())
    assert (record.state, record.reason, record.due_at is not None) == (
        State.UNKNOWN, "interrupted", True,
    )  # fmt: skip


def test_a_caller_recovers_an_abandoned_action_inline(app, tmp_path):
    """No worker anywhere: the next call of the same intent settles it within its own turn."""

    @app.tool(identity=["order_id"], key_lifetime="1h", budget=QUICK)
    def pay(order_id: str) -> dict:
        if not (tmp_path / "second").exists():
            (tmp_path / "second").touch()
            os._exit(9)
        return {"id": "P1"}

    child = os.fork()
    if child == 0:
        with app.session("s", principal="u"):
            pay(order_id="A1")
        os._exit(0)
    os.waitpid(child, 0)
    with app.session("s", principal="u"):
        action = pay(order_id="A1")
    assert (action.how, action.state, action.attempt) == ("joined", State.CONFIRMED, 2)
