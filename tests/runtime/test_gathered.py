"""Questions that are answered together: each its own answer, its own error, its own caller."""

import asyncio
import threading

import pytest

from ascertain.runtime.gathered import Gathered


class Answers:
    def __init__(self):
        self.open = threading.Event()
        self.threads = []

    def __call__(self, questions):
        self.open.wait(5.0)
        self.threads.append(threading.get_ident())
        if "worst" in questions:
            raise OSError("nobody is answered")
        return [LookupError(one) if one == "bad" else f"answer to {one}" for one in questions]


async def test_each_gets_its_own_answer_and_those_who_wait_share_a_hop():
    answers = Answers()
    gathered = Gathered(answers)
    asked = [asyncio.create_task(gathered.ask(n)) for n in range(20)]
    await asyncio.sleep(0)
    answers.open.set()
    assert await asyncio.gather(*asked) == [f"answer to {n}" for n in range(20)]
    assert await gathered.ask("later") == "answer to later"
    assert threading.get_ident() not in answers.threads


async def test_an_error_is_that_of_its_own_question():
    answers = Answers()
    answers.open.set()
    gathered = Gathered(answers)
    good, bad, other = await asyncio.gather(
        gathered.ask("good"), gathered.ask("bad"), gathered.ask("other"), return_exceptions=True
    )
    assert (good, other) == ("answer to good", "answer to other")
    assert isinstance(bad, LookupError)


async def test_where_nothing_can_be_answered_everybody_who_asked_hears_it():
    answers = Answers()
    gathered = Gathered(answers)
    asked = [asyncio.create_task(gathered.ask(one)) for one in ("first", "good", "worst")]
    await asyncio.sleep(0)
    answers.open.set()
    first, *others = await asyncio.gather(*asked, return_exceptions=True)
    assert first == "answer to first", "it had gone ahead"
    assert [str(one) for one in others] == ["nobody is answered"] * 2
    assert await gathered.ask("good") == "answer to good", "the next ones are answered"


async def test_a_caller_that_has_gone_keeps_nobody_waiting():
    answers = Answers()
    gathered = Gathered(answers)
    gone, stays = asyncio.create_task(gathered.ask(1)), asyncio.create_task(gathered.ask(2))
    await asyncio.sleep(0)
    gone.cancel()
    answers.open.set()
    assert await stays == "answer to 2"
    with pytest.raises(asyncio.CancelledError):
        await gone


def test_every_loop_has_its_own_line():
    answers = Answers()
    answers.open.set()
    gathered = Gathered(answers)
    for n in range(2):
        assert asyncio.run(gathered.ask(n)) == f"answer to {n}"
