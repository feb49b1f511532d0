"""All checks that need no running of the product; each one is run, whatever the others say.

    .venv/bin/python scripts/check.py [NAME ...]

Ends with one line for each check, and with a non-zero exit code if any of them found something.
"""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
AT_ONCE = 2

# The longest first: they are run two at a time.
CHECKS = {
    "tidy": [sys.executable, "-m", "pytest", "-q", "tests/tidy"],
    "pyright": [BIN / "pyright"],
    "mypy": [BIN / "mypy", "--no-error-summary"],
    "layers": [BIN / "lint-imports", "--no-cache"],
    "lint": [BIN / "ruff", "check", "--quiet", "."],
    "format": [BIN / "ruff", "format", "--check", "--quiet", "."],
}


def run(name):
    """Run one check: whether it passed, and what is said of it; all it printed if it did not."""
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
    said = f"{name:8} {'ok' if passed else 'FOUND':6} {took_s:6.1f} s"
    return passed, said if passed else f"{said}\n{done.stdout.rstrip()}"


def main(names):
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        sys.exit(f"no such check: {', '.join(unknown)}; there are: {', '.join(CHECKS)}")
    wanted = names or list(CHECKS)
    found = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for name, (passed, said) in zip(wanted, pool.map(run, wanted), strict=True):
            print(said, flush=True)
            found += [] if passed else [name]
    if found:
        sys.exit(f"check: something found by {', '.join(found)}")
    print(f"check: all {len(wanted)} clean")


if __name__ == "__main__":
    main(sys.argv[1:])
