"""`World`: start the provider, tell it how to behave, read what really happened."""

from __future__ import annotations

import asyncio
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from ascertain.testing.world import reading as truth
from ascertain.testing.world.catalogue import Behaviour, Kind, script_text
from ascertain.testing.world.posts import place
from ascertain.testing.world.schema import load_providers, prepare, reading, writing
from ascertain.testing.world.words import Arrival, Effect, Json, Provider, canonical

_POLL_S = 0.005
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a folder of our own is made in it
_ROOM = 512 * 1024 * 1024


class WorldError(RuntimeError):
    """The World could not be started, or is not in the state that a call needs."""


class World:
    """A provider as a real HTTP service in its own process, with its own file.

    ::

        with World({"tickets": Provider(lookup=False)}) as world:
            world.script("tickets", {"order_id": "A123"}, ["reply_lost", "ok"])
            ...  # let the code under test talk to world.url
            assert world.count("tickets") == 1

    Without `providers` there is one collection, `tickets`, with key and look-up. Without
    `db_path` the file lies in memory or in a temporary folder and is removed with this object.
    With `db_path` it stays, and a World that starts on it again goes on from there, also with
    what has still to take effect. Times are in seconds.
    """

    def __init__(
        self,
        providers: Mapping[str, Provider] | None = None,
        *,
        db_path: str | os.PathLike[str] | None = None,
        port: int = 0,
        start_within_s: float = 15.0,
    ) -> None:
        """Choose the providers; nothing is started before `start` or `with`."""
        self._providers = {"tickets": Provider()} if providers is None else dict(providers)
        self._start_within_s = start_within_s
        self._port = port
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()
        self._ephemeral = db_path is None
        if db_path is None:
            folder = Path(tempfile.mkdtemp(prefix="world-", dir=_memory()))
            weakref.finalize(self, _remove, folder, self._owner)
            self.db_path = folder / "world.db"
        else:
            self.db_path = Path(db_path)

    @classmethod
    def attach(cls, url: str, db_path: str | os.PathLike[str]) -> World:
        """Return a handle on a World that another process has started.

        Raises WorldError if there is no such file.
        """
        path = Path(db_path)
        if not path.is_file():
            raise WorldError(f"no World has its file at {path}")
        with reading(path) as db:
            providers = load_providers(db)
        port = int(url.rstrip("/").rpartition(":")[2])
        return cls(providers, db_path=path, port=port)

    # ------------------------------------------------------------------------------ life cycle

    @property
    def url(self) -> str:
        """The address of the service. Raises WorldError before it is started."""
        if not self._port:
            raise WorldError("the World is not started: use `with World() as world:`")
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """The process id of the service. Raises WorldError if this object has not started it."""
        if self._child is None:
            raise WorldError("this object has not started the World")
        return self._child.pid

    def start(self) -> Self:
        """Start the process and wait until it listens. Raises WorldError with its last words."""
        if self._child is not None:
            raise WorldError("the World is started already")
        prepare(self.db_path, self._providers)
        command = [sys.executable, "-m", "ascertain.testing.world", "--db", str(self.db_path)]
        command += ["--port", str(self._port), "--parent", str(os.getpid())]
        if self._ephemeral:
            command.append("--ephemeral")
        log = self.db_path.with_suffix(".log")
        with log.open("ab") as errors:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=_environment(),
                start_new_session=True,  # a signal to our process group is not meant for it
            )
        self._owner = os.getpid()
        self._port = self._await_ready(self._child, log)
        return self

    def _await_ready(self, child: subprocess.Popen[bytes], log: Path) -> int:
        assert child.stdout is not None
        with child.stdout as out:
            came, _, _ = select.select([out], [], [], self._start_within_s)
            line = out.readline() if came else b""
        if not line:
            child.kill()
            child.wait()
            self._child = None
            why = "ended before it listened" if came else "did not listen in time"
            last = log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise WorldError(f"the World {why}: {last or 'it said nothing'} (see {log})")
        return int(json.loads(line)["port"])

    def stop(self) -> None:
        """Stop the process, if this object (in this process) has started it. May be repeated."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the process with SIGKILL; the truth stays readable, and `start` goes on from it."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        child = self._child
        if child is None or os.getpid() != self._owner:
            return
        child.send_signal(number)
        try:
            child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        self._child = None

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    async def __aenter__(self) -> Self:
        """Start without blocking the loop."""
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop without blocking the loop."""
        await asyncio.to_thread(self.stop)

    # --------------------------------------------------------------------------------- scripts

    def script(
        self,
        collection: str,
        match: Mapping[str, Json] | None = None,
        behaviours: Sequence[str | Behaviour] = (),
        lookup: Sequence[str | Behaviour] = (),
        *,
        key: str | None = None,
    ) -> None:
        """Say how the next creates, and look-ups, go whose arguments (or key) fit.

        The n-th create that fits meets the n-th behaviour, after the list is spent `ok`; so too
        the look-ups, which are matched by the arguments that came with their key. Of several
        scripts that fit the oldest is used up first. Raises ValueError for unknown behaviours,
        WorldError for a collection that is not served.
        """
        self._served(collection)
        wanted = canonical(dict(match or {}))
        scripts: list[tuple[Kind, Sequence[str | Behaviour]]] = [
            ("post", behaviours),
            ("lookup", lookup),
        ]
        texts = [(kind, script_text(rows, kind), len(rows)) for kind, rows in scripts if rows]
        with writing(self.db_path) as db:
            for kind, entries, size in texts:
                db.execute(
                    "INSERT INTO scripts (collection, kind, key, match, entries, size)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    (collection, kind, key, wanted, entries, size),
                )

    def clear_scripts(self, collection: str | None = None) -> None:
        """From now on everything is `ok` again."""
        with writing(self.db_path) as db:
            db.execute(
                "UPDATE scripts SET used = size WHERE :one IS NULL OR collection = :one",
                {"one": collection},
            )

    def place(
        self, collection: str, ref: str, args: Mapping[str, Json], *, key: str | None = None
    ) -> None:
        """Put a record there that nobody under test has asked for (an older ticket T850)."""
        self._served(collection)
        with writing(self.db_path) as db:
            place(db, collection, ref, key, dict(args), time.time())

    def _served(self, collection: str) -> None:
        if collection not in self._providers:
            served = ", ".join(sorted(self._providers))
            raise WorldError(f"this World does not serve {collection!r}; it serves: {served}")

    # ----------------------------------------------------------------------------------- truth

    def effects(
        self, collection: str | None = None, /, *, key: str | None = None, **args_match: Json
    ) -> list[Effect]:
        """Return what really happened, in order, read from the file."""
        return truth.read_effects(self.db_path, collection, key, args_match)

    def count(
        self, collection: str | None = None, /, *, key: str | None = None, **args_match: Json
    ) -> int:
        """Return how many effects there are."""
        return len(self.effects(collection, key=key, **args_match))

    def arrivals(
        self,
        collection: str | None = None,
        /,
        *,
        key: str | None = None,
        method: str | None = None,
        **args_match: Json,
    ) -> list[Arrival]:
        """Return every request that came, in order, with what it was answered."""
        return truth.read_arrivals(self.db_path, collection, key, method, args_match)

    def busiest(
        self, within_s: float = 1.0, collection: str | None = None, /, *, since: float = 0.0
    ) -> int:
        """Return the most requests that came in any stretch of that length, wherever it begins.

        `since`: those that came before that moment (seconds since 1970) are left out.
        """
        arrivals = self.arrivals(collection)
        came = sorted(one.received_at for one in arrivals if one.received_at >= since)
        first = most = 0
        for last, at in enumerate(came):
            while at - came[first] >= within_s:
                first += 1
            most = max(most, last - first + 1)
        return most

    def fenced(self, key: str, collection: str | None = None) -> bool:
        """Tell whether a look-up has made sure that this key never takes effect."""
        return truth.read_fenced(self.db_path, key, collection)

    def wait_idle(self, timeout_s: float = 10.0) -> None:
        """Wait until nothing is left that takes effect later. Raises TimeoutError."""
        self.wait_until(
            lambda: truth.count_open_landings(self.db_path) == 0,
            "everything that was still to take effect has",
            timeout_s,
        )

    def wait_until(
        self, holds: Callable[[], bool], what: str = "the condition", timeout_s: float = 10.0
    ) -> None:
        """Look again and again until `holds()`. Raises TimeoutError that names `what`."""
        give_up_at = time.monotonic() + timeout_s
        while not holds():
            if time.monotonic() > give_up_at:
                raise TimeoutError(f"not within {timeout_s:g} s: {what}")
            time.sleep(_POLL_S)


def _environment() -> dict[str, str]:
    """Let the child find this very package, wherever it was imported from."""
    source = str(Path(__file__).resolve().parents[3])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _memory() -> str | None:
    """Where a file that nobody keeps is quick: it must outlive processes, not the machine."""
    if "TMPDIR" in os.environ:
        return None
    try:
        roomy = shutil.disk_usage(_SHARED_MEMORY).free >= _ROOM
    except OSError:
        return None
    return _SHARED_MEMORY if roomy and os.access(_SHARED_MEMORY, os.W_OK) else None


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child that ends must not take the file along
        shutil.rmtree(folder, ignore_errors=True)
