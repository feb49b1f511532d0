"""``ascertain worker MODULE:APP``: recover open actions until told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Annotated

import typer

from ascertain.cli.exits import Exit
from ascertain.cli.load import load_app
from ascertain.cli.options import AppName, AsJson, examples
from ascertain.cli.worker_log import Teller, teller
from ascertain.report.words import many
from ascertain.runtime.app import Ascertain
from ascertain.runtime.recovering import Works

EPILOG = examples(
    "ascertain worker shop.tools:app",
    "ascertain worker shop.tools:app --concurrency 8",
    "ascertain worker shop.tools:app --once",
)
LOOK_EVERY_S = 1.0


def command(
    app: AppName,
    concurrency: Annotated[int, typer.Option(min=1, help="How many actions at once.")] = 64,
    once: Annotated[
        bool, typer.Option("--once", help="Recover what is due now, then end.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Take up open actions: ask, repeat where that is safe, hand the rest to a person.

    SIGTERM or Ctrl-C: what is in hand is finished, then it ends. A second one stops it at once;
    nothing is lost by that, for others take up what it held once its leases have run out.
    """
    loaded = load_app(app)
    said = teller(as_json=as_json)
    try:
        loaded.open()
        worker = loaded.make_worker(concurrency=concurrency)
        asyncio.run(_drain(loaded, worker, said) if once else _serve(loaded, worker, said))
    finally:
        said.close()
        loaded.close()
    return Exit.FINE


async def _serve(app: Ascertain, worker: Works, said: Teller) -> None:
    _listen(said, worker.stop)
    _first_words(app, said)
    look = asyncio.create_task(_keep_looking(app, worker, said))
    try:
        await worker.run()
    finally:
        look.cancel()
        await asyncio.wait({look})
    await _last_words(app, said, worker.recovered)


async def _drain(app: Ascertain, worker: Works, said: Teller) -> None:
    _listen(said, lambda: None)
    _first_words(app, said)
    await worker.drain()
    await _last_words(app, said, worker.recovered)


def _listen(said: Teller, stop: Callable[[], None]) -> None:
    """First signal: finish what is in hand. Second: end at once."""
    heard: list[int] = []

    def hear(number: int) -> None:
        name = signal.Signals(number).name
        if heard:
            said.event("stopped", f"{name} again: stopping at once", signal=name)
            said.close()
            os._exit(Exit.INTERRUPTED if number == signal.SIGINT else Exit.STOPPED)
        heard.append(number)
        said.event(
            "stopping", f"{name}: finishing what is in hand; once more stops at once", signal=name
        )
        stop()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, hear, number)


async def _keep_looking(app: Ascertain, worker: Works, said: Teller) -> None:
    """Keep the progress line of a terminal up to date."""
    if not said.has_progress:
        return
    while True:
        said.progress(f"{worker.recovered} taken up; {_open_words(await _counts(app))}")
        await asyncio.sleep(LOOK_EVERY_S)


def _first_words(app: Ascertain, said: Teller) -> None:
    tools = [entry.name for entry in app.registry]
    sentence = f"worker {os.getpid()} started: {many(len(tools), 'tool')}, {app.url}"
    said.event("started", sentence, tools=tools, ledger=app.url, pid=os.getpid())


async def _last_words(app: Ascertain, said: Teller, recovered: int) -> None:
    counts = await _counts(app)
    said.event(
        "ended", f"worker ended: {many(recovered, 'action')} taken up; {_open_words(counts)}",
        recovered=recovered, open=counts,
    )  # fmt: skip


async def _counts(app: Ascertain) -> dict[str, int]:
    return await asyncio.get_running_loop().run_in_executor(None, app.ledger.counts)


def _open_words(counts: dict[str, int]) -> str:
    waiting = [
        f"{count} {state}"
        for state, count in sorted(counts.items())
        if count and state not in ("review", "disputed")
    ]
    said = f"open: {', '.join(waiting)}" if waiting else "nothing open"
    return f"{said}; {counts['review']} in review" if counts.get("review") else said
