"""Who sends, named so that somebody else can later prove that it is gone.

A name holds host, boot id, PID namespace, process id and process start time. On the same boot and
in the same namespace, "no such process, or one that started at another time" is proof; a dead
process that its parent has not collected yet cannot send either. Anything else is no proof.
"""

from __future__ import annotations

import os
from functools import lru_cache

_NO_ONE = ""


@lru_cache(maxsize=4)
def _name_of(pid: int) -> str:
    start = _start_time(pid) or "0"
    return "/".join((_host(), _boot_id(), _pid_namespace(), str(pid), start))


def me() -> str:
    """This process, as a sender."""
    return _name_of(os.getpid())


def is_gone(sender: str) -> bool:
    """Whether that sender can never send again. False means: not proven.

    :param sender: a name made by :func:`me`, with or without ``#attempt``.
    """
    parts = sender.split("#", 1)[0].split("/")
    if len(parts) != 5:
        return False
    host, boot, namespace, pid, start = parts
    if host != _host() or not boot:
        return False
    if boot != _boot_id():
        return True  # this very host has been started anew since
    if namespace != _pid_namespace() or not pid.isdigit():
        return False
    return _start_time(int(pid)) != start


@lru_cache(maxsize=1)
def _host() -> str:
    return os.uname().nodename.replace("/", "_").replace(",", "_").replace("#", "_")


@lru_cache(maxsize=1)
def _boot_id() -> str:
    try:
        return _text("/proc/sys/kernel/random/boot_id").strip()
    except OSError:
        return _NO_ONE


def _pid_namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")  # noqa: PTH115 - see _text
    except OSError:
        return _NO_ONE


def _start_time(pid: int) -> str | None:
    """Start time in clock ticks since boot; None where no live process has that id."""
    try:
        stat = _text(f"/proc/{pid}/stat")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    if fields[0] in ("Z", "X"):
        return None
    return fields[19]


def _text(path: str) -> str:
    """A small file's text, without pathlib: nothing else needs it before a ledger is opened."""
    with open(path) as file:  # noqa: PTH123 - it is a tenth of what an import of the library costs
        return file.read()
