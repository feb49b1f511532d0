"""A chain of three steps whose last one is refused, killed at every crash point.

The caller dies at each of its points and another process undoes what it left; or the process that
undoes dies at each of *its* points, and a third one goes on. Effects are counted at the provider.
"""

from __future__ import annotations

import itertools
import time
from threading import Event

import httpx
import pytest

from ascertain import Ascertain, State
from ascertain.testing import invariants
from ascertain.testing.crash import ENDED, POINTS, Plan, run_killed
from ascertain.testing.world import World
from tests.ledgers import ledger_url
from tests.requirements.order import PROVIDERS, Shop

pytestmark = pytest.mark.every_ledger

NO = ["error_body_2xx"]
OF_CHAINS = {
    f"{effect}.{side}" for effect in ("survey", "undo", "picture") for side in ("before", "after")
}
AT_MOST = 200


class Stage:
    """One shop; each round is a new order, in processes of its own."""

    def __init__(self, world: World, folder, *, stuck: bool) -> None:
        self.world, self.folder, self.stuck = world, folder, stuck
        self.numbers = itertools.count(1)
        self.order = ""

    def shop(self, plan: Plan | None = None) -> Shop:
        app = Ascertain(ledger_url(f"{self.folder}/ledger.db"), worker="none", lease_s=0.3)
        app.hands.on_effect = plan
        return Shop(app, app.watch(httpx.Client(base_url=self.world.url)))

    def begin(self) -> None:
        self.order = f"{self.stuck}/{next(self.numbers)}"
        self.world.script("shipment", {"order": self.order}, NO * 9)
        if self.stuck:
            self.world.script("undo-payment", {"order": self.order}, NO * 9)

    def call(self, plan: Plan) -> None:
        shop = self.shop(plan)
        with shop.app.session(self.order, principal="u7") as session, session.chain("fulfil"):
            shop.steps(self.order)

    def recover(self, plan: Plan) -> None:
        shop, until = self.shop(plan), time.monotonic() + 20.0
        self.call_again_if_it_never_came_to_a_refusal(shop)
        while not self.ended(shop):
            assert time.monotonic() < until, self.told(shop)
            shop.app.recover()
            Event().wait(0.01)

    def call_again_if_it_never_came_to_a_refusal(self, shop: Shop) -> None:
        """Free-form code goes on by being run again: recorded steps are found."""
        around = self.around(shop)
        if around is None or not around.chain.backward:
            with shop.app.session(self.order, principal="u7") as session, session.chain("fulfil"):
                shop.steps(self.order)

    def around(self, shop: Shop):
        chains = shop.app.ledger.chains.of_session(self.order, "default")
        return shop.app.ledger.chains.around(chains[0].id) if chains else None

    def told(self, shop: Shop):
        around = self.around(shop)
        return around and [(m.step, r.state, r.reason, r.review) for m, r in around.members]

    def ended(self, shop: Shop) -> bool:
        around = self.around(shop)
        if around is None or not around.chain.backward:
            return False
        steps = around.steps()
        last = steps.get("charge_card")
        if self.stuck:
            return last is not None and last[1].review == "undo_stuck"
        return all(record.state is not State.CONFIRMED and record.terminal
                   for _, record in steps.values())  # fmt: skip

    def wrong(self):
        """All that must hold and does not."""
        shop = self.shop()
        around = self.around(shop)
        assert around is not None
        effects = {
            part: self.world.count(part, order=self.order)
            for part in PROVIDERS
            if self.world.count(part, order=self.order)
        }
        undone = {"undo-payment": 1, "undo-stock": 1}
        expected = {"stock": 1, "payment": 1} | ({} if self.stuck else undone)
        if effects != expected:
            yield f"effects {effects}, not {expected}: {self.told(shop)}"
        events = {r.id: shop.app.ledger.events(r.id) for _, r in around.members}
        yield from map(str, invariants.chain_holds(around, events))
        for _, record in around.members:
            yield from map(str, invariants.projection(None, record, events[record.id]))
            yield from shop.app.ledger.verify(record.id)
        shop.app.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("stuck", [False, True], ids=["undone", "stuck"])
def test_a_chain_killed_anywhere_ends_undone_or_with_a_person_and_nothing_happens_twice(
    tmp_path, stuck
):
    seen, wrong, rounds = set(), [], 0
    with World(dict(PROVIDERS)) as world:
        stage = Stage(world, tmp_path, stuck=stuck)
        stage.shop().app.close()
        for victim in (stage.call, stage.recover):
            for at in range(1, AT_MOST):
                stage.begin()
                if victim is stage.recover:
                    run_killed(stage.call, 0)
                passed = run_killed(victim, at)
                seen |= set(passed) - {ENDED}
                seen |= set(run_killed(stage.recover, 0)) - {ENDED}
                rounds += 1
                wrong += [
                    f"{victim.__name__} killed at {passed[-1]}: {one}" for one in stage.wrong()
                ]
                if passed[-1] == ENDED:
                    break
    print(f"{rounds} rounds, {len(seen)} of {len(POINTS)} points seen")
    assert not wrong, "\n".join(wrong)
    missing = OF_CHAINS - seen - (set() if stuck else {"picture.before", "picture.after"})
    assert not missing, f"never passed: {sorted(missing)}"
