"""Stands between the proxy and a server that others wrote, and loses what it is told to.

    python relay.py FOLDER COMMAND...

``FOLDER/next`` names a tool and what becomes of its next answer: ``lose`` (the server is killed
once it has answered, and nobody hears the answer) or ``hold`` (nobody hears it, and ``FOLDER/held``
says that it is there). It is read once and removed.
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

FOLDER, COMMAND = Path(sys.argv[1]), sys.argv[2:]


def main():
    server = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    waited = {}

    def answers():
        for line in server.stdout:
            what = waited.pop(json.loads(line).get("id"), "")
            if what == "lose":
                server.kill()
                os._exit(1)
            if what == "hold":
                (FOLDER / "held").touch()
                return
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()

    threading.Thread(target=answers, daemon=True).start()
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        order = FOLDER / "next"
        if asked.get("method") == "tools/call" and order.exists():
            tool, what = order.read_text().split()
            if asked["params"]["name"] == tool:
                order.unlink()
                waited[asked["id"]] = what
        server.stdin.write(line)
        server.stdin.flush()
    server.kill()


main()
