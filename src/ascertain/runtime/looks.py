"""What the gate sees of a session: what is remembered, and what is under way; and how it waits."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ascertain.flow.effects import Look, Looked, Settle
from ascertain.model.session import Memory
from ascertain.runtime.gathered import Gathered
from ascertain.runtime.readiness import Readiness
from ascertain.runtime.recent import Recent
from ascertain.store.ledger import Contexts as StoredContexts

POLL_S = 0.02


class Looks(ABC):
    """Looks at sessions for the gate, and learns what it sees.

    :ivar readiness: the calls of this process that will provide something.
    :ivar recent: what was learned within the last moment, for calls that the ledger checks.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.readiness = Readiness()
        self.recent = Recent()
        self._looks: Gathered[Look, Looked] = Gathered(self._look_all)

    @property
    @abstractmethod
    def store(self) -> StoredContexts:
        """What remembers."""

    def look(self, asked: Look) -> Looked:
        """What the ledger remembers, and what is under way here."""
        # what is under way comes first: what ends between the two is in the ledger by then
        active = self._active(asked)
        (looked,) = self._look_all((asked,))
        if isinstance(looked, Exception):
            raise looked
        return looked._replace(active=active)

    async def look_async(self, asked: Look) -> Looked:
        """The same; the loop is not blocked."""
        active = self._active(asked)
        looked = await self._looks.ask(asked)
        return looked._replace(active=active) if active else looked

    def _active(self, asked: Look) -> dict[str, tuple[int, int]]:
        if not asked.keys:
            return {}
        return self.readiness.active((asked.tenant, asked.session), asked.keys)

    def _look_all(self, many: Sequence[Look]) -> list[Looked | Exception]:
        """What the ledger remembers of each; of whom no more is asked, all at once."""
        short = [(one.tenant, one.session) for one in many if not (one.keys or one.call_id)]
        found: list[Looked | Exception] = []
        try:
            sessions = dict(zip(short, self.store.sessions(short), strict=True)) if short else {}
        except Exception as error:
            return [error] * len(many)
        for asked in many:
            try:
                if asked.keys or asked.call_id:
                    looked = self._look(asked)
                else:
                    looked = Looked(Memory(sessions[(asked.tenant, asked.session)]), {})
            except Exception as error:
                found.append(error)
                continue
            self.recent.looked(looked.memory, self._clock(), whole=bool(asked.keys))
            found.append(looked)
        return found

    def _look(self, asked: Look) -> Looked:
        contexts = self.store
        if asked.keys:
            memory = contexts.memory(asked.tenant, asked.session)
        else:
            memory = Memory(contexts.session(asked.tenant, asked.session))
        history = contexts.history(asked.tenant, asked.session) if asked.history else []
        called, arguments = None, None
        if asked.call_id:
            called, arguments = contexts.called(asked.tenant, asked.session, asked.call_id)
        return Looked(memory, {}, tuple(history), called, arguments)

    def settle(self, asked: Settle) -> float:
        """Wait until there is news of a key; returns how long that was."""
        bell = threading.Event()
        place = (asked.look.tenant, asked.look.session)
        began = time.monotonic()
        with self.readiness.listening(place, bell.set):
            while True:
                left = asked.seconds - (time.monotonic() - began)
                if left <= 0 or self._has_news(asked):
                    return time.monotonic() - began
                bell.wait(min(left, POLL_S))
                bell.clear()

    async def settle_async(self, asked: Settle) -> float:
        """The same; the loop is not blocked."""
        import asyncio

        loop = asyncio.get_running_loop()
        bell = asyncio.Event()
        place = (asked.look.tenant, asked.look.session)
        began = time.monotonic()

        def ring() -> None:
            loop.call_soon_threadsafe(bell.set)

        with self.readiness.listening(place, ring):
            while True:
                left = asked.seconds - (time.monotonic() - began)
                news = self._local_news(asked)
                if news is None:
                    news = await loop.run_in_executor(None, self._ledger_news, asked)
                if left <= 0 or news:
                    return time.monotonic() - began
                try:
                    await asyncio.wait_for(bell.wait(), min(left, POLL_S))
                except TimeoutError:
                    continue
                bell.clear()

    def _has_news(self, asked: Settle) -> bool:
        local = self._local_news(asked)
        return self._ledger_news(asked) if local is None else local

    def _local_news(self, asked: Settle) -> bool | None:
        """Whether calls of this process bring news; None: ask the ledger."""
        place = (asked.look.tenant, asked.look.session)
        was = asked.looked.active.get(asked.key, (0, 0))[0]
        now = self.readiness.active(place, (asked.key,)).get(asked.key, (0, 0))[0]
        if was != now:
            return True
        return False if now else None

    def _ledger_news(self, asked: Settle) -> bool:
        memory = self.store.outline(asked.look.tenant, asked.look.session)
        return _seen(memory) != _seen(asked.looked.memory)


def _seen(memory: Memory) -> tuple[Any, ...]:
    version = memory.session.version if memory.session is not None else 0
    return version, memory.pledges
