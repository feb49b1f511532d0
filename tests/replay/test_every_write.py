"""Every write of a recording, under every behaviour of a provider, for each of five contracts.

The shipped recording is always played; ``ASCERTAIN_RECORDINGS`` (paths, separated by ``:``) adds
larger ones.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from ascertain.demo import run as demo
from ascertain.replay.play import play
from ascertain.replay.provider import CONTRACTS
from ascertain.replay.recording import Recording, load_recording
from ascertain.testing.world import BEHAVIOURS, MORE_BEHAVIOURS, Behaviour

# What would take longer than a test should, taken shorter. Slower than the deadline of 1 s, and
# than the lease of 1.3 s; late, but within the 2.5 s after which "absent" is final by promise.
SHORTER = {
    "slow_deadline": Behaviour("slow_deadline", seconds=1.2),
    "slow_lease": Behaviour("slow_lease", seconds=1.6),
    "throttled": Behaviour("throttled", retry_after_s=1),
    "throttled_date": Behaviour("throttled_date", retry_after_s=1),
    "late_execution": Behaviour("late_execution", seconds=0.3),
    "accepted_202": Behaviour("accepted_202", seconds=0.5),
}
EVERY = tuple(SHORTER.get(name, Behaviour(name)) for name in (*BEHAVIOURS, *MORE_BEHAVIOURS))
# Where the provider can be asked or told again with safety, nobody has to decide anything.
HEALS = ("key+lookup", "fencing", "lookup")

LARGER = [Path(name) for name in os.environ.get("ASCERTAIN_RECORDINGS", "").split(":") if name]
CASES = [
    *(
        pytest.param(demo.RECORDING, contract, id=contract, marks=pytest.mark.timeout(300))
        for contract in CONTRACTS
    ),
    *(
        pytest.param(path, contract, id=f"{path.name}-{contract}", marks=pytest.mark.timeout(1800))
        for path in LARGER
        for contract in CONTRACTS
    ),
]


def every_write(recording):
    """Each distinct write once for each behaviour, in a conversation of its own."""
    calls, faults = [], {}
    for behaviour in EVERY:
        for call in recording.first_calls().values():
            if call.kind != "write":
                continue
            line = len(calls) + 1
            conv = f"{behaviour.name}/{line}/{call.conv}"
            calls.append(replace(call, conv=conv, order=0, line=line))
            faults[calls[-1].intent] = behaviour
    return Recording(name=recording.name, calls=tuple(calls)), faults


def counts(done, recording):
    """What was played and what it came to, as it is printed."""
    met = ", ".join(f"{count} {name}" for name, count in done.faults.items())
    ends = ", ".join(f"{count} {name}" for name, count in done.ends.items())
    return (
        f"{recording.name}, {done.contract}: {len(recording.of_kind('read'))} reads, "
        f"{len(recording.of_kind('write'))} writes, of them {done.writes // len(EVERY)} distinct, "
        f"x {len(EVERY)} behaviours = {done.writes} actions; faults: {met}; ends: {ends}; "
        f"{done.effects} effects, {done.doubled} doubled by the network, {done.noticed} noticed, "
        f"{done.broken_promises} promises broken by the provider; {done.took_s:.0f} s"
    )


@pytest.mark.parametrize("path, contract", CASES)
def test_every_write_under_every_behaviour_ends_in_the_truth(path, contract, capsys):
    recording = load_recording(path)
    writes, faults = every_write(recording)
    done = play(writes, faults, contract, tick=lambda _: None)
    with capsys.disabled():
        print(f"\n{counts(done, recording)}")
    distinct = len(writes.calls) // len(EVERY)
    assert done.violations == ()
    assert done.writes == done.intents == sum(done.ends.values()) == len(writes.calls)
    assert {"ok", *done.faults} == {behaviour.name for behaviour in EVERY}, "each was really met"
    assert done.left_open == done.in_review, "what is left open is left to a person"
    if contract in HEALS:
        assert done.left_open == 0
    if contract.startswith("key"):
        assert done.doubled == 0, "the provider deduplicates"
    else:
        assert done.doubled == distinct, "a delivery that comes twice has two effects"
        assert done.noticed == (distinct if contract != "none" else 0), "seen where one can ask"
