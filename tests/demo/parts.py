"""The demo as a process of its own, as anybody would start it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass

CODE = (
    "import sys; from ascertain.demo import run_demo; "
    "sys.exit(run_demo({sabotage!r}, {as_json}, {colour}))"
)


@dataclass(frozen=True)
class Played:
    """One run: its exit code, and what it printed."""

    code: int
    out: str
    errors: str

    @property
    def report(self):
        return json.loads(self.out)

    @property
    def last(self):
        return self.out.rstrip().splitlines()[-1]


def play(sabotage=None, *, as_json=False, colour=None, columns=80, **environment):
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(sabotage=sabotage, as_json=as_json, colour=colour)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=58,
        env={**kept, "COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8", **environment},
    )
    return Played(done.returncode, done.stdout, done.stderr)
