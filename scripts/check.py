"""All checks that need no running of the product; each one is run, whatever the others say.

    .venv/bin/python scripts/check.py [NAME ...]

Ends with one line for each check, and with a non-zero exit code if any of them found something.
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

CHECKS = {
    "lint": [BIN / "ruff", "check", "--quiet", "."],
    "format": [BIN / "ruff", "format", "--check", "--quiet", "."],
    "mypy": [BIN / "mypy", "--no-error-summary"],
    "pyright": [BIN / "pyright"],
    "layers": [BIN / "lint-imports", "--no-cache"],
    "tidy": [sys.executable, "-m", "pytest", "-q", "tests/tidy"],
}


def run(name):
    """Run one check; show what it printed only if it found something."""
    started = time.monotonic()
    done = subprocess.run(
        [str(part) for part in CHECKS[name]],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    took_s = time.monotonic() - started
    passed = done.returncode == 0
    print(f"{name:8} {'ok' if passed else 'FOUND':6} {took_s:6.1f} s", flush=True)
    if not passed:
        print(done.stdout.rstrip(), flush=True)
    return passed


def main(names):
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        sys.exit(f"no such check: {', '.join(unknown)}; there are: {', '.join(CHECKS)}")
    wanted = names or list(CHECKS)
    found = [name for name in wanted if not run(name)]
    if found:
        sys.exit(f"check: something found by {', '.join(found)}")
    print(f"check: all {len(wanted)} clean")


if __name__ == "__main__":
    main(sys.argv[1:])
