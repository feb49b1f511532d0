"""S01, S04, S05, S11, S12 between processes: each sees what the other has begun, brought, changed,
and left behind when it was killed. With the ledger alone, and with Valkey and Redis before it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import valkey

from ascertain.flow.effects import Settle
from ascertain.model.operations import Reserve
from ascertain.store.ledger import Filter
from tests.conformance import valkey_server
from tests.ledgers import ledger_url
from tests.requirements.remembering import until
from tests.requirements.talking import Provider, agents_app

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENT_S = 10.0
pytestmark = pytest.mark.every_ledger


class Desk:
    """This process's app, and others that talk in the same session."""

    def __init__(self, folder: Path, sessions: str) -> None:
        self.provider = Provider(folder)
        self.sessions = sessions
        self._said = [ledger_url(f"{folder}/ledger.db"), str(folder), sessions]
        self._children: list[subprocess.Popen] = []
        self.app = self.make(wait_s=PATIENT_S)

    def make(self, **tiers):
        return agents_app(self._said[0], self.provider, self.sessions, **tiers)

    def session(self, turn="2"):
        return self.app.session("chat-42", principal="u7", turn=turn)

    def start(self, what):
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.requirements.talking", *self._said, what],
            cwd=ROOT, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", *sys.path])},
        )  # fmt: skip
        self._children.append(child)
        return child

    def run(self, what):
        """A whole life of another process; the chain of what it did."""
        child = self.start(what)
        said, _ = child.communicate(timeout=30)
        assert child.returncode == 0
        return said.split()[0]

    def first(self, action):
        return json.loads(self.app.ledger.events(action.id)[0].detail)

    def close(self):
        self.app.close()
        for child in self._children:
            child.kill()
            child.communicate(timeout=10)


@pytest.fixture(params=["ledger", *valkey_server.KINDS])
def desk(request, tmp_path):
    if request.param == "ledger":
        desk = Desk(tmp_path, "")
        yield desk
        desk.close()
        return
    with valkey_server.running(request.param) as (url, _):
        desk = Desk(tmp_path, url)
        yield desk
        desk.close()


def test_req_S12_a_call_waits_for_what_another_process_has_begun(desk):
    """The ticket is opened there; here the case waits, and is closed with what was committed."""
    desk.start("open")
    until(lambda: desk.provider.done("opened"), within_s=30.0)

    def it_waits(side, effect):
        if side == "before" and isinstance(effect, Settle):
            desk.provider.do("answers", "yes")  # only now does the other get its answer

    desk.app.hands.on_effect = it_waits
    with desk.session() as session:
        closed = session.call("close_case", {})
    assert closed.confirmed
    assert desk.provider.done("closed") == ["T-42"]
    assert [tier[:2] for tier in desk.first(closed)["tiers"]] == [["wait", "ticket"]]
    (opened,) = desk.app.ledger.find(Filter(tool="open_ticket"))
    assert closed.record.chain == opened.chain, "S05: it joined the chain of its writer"


def test_req_S01_what_a_killed_process_began_is_in_doubt_until_evidence_ends_it(desk):
    """No case is closed without its ticket; no second ticket is opened; then all goes on."""
    child = desk.start("open")
    until(lambda: desk.provider.done("opened"), within_s=30.0)
    child.send_signal(signal.SIGKILL)
    assert child.wait(10) == -signal.SIGKILL
    quick = desk.make(wait_s=0.01, waits=1)
    with quick.session("chat-42", principal="u7", turn="2") as session:

        def comes_to(state):
            quick.recover()
            return session.context()["ticket"].state == state

        held = session.call("close_case", {})
        assert held.reason == "context_pending", "its sender may still be at work"
        until(lambda: comes_to("in_doubt"), within_s=10.0)
        held = session.call("close_case", {})
        assert held.reason == "context_in_doubt"
        assert desk.provider.done("closed") == []
        desk.provider.do("answers", "yes")
        until(lambda: comes_to("ready"), within_s=10.0)
        closed = session.call("close_case", {})
    assert closed.confirmed
    assert desk.provider.done("closed") == ["T-42"]
    assert len(desk.provider.done("opened")) == 1
    assert list(quick.ledger.verify()) == []
    quick.close()


def test_req_S05_a_process_that_begins_later_knows_what_an_earlier_one_was_told(desk):
    """Whatever the session store has lost in between; and joins its chain."""
    chain = desk.run("new")
    if desk.sessions:
        with valkey.Valkey.from_url(desk.sessions) as client:
            client.flushall()
    with desk.session() as session:
        refunded = session.call("refund", {})
    assert refunded.provider_ref == "R-order-new"
    assert refunded.record.chain == chain
    assert desk.provider.done("asked") == ["new"], "nobody asked again"


def test_req_S04_what_another_process_changes_before_the_send_is_not_missed(desk):
    """The gate has read the old order; then it changes; the new one is refunded, and it alone."""
    desk.run("old")
    submit = desk.app.ledger.submit
    changed = []

    def change_first(operations):
        if not changed and any(isinstance(one, Reserve) for one in operations):
            changed.append(desk.run("new"))
        return submit(operations)

    desk.app.ledger.submit = change_first
    with desk.session() as session:
        refunded = session.call("refund", {})
    assert refunded.confirmed
    assert desk.provider.done("refunded") == ["order-new"]
    assert desk.first(refunded)["tiers"] == [["again", "stale_context"]]
