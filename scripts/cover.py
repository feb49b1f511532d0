"""Run the tests and see that every branch of `rules` and `flow` is taken.

    .venv/bin/python scripts/cover.py [pytest arguments]

The processes that tests start are watched too. What is measured stands in pyproject.toml.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COVERAGE = [sys.executable, "-m", "coverage"]


def coverage(*arguments):
    return subprocess.run([*COVERAGE, *arguments], cwd=ROOT, stdin=subprocess.DEVNULL).returncode


def main(arguments):
    (ROOT / "out").mkdir(exist_ok=True)
    coverage("erase")
    tests = coverage("run", "-m", "pytest", *arguments)
    coverage("combine", "--quiet")
    branches = coverage("report")
    if branches:
        print("cover: a branch above was taken by no test", file=sys.stderr)
    sys.exit(tests or branches)


if __name__ == "__main__":
    main(sys.argv[1:])
