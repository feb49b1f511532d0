"""The sync driver: performs one effect at a time, in the caller's thread."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ascertain.flow.attempt import land, sender_of
from ascertain.flow.call import call
from ascertain.flow.effects import (
    Admit,
    Alike,
    Ask,
    Attend,
    Await,
    Effect,
    Fetch,
    Flow,
    Inquire,
    Invoke,
    Look,
    Pause,
    Permission,
    Permit,
    Picture,
    Relate,
    Settle,
    Survey,
    Tell,
    Undo,
    Vet,
)
from ascertain.model.action import ActionRecord
from ascertain.model.booking import Book, GiveBack
from ascertain.model.chain import Around
from ascertain.model.operations import Advance, Reserve, Take
from ascertain.model.outcome import Report
from ascertain.model.tables import By
from ascertain.model.words import NotSent
from ascertain.rules import fold
from ascertain.rules.budget import backoff_s
from ascertain.rules.chain import advance_of
from ascertain.rules.news.classify import classify
from ascertain.runtime import undoing
from ascertain.runtime.attempt import Attempt
from ascertain.runtime.batching import with_items, with_known
from ascertain.runtime.checks import permitted, related
from ascertain.runtime.hands import Hands, found_another, log
from ascertain.runtime.holding import cleared, hold, waits_for_anything
from ascertain.runtime.invoke import (
    Entered,
    Opening,
    answered,
    asked_of,
    drained,
    lease_covers,
    not_begun,
    open_attempt,
    open_lookup,
    report,
)
from ascertain.runtime.joining import admitted, attended
from ascertain.runtime.keeper import GRACE_S, Keeper
from ascertain.runtime.registry import Entry
from ascertain.runtime.vetting import vet
from ascertain.runtime.vigil import await_other

T = TypeVar("T")


class SyncDriver:
    """Drives one flow for one tool. ``values`` are the arguments, if they are at hand."""

    def __init__(
        self,
        hands: Hands,
        entry: Entry,
        keeper: Keeper,
        values: dict[str, Any] | None = None,
        *,
        fetch: Callable[[Fetch], bool] | None = None,
    ) -> None:
        self._hands = hands
        self._entry = entry
        self._keeper = keeper
        self._values = values
        self._fetch = fetch  # of calls that may need others first
        self._found = False  # another action is gone on with, and what it stored is what counts
        self._interrupt: BaseException | None = None

    @property
    def values(self) -> dict[str, Any]:
        """The arguments, once they are at hand."""
        return self._values or {}

    def drive(self, flow: Flow[T]) -> T:
        """Run the flow to its end; an interruption is raised again once it is recorded."""
        perform = self.perform if self._hands.on_effect is None else self._observed
        try:
            effect = next(flow)
            while True:
                try:
                    reply = perform(effect)
                except Exception as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(reply)
        except StopIteration as stop:
            if self._interrupt is not None:
                raise self._interrupt from None
            result: T = stop.value
            return result

    def _observed(self, effect: Effect) -> Any:
        on_effect = self._hands.on_effect
        assert on_effect is not None
        on_effect("before", effect)
        reply = self.perform(effect)
        on_effect("after", effect)
        return reply

    def perform(self, effect: Effect) -> Any:
        """Perform one effect; the reply is what the flow is resumed with."""
        match effect:
            case Reserve() | Advance() | Take() | Book() | GiveBack():
                if isinstance(effect, Reserve | Advance) and effect.beside:
                    self._hands.contexts.arriving(effect.beside)
                reply = self._hands.committer.commit(effect)
                self._hands.written(effect, reply)
                self._found = self._found or found_another(reply)
                return reply
            case Invoke(record, deadline_s):
                return self._invoke(record, deadline_s)
            case Ask(record, deadline_s):
                return self._ask(record, deadline_s)
            case Pause(seconds):
                return self._pause(seconds)
            case Await(record, seconds):
                return self._await(record, seconds)
            case Inquire(senders):
                return self._hands.inquire(senders)
            case Permit(record):
                return self._permit(record)
            case Relate(record, related_ref):
                asked = asked_of(record, self._arguments(record))
                return related(self._entry, asked._replace(related_ref=related_ref))
            case Tell(record, event, said):
                return tell_operator(record, event, said)
            case Survey(record):
                return self._hands.ledger.chains.around(record.chain)
            case Undo(record, around):
                return self._undo(record, around)
            case Picture(record, deadline_s):
                return self._picture(record, deadline_s)
            case Look():
                return self._hands.contexts.look(effect)
            case Settle():
                return self._hands.contexts.settle(effect)
            case Fetch():
                assert self._fetch is not None
                return self._fetch(effect)
            case Admit():
                return admitted(self._entry, effect)
            case Alike(record):
                return self._hands.alike(self._entry, record)
            case Attend():
                return attended(effect)
            case Vet(values):
                self._values = values
                return vet(self._hands, self._entry, effect)

    def _permit(self, record: ActionRecord) -> Permission:
        said = permitted(self._entry, record, self._arguments(record))
        if said != "yes" or not waits_for_anything(self._entry):
            return said
        return cleared(self._hands, self._entry, record)

    def _arguments(self, record: ActionRecord) -> dict[str, Any]:
        if self._values is None or self._found:
            self._values, self._found = self._hands.arguments_of(self._entry, record), False
        return self._values

    def _invoke(self, record: ActionRecord, deadline_s: float) -> Report:
        entry = self._entry
        opening = open_attempt(entry, record, deadline_s, self._hands.mac)
        if self._interrupt is not None:
            # interrupted while the send was being recorded: nothing has left, and nothing will
            stopped = NotSent("interrupted", retryable=False)
            return report(entry, opening, error=stopped, interrupt=self._interrupt)
        if not lease_covers(record, deadline_s, self._hands.clock()):
            return report(entry, opening, error=NotSent("lease_ran_out"))
        values = self._arguments(record)
        opening = with_items(entry, opening, values)
        # a watched client ends its request at the deadline: its body comes back with what it knows,
        # and the turn goes on from there
        patience_s = deadline_s + min(GRACE_S, self._hands.lease_s / 2)
        with self._keeper.watching(patience_s, lambda: self._give_up(record)):
            inject = {Attempt: opening.attempt}
            return self._run(opening, lambda: entry.signature.call(entry.body, values, inject))

    def _ask(self, record: ActionRecord, deadline_s: float) -> Report:
        lookup = self._entry.lookup
        asked = asked_of(record, self._arguments(record))
        if lookup is None:
            raise LookupError(f"{self._entry.name} has no look-up in this process.")
        if self._interrupt is not None:
            return not_begun(self._interrupt)
        opening = with_items(self._entry, open_lookup(deadline_s), asked.arguments)
        news = self._run(opening, lambda: lookup(asked))
        return answered(self._entry, with_known(self._hands.ledger, record, news))

    def _undo(self, record: ActionRecord, around: Around) -> ActionRecord | None:
        start = undoing.begin(self._hands, record, around)
        may = permitted(start.entry, start.wanted.record, start.values)
        why = hold(self._hands, start.entry, undoing.for_rule(start))
        begun = undoing.judged(start, may, why)
        if begun is None:
            return None
        driver = SyncDriver(self._hands, begun.entry, self._keeper, begun.values)
        setting = self._hands.setting(begun.entry)
        return driver.drive(call(setting, begun.wanted, begun.turn)).record

    def _picture(self, record: ActionRecord, deadline_s: float) -> Report | None:
        look = self._entry.snapshot
        if look is None or self._interrupt is not None:
            return None
        asked = asked_of(record, self._arguments(record))
        return self._run(open_lookup(deadline_s), lambda: look(asked))

    def _run(self, opening: Opening, body: Callable[[], Any]) -> Report:
        entered = Entered(opening)
        try:
            value = drained(body())
        except Exception as error:
            return report(self._entry, opening, error=error)
        except BaseException as interrupt:
            self._interrupt = interrupt
            return report(self._entry, opening, error=interrupt, interrupt=interrupt)
        finally:
            entered.leave()
        return report(self._entry, opening, value=value)

    def _give_up(self, record: ActionRecord) -> None:
        """The deadline passed while the body still runs: others must see unknown, not sent."""
        setting = self._hands.setting(self._entry)
        move = fold.lose(
            record, reason="deadline", suspect=sender_of(setting, record),
            now=self._hands.clock(), by=By.CALL,
            wait_s=backoff_s(setting.contract, record.attempt, self._hands.dice()),
        )  # fmt: skip
        operation = advance_of(record, move)
        self._hands.written(operation, self._hands.committer.commit(operation))

    def _pause(self, seconds: float, rung: threading.Event | None = None) -> bool:
        if self._interrupt is not None:
            return False
        try:
            if rung is None:
                time.sleep(seconds)
            elif rung.wait(seconds):
                rung.clear()
        except BaseException as interrupt:
            self._interrupt = interrupt
            return False
        return True

    def _await(self, record: ActionRecord, seconds: float) -> ActionRecord | None:
        return await_other(self._hands.ledger, record, seconds, self._pause)


def land_late(hands: Hands, entry: Entry, record: ActionRecord, news: Report) -> ActionRecord:
    """A body that had been given up has ended: its result lands on its own action."""
    setting = hands.setting(entry)
    outcome = classify(news, setting.contract, now=hands.clock())
    return SyncDriver(hands, entry, Keeper()).drive(land(setting, record, news, outcome))


def tell_operator(record: ActionRecord, event: str, said: Mapping[str, str]) -> None:
    """One line of JSON for whoever runs this, at the level of an error."""
    line = {
        "event": event, "action": record.id, "tool": record.tool, "key": record.key,
        "attempt": record.attempt, **said,
    }  # fmt: skip
    log.error(json.dumps(line))
