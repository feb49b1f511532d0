"""`python -m ascertain.demo.worker PLACES`: the same app in a fresh process, recovering.

It does what `ascertain worker MODULE:APP` does, from a line on its input until SIGTERM (or until
its parent is gone).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import threading
import time

from ascertain.demo.places import Places
from ascertain.demo.sabotage import SABOTAGES
from ascertain.demo.tools import make_tools

_LOOK_S = 0.2


async def work(places: Places, at_once: int, parent: int) -> int:
    """Recover what falls due until told to stop; returns how many actions were taken."""
    tools = make_tools(places, worker="none")
    worker = tools.app.make_worker(concurrency=at_once)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, worker.stop)

    def watch_parent() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_S)
        worker.stop()

    threading.Thread(target=watch_parent, daemon=True).start()
    tools.app.open()
    sys.stdout.write('{"ready": true}\n')
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    await worker.run()
    tools.app.close()
    return worker.recovered


def main(argv: list[str]) -> int:
    """Work; the last line printed is JSON with how many actions were taken."""
    parser = argparse.ArgumentParser(prog="python -m ascertain.demo.worker", description=__doc__)
    parser.add_argument("places", help="file that says where everything is")
    parser.add_argument("--at-once", type=int, default=64, help="how many actions it works on")
    parser.add_argument("--sabotage", choices=sorted(SABOTAGES))
    args = parser.parse_args(argv)
    if args.sabotage:
        SABOTAGES[args.sabotage].apply()
    recovered = asyncio.run(work(Places.read(args.places), args.at_once, os.getppid()))
    sys.stdout.write(json.dumps({"pid": os.getpid(), "recovered": recovered}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
