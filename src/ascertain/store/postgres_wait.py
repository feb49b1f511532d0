"""Connections on which nobody waits for ever.

The server ends statements that take too long, and the kernel gives up a peer that acknowledges
nothing. Neither helps where something in between (a proxy, a load balancer, a server that is
frozen) takes what we say and never lets an answer through.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import psycopg

ANSWER_S = 20.0
"""Longer than the server lets any statement of ours take."""

SEVERAL = "ascertain_several"
"""Set on a connection while statements are sent as one text: the server ends each of them that
takes too long, and all together may take longer.
"""

T = TypeVar("T")


def connect(options: dict[str, Any]) -> psycopg.Connection[Any]:
    """A connection that is given up as lost where no answer comes for :data:`ANSWER_S`.

    Each statement is a transaction, unless one is begun.

    :raises psycopg.Error: it cannot be made.
    """
    return _patient().connect(autocommit=True, **options)


@cache
def _patient() -> type[psycopg.Connection[Any]]:
    """Made when it is first needed: the driver is an extra."""
    import psycopg

    class Patient(psycopg.Connection[Any]):
        def wait(self, gen: Generator[Any, Any, T], *args: Any, **named: Any) -> T:
            return super().wait(_bounded(self, gen), *args, **named)

    return Patient


def _bounded(db: psycopg.Connection[Any], gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
    """A step of the driver's protocol; whether it was done is not known where it is given up."""
    give_up_at = time.monotonic() + ANSWER_S
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            late = not ready and time.monotonic() > give_up_at
            if late and not getattr(db, SEVERAL, False):
                import psycopg

                db.pgconn.finish()
                raise psycopg.OperationalError(f"no answer came for {ANSWER_S:g} s")
            wanted = gen.send(ready)
    except StopIteration as end:
        done: T = end.value
        return done
