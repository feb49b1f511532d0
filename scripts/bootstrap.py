"""Build `.venv` with what a make target needs, once; a second time only looks at the stamp.

    python3 scripts/bootstrap.py demo|dev|bench

Starts on any Python from 3.6 on: if it is not one that the package supports, it looks for one that
is. Two of these at the same time wait for each other.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
LOWEST, BELOW = (3, 11), (3, 14)
EXTRAS = {"demo": "cli,httpx,requests,testing", "dev": "dev", "bench": "dev,bench"}
# From small to large: each holds those before it.
PURPOSE = {
    "demo": "what the demo needs",
    "dev": "what the checks, the tests and the proofs need",
    "bench": "what the bench compares with",
}


def version_of(python):
    """(3, 12) for a Python that really starts, else None: a version manager's shim may not."""
    ask = "import sys; print(sys.version_info[0], sys.version_info[1])"
    try:
        done = subprocess.run(
            [str(python), "-c", ask], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError:
        return None
    if done.returncode:
        return None
    major, minor = done.stdout.split()
    return int(major), int(minor)


def supported(version):
    return version is not None and LOWEST <= version < BELOW


def use_supported_python():
    """Return on a supported Python only; else start again under one, or say what is missing."""
    mine = sys.version_info[:2]
    if supported(mine):
        return
    for name in ("python3.13", "python3.12", "python3.11", "python3", "python"):
        path = shutil.which(name)
        if path and supported(version_of(path)):
            print(f"Python {mine[0]}.{mine[1]} is not supported; using {path}", flush=True)
            os.execv(path, [path, str(Path(__file__).resolve()), *sys.argv[1:]])
    sys.exit(
        "ascertain needs Python 3.11, 3.12 or 3.13; "
        f"{sys.executable} is {mine[0]}.{mine[1]} and no other was found.\n"
        "Install one, or name it: make PYTHON=/path/to/python3.12 ..."
    )


def stamp_text():
    """What an install depends on: the project file, the Python, and where the code lies."""
    digest = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return f"project {digest}\npython {python}\nhome {ROOT}\n"


def stamps_that_serve(wanted):
    """A larger set serves a smaller one too."""
    sizes = list(PURPOSE)
    return [VENV / f".stamp-{name}" for name in sizes[sizes.index(wanted) :]]


def is_current(wanted):
    now = stamp_text()
    return any(stamp.exists() and stamp.read_text() == now for stamp in stamps_that_serve(wanted))


def venv_is_ours():
    """It starts, is of the asked Python, and did not come along with a copied checkout."""
    moved = any(f"home {ROOT}\n" not in stamp.read_text() for stamp in VENV.glob(".stamp-*"))
    return not moved and version_of(VENV_PYTHON) == sys.version_info[:2]


def run(command, advice):
    done = subprocess.run(command, cwd=str(ROOT), stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"\n{advice}\n(exit code {done.returncode}: {' '.join(command)})")


def build(wanted):
    started = time.time()
    if not venv_is_ours():
        print(f"Making .venv with Python {sys.version.split()[0]} ({sys.executable})", flush=True)
        run(
            [sys.executable, "-m", "venv", "--clear", str(VENV)],
            "The virtual environment could not be made. "
            "On Debian and Ubuntu: apt-get install python3-venv",
        )
    print(f"Installing {PURPOSE[wanted]} into .venv: up to a minute or two, once", flush=True)
    pip = [str(VENV_PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input", "-qq"]
    run(
        [*pip, "install", "--editable", f".[{EXTRAS[wanted]}]"],
        "The packages could not be installed. Is the Python package registry within reach?",
    )
    (VENV / f".stamp-{wanted}").write_text(stamp_text())
    print(f"Ready after {time.time() - started:.0f} s", flush=True)


def main(arguments):
    if len(arguments) != 1 or arguments[0] not in PURPOSE:
        sys.exit(__doc__)
    wanted = arguments[0]
    use_supported_python()
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_current(wanted) and venv_is_ours():
            for stamp in stamps_that_serve(wanted):
                if stamp.exists():
                    stamp.touch()
        else:
            build(wanted)


if __name__ == "__main__":
    main(sys.argv[1:])
