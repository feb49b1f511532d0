"""Ports for servers of the tests: each belongs to one test process on this machine at a time.

To find a port that is free and to bind it later is a race: between the two, or while a server that
was killed begins anew, another test takes the same one, and each of them speaks to the other's
server, or to nobody once that one is killed. So a port is claimed first, by a name that the system
gives to one process only and takes back from whoever ends.
"""

from __future__ import annotations

import os
import random
import socket

# None that a system gives out by itself: a server that is killed finds its own again.
_FIRST, _LAST = 20_000, 32_000
_dice = random.SystemRandom()  # tests seed the other one, and all of them alike
_claims: dict[int, int] = {}
"""The file descriptor that holds the claim of each port."""


def claim() -> int:
    """A port on which nobody listens, and which is this process's own until it ends."""
    while True:
        port = _dice.randrange(_FIRST, _LAST)
        mine = socket.socket(socket.AF_UNIX)
        try:
            mine.bind(f"\0ascertain tests have port {port}")
        except OSError:  # somebody has claimed it
            mine.close()
            continue
        if is_free(port):
            _claims[port] = mine.detach()
            return port
        mine.close()


def release(port: int) -> None:
    """Let others have it."""
    os.close(_claims.pop(port))


def is_free(port: int) -> bool:
    """Whether nobody listens there at this moment."""
    with socket.socket() as free:
        try:
            free.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
