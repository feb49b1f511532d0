"""Run the proof at gate size and show its tables, also in `out/prove.txt`.

    .venv/bin/python scripts/prove.py [pytest arguments]

The tests in `tests/prove` print what they counted; pytest shows that for passed tests too.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "out" / "prove.txt"
NO_TEST_WAS_RUN = 5
# What takes long is played on every kind of ledger here; `make test` plays it on one.
LONG = (
    "tests/requirements/test_query_then_refund.py",
    "tests/requirements/test_session_crashes.py",
)


def main(arguments):
    if not (ROOT / "tests" / "prove").is_dir():
        sys.exit("prove: there is no proof to run: tests/prove is missing")
    command = [sys.executable, "-m", "pytest", "tests/prove", *LONG, "-rP"]
    command += ["--dist", "loadfile", "--no-loadscope-reorder"]
    command += ["-n", os.environ.get("JOBS", "2"), *arguments]
    REPORT.parent.mkdir(exist_ok=True)
    with REPORT.open("w") as report:
        proof = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "ASCERTAIN_PROVE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for line in proof.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            report.write(line)
        code = proof.wait()
    print(f"prove: this is also in {REPORT.relative_to(ROOT)}")
    if code == NO_TEST_WAS_RUN:
        sys.exit("prove: nothing was proved: no test was run")
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
