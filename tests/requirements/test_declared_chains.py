"""Declared steps: the wish as data, resumed by whoever finds it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ascertain import Ascertain, Ref, State, Step
from ascertain.errors import ContractError, UnknownTool
from ascertain.model.chain import Direction
from ascertain.rules.project import WorkflowState
from tests.ledgers import ledger_url

CHILD = """
import os, signal, sys
from ascertain import Ref, Step
from tests.requirements.test_declared_chains import tools, wish
app, made = tools(sys.argv[1], kill_at=sys.argv[2], url=sys.argv[3])
with app.session("shop", principal="u7") as session:
    wish(session, made).run()
"""


pytestmark = pytest.mark.every_ledger


def tools(folder, kill_at="", *, tells=True, url=None):
    """An app whose effects are lines in a file; it dies where it is told to.

    ``tells``: its look-ups give back the result, not only the reference. ``url``: its ledger's,
    where it is another process that says which it is.
    """
    app = Ascertain(url or ledger_url(f"{folder}/ledger.db"), worker="none", lease_s=0.3)

    def effect(name, text):
        if kill_at == f"{name}:before":
            os.kill(os.getpid(), signal.SIGKILL)
        with Path(folder, "effects").open("a") as file:
            file.write(f"{name} {text}\n")
        if kill_at == f"{name}:after":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"id": f"{name}-1", "shelf": {"row": 7}}

    def declare(name):
        from ascertain import Absent, Found

        @app.tool(name=name, identity=["what"])
        def make(what: str, where: int = 0) -> dict:
            return effect(name, f"{what} {where}")

        @make.lookup(absence_final_after=0.05)
        def find(action):
            made = f"{name} {action.arguments['what']}"
            there = any(line.startswith(made) for line in effects(folder))
            value = {"id": f"{name}-1", "shelf": {"row": 7}} if tells else None
            return Found(f"{name}-1", value) if there else Absent

        return make

    return app, {name: declare(name) for name in ("reserve", "pack", "ship")}


def wish(session, made):
    return session.chain(
        "order A123",
        wish=("fulfilled", "履约"),
        steps=[
            Step("ship", made["ship"], {"what": Ref("pack.provider_ref")}),
            Step("stock", made["reserve"], {"what": "A123"}),
            Step("pack", made["pack"], {"what": "A123", "where": Ref("stock.result.shelf.row")}),
        ],
    )


def effects(folder):
    path = Path(folder) / "effects"
    return path.read_text().splitlines() if path.exists() else []


WHOLE = ["reserve A123 0", "pack A123 7", "ship pack-1 0"]


def test_req_P05_declared_steps_are_made_in_the_order_of_what_they_need(tmp_path):
    app, made = tools(tmp_path)
    with app.session("shop", principal="u7") as session:
        chain = wish(session, made)
        chain.run()
        chain.run()
    assert effects(tmp_path) == WHOLE
    assert chain.state is WorkflowState.COMPLETED
    assert app.ledger.chains.next_due_at() is None, "nothing is left to start"
    app.close()


def test_the_same_without_blocking_the_loop(tmp_path):
    app, made = tools(tmp_path)

    async def run():
        async with app.session("shop", principal="u7") as session:
            chain = wish(session, made)
            await chain.run_async()
            return chain

    assert asyncio.run(run()).state is WorkflowState.COMPLETED
    assert effects(tmp_path) == WHOLE
    app.close()


def die(folder, kill_at):
    """Run the wish in a process that is killed there."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder), kill_at, ledger_url(f"{folder}/ledger.db")],
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL


def go_on(app, until):
    """Workers pass until the only chain satisfies ``until``."""
    (record,) = app.ledger.chains.of_session("shop", "default")
    chain = app.resumed(record)
    for _ in range(400):
        if until(chain):
            return chain
        app.recover()
        threading.Event().wait(0.05)
    raise AssertionError(chain.facts())


MOMENTS = [f"{step}:{when}" for step in ("reserve", "pack", "ship") for when in ("before", "after")]


@pytest.mark.parametrize("kill_at", MOMENTS)
def test_req_P05_after_a_kill_a_worker_goes_on_and_nothing_is_sent_again_from_the_first_step(
    tmp_path, kill_at
):
    """SIGKILL before or after the effect of each step; another process finishes the order."""
    die(tmp_path, kill_at)
    app, _ = tools(tmp_path)
    chain = go_on(app, lambda chain: chain.state is WorkflowState.COMPLETED)
    assert effects(tmp_path) == WHOLE
    told = [action["name"] for action in chain.facts()["actions"]]
    assert told == ["reserve", "pack", "ship"], "told in their order, whoever called them"
    app.close()


def test_a_step_whose_arguments_can_never_be_had_turns_the_chain_and_says_so(tmp_path):
    """The first step is found by a look-up that does not give its result; the next one needs it."""
    die(tmp_path, "reserve:after")
    app, _ = tools(tmp_path, tells=False)
    chain = go_on(app, lambda chain: chain.direction is Direction.BACKWARD)
    assert chain.around().chain.reason == "cannot_start:pack"
    assert effects(tmp_path) == WHOLE[:1]
    app.close()


def test_a_plan_is_checked_before_anything_is_stored(tmp_path):
    app, made = tools(tmp_path)
    reserve = made["reserve"]
    with app.session("shop", principal="u7") as session:
        for steps, match in [
            ([], "at least one step"),
            (
                [
                    Step("a", reserve, {"what": Ref("b.provider_ref")}),
                    Step("b", reserve, {"what": Ref("a.provider_ref")}),
                ],
                "circle",
            ),
            ([Step("a", reserve, {"what": Ref("x.provider_ref")})], "no step"),
            ([Step("a", reserve, {"what": Ref("x.state")})], "reference is"),
            ([Step("a", reserve, {"what": "1"}, after=["z"])], "no step"),
            ([Step("a", reserve, {"what": "1"}), Step("a", reserve, {"what": "2"})], "twice"),
            ([Step("a", reserve, {"colour": "red", "what": "1"})], "takes no 'colour'"),
            ([Step("a", reserve, {})], "needs 'what'"),
            ([Step("a.b", reserve, {"what": "1"})], "without dots"),
        ]:
            with pytest.raises(ContractError, match=match):
                session.chain("bad", steps=steps)
        with pytest.raises(UnknownTool):
            session.chain("bad", steps=[Step("a", "no_such_tool")])
    assert app.ledger.chains.of_session("shop", "default") == []
    assert effects(tmp_path) == []
    app.close()


def test_an_essential_refusal_of_a_declared_step_turns_the_chain_and_starts_nothing_more(tmp_path):
    from ascertain import Refused

    app, made = tools(tmp_path)

    @app.tool(identity=["what"])
    def pay(what: str) -> dict:
        raise Refused("NO_MONEY")

    with app.session("shop", principal="u7") as session:
        chain = session.chain(
            "order",
            steps=[
                Step("pay", pay, {"what": "A"}),
                Step("ship", made["ship"], {"what": "A"}, after=["pay"]),
            ],
        )
        chain.run()
    assert chain.direction is Direction.BACKWARD
    assert chain.state is WorkflowState.REFUSED
    assert app.ledger.chains.next_due_at() is None or app.recover() == 0
    assert effects(tmp_path) == []
    assert chain.around().steps()["pay"][1].state is State.REJECTED
    app.close()


def test_a_call_that_no_plan_knows_comes_after_what_is_declared(tmp_path):
    app, made = tools(tmp_path)
    with app.session("shop", principal="u7") as session:
        chain = wish(session, made)
        with chain:
            made["reserve"].options(intent="a spare one")(what="spare")
            chain.run()
    positions = {member.step: member.position for member, _ in chain.around().members}
    assert positions["stock"] < positions["pack"] < positions["ship"] < positions["reserve"]
    app.close()
