"""A writer killed at any moment: what was acknowledged is there, the rest is whole or absent."""

import itertools
import json
import random
import signal
from collections import Counter

from ascertain.store.sqlite import SqliteLedger
from tests.store.samples import child, everything

BATCH, KILLS = 8, 4


def lines_until_killed(path, name, acknowledged):
    """Let a writer work until it has said so much, kill it; everything that it said."""
    with child("child_writer", path, name, BATCH) as process:
        lines = list(itertools.islice(process.stdout, acknowledged))
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    assert len(lines) >= acknowledged, "it ended before it was killed"
    return [json.loads(line) for line in lines if line.endswith("\n")]


def test_what_was_acknowledged_survives_and_batches_are_whole(tmp_path):
    path = tmp_path / "ledger.db"
    dice = random.Random(20)
    said = []
    for kill in range(KILLS):
        said += lines_until_killed(path, f"run{kill}", dice.randint(3, 30))
    ledger = SqliteLedger(path)
    found = {record.id: record for record in everything(ledger)}
    for line in said:
        for action_id in line.get("sent", []):
            assert action_id in found, f"{action_id} was acknowledged as sent and is not there"
        for action_id in line.get("confirmed", []):
            assert found[action_id].state == "confirmed", f"{action_id} was confirmed"
            assert ledger.result(action_id) is not None
    sizes = Counter(record.chain for record in found.values())
    assert set(sizes.values()) == {BATCH}, "a batch was written in part"
    states = {}
    for record in found.values():
        states.setdefault(record.chain, set()).add(record.state)
        assert len(ledger.events(record.id)) == record.n
    assert all(len(together) == 1 for together in states.values()), "outcomes written in part"
    assert list(ledger.verify()) == []
    ledger.close()
