"""Connections on which nobody waits for ever.

The server ends statements that take too long, and the kernel gives up a peer that acknowledges
nothing. Neither helps where something in between (a proxy, a load balancer, a server that is
frozen) takes what we say and never lets an answer through.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg

ANSWER_S = 20.0
"""Longer than the server lets any statement of ours take."""

T = TypeVar("T")


class PatientConnection(psycopg.Connection[Any]):
    """One that is given up as lost where the server gives no answer for :data:`ANSWER_S`."""

    several = False
    """Statements are sent as one text: the server ends each of them that takes too long."""

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **named: Any) -> T:
        """Run a step of the driver's protocol.

        :raises psycopg.OperationalError: no answer came; whether it was done is not known.
        """
        return super().wait(self._bounded(gen), *args, **named)

    def _bounded(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        give_up_at = time.monotonic() + ANSWER_S
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not (ready or self.several) and time.monotonic() > give_up_at:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"no answer came for {ANSWER_S:g} s")
                wanted = gen.send(ready)
        except StopIteration as end:
            done: T = end.value
            return done
