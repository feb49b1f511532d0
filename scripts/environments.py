"""Environments beside `.venv`, for frameworks that need other versions than it has, or much room.

Each lies below `.envs` with the package itself, editable. A second time only its stamp is looked
at.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".envs"
# What every test needs, whatever it tests.
TESTS = ("pytest>=8.4", "pytest-asyncio>=1.2", "pytest-timeout>=2.4", "pytest-xdist>=3.8",
         "coverage[toml]>=7.10", "hypothesis>=6.140", "httpx>=0.27",
         "psycopg[binary]>=3.2.2")  # fmt: skip


class NotBuiltError(Exception):
    """The requirements cannot be installed together."""


def built(name, extra, *more):
    """The Python of an environment with the package's extra and more requirements."""
    place = PLACE / name
    python = place / "bin" / "python"
    wanted = (f"{ROOT}[{extra}]", *TESTS, *more)
    project = (ROOT / "pyproject.toml").read_bytes()
    digest = hashlib.sha256(f"{sys.version} {wanted}".encode() + project).hexdigest()
    stamp = place / ".stamp"
    if stamp.exists() and stamp.read_text() == digest:
        return python
    began = time.monotonic()
    print(f"Building .envs/{name}, once", flush=True)
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", "-qq", "install"]
    if subprocess.run([*pip, "--editable", *wanted], stdin=subprocess.DEVNULL).returncode:
        raise NotBuiltError(name)
    stamp.write_text(digest)
    print(f"Ready after {time.monotonic() - began:.0f} s", flush=True)
    return python


def versions(python, names):
    """What is installed there, by the names that were asked for."""
    ask = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]))"
    done = subprocess.run([python, "-c", ask, *names], capture_output=True, text=True, check=True)
    return dict(zip(names, done.stdout.split(), strict=True))


def tests(python, doors, *arguments):
    """Whether tests pass there, with these drivers of doors."""
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    env = {**os.environ, "DOORS": doors}
    return subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL).returncode == 0
