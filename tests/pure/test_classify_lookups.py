"""What a look-up answered. A search that broke is not absence."""

from __future__ import annotations

import pytest

from ascertain.model.contract import Contract
from ascertain.model.outcome import Evidence, Kind, Report
from ascertain.model.words import Absent, AbsentType, Found, FoundItems, Processing, Refused
from ascertain.rules.news.classify import judge_lookup
from tests.pure.stand_ins import TICKETS, answered, http_error, lost_reply, stand_in


def look(error=None, **news):
    return judge_lookup(Report(error=error, **news), TICKETS)


def got(http_status, **changes):
    return answered(http_status, **{"unsafe": False, "targets": (), **changes})


def test_req_F10_found():
    answer = look(value=Found("T900", {"any": "value"}))

    assert answer.found
    assert (answer.provider_ref, answer.value, answer.count) == ("T900", {"any": "value"}, 1)
    assert (answer.evidence, answer.refused) == (None, False)
    assert look(value=Found(900)).provider_ref == "900"


def test_two_records_with_our_key_are_counted():
    assert look(value=Found("T900", count=2)).count == 2


def test_req_F10_absent():
    for value in (Absent, AbsentType):
        answer = look(value=value)
        assert (answer.evidence, answer.found, answer.refused) == (Evidence.ABSENT, False, False)


def test_req_F10_refused():
    answer = look(value=Refused("CLOSED", related_ref="T850"))

    assert answer.refused
    assert (answer.kind, answer.code, answer.related_ref) == (Kind.BUSINESS, "CLOSED", "T850")
    assert answer.evidence is None
    assert look(value=Refused("X", kind="auth")).kind is Kind.AUTH
    assert look(value=Refused("X", kind="tool_error")).kind is Kind.BUSINESS


def test_req_F10_still_processing():
    answer = look(value=Processing(ask_after_s=7))

    assert (answer.evidence, answer.ask_after_s) == (Evidence.WORKING, 7.0)
    assert look(value=Processing(ask_after_s=-1)).ask_after_s == 5.0
    said = look(value=Refused("X", kind="in_progress", retry_after_s=3))
    assert (said.evidence, said.ask_after_s, said.refused) == (Evidence.WORKING, 3.0, False)


def of_items(**told):
    return look(value=FoundItems(told))


FOUND, GONE = Found("T1"), Refused("SHIPPED")


@pytest.mark.parametrize(
    "told, reason",
    [
        ({"A": FOUND, "B": Found("T2", count=3)}, "found"),
        ({"A": FOUND, "B": GONE}, "found"),
        ({"A": GONE, "B": Refused("GONE")}, "lookup_refused"),
        ({"A": Absent, "B": AbsentType}, "absent"),
        ({"A": FOUND, "B": Absent}, "items_open"),
        ({"A": FOUND, "B": None}, "items_open"),
        ({"A": FOUND, "B": "T2"}, "items_open"),
        ({}, "items_open"),
        ({"A": FOUND, "B": Processing()}, "working"),
    ],
)
def test_req_U08_a_batch_is_what_all_of_its_items_are(told, reason):
    assert of_items(**told).reason == reason


def test_req_U08_what_is_found_of_a_batch_is_counted_and_may_be_a_part():
    answer = of_items(A=FOUND, B=Found("T2", count=3), C=GONE)
    assert (answer.found, answer.count, answer.partly) == (True, 3, True)
    assert (of_items(A=FOUND).count, of_items(A=FOUND).partly) == (1, False)
    answer = of_items(A=Refused("SHIPPED", kind="auth"), B=GONE)
    assert (answer.refused, answer.kind, answer.code) == (True, Kind.AUTH, "SHIPPED")


@pytest.mark.parametrize("kind", ["throttled", "unavailable"])
def test_req_U08_a_question_about_an_item_that_was_refused_for_now_settles_nothing(kind):
    """The provider said "slow down" to us, and nothing of the items."""
    for told in ({"A": Refused("BUSY", kind=kind)}, {"A": FOUND, "B": Refused("BUSY", kind=kind)}):
        answer = of_items(**told)
        assert (answer.evidence, answer.found, answer.refused) == (
            Evidence.UNANSWERED, False, False,
        )  # fmt: skip


def test_req_U08_work_on_any_item_is_waited_for_as_long_as_the_first_of_them_takes():
    said = Refused("X", kind="in_progress", retry_after_s=3)
    answer = of_items(A=FOUND, B=Processing(7), C=said)
    assert (answer.evidence, answer.ask_after_s) == (Evidence.WORKING, 3.0)
    for no_time in (-1, "soon", None, float("nan")):
        assert of_items(A=Processing(no_time), B=Processing(60)).ask_after_s == 5.0


@pytest.mark.parametrize(
    "found", [Found(None), Found(" "), Found("T2", count=0), Found("T2", 7, "")]
)
def test_req_U08_a_record_of_an_item_without_reference_or_count_is_no_answer(found):
    assert of_items(A=FOUND, B=found).reason == "items_open"


@pytest.mark.parametrize("kind", ["throttled", "unavailable"])
def test_a_question_that_was_refused_for_now_is_no_refusal_of_the_action(kind):
    assert look(value=Refused("X", kind=kind)).evidence is Evidence.UNANSWERED


@pytest.mark.parametrize(
    "error, reason",
    [
        (stand_in("httpx.ReadTimeout"), "httpx.ReadTimeout"),
        (http_error(404), "httpx.HTTPStatusError"),
        (KeyError("x"), "builtins.KeyError"),
        (Refused("X"), "ascertain.Refused"),
    ],
)
def test_req_F10_raising_is_no_answer_and_names_the_class(error, reason):
    answer = look(error)

    assert (answer.evidence, answer.reason) == (Evidence.UNANSWERED, reason)


def test_a_look_up_that_was_given_up_is_no_answer():
    for news in ({"live": True}, {"interrupt": KeyboardInterrupt()}):
        assert look(**news).reason == "interrupted"
    assert look(value=Found("T1"), interrupt=KeyboardInterrupt()).found


@pytest.mark.parametrize("value", [None, [], {}, "T900", True, Found("T1", count=0),
                                   Found("T1", count="2"), Found])  # fmt: skip
def test_none_or_a_foreign_value_is_a_defect_of_the_look_up(value):
    answer = look(value=value)

    assert (answer.evidence, answer.reason) == (Evidence.UNANSWERED, "lookup_answer")
    assert not answer.found


@pytest.mark.parametrize("ref", ["", "  ", None, [], "x" * 600])
def test_found_without_a_reference_is_no_answer(ref):
    assert look(value=Found(ref)).reason == "found_without_ref"


BROKEN = [
    *(got(n) for n in (301, 401, 403, 407, 408, 425, 429, 500, 503)),
    got(200, complete=False),
    lost_reply(unsafe=False, targets=()),
]


@pytest.mark.parametrize("seen", BROKEN)
@pytest.mark.parametrize("value", [Absent, Refused("X"), Processing()])
def test_a_search_that_broke_is_not_absence_whatever_the_look_up_made_of_it(value, seen):
    """`rows = reply.json() if reply.is_success else []`."""
    answer = look(value=value, trace=seen)

    assert (answer.evidence, answer.reason) == (Evidence.UNANSWERED, "lookup_broke")
    assert not answer.refused


@pytest.mark.parametrize("seen", BROKEN)
def test_a_record_that_was_found_is_one_all_the_same(seen):
    assert look(value=Found("T900"), trace=seen).found


@pytest.mark.parametrize("http_status", [200, 204, 404, 410])
def test_absence_that_was_answered(http_status):
    assert look(value=Absent, trace=got(http_status)).evidence is Evidence.ABSENT
    assert look(value=Absent, trace=got(200, sends=0)).evidence is Evidence.ABSENT


@pytest.mark.parametrize(
    "refs, found, count",
    [
        ((), (), 1),
        (["T1"], ("T1",), 1),
        (("T2", "T1", "T2"), ("T1", "T2"), 2),
        (["T2", "T3"], ("T1", "T2", "T3"), 3),
    ],
)
def test_a_look_up_may_name_all_that_fits(refs, found, count):
    answer = judge_lookup(Report(value=Found("T1", refs=refs)), Contract(tool="t", noun="t"))
    assert (answer.found, answer.refs, answer.count) == (True, found, count)


@pytest.mark.parametrize("refs", ["T1", [None], [["T1"]], {"T1": 1}, 7])
def test_names_that_are_none_are_a_defect_of_the_look_up(refs):
    answer = judge_lookup(Report(value=Found("T1", refs=refs)), Contract(tool="t", noun="t"))
    assert (answer.found, answer.reason) == (False, "lookup_answer")
