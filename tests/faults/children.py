"""Forked children that may be killed, a few at a time, without a thread in this process.

A child runs a piece of work and ends; or it is killed: by itself at a named crash point (`Moment`),
or from outside as soon as something is seen in the world. What it learned comes back as JSON.
"""

from __future__ import annotations

import encodings.idna
import json
import os
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import ascertain.runtime.worker
from ascertain.testing.crash import point

# Imported on their first use; a child that is forked often need not do that each time.
PRELOADED = (encodings.idna, ascertain.runtime.worker)
LOOK_S = 0.005


@dataclass(slots=True)
class Moment:
    """Kill this process when it passes the crash point `name` for the `nth` time."""

    name: str
    nth: int = 1
    passed: int = field(default=0)

    def __call__(self, side: str, effect: object) -> None:
        self.passed += point(effect, side) == self.name
        if self.passed == self.nth:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Child:
    """A piece of work for a process of its own; `kill_when`: SIGKILL it as soon as this holds."""

    work: Callable[[], Any]
    kill_when: Callable[[], bool] | None = None
    at_most_s: float = 40.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: killed or by itself, when (wall clock), and what its work returned."""

    killed: bool
    at: float
    value: Any = None


Story = Generator[Child, Ended, None]


class Process:
    """One forked child at work: it can be stopped, woken and killed, and be waited for."""

    def __init__(self, work: Callable[[], Any]) -> None:
        """Start it."""
        self._out = os.memfd_create("told")  # no pipe: nobody reads while the child still writes
        self.pid = fork()
        if self.pid == 0:
            _live(work, self._out)
        self.pidfd = os.pidfd_open(self.pid)
        self._ended: Ended | None = None
        self._over = False

    def kill(self) -> None:
        """SIGKILL, whatever it does, stopped or not."""
        self.signal(signal.SIGKILL)

    def signal(self, number: int) -> None:
        """Send it a signal."""
        signal.pidfd_send_signal(self.pidfd, number)

    def wait_stopped(self, within_s: float = 10.0) -> float:
        """Wait until it has stopped itself; returns when that was seen (wall clock)."""
        give_up_at = time.monotonic() + within_s
        while True:
            pid, how = os.waitpid(self.pid, os.WUNTRACED | os.WNOHANG)
            if pid and os.WIFSTOPPED(how):
                return time.time()
            if pid:
                self._ended = self._ended_by(how)
                raise RuntimeError(f"the child {self.pid} ended instead of stopping ({how})")
            if time.monotonic() > give_up_at:
                raise TimeoutError(f"the child {self.pid} has not stopped")
            select.select([], [], [], LOOK_S)

    def end(self, within_s: float = 30.0) -> Ended:
        """Wait for its end.

        :raises RuntimeError: it broke. TimeoutError: it goes on; it is killed then.
        """
        if self._ended is None:
            ready, _, _ = select.select([self.pidfd], [], [], within_s)
            if not ready:
                self.kill()
            _, how = os.waitpid(self.pid, 0)
            self._ended = self._ended_by(how)
            if not ready:
                raise TimeoutError(f"the child {self.pid} did not end within {within_s:g} s")
        return self._ended

    def abandon(self) -> None:
        """Kill it, if it is still there."""
        if not self._over:
            self.kill()
            self.end()

    def _ended_by(self, how: int) -> Ended:
        at, self._over = time.time(), True
        os.close(self.pidfd)
        with os.fdopen(self._out, "rb") as out:
            out.seek(0)
            text = out.read()
        if os.WIFSIGNALED(how) and os.WTERMSIG(how) == signal.SIGKILL:
            return Ended(True, at)
        if how != 0:
            raise RuntimeError(f"the child {self.pid} broke instead of being killed ({how})")
        return Ended(False, at, json.loads(text))


@dataclass(frozen=True, slots=True)
class _Running:
    process: Process
    child: Child
    story: Story
    give_up_at: float


def run_stories(stories: Iterable[Story], *, at_once: int = 4) -> int:
    """Play every story to its end: each yields its next child and hears how that one ended.

    :returns: how many children were really killed by SIGKILL.
    :raises RuntimeError: a child that broke; TimeoutError: one that neither ended nor was killed.
    """
    waiting = iter(stories)
    running: dict[int, _Running] = {}
    killed = 0
    try:
        while True:
            while len(running) < at_once and (story := next(waiting, None)) is not None:
                _go_on(running, story, None)
            if not running:
                return killed
            watched = any(one.child.kill_when is not None for one in running.values())
            ready, _, _ = select.select(list(running), [], [], LOOK_S if watched else 1.0)
            for pidfd in ready:
                one = running.pop(pidfd)
                ended = one.process.end()
                killed += ended.killed
                _go_on(running, one.story, ended)
            for one in running.values():
                if one.child.kill_when is not None and one.child.kill_when():
                    one.process.kill()
                elif time.monotonic() > one.give_up_at:
                    raise TimeoutError(f"the child {one.process.pid} goes on and on")
    finally:
        for one in running.values():
            one.process.kill()
            one.process.end()


def run_child(work: Callable[[], Any], at_most_s: float = 40.0) -> Any:
    """Run one piece of work in a process of its own, to its end."""
    ended = Process(work).end(at_most_s)
    if ended.killed:
        raise RuntimeError("the child was killed and should not have been")
    return ended.value


def fork() -> int:
    """`os.fork`; the only other threads here are those of the test runner, which hold nothing."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*multi-threaded.*", DeprecationWarning)
        return os.fork()


def _go_on(running: dict[int, _Running], story: Story, ended: Ended | None) -> None:
    try:
        child = next(story) if ended is None else story.send(ended)
    except StopIteration:
        return
    process = Process(child.work)
    running[process.pidfd] = _Running(process, child, story, time.monotonic() + child.at_most_s)


def _live(work: Callable[[], Any], out: int) -> NoReturn:
    code = 1
    try:
        text = json.dumps(work()).encode()
        with os.fdopen(out, "wb", closefd=False) as file:
            file.write(text)
        code = 0
    except BaseException:  # a forked child must never return into the parent's code
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()
    finally:
        os._exit(code)
