"""Many at once: threads, processes, and forks of both."""

from __future__ import annotations

import multiprocessing
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from ascertain.errors import LedgerClosed
from ascertain.store.ledger import Advanced, Filter, Ledger, Lost, Reserved
from ascertain.testing.conformance import children
from ascertain.testing.conformance.place import Place
from ascertain.testing.conformance.samples import confirm, must, reserve_sent, submit, wanted

DEADLINE_S = 40.0


class CrowdRules:
    """Safe from any thread, in any number of processes."""

    def test_threads_with_the_same_intents_make_one_action_each(self, ledger: Ledger) -> None:
        """Eight threads, twenty intents, one action for each of them."""
        vias: Counter[str] = Counter()
        start = threading.Barrier(8)

        def work() -> None:
            start.wait()
            for n in range(20):
                (reply,) = ledger.submit([reserve_sent(wanted(f"i{n}"))])
                vias[must(reply, Reserved).via] += 1

        in_threads(work, 8)
        assert vias == {"new": 20, "intent": 140}
        assert len(ledger.find(Filter(limit=1000))) == 20
        assert list(ledger.verify()) == []

    def test_threads_that_settle_one_action_have_one_winner(self, ledger: Ledger) -> None:
        """The others are told that they lost; readers never see half of it."""
        sent = submit(ledger, reserve_sent(wanted()), Reserved).record
        kinds: Counter[str] = Counter()
        start = threading.Barrier(8)

        def work() -> None:
            start.wait()
            (reply,) = ledger.submit([confirm(sent)])
            kinds[type(reply).__name__] += 1
            seen = ledger.get(sent.id)
            assert seen is not None
            assert seen.provider_ref == "T900"

        in_threads(work, 8)
        assert kinds == {Advanced.__name__: 1, Lost.__name__: 7}

    def test_processes_with_the_same_intents_make_one_action_each(
        self, place: Place, ledger: Ledger
    ) -> None:
        """Four processes with the same 25 intents at one instant."""
        told = in_processes(4, children.reserve_all, place, (25,))
        vias = Counter(via for replies in told for via, _ in replies)
        ids = {action_id for replies in told for _, action_id in replies}
        assert vias == {"new": 25, "intent": 75}
        assert {record.id for record in ledger.find(Filter(limit=1000))} == ids
        assert list(ledger.verify()) == []

    def test_processes_that_take_share_the_work(self, place: Place, ledger: Ledger) -> None:
        """Each due action goes to exactly one of three workers."""
        ledger.submit([reserve_sent(wanted(f"i{n}")) for n in range(60)])
        told = in_processes(3, children.take_all, place, ("worker",))
        assert Counter(i for mine in told for i in mine) == {
            record.id: 1 for record in ledger.find(Filter(limit=1000))
        }

    def test_processes_that_begin_a_ledger_together(self, place: Place) -> None:
        """One schema, one secret, one action."""
        secrets = in_processes(4, children.begin_together, place, ())
        assert len(set(secrets)) == 1
        ledger = place.open()
        assert ledger.secret().hex() == secrets[0]
        assert len(ledger.find(Filter())) == 1
        ledger.close()

    def test_a_ledger_at_work_survives_a_fork(self, place: Place) -> None:
        """Parent and children go on writing through the object they share."""
        ((codes, said),) = in_processes(1, children.fork_at_work, place, (3, 8), wait=False)
        assert codes == [0, 0, 0]
        assert said == []
        ledger = place.open()
        records = ledger.find(Filter(limit=1000))
        assert Counter(record.state for record in records) == {"confirmed": 40, "sent": 1}
        assert list(ledger.verify()) == []
        ledger.close()

    def test_a_closed_ledger_says_so(self, ledger: Ledger) -> None:
        """Whatever is asked of it; closing twice is nothing."""
        submit(ledger, reserve_sent(wanted()), Reserved)
        ledger.close()
        ledger.close()
        for use in (
            lambda: ledger.submit([reserve_sent(wanted("other"))]),
            lambda: ledger.get("nobody"),
            lambda: ledger.find(Filter()),
            lambda: list(ledger.verify()),
            lambda: ledger.bury(closed_before=0.0),
            lambda: ledger.heartbeat("worker", 0.0),
        ):
            with pytest.raises(LedgerClosed):
                use()


def in_threads(work: Callable[[], None], count: int) -> None:
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert errors == []
    assert not any(thread.is_alive() for thread in threads)


def in_processes(
    count: int, work: Callable[..., None], place: Place, more: tuple[Any, ...], *, wait: bool = True
) -> list[Any]:
    """Run ``work`` in so many new processes at once; what each of them told."""
    context = multiprocessing.get_context("spawn")
    start, told = context.Barrier(count), context.Queue()
    given = (start,) if wait else ()
    processes = [
        context.Process(target=work, args=(place, *given, *more, told)) for _ in range(count)
    ]
    for process in processes:
        process.start()
    answers = [told.get(timeout=DEADLINE_S) for _ in processes]
    for process in processes:
        process.join(DEADLINE_S)
    assert [process.exitcode for process in processes] == [0] * count
    told.close()
    return answers
