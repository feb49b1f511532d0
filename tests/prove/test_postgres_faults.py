"""Four agents with the same intents on one PostgreSQL, while its server is crashed under them.

They begin at one instant. Meanwhile backends are ended, the server restarts as after a crash, and
agents are killed and begin again. The provider deduplicates by key and can be asked by it.
"""

from __future__ import annotations

import random
import select
import time
from collections import Counter

import httpx
import psycopg
import pytest

from ascertain import Absent, Ascertain, Budget, Found, key
from ascertain.errors import LedgerError
from ascertain.store.ledger import Filter
from ascertain.testing.world import Provider, World
from tests.postgres.server import Server

INTENTS, AGENTS, SEEDS = 25, 4, (1, 2, 3)
BUDGET = Budget(turn_s=8.0, turn_sends=3, sends=8, send_deadline_s=2.0, backoff_s=0.05)
FINISHED_WITHIN_S = 60.0


def app_of(url, world_url):
    app = Ascertain(url, secret=b"the secret of four agents", worker="none", lease_s=6.0)
    client = app.watch(httpx.Client(base_url=world_url, timeout=5.0))

    @app.tool(
        identity=["order"], key_lifetime="24h", budget=BUDGET, once_per="principal", breaker=False
    )
    def create_ticket(order: str) -> dict:
        reply = client.post("/tickets", json={"order": order}, headers={"Idempotency-Key": key()})
        return reply.raise_for_status().json()

    @create_ticket.lookup(absence_final_after="2s")
    def find_ticket(action):
        rows = client.get("/tickets", params={"request": action.key}).raise_for_status().json()
        return Found(rows[0]["ref"], count=len(rows)) if rows else Absent

    return app, create_ticket


def agent(url, world_url, number, begin_at):
    """All intents, in an order of its own; what it was told, None where the ledger failed."""
    app, create_ticket = app_of(url, world_url)
    orders = [f"order-{n}" for n in range(INTENTS)]
    random.Random(number).shuffle(orders)
    told = {}
    while time.time() < begin_at:
        pass  # at one instant
    with app.session(f"chat-{number}", principal="u7"):
        for order in orders:
            try:
                action = create_ticket(order=order)
            except LedgerError:
                told[order] = None  # before anything was sent
            else:
                told[order] = [str(action.state), action.provider_ref]
    app.close()
    return told


def disturb(server, dice, agents, start):
    """What happens to server and agents until all agents have ended."""
    seen = Counter()
    for _ in range(4):
        for _ in range(5):
            select.select([], [], [], dice.uniform(0.02, 0.15))
            with psycopg.connect(server.url(), autocommit=True) as db:
                db.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE application_name = 'ascertain'"
                )
            seen["backends ended"] += 1
        server.crash()
        seen["servers crashed"] += 1
        victim = dice.randrange(len(agents))
        agents[victim].kill()
        if agents[victim].end().killed:
            seen["agents killed"] += 1
        agents[victim] = start(victim)
    return seen


@pytest.mark.timeout(240)
@pytest.mark.parametrize("seed", SEEDS)
def test_four_agents_and_a_server_that_crashes_make_each_effect_once(seed, start):
    """No effect twice, nothing said that is not so, nothing lost, and every action has its end."""
    dice = random.Random(seed)
    server = Server().make().start()
    url = f"{server.url()}&schema=agents"
    with World({"tickets": Provider(first_ref="T100")}) as world:
        for n in range(0, INTENTS, 5):
            world.script("tickets", {"order": f"order-{n}"}, ["reply_lost", "ok"])
        try:
            app, _ = app_of(url, world.url)
            app.open()
            begin_at = time.time() + 0.5
            agents = [start(lambda n=n: agent(url, world.url, n, begin_at)) for n in range(AGENTS)]
            seen = disturb(
                server, dice, agents,
                lambda n: start(lambda: agent(url, world.url, n + 10, 0.0)),
            )  # fmt: skip
            told = [one.end(within_s=120).value for one in agents]
            found = _finished(app)
            told.append(start(lambda: agent(url, world.url, 99, 0.0)).end(within_s=60).value)
            found = _finished(app)
            world.wait_idle()
            _judge(app, world, found, told)
            print(f"seed {seed}: {dict(seen)}; {Counter(_said(told))}")
            app.close()
        finally:
            server.remove()


def _finished(app):
    """Recover until every action has its end; all of them."""
    deadline = time.monotonic() + FINISHED_WITHIN_S
    while True:
        app.recover()
        found = app.ledger.find(Filter(limit=1000))
        if not any(record.open for record in found):
            return found
        assert time.monotonic() < deadline, Counter(str(one.state) for one in found)


def _judge(app, world, found, told):
    effects = Counter(str(effect.args["order"]) for effect in world.effects("tickets"))
    refs = {str(effect.args["order"]): effect.ref for effect in world.effects("tickets")}
    assert effects == {f"order-{n}": 1 for n in range(INTENTS)}, "each of them once"
    assert [str(record.state) for record in found] == ["confirmed"] * INTENTS
    assert sorted(record.provider_ref for record in found) == sorted(refs.values())
    for one in told:
        for order, said in one.items():
            if said is not None and said[0] == "confirmed":
                assert said[1] == refs[order], "what was said is so"
            else:
                assert said is None or said[0] in ("unknown", "prepared"), (order, said)
    assert list(app.ledger.verify()) == []


def _said(told):
    return [said and said[0] for one in told for said in one.values()]
