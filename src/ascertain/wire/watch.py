"""``watch(client)``: put the hooks into a client that you already have."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from itertools import count
from typing import Protocol, TypeVar, cast

from ascertain.errors import ContractError

C = TypeVar("C")

# (top-level package, class) -> the module with its hooks. Subclasses are found by their bases, so
# that no library is imported only to ask whether a client is one of its own.
ADAPTERS: dict[tuple[str, str], str] = {
    ("httpx", "Client"): "ascertain.wire.httpx",
    ("httpx", "AsyncClient"): "ascertain.wire.httpx",
    ("httpx2", "Client"): "ascertain.wire.httpx",
    ("httpx2", "AsyncClient"): "ascertain.wire.httpx",
    ("requests", "Session"): "ascertain.wire.requests",
}

_EXIT = "_ascertain_exit"
_numbers = count(1)


class Adapter(Protocol):
    """What a file of hooks offers."""

    def install(self, client: object, exit: str, library: str) -> None:
        """Put the hooks into this client, of this top-level package."""


def watch(client: C, *, name: str | None = None) -> C:
    """Watch what leaves through this client, from now on.

    The same object comes back, with hooks inside; its behaviour is its own, except that within an
    attempt every request is recorded and ends at the attempt's deadline at the latest, with the
    client's own timeout exception. Watching a client twice is watching it once, under its first
    name. Watch a client before its first request: connections opened earlier are watched too, but
    their deadline is kept less exactly.

    :param name: the exit's name in traces; by default the class and a number.
    :raises ContractError: there are no hooks for this kind of client.
    """
    if exit_name(client) is not None:
        return client
    root, class_name, module = _adapter_for(client)
    adapter = cast("Adapter", import_module(module))
    chosen = name or f"{root}.{class_name}#{next(_numbers)}"
    adapter.install(client, chosen, root)
    setattr(client, _EXIT, chosen)
    return client


def exit_name(client: object) -> str | None:
    """The name under which this client is watched; None: it is not."""
    own: dict[str, str] = getattr(client, "__dict__", {})
    return own.get(_EXIT)


def _adapter_for(client: object) -> tuple[str, str, str]:
    for root, class_name in _kinds(client):
        module = ADAPTERS.get((root, class_name))
        if module is not None:
            return root, class_name, module
    supported = ", ".join(f"{root}.{class_name}" for root, class_name in ADAPTERS)
    kind = type(client)
    raise ContractError(
        f"There are no hooks for {kind.__module__}.{kind.__qualname__}; watched can be: "
        f"{supported}, and their subclasses.",
        next_step=(
            "Watch the client that does the sending, or leave this one unwatched: without hooks "
            "its results are judged by exception class, and a lost answer cannot be proven unsent."
        ),
        supported=supported,
    )


def _kinds(client: object) -> Iterator[tuple[str, str]]:
    for kind in type(client).__mro__:
        yield kind.__module__.partition(".")[0], kind.__qualname__
