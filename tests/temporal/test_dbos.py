"""The recipe for DBOS: one action for a step that is run again, and the gap that is named."""

import signal
import subprocess
import sys

import pytest

from tests.docs.pages import environment, text_of, unpack

pytestmark = pytest.mark.timeout(120)

CHILD = """
import os, signal, sys, threading
from pathlib import Path
from ascertain import Absent, Ascertain, Found
from dbos import DBOS
from steps import guarded_step

folder, executor, kills = sys.argv[1:4]
app = Ascertain(f"sqlite:///{folder}/ledger.db", worker="none", lease_s=0.3)
effects = Path(folder, "effects")

@app.tool(identity=["order_id"], key_lifetime="24h")
def create_ticket(order_id: str) -> dict:
    with effects.open("a") as file:
        file.write(f"{order_id}\\n")
    if kills == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"ref": "T900"}

@create_ticket.lookup(absence_final_after=0.05)
def find(action):
    return Found("T900") if effects.exists() else Absent

DBOS(config={
    "name": "shop", "system_database_url": f"sqlite:///{folder}/dbos.db",
    "executor_id": executor, "run_admin_server": False, "log_level": "ERROR",
    "application_version": "1",
})
step = guarded_step(app, create_ticket, principal="u7")

@DBOS.workflow()
def order(order_id: str) -> dict:
    return step(order_id=order_id)

DBOS.launch()
if kills == "kill":
    from dbos import SetWorkflowID
    with SetWorkflowID("order-A123"):
        DBOS.start_workflow(order, "A123").get_result()
handle = DBOS.retrieve_workflow("order-A123")
for _ in range(100 if executor == "one" else 30):
    if handle.get_status().status == "SUCCESS":
        break
    threading.Event().wait(0.1)
print(handle.get_status().status)
if executor == "one":
    print(handle.get_result())
else:
    app.recover()
    from ascertain.store.ledger import Filter
    (record,) = app.ledger.find(Filter())
    print(record.state, record.provider_ref)
DBOS.destroy()
app.close()
"""


def child(folder, *words):
    return subprocess.run(
        [sys.executable, "child.py", str(folder), *words],
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.fixture
def killed(tmp_path):
    """An executor that was killed after the effect, before DBOS could record the step."""
    unpack(text_of("docs/how-to/when-to-move.md"), tmp_path)
    (tmp_path / "child.py").write_text(CHILD)
    done = child(tmp_path, "one", "kill")
    assert done.returncode == -signal.SIGKILL, done.stderr
    return tmp_path


def effects(folder):
    return (folder / "effects").read_text().split()


def test_a_step_that_is_run_again_after_the_effect_finds_its_action(killed):
    done = child(killed, "one", "live")
    assert done.returncode == 0, done.stderr
    state, told = done.stdout.splitlines()
    assert state == "SUCCESS"
    assert "'state': 'confirmed', 'ref': 'T900'" in told
    assert effects(killed) == ["A123"]


def test_another_executor_does_not_take_the_workflow_up_and_the_ledger_does_the_action(killed):
    """The gap that the page names: it stays pending, while the action is settled all the same."""
    done = child(killed, "two", "live")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["PENDING", "confirmed", "T900"]
    assert effects(killed) == ["A123"]
