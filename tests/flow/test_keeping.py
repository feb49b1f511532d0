"""A read in a chain: stored after its answer, as it was; what was not answered is not stored."""

from dataclasses import replace

import pytest

from ascertain.flow.call import read
from ascertain.flow.effects import Invoke
from ascertain.flow.keeping import keep_read
from ascertain.model.chain import ChainRecord, Joins, Member
from ascertain.model.contract import RefusalRule
from ascertain.model.operations import Blocked, Reserve, Reserved
from ascertain.model.outcome import Report, WireTrace
from ascertain.model.tables import State
from tests.flow.stage import INTERRUPTED, NOW, SEARCH, Stage, passes, prepared, refused, wanted

ANSWER = Report(value={"orders": ["A1"]}, result='{"orders":["A1"]}')
SAID_NO = Report(
    value={"error": {"code": "CLOSED"}}, result='{"error":{"code":"CLOSED"}}',
    trace=WireTrace(sends=1, left=True, answered=True, http_status=200, complete=True),
)  # fmt: skip
CODED = replace(SEARCH, refusals=(RefusalRule(code="CLOSED"),))
CHAIN = ChainRecord("c", "t", "u7", "s", "order", "", "", "", "", NOW)
JOINS = Joins(chain=CHAIN, member=Member("c", "a1", "search", 1))
STEP = wanted(prepared(chain="c"), beside=(JOINS,))


def kept(stage, *said):
    """A read in a chain, from its question to its record.

    ``said``: by the ledger, when it is to be stored.
    """
    ended = stage.play(read(stage.setting, prepared(mode="read"), stage.turn()))
    return ended, stage.on(Reserve, *said).play(keep_read(stage.setting, STEP, ended))


def test_a_read_of_a_chain_costs_one_commit_after_its_answer():
    stage = Stage(SEARCH).on(Invoke, passes(2.0, ANSWER))
    _, ended = kept(stage)
    assert stage.story == ["invoke, 5 s", "reserve: prepare, send, confirm"]
    (stored,) = stage.all(Reserve)
    assert (stored.result, stored.beside) == (ANSWER.result, (JOINS,))
    assert (ended.record.state, ended.record.chain, ended.how) == (State.CONFIRMED, "c", "new")
    assert (ended.record.last_sent_at, ended.record.due_at) == (NOW + 2, None)
    assert ended.report is ANSWER


@pytest.mark.parametrize(
    "report", [refused(), SAID_NO, INTERRUPTED, Report(value={"orders": []})],
    ids=["refused", "an error in its body", "interrupted", "no result to store"],
)  # fmt: skip
def test_without_an_answer_that_can_be_stored_nothing_is(report):
    """A step that was refused has not been made: another call makes it."""
    stage = Stage(CODED).on(Invoke, report)
    ended, then = kept(stage)
    assert then is ended
    assert stage.story == ["invoke, 5 s"]


@pytest.mark.parametrize(
    "reply",
    [
        Blocked(by=JOINS, why="chain_turned_back"),
        Reserved(record=prepared(id="a0", state=State.CONFIRMED, chain="c"), via="call_id"),
    ],
    ids=["the chain goes back", "the call was made before"],
)
def test_what_the_ledger_does_not_take_is_an_answer_all_the_same(reply):
    """It is told as the read that it was, and never as the record of another call."""
    ended, then = kept(Stage(SEARCH).on(Invoke, ANSWER), reply)
    assert then is ended
    assert (then.record.id, then.record.state, then.report) == ("a1", State.CONFIRMED, ANSWER)
