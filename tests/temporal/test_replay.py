"""Histories of earlier runs replay: a change of the workflows' code that breaks one is refused.

All others are replayed in the run that made them (`House.check_histories`). These were kept by
``ASCERTAIN_KEEP_HISTORIES=FOLDER pytest tests/temporal``; a workflow that must change its steps
does so behind ``workflow.patched``, and its new histories are added here.
"""

import json
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from ascertain import Ascertain
from ascertain.temporal import plugin
from tests.temporal.orders import Order

KEPT = sorted((Path(__file__).parent.parent / "golden" / "temporal").glob("*.json"))


@pytest.fixture
def replayer(tmp_path):
    app = Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none")
    yield Replayer(workflows=[Order], plugins=[plugin(app)])
    app.close()


def test_there_are_histories_of_all_workflows_and_of_one_that_waited_by_itself():
    """As users' workflows did before a child waited for them."""
    kept = {path.name.partition(".")[0] for path in KEPT}
    assert kept == {"chain", "reconcile", "settled", "order"}


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
async def test_a_history_of_an_earlier_run_replays(replayer, path):
    await replayer.replay_workflow(WorkflowHistory.from_json(path.stem, path.read_text()))


async def test_a_history_that_took_other_steps_is_noticed(replayer):
    """The check can fail: the same history with another activity than the code asks for."""
    text = next(path for path in KEPT if path.name.startswith("reconcile")).read_text()
    assert "ascertain.step" in text
    other = WorkflowHistory.from_json("other", json.loads(text.replace(".step", ".leap")))
    with pytest.raises(Exception, match=r"[Nn]ondeterminism"):
        await replayer.replay_workflow(other)
