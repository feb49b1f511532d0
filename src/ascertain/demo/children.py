"""Processes of the demo: agents and workers, started, listened to, frozen and killed."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from ascertain.demo.telling import Told, read_told
from ascertain.errors import AscertainError

_POLL_S = 0.005


class DemoBroken(AscertainError):
    """The demo itself could not go on; that says nothing about what the library promises."""

    code: ClassVar[str] = "demo_broken"
    next_step: ClassVar[str] = "Run it again; on a very busy machine its processes may be too slow."


class Child:
    """One process of the demo, with what it says."""

    def __init__(self, module: str, arguments: Sequence[str], *, log: Path) -> None:
        """Start it. Its errors go to ``log``."""
        source = str(Path(__file__).resolve().parents[2])
        paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
        self.name = module.rpartition(".")[2]
        self._log = log
        with log.open("ab") as errors:
            self._child = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                start_new_session=True,  # what is meant for us (Ctrl-C) is not meant for it
            )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._child.pid

    def _read(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def line(self, within_s: float) -> str | None:
        """The next line that it prints; None when there will be none.

        :raises DemoBroken: nothing came in time.
        """
        try:
            return self._lines.get(timeout=within_s)
        except queue.Empty:
            raise DemoBroken(
                f"The {self.name} process said nothing within {within_s:g} s (see {self._log})."
            ) from None

    def told(self, within_s: float, heard: Callable[[Told], None]) -> None:
        """Hear all that an agent tells, until it ends well.

        :raises DemoBroken: it did not end in time, or not well.
        """
        give_up_at = time.monotonic() + within_s
        while (line := self.line(max(0.01, give_up_at - time.monotonic()))) is not None:
            heard(read_told(line))
        self.ended(max(0.01, give_up_at - time.monotonic()))

    def ended(self, within_s: float) -> None:
        """Wait for its end.

        :raises DemoBroken: it did not end in time, or not well.
        """
        try:
            code = self._child.wait(within_s)
        except subprocess.TimeoutExpired:
            raise DemoBroken(f"The {self.name} process did not end (see {self._log}).") from None
        if code:
            last = self._log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise DemoBroken(f"The {self.name} process ended with {code}: {last}")

    def go(self) -> None:
        """Give it the line that it waits for."""
        assert self._child.stdin is not None
        self._child.stdin.write("go\n")
        self._child.stdin.flush()

    def signal(self, number: signal.Signals) -> None:
        self._child.send_signal(number)

    def kill(self) -> None:
        """SIGKILL: it does nothing any more, not even its last words."""
        self._child.kill()
        self._child.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave no process behind, a frozen one neither."""
        if self._child.poll() is None:
            self.kill()
        self._reader.join(timeout=5.0)
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                stream.close()


def wait_until(holds: Callable[[], bool], what: str, within_s: float = 20.0) -> None:
    """Look again and again until ``holds()``.

    :raises DemoBroken: it does not hold in time; names ``what``.
    """
    give_up_at = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > give_up_at:
            raise DemoBroken(f"Not within {within_s:g} s: {what}.")
        time.sleep(_POLL_S)
