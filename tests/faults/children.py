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


@dataclass(slots=True)
class _Running:
    pid: int
    pidfd: int
    out: int
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
                ended = _collect(one)
                killed += ended.killed
                _go_on(running, one.story, ended)
            for one in running.values():
                if one.child.kill_when is not None and one.child.kill_when():
                    os.kill(one.pid, signal.SIGKILL)
                elif time.monotonic() > one.give_up_at:
                    raise TimeoutError(f"the child {one.pid} neither ended nor was killed")
    finally:
        for one in running.values():
            os.kill(one.pid, signal.SIGKILL)
            os.waitpid(one.pid, 0)


def run_child(work: Callable[[], Any], at_most_s: float = 40.0) -> Any:
    """Run one piece of work in a process of its own, to its end."""
    values = list[Any]()

    def story() -> Story:
        values.append((yield Child(work, at_most_s=at_most_s)).value)

    if run_stories([story()]):
        raise RuntimeError("the child was killed and should not have been")
    return values[0]


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
    out = os.memfd_create("told")  # no pipe: nobody reads while the child still writes
    pid = fork()
    if pid == 0:
        _live(child.work, out)
    pidfd = os.pidfd_open(pid)
    running[pidfd] = _Running(pid, pidfd, out, child, story, time.monotonic() + child.at_most_s)


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


def _collect(one: _Running) -> Ended:
    _, how = os.waitpid(one.pid, 0)
    at = time.time()
    os.close(one.pidfd)
    with os.fdopen(one.out, "rb") as out:
        out.seek(0)
        text = out.read()
    if os.WIFSIGNALED(how) and os.WTERMSIG(how) == signal.SIGKILL:
        return Ended(True, at)
    if how != 0:
        raise RuntimeError(f"the child {one.pid} broke instead of being killed ({how})")
    return Ended(False, at, json.loads(text))
