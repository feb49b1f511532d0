"""Put a real Redis into `.venv/redis`, so that the tests of sessions run on it too.

    python3 scripts/redis_server.py

No wheel carries a Redis 7 that starts by itself, so it is the distribution's: a `redis-server` on
the PATH, else the packages of Debian or Ubuntu, which are downloaded and unpacked, not installed:
no rights are needed and nothing outside `.venv` changes. Where there is neither, it says what to
do, and the tests on Redis will say so too.
"""

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".venv" / "redis"
SERVER = PLACE / "redis-server"
LOWEST = 7
# The server is in redis-tools; redis-server itself only adds a service. The libraries are those
# that a machine without Redis often lacks.
PACKAGES = ("redis-tools", "libjemalloc2", "liblzf1", "libatomic1")
# With the libraries that came with it.
UNPACKED = """here=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LD_LIBRARY_PATH
exec "$here/bin/redis-server" "$@"
"""


class NotHere(Exception):
    """There is no Redis to be had in this way."""


def version_of(server):
    """(7, 0, 15) for a Redis that really starts.

    :raises NotHere: it does not, or is no Redis.
    """
    try:
        done = subprocess.run([str(server), "--version"], capture_output=True, text=True)
    except OSError as error:
        raise NotHere(f"{server} does not start: {error}") from error
    found = re.match(r"Redis server v=(\d+)\.(\d+)\.(\d+)", done.stdout)
    if done.returncode or not found:
        said = (done.stderr or done.stdout).strip()
        raise NotHere(f"{server} does not start as Redis: {said}")
    return tuple(int(part) for part in found.groups())


def checked(server):
    version = version_of(server)
    if version[0] < LOWEST:
        text = ".".join(map(str, version))
        raise NotHere(f"{server} is Redis {text}; the tests want {LOWEST} or newer")
    return version


def from_path():
    """Stand in for the one that is installed."""
    found = shutil.which("redis-server")
    if not found:
        raise NotHere("no redis-server on the PATH")
    checked(found)
    PLACE.mkdir(parents=True)
    _start_with(f'exec {shlex.quote(found)} "$@"\n')


def from_packages():
    """Download what is needed, by the machine's own package lists or by new ones of our own."""
    for tool in ("apt-get", "dpkg-deb"):
        if not shutil.which(tool):
            raise NotHere(f"no {tool} on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # apt fetches as a user of its own where it may
        _download(Path(folder))
        for package in Path(folder).glob("*.deb"):
            _run(["dpkg-deb", "-x", str(package), f"{folder}/tree"], folder)
        _arrange(Path(folder) / "tree")
    checked(SERVER)


def _download(folder):
    try:
        _run(["apt-get", "download", *PACKAGES], folder)
    except NotHere:  # lists that are missing or old; ours, for theirs may not be ours to write
        state, cache = folder / "state", folder / "cache"
        (state / "lists" / "partial").mkdir(parents=True)
        (cache / "archives" / "partial").mkdir(parents=True)
        own = ["-o", f"Dir::State={state}", "-o", f"Dir::Cache={cache}",
               "-o", "Dir::State::status=/var/lib/dpkg/status"]  # fmt: skip
        _run(["apt-get", *own, "update"], folder)
        _run(["apt-get", *own, "download", *PACKAGES], folder)


def _arrange(tree):
    (PLACE / "bin").mkdir(parents=True)
    (PLACE / "lib").mkdir()
    # One program under several names: it serves when it is called redis-server.
    shutil.copy2(tree / "usr" / "bin" / "redis-check-rdb", PLACE / "bin" / "redis-server")
    for library in tree.glob("usr/lib/*/*.so.*"):
        shutil.copy2(library.resolve(), PLACE / "lib" / library.name)
    _start_with(UNPACKED)


def _start_with(text):
    SERVER.write_text(f"#!/bin/sh\n# Made by scripts/redis_server.py.\n{text}")
    SERVER.chmod(0o755)


def _run(command, folder):
    done = subprocess.run(
        command, cwd=str(folder), stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode:
        raise NotHere(f"{' '.join(command[:2])}: {done.stderr.strip()[-300:]}")


def main():
    why = []
    for way in (from_path, from_packages):
        shutil.rmtree(PLACE, ignore_errors=True)
        try:
            way()
        except NotHere as error:
            why.append(str(error))
            continue
        version = ".".join(map(str, version_of(SERVER)))
        print(f"Redis {version} is in {SERVER.relative_to(ROOT)}", flush=True)
        return
    shutil.rmtree(PLACE, ignore_errors=True)
    print(
        f"No Redis {LOWEST} or newer: the tests of sessions will fail until there is one.\n"
        "  " + "\n  ".join(why) + "\n"
        "  Put redis-server on the PATH, or name a running one in ASCERTAIN_TEST_REDIS.",
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    main()
