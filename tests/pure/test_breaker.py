"""When a breaker opens, tries and closes: every short story, and what each event says."""

from itertools import product

import pytest

from ascertain.model.action import Draft
from ascertain.model.breaker import TURNS, Breaker, BreakerRecord, Circuit, turn
from ascertain.model.contract import Contract
from ascertain.model.outcome import Kind
from ascertain.model.tables import By, Event, State
from ascertain.rules import breaker as rules
from ascertain.rules.breaker import NOTHING, News, news_of

RULE = Breaker(after=3, within_s=10.0, cool_down_s=5.0, defects=2)


def event(what, reason="x", by=By.CALL, **detail):
    return Draft(State.SENT, what, State.UNKNOWN, by, reason, 1, detail)


@pytest.mark.parametrize(
    "draft, said",
    [
        (event(Event.CONFIRM), News.DEFINITE),
        (event(Event.CONFIRM, by=By.LOOKUP), News.FOUND),
        (event(Event.CONFIRM, by=By.PERSON), None),
        (event(Event.REJECT, kind=Kind.BUSINESS), News.DEFINITE),
        (event(Event.REJECT, kind=Kind.THROTTLED), News.SILENT),
        (event(Event.REJECT, by=By.LOOKUP), News.ANSWERS),
        (event(Event.REJECT, by=By.PERSON), None),
        (event(Event.LOSE, "timeout"), News.SILENT),
        (event(Event.LOSE, "deadline"), News.SILENT),
        (event(Event.LOSE, "http_500", http=500), News.SILENT),
        (event(Event.LOSE, "http_429", http=429), News.SILENT),
        (event(Event.LOSE, "http_409", http=409), News.DEFINITE),
        (event(Event.LOSE, "tool_error"), News.DEFECT),
        (event(Event.LOSE, "refusal_not_covering", kind=Kind.BUSINESS), News.DEFINITE),
        (event(Event.LOSE, "refusal_not_covering", kind=Kind.UNAVAILABLE), News.SILENT),
        (event(Event.LOSE, "said_accepted"), News.DEFINITE),
        (event(Event.LOSE, "interrupted"), None),
        (event(Event.LOSE, "lease_expired", by=By.WORKER), None),
        (event(Event.UNSEND, "never_connected"), News.SILENT),
        (event(Event.UNSEND, "all_threads_busy"), None),
        (event(Event.NOTE, "absent", by=By.LOOKUP), News.ANSWERS),
        (event(Event.NOTE, "no_answer", by=By.LOOKUP), None),
        (event(Event.NOTE, "marked_pending", by=By.PERSON), None),
        (event(Event.SEND, "send"), None),
    ],
    ids=lambda value: f"{value.event} {value.reason}" if isinstance(value, Draft) else str(value),
)
def test_req_F17_what_an_event_says_of_the_provider(draft, said):
    assert news_of(draft) is said


def test_req_F17_it_opens_after_so_many_in_a_row_and_never_before():
    """Every story of up to six pieces of news, one second apart."""
    for length in range(1, 7):
        for story in product(News, repeat=length):
            tally, opened_at = NOTHING, None
            for second, news in enumerate(story):
                tally = rules.tallied(tally, RULE, news, float(second))
                if opened_at is None and rules.trips(tally, RULE):
                    opened_at = second
            assert opened_at == expected(story), story


def test_req_F17_a_silence_that_began_before_the_last_answer_came_counts_for_nothing():
    """A hundred callers at once: the answers come at once, the silences at their deadlines."""
    tally = NOTHING
    for second in range(10, 20):
        tally = rules.tallied(tally, RULE, News.SILENT, second, sent_at=1.0, definite_at=2.0)
    assert not rules.trips(tally, RULE)
    for second in range(20, 20 + RULE.after):
        tally = rules.tallied(tally, RULE, News.SILENT, second, sent_at=2.5, definite_at=2.0)
    assert rules.trips(tally, RULE) == "silent"


def expected(story):
    """The same, told plainly: counted back from each piece of news to the last good one."""
    for end in range(len(story)):
        silent = defects = 0
        for news in reversed(story[: end + 1]):
            if news in (News.DEFINITE, News.FOUND):
                break
            silent += news in (News.SILENT, News.DEFECT)
        for news in reversed(story[: end + 1]):
            if news not in (News.DEFECT, News.ANSWERS):
                break
            defects += news is News.DEFECT
        if silent >= RULE.after or defects >= RULE.defects:
            return end
    return None


def test_req_F17_every_short_life_of_a_breaker_keeps_to_the_table_and_to_its_times():
    """News or a send that asks, each second: nothing is let through before it has cooled down."""
    moves = [*News, "asks"]
    for story in product(moves, repeat=6):
        record = rules.opened(BreakerRecord("b"), RULE, "silent", 0.0)
        trying = None
        for second, what in enumerate(story, 1):
            now = second * 2.0
            before = record
            if what == "asks":
                if rules.free_to_probe(record, now, asked=True):
                    assert now >= 5.0
                    assert trying is None or now >= trying
                    record = rules.probed(record, "me", now + 3.0, now)
                    trying = now + 3.0
            else:
                record = rules.heard(record, what, RULE, now) or record
                trying = None if record.circuit is not Circuit.PROBING else trying
            if record.circuit is not before.circuit:
                assert (before.circuit, record.circuit) in {(r.start, r.end) for r in TURNS}
                assert record.n == before.n + 1
            if record.circuit is Circuit.CLOSED:
                assert what is News.DEFINITE
                break


def test_req_F17_where_nobody_asks_the_provider_it_is_tried_all_the_same():
    record = rules.opened(BreakerRecord("b"), RULE, "silent", 0.0)
    assert not rules.free_to_probe(record, 4.9, asked=False)
    assert rules.free_to_probe(record, 5.0, asked=False)
    assert not rules.free_to_probe(record, 9.9, asked=True)
    assert rules.free_to_probe(record, 10.0, asked=True)


def test_a_try_whose_sender_is_gone_is_followed_by_another():
    record = rules.probed(rules.opened(BreakerRecord("b"), RULE, "silent", 0.0), "a", 8.0, 5.0)
    assert not rules.free_to_probe(record, 7.9, asked=False)
    assert rules.next_at(record, 6.0, asked=False) == 8.0
    assert rules.free_to_probe(record, 8.0, asked=False)


def test_a_closed_breaker_lets_everything_through_and_has_nothing_to_try():
    """Somebody closed it while a send that was held came back to try it."""
    closed = BreakerRecord("b", n=4)
    assert not rules.free_to_probe(closed, 1e9, asked=False)
    assert rules.probed(closed, "me", 8.0, 5.0) is None
    assert rules.next_at(closed, 5.0, asked=True) == 5.0, "come back at once"
    assert all(rules.heard(closed, news, RULE, 5.0) is None for news in News)


@pytest.mark.parametrize("tried", [False, True], ids=["open", "probing"])
def test_a_person_closes_what_is_not_closed_once_and_is_named(tried):
    record = rules.opened(BreakerRecord("b"), RULE, "silent", 0.0)
    if tried:
        record = rules.probed(record, "me", 8.0, 5.0)
    closed = rules.closed_by(record, "li", 6.0)
    assert (closed.circuit, closed.by, closed.why) == (Circuit.CLOSED, "li", "closed_by_person")
    assert (closed.cool_at, closed.prober, closed.n) == (None, None, record.n + 1)
    assert rules.closed_by(closed, "wang", 7.0) is None, "it is not theirs to have closed"


def test_what_is_open_is_not_opened_again():
    """Silences that were under way when it opened do not put off when it is tried."""
    record = rules.opened(BreakerRecord("b"), RULE, "silent", 0.0)
    assert rules.opened(record, RULE, "silent", 4.0) is None


@pytest.mark.parametrize(
    "rule, name", [(None, ""), (Breaker(), "pay"), (Breaker(group="bank"), "bank")]
)
def test_a_breaker_has_the_name_of_its_group_else_of_its_tool(rule, name):
    assert rules.name_of(Contract(tool="pay", noun="payment", breaker=rule)) == name


def test_no_row_of_the_table_leads_out_of_closed_but_a_trip():
    assert [row.turn for row in TURNS if row.start is Circuit.CLOSED] == ["trip"]
    assert all(turn(row.start, row.turn) is row.end for row in TURNS)
