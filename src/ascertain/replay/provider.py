"""The provider of a replay: it answers from the recording, and goes wrong where it is told to.

Each tool is a collection of a :class:`~ascertain.testing.world.World`, which is a process with
books of its own. A write makes a record that carries the recorded reply; a read finds the record
that was put there before.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ascertain.replay.recording import Call, Recording
from ascertain.testing.world import FIVE_CONTRACTS, Behaviour, Provider, World, lookup
from ascertain.testing.world.words import Record

CONTRACTS: Mapping[str, Provider] = {
    "key+lookup": FIVE_CONTRACTS["key_and_lookup"],
    "key": FIVE_CONTRACTS["key_only"],
    "lookup": FIVE_CONTRACTS["lookup_only"],
    "fencing": FIVE_CONTRACTS["fencing_lookup"],
    "none": FIVE_CONTRACTS["neither"],
}
REFUSED = "REFUSED_AS_RECORDED"
SENDS = 10  # the action half of the budget

# What may happen to a write, all of it over within a second or so.
WRITE_FAULTS: tuple[Behaviour, ...] = (
    Behaviour("reply_lost"),
    Behaviour("reply_lost", how="fin"),
    Behaviour("reply_lost", how="hang"),
    Behaviour("request_lost"),
    Behaviour("hang_no_effect"),
    Behaviour("slow_deadline", seconds=1.3),
    Behaviour("throttled", retry_after_s=1),
    Behaviour("error_500_before"),
    Behaviour("error_500_after"),
    Behaviour("unavailable_503_before"),
    Behaviour("unavailable_503_after"),
    Behaviour("truncated"),
    Behaviour("empty_body"),
    Behaviour("duplicate_delivery"),
    Behaviour("duplicate_delivery", reply="lost"),
    Behaviour("lookup_misses_first"),
    Behaviour("late_execution", seconds=0.3),
    Behaviour("accepted_202", seconds=0.5),
    Behaviour("in_progress_409"),
)
# A provider that refuses has done nothing.
REFUSAL_FAULTS = tuple(fault for fault in WRITE_FAULTS if fault.row.when == "never")
READ_FAULTS: tuple[Behaviour, ...] = (lookup("reset"), lookup("error_500"))

Faults = Mapping[str, Behaviour]


def collection_of(tool: str) -> str:
    """A tool's place in an address."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", tool)


def draw_faults(recording: Recording, seed: int, share: float) -> dict[str, Behaviour]:
    """One fault for about so large a share of the intents, drawn by a seed.

    :returns: by intent; the same seed gives the same faults.
    """
    dice = random.Random(seed)
    faults: dict[str, Behaviour] = {}
    for intent, call in recording.first_calls().items():
        chosen = dice.random() < share
        fault = dice.choice(_faults_for(call))
        if chosen and call.kind != "generic":
            faults[intent] = fault
    return faults


def _faults_for(call: Call) -> Sequence[Behaviour]:
    if call.kind != "write":
        return READ_FAULTS
    return REFUSAL_FAULTS if call.error else WRITE_FAULTS


def providers_of(recording: Recording, contract: str) -> dict[str, Provider]:
    """A collection for each tool: writes under this contract, and reads that can be read."""
    kinds = {call.tool: call.kind for call in recording.calls}
    return {
        collection_of(tool): replace(
            CONTRACTS[contract] if kind == "write" else Provider(),
            first_ref=f"{collection_of(tool)}-1001",
        )
        for tool, kind in kinds.items()
    }


def prepare(world: World, recording: Recording, faults: Faults) -> None:
    """Put down what reads will find, and how the first call of each intent will go."""
    for intent, call in recording.first_calls().items():
        fault = faults.get(intent)
        if call.kind == "write":
            _prepare_write(world, call, fault)
        else:
            collection = collection_of(call.tool)
            record: Record = {"reply": call.result, "error": call.error}
            world.place(collection, f"recorded-{call.line}", record, key=intent)
            if fault is not None:
                world.script(collection, lookup=[fault], key=intent)


def _prepare_write(world: World, call: Call, fault: Behaviour | None) -> None:
    behaviours: Sequence[Behaviour] = () if fault is None else (fault,)
    if call.error:
        behaviours = (*behaviours, *[Behaviour("validation_422", code=REFUSED)] * SENDS)
    if behaviours:
        match: Record = {"conv": call.conv, "arguments": call.args}
        world.script(collection_of(call.tool), match, behaviours)
