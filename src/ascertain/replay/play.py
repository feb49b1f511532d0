"""Replays a recording: all conversations at once, each in its own order, through guarded tools."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx

from ascertain import Ascertain
from ascertain.errors import ContractError
from ascertain.replay.judge import FAR_S, report_of
from ascertain.replay.provider import CONTRACTS, Faults, draw_faults, prepare, providers_of
from ascertain.replay.recording import Call, Recording, load_recording
from ascertain.replay.report import Replayed, Spoken
from ascertain.replay.tools import register
from ascertain.store.ledger import Ledger
from ascertain.store.open import open_ledger
from ascertain.testing.world import World

PRINCIPAL = "recorded"
AT_ONCE = 24  # conversations
LEASE_S = 0.3
SETTLE_WITHIN_S = 60.0
_LOOK_S = 0.05

Tick = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to replay, and how.

    :param seed: of the faults. :param share: of the intents that meet one.
    :param contract: one of ``key+lookup``, ``key``, ``lookup``, ``fencing``, ``none``.
    :param format: of the recording; None: found out.
    """

    path: Path
    seed: int
    limit: int | None = None
    contract: str = "key+lookup"
    share: float = 0.6
    format: str | None = None


def replay(plan: Plan, tick: Tick) -> Replayed:
    """Replay a recording with seeded faults.

    :param tick: told what is going on.
    :raises RecordingError: it cannot be read. :raises ContractError: there is no such contract.
    """
    if plan.contract not in CONTRACTS:
        raise ContractError(
            f"There is no contract {plan.contract!r} to replay under.",
            next_step=f"Choose one of: {', '.join(CONTRACTS)}.",
        )
    recording = load_recording(plan.path, plan.limit, plan.format)
    faults = draw_faults(recording, plan.seed, plan.share)
    return play(recording, faults, plan.contract, tick=tick, seed=plan.seed)


def play(
    recording: Recording, faults: Faults, contract: str, *, tick: Tick, seed: int | None = None
) -> Replayed:
    """Replay these calls with these faults, and look at what came of it."""
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="ascertain-replay-") as folder,
        World(providers_of(recording, contract)) as world,
    ):
        prepare(world, recording, faults)
        app = Ascertain(f"sqlite:///{folder}/ledger.db", lease_s=LEASE_S)
        spoken = asyncio.run(_play(app, world, recording, contract, tick))
        with closing(open_ledger(app.url)) as ledger:  # as anybody else would read it
            return report_of(
                recording, faults, contract, world, ledger, spoken,
                seed=seed, took_s=time.monotonic() - began,
            )  # fmt: skip


async def _play(
    app: Ascertain, world: World, recording: Recording, contract: str, tick: Tick
) -> list[Spoken]:
    limits = httpx.Limits(max_connections=256, max_keepalive_connections=64)
    room = asyncio.Semaphore(AT_ONCE)
    spoken: list[Spoken] = []
    async with httpx.AsyncClient(base_url=world.url, timeout=5.0, limits=limits) as client, app:
        tools = register(app, client, recording, contract)

        async def converse(conv: str, calls: list[Call]) -> None:
            async with room, app.session(conv, principal=PRINCIPAL):
                for call in calls:
                    action = await tools[call.tool](arguments=call.args)
                    spoken.append(Spoken.of(call, action))
                    tick(f"{len(spoken)} of {len(recording.calls)} calls")

        conversations = recording.conversations().items()
        tasks = [asyncio.create_task(converse(*conversation)) for conversation in conversations]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()  # nobody makes calls any more, whatever broke
            await asyncio.wait(tasks)
        await _settle(app.ledger, tick)
    await asyncio.to_thread(world.wait_idle)
    return spoken


async def _settle(ledger: Ledger, tick: Tick) -> None:
    """Wait until nothing more happens by itself within a moment."""
    give_up_at = time.monotonic() + SETTLE_WITHIN_S
    while time.monotonic() < give_up_at:
        due_at = await asyncio.to_thread(ledger.next_due_at)
        if due_at is None or due_at >= time.time() + FAR_S:
            return
        tick("actions are still being recovered")
        await asyncio.sleep(_LOOK_S)
