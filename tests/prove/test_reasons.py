"""Every reason that ``decide`` can give is reached by some run against a real provider."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace

import httpx
import pytest

from ascertain import Absent, Ascertain, Breaker, Budget, Found, Receipt, RefusalRule, key
from ascertain.flow import call as call_flow
from ascertain.flow import pursue as pursue_flow
from ascertain.model.outcome import Report
from ascertain.rules.decide import SENTENCES, Reason, decide
from ascertain.runtime.sync import land_late
from ascertain.store.ledger import Filter
from ascertain.testing.world import Behaviour, Provider, World
from tests.prove.test_l0_chains import OF_CHAINS

QUICK = Budget(
    turn_sends=2, turn_s=1.0, sends=3, unanswered=4, send_deadline_s=0.4, backoff_s=0.05,
    backoff_max_s=0.2,
)  # fmt: skip
PROVIDERS = {
    "keyed": Provider(lookup=False),
    "listed": Provider(honours_key=False),
    "blind": Provider(honours_key=False, lookup=False),
}
PATIENCE_S = 12.0


class Runs:
    """One app per run, so that each run tells its own story."""

    def __init__(self, world: World, folder) -> None:
        self.world = world
        self.folder = folder
        self.client = httpx.Client(base_url=world.url)
        self.numbers = iter(range(1000))

    def app(self, collection: str, *, settling: float = 0.3, lookup: bool | None = None, **said):
        """An app with one tool against a collection; a fresh ledger."""
        url = f"sqlite:///{self.folder}/{next(self.numbers)}.db"
        app = Ascertain(url, worker="none", lease_s=0.3)
        client = app.watch(said.pop("client", self.client))
        provider = PROVIDERS[collection]
        promises = {"key_lifetime": "1h"} if provider.honours_key else {}
        promises |= {"identity": ["order"], "budget": QUICK, "via": [client], "recount_after": 0.2}
        promises["refusals"] = [RefusalRule(code="OPEN_TICKET_EXISTS", kind="already_exists")]

        @app.tool(**(promises | said))
        def create_ticket(order: str) -> dict:
            headers = {"Idempotency-Key": key()}
            reply = client.post(f"/{collection}", json={"order": order}, headers=headers)
            return reply.raise_for_status().json()

        if provider.lookup:

            @create_ticket.lookup(absence_final_after=settling)
            def find(action):
                reply = client.get(f"/{collection}", params={"request": action.key})
                rows = reply.raise_for_status().json()
                return Found(rows[0]["ref"], count=len(rows)) if rows else Absent

        return app, create_ticket

    def play(self, collection: str, behaviours: list, lookups: list = (), *, done=None, **said):
        """Make the call and let the worker pass until ``done`` or nothing is due soon."""
        app, tool = self.app(collection, **said)
        order = f"R-{next(self.numbers)}"
        self.world.script(collection, {"order": order}, behaviours, lookup=list(lookups))
        with app.session(order, principal="u"):
            tool(order=order)
        pass_until(app, done or quiet)
        app.close()


def quiet(app: Ascertain) -> bool:
    (record,) = app.ledger.find(Filter())
    return record.due_at is None or record.due_at > app.hands.clock() + PATIENCE_S


def pass_until(app: Ascertain, done) -> None:
    """Worker passes until ``done``, at most for the patience of this test."""
    until = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while not done(app):
        app.recover()
        assert time.monotonic() < until, app.ledger.find(Filter())
        pause.wait(0.02)


@pytest.fixture
def heard(monkeypatch) -> dict[Reason, int]:
    """Reasons as the flows hear them."""
    counts: dict[Reason, int] = {}

    def listening(view):
        decision = decide(view)
        counts[decision.reason] = counts.get(decision.reason, 0) + 1
        return decision

    monkeypatch.setattr(pursue_flow, "decide", listening)
    monkeypatch.setattr(call_flow, "decide", listening)
    return counts


@pytest.mark.timeout(150)
def test_every_reason_is_reached_by_some_run(heard, tmp_path):
    """Small stories; those of chains are played in `tests/requirements/chains`."""
    with World(dict(PROVIDERS)) as world:
        runs = Runs(world, tmp_path)
        play = runs.play
        play("keyed", ["reply_lost"])  # same key
        play("keyed", ["request_lost"] * 9)  # turn spent, then budget spent
        play("keyed", ["unavailable_503_before"], unprocessed=[503])  # temporary refusal
        play("listed", ["reply_lost"])  # evidence first; recount; settled
        play("listed", ["request_lost"])  # absence not final, then final
        play("listed", ["reply_lost"], ["error_500"] * 2)  # no answer yet
        play("listed", ["request_lost"], budget=replace(QUICK, sends=1))  # absence closes
        play("listed", [Behaviour("accepted_202", seconds=0.1)])  # by schedule
        play("listed", ["ok"], ["error_500"] * 9)  # the recount had no answer: settled all the same
        play("blind", ["reply_lost"])  # cannot ask
        play("blind", ["reply_lost"], on_unknown="leave")  # left open
        _nobody_listens(runs)
        _nobody_approves(runs)
        _provider_is_down(runs)
        _contradiction(runs)
        _frozen_sender(runs)
        _joined_after_a_crash(runs)
        runs.client.close()
    silent = sorted(set(Reason) - set(heard) - OF_CHAINS)
    print()
    for reason, times in heard.items():
        print(f"{times:5}  {reason:18} {SENTENCES[reason]}")
    assert not silent, f"no run gave: {silent}"


def _nobody_listens(runs: Runs) -> None:
    """Not sent, wanted for longer than the turn: first send again, then not wanted any more."""
    nowhere = httpx.Client(base_url="http://127.0.0.1:9")
    app, tool = runs.app("blind", client=nowhere, send_by="1.5s", budget=replace(QUICK, sends=90))
    with app.session("s", principal="u"):
        tool(order="N")
    pass_until(app, lambda app: app.ledger.find(Filter())[0].terminal)
    app.close()
    nowhere.close()


def _nobody_approves(runs: Runs) -> None:
    """It waits, the same call joins it, and then its time has passed."""
    app, tool = runs.app("blind", approval=True, approval_within=0.3)
    with app.session("s", principal="u"):
        tool(order="W")
        assert tool(order="W").how == "joined"
    pass_until(app, lambda app: app.ledger.find(Filter())[0].terminal)
    app.close()


def _provider_is_down(runs: Runs) -> None:
    """One lost answer is enough for this breaker: the repeat is held."""
    said = {"budget": replace(QUICK, turn_sends=1), "breaker": Breaker(after=1, cool_down=0.2)}
    app, tool = runs.app("keyed", **said)
    runs.world.script("keyed", {"order": "P"}, ["request_lost"])
    with app.session("s", principal="u"):
        tool(order="P")
    pass_until(app, lambda app: app.ledger.find(Filter())[0].terminal)
    app.close()


def _contradiction(runs: Runs) -> None:
    """Confirmed and about to be recounted; then a late result names another reference."""
    app, tool = runs.app("listed", recount_after=0.3)
    with app.session("s", principal="u"):
        action = tool(order="D")
    late = Report(value=Receipt("T-another"))
    land_late(app.hands, app.registry.get("create_ticket"), action.record, late)
    pass_until(app, quiet)
    assert app.ledger.find(Filter())[0].review == "duplicate_effect"
    app.close()


def _frozen_sender(runs: Runs) -> None:
    """Stopped before its send, its lease taken over: absent, and it may still wake."""
    app, _ = runs.app("listed")
    path = app.url
    app.close()
    child = os.fork()
    if child == 0:
        client = httpx.Client(base_url=runs.world.url)
        ours, tool = _reopened(runs, path, client)
        ours.hands.on_effect = _stop_before_invoke
        with ours.session("s", principal="u"):
            tool(order="F")
        os._exit(0)
    os.waitpid(child, os.WUNTRACED)
    app, _ = _reopened(runs, path, runs.client)
    pass_until(app, lambda app: app.ledger.find(Filter())[0].review == "sender_may_live")
    app.close()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _joined_after_a_crash(runs: Runs) -> None:
    """The next call meets a sent action whose sender is gone, and recovers it inline."""
    app, _ = runs.app("listed")
    path = app.url
    app.close()
    child = os.fork()
    if child == 0:
        ours, tool = _reopened(runs, path, httpx.Client(base_url=runs.world.url))
        ours.hands.on_effect = _die_before_invoke
        with ours.session("s", principal="u"):
            tool(order="J")
        os._exit(0)
    os.waitpid(child, 0)
    app, tool = _reopened(runs, path, runs.client)
    with app.session("s", principal="u"):
        assert tool(order="J").how == "joined"
    app.close()


def _reopened(runs: Runs, url: str, client: httpx.Client):
    number = int(url.rpartition("/")[2].removesuffix(".db"))
    runs.numbers, kept = iter([number]), runs.numbers
    made = runs.app("listed", client=client)
    runs.numbers = kept
    return made


def _stop_before_invoke(side: str, effect: object) -> None:
    if side == "before" and type(effect).__name__ == "Invoke":
        os.kill(os.getpid(), signal.SIGSTOP)


def _die_before_invoke(side: str, effect: object) -> None:
    if side == "before" and type(effect).__name__ == "Invoke":
        os.kill(os.getpid(), signal.SIGKILL)
