"""The block of a chain: what is written when its code comes to its end, or is left before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Self

from ascertain.errors import LedgerError
from ascertain.model.action import ActionRecord
from ascertain.model.chain import LEFT, Around, ChainRecord, EndChain, Member, TurnChain
from ascertain.model.operations import Operation, Told
from ascertain.model.tables import State
from ascertain.rules import chain as rules
from ascertain.rules import left
from ascertain.runtime.hands import Hands, log

if TYPE_CHECKING:
    from ascertain.runtime.scope import Opened


class Block(ABC):
    """The part of a chain that is entered and left, sync or async."""

    id: str
    hands: Hands
    session: Opened
    _members: dict[str, Member]
    _latest: dict[str, ActionRecord]

    @abstractmethod
    def around(self) -> Around:
        """The chain, its members and their actions; nothing is written by looking."""

    def _leaving(self, error: type[BaseException] | None) -> Generator[Operation, Any, None]:
        """What leaving the block writes: that the code came to its end, or that it did not.

        An essential refusal that nobody corrected turns the chain, but not after an exception: the
        code may be run again, and somebody looks later. A case over it is closed by its end.
        """
        if not self._members:
            return
        if error is not None:
            yield from self._end(self.hands.clock() + self.hands.chain_left_s)
            return
        before = yield from self._end(None)
        if before is not None and before.reason == LEFT:
            cases = [one for _, one in self.around().members if one.review == left.CASE]
            for case in cases:
                yield rules.advance_of(case, left.ended_after_all(case, self.hands.clock()))
        if any(_refused(record) for record in self._latest.values()):
            why = rules.uncorrected(self.around())
            if why:
                yield TurnChain(chain=self.id, reason=why, now=self.hands.clock())

    def _end(self, due_at: float | None) -> Generator[Operation, Any, ChainRecord | None]:
        """The chain as it was before."""
        reply = yield EndChain(chain=self.id, due_at=due_at)
        assert isinstance(reply, Told)
        before: ChainRecord | None = reply.value
        return before

    def _not_written(
        self, error: type[BaseException] | None, operation: object, why: LedgerError
    ) -> None:
        """How the block was left could not be written; somebody looks later, as after a crash.

        :raises LedgerError: it was to turn the chain.
        """
        if error is None and not isinstance(operation, EndChain):
            raise why
        log.warning("chain %s: that its block was left could not be written", self.id)

    def __enter__(self) -> Self:
        self.session.__enter__()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self.session.__exit__()
        leaving, reply, operation = self._leaving(error), None, None
        try:
            while operation := _next(leaving, reply):
                reply = self.hands.committer.commit(operation)
        except LedgerError as why:
            self._not_written(error, operation, why)
        self.hands.poke(self.hands.clock())

    async def __aenter__(self) -> Self:
        self.session.__enter__()
        return self

    async def __aexit__(self, error: type[BaseException] | None, *_: object) -> None:
        import asyncio  # most of what an import costs

        from ascertain.runtime.aio_commit import commit_async

        self.session.__exit__()
        loop = asyncio.get_running_loop()
        leaving, reply, operation = self._leaving(error), None, None
        try:
            while operation := await loop.run_in_executor(None, _next, leaving, reply):
                reply = await commit_async(self.hands.committer, operation)
        except LedgerError as why:
            self._not_written(error, operation, why)
        self.hands.poke(self.hands.clock())


def _next(leaving: Generator[Operation, Any, None], reply: Any) -> Operation | None:
    """What is written next, after this reply; None: that was all."""
    try:
        return leaving.send(reply)
    except StopIteration:
        return None


def _refused(record: ActionRecord) -> bool:
    return record.state is State.REJECTED and bool(record.final)
