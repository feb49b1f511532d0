"""U10 under kill -9: at every crash point of the call, the approval and the send."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from ascertain import Absent, Ascertain, Budget, Found, State, key
from ascertain.store.ledger import Filter
from ascertain.testing import invariants
from ascertain.testing.crash import crash_everywhere
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

ONCE = Budget(turn_sends=1, turn_s=5.0, sends=4, send_deadline_s=1.0, backoff_s=0.01)


class Scene:
    """One ledger and one provider (a folder with a file for each effect) for each round."""

    def __init__(self, folder: Path, *, approves: bool) -> None:
        self.folder = folder
        self.approves = approves
        self.numbers = itertools.count()
        self.round = 0

    def begin(self) -> None:
        self.round = next(self.numbers)
        self.provider.mkdir()

    @property
    def provider(self) -> Path:
        return self.folder / f"provider-{self.round}"

    def app(self):
        app = Ascertain(ledger_url(f"{self.folder}/{self.round}.db"), worker="none", lease_s=0.2)

        @app.tool(identity=["order"], approval=True, budget=ONCE)
        def refund(order: str) -> dict:
            effect = self.provider / key()
            with effect.open("x") as file:  # a second effect would be an error
                file.write(order)
            return {"id": effect.name}

        @refund.lookup(absence_final_after="0s")
        def find(action):
            effect = self.provider / action.key
            return Found(effect.name) if effect.exists() else Absent

        return app, refund

    def call(self, plan) -> None:
        """The call, the person's word, and a worker that passes."""
        app, refund = self.app()
        app.hands.on_effect = plan
        with app.session("chat", principal="u7"):
            action = refund(order="A1")
        if self.approves:
            app.approve(action.id, by="li", digest=app.approval_digest(action.id))
        app.recover()
        app.close()

    def recover(self, plan) -> None:
        app, _ = self.app()
        app.hands.on_effect = plan
        while app.recover():
            pass
        app.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("approves", [True, False])
def test_req_U10_killed_anywhere_nothing_is_sent_twice_or_without_an_approval(tmp_path, approves):
    scene = Scene(tmp_path, approves=approves)
    rounds, ends = 0, set()
    for crash in crash_everywhere(scene.call, scene.recover, before=scene.begin):
        rounds += 1
        app, _ = scene.app()
        found = app.ledger.find(Filter())
        effects = list(scene.provider.iterdir())
        assert len(effects) <= len(found) <= 1, crash
        for record in found:
            events = app.ledger.events(record.id)
            assert not list(app.ledger.verify()), crash
            assert not invariants.approved_sends(record, events), crash
            approved = any(event.reason == "approved" for event in events)
            ends.add((approved, record.state))
            if approved:
                assert (record.state, len(effects)) == (State.CONFIRMED, 1), crash
            else:
                assert (record.state, effects) == (State.PREPARED, []), crash
        app.close()
    expected = {(False, State.PREPARED)} | ({(True, State.CONFIRMED)} if approves else set())
    assert ends == expected
    assert rounds > (10 if approves else 2)
