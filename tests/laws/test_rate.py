"""No stretch of a window's length holds more requests than the rate, however they are given."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from ascertain.model.rate import Shared, Speaker, Usage
from ascertain.rules import rate as rules
from ascertain.store.rates import read_usage, write_usage

NOW = 1_800_000_000.0
DEADLINE_S = 2.0

rates = st.builds(
    Shared, st.just("crm"), st.integers(1, 12), st.sampled_from([0.1, 1.0, 2.0, 60.0])
)
# When somebody comes (after the one before), who it is, how long the answer takes as a share of the
# deadline (None: it never comes), and where between the two the provider counts it.
comers = st.lists(
    st.tuples(
        st.floats(0, 0.5), st.sampled_from(Speaker), st.integers(1, 4),
        st.one_of(st.none(), st.floats(0, 1)), st.floats(0, 1),
    ),
    min_size=1, max_size=60,
)  # fmt: skip


def simulate(rate, comers):
    """Let them come; returns the moments at which the provider saw a request."""
    usage, now, seen, answers = Usage(), NOW, [], []
    for pause, by, n, share, place in comers:
        now += pause * rate.window_s
        for at, held in sorted(answers):
            if at <= now:
                usage = rules.answered(usage, rate, held, at)
        answers = [one for one in answers if one[0] > now]
        usage = rules.pruned(usage, now)
        granted = min(n, rules.room(usage, rate, by, now))
        held = rules.ticket(rate, f"owner-{by}", by, now + DEADLINE_S)
        if granted:
            usage = rules.taken(usage, rate, held, granted, now)
        took_s = DEADLINE_S * (1.0 if share is None else share)
        seen += [now + took_s * place] * granted
        if share is not None:
            answers += [(now + took_s, held)] * granted
    return seen


def most_within(moments, window_s):
    ordered = sorted(moments)
    return max((sum(at <= other < at + window_s for other in ordered) for at in ordered), default=0)


@settings(max_examples=300, deadline=None)
@given(rate=rates, comers=comers)
def test_no_window_holds_more_than_the_rate(rate, comers):
    assert most_within(simulate(rate, comers), rate.window_s) <= rate.limit


@given(rate=rates, comers=comers)
def test_what_is_stored_is_what_was_known(rate, comers):
    usage, now, kept = Usage(), NOW, []
    for pause, by, n, _, _ in comers:
        now += pause * rate.window_s
        usage = rules.pruned(usage, now)
        granted = min(n, rules.room(usage, rate, by, now))
        held = rules.ticket(rate, "owner", by, now + DEADLINE_S)
        usage = rules.taken(usage, rate, held, granted, now)
        usage, _ = rules.queued(rules.answered(usage, rate, held, now), rate, now)
        usage, _ = rules.lined(usage, rate, now)
    write_usage(lambda name, *values: kept.append(values) or [], rate, usage)
    assert kept[0][:3] == rate
    assert read_usage(lambda name, *values: [kept[0][3:]], "crm", now) == rules.pruned(usage, now)


def test_workers_leave_to_callers_what_those_used_and_one_more():
    rate = Shared("crm", 20, 1.0)
    usage = rules.taken(Usage(), rate, rules.ticket(rate, "a", Speaker.CALLER, NOW), 8, NOW)
    held = rules.ticket(rate, "w", Speaker.WORKER, NOW + 9)
    given_out, at = 0, NOW
    while at < NOW + 0.9:
        n = rules.room(usage, rate, Speaker.WORKER, at)
        usage, given_out, at = rules.taken(usage, rate, held, n, at), given_out + n, at + 0.05
    assert given_out == 20 - 8 - 1
    assert rules.room(usage, rate, Speaker.CALLER, at) == 1, "and when their 8 are free again, 9"


def test_a_backlog_is_a_steady_stream():
    """At most what the rate allows in a fifth of a second at once, and then at its pace."""
    rate = Shared("crm", 100, 1.0)
    held = rules.ticket(rate, "w", Speaker.WORKER, NOW + 9)
    assert rules.room(Usage(), rate, Speaker.WORKER, NOW) == 20
    usage = rules.taken(Usage(), rate, held, 20, NOW)
    assert rules.room(usage, rate, Speaker.WORKER, NOW) == 0
    assert NOW < rules.worker_at(usage, rate, NOW) <= NOW + 0.011
    assert rules.room(usage, rate, Speaker.WORKER, NOW + 0.05) == 5


def test_callers_who_wait_are_promised_moments_one_after_the_other_and_newcomers_wait_too():
    rate = Shared("crm", 2, 1.0)
    held = rules.ticket(rate, "a", Speaker.CALLER, NOW + 9)
    usage = rules.taken(Usage(), rate, held, 2, NOW)
    for _ in range(2):
        usage = rules.answered(usage, rate, held, NOW + 0.1)
    usage, first = rules.queued(usage, rate, NOW + 0.2)
    usage, second = rules.queued(usage, rate, NOW + 0.2)
    assert (round(first - NOW, 6), round(second - NOW, 6)) == (1.1, 1.6)
    later = rules.pruned(usage, NOW + 1.15)
    assert rules.room(later, rate, Speaker.CALLER, NOW + 1.15, promised=True) == 2
    assert rules.room(later, rate, Speaker.CALLER, NOW + 1.15) == 1


def test_single_actions_of_a_backlog_are_lined_up_at_the_rate_behind_what_is_taken():
    rate = Shared("crm", 4, 1.0)
    held = rules.ticket(rate, "w", Speaker.WORKER, NOW + 9)
    usage, places = rules.taken(Usage(), rate, held, 1, NOW), []
    for _ in range(8):
        usage, at = rules.lined(usage, rate, NOW)
        places.append(round(at - NOW, 6))
    assert places[0] > 0
    assert [round(later - earlier, 6) for earlier, later in pairwise(places)] == [0.25] * 7
    _, at = rules.lined(usage, rate, NOW + 60)
    assert at == NOW + 60 + rules.BURST_S, "a line that has ended holds nobody up"


def test_a_request_that_was_several_counts_as_several():
    """Seen by the hooks of a watched client only when they had left: the next ones wait for it."""
    rate = Shared("crm", 4, 1.0)
    held = rules.ticket(rate, "a", Speaker.CALLER, NOW + 9)
    usage = rules.taken(Usage(), rate, held, 1, NOW)
    usage = rules.answered(usage, rate, held, NOW, 3)
    assert rules.room(usage, rate, Speaker.CALLER, NOW) == 1


def test_a_turn_that_ended_by_itself_is_not_given_back_twice():
    rate = Shared("crm", 1, 1.0)
    held = rules.ticket(rate, "a", Speaker.CALLER, NOW + 1)
    usage = rules.pruned(rules.taken(Usage(), rate, held, 1, NOW), NOW + 5)
    assert usage == Usage()
    assert rules.answered(usage, rate, held, NOW + 5) == usage
