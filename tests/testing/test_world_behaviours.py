"""Each behaviour of the World, as a bare socket hears it and as the provider's file tells it."""

import email.utils
import itertools
import time

import pytest

from ascertain.testing.world import (
    BEHAVIOURS,
    FOURTEEN,
    LOOKUPS,
    MORE_BEHAVIOURS,
    SIX,
    Behaviour,
    Provider,
    World,
    lookup,
)
from tests.testing.world_caller import get, look_up, post

KEYED, BARE = "tickets", "notices"
orders = (f"A{n}" for n in itertools.count(100))


@pytest.fixture(scope="module")
def world():
    providers = {
        KEYED: Provider(),
        BARE: Provider(honours_key=False, first_ref="N001", ref_field="notice_id"),
        "storing": Provider(stores_refusals=True),
        "honest": Provider(refuses_unprocessed=True),
    }
    with World(providers) as running:
        yield running
    assert running.db_path.with_suffix(".log").read_text() == "", "the World complained"


@pytest.fixture
def order():
    return next(orders)


def play(world, collection, order, behaviour, timeout_s=5.0):
    """One create under this behaviour: what was heard, what happened, what was written down."""
    world.script(collection, {"order": order}, [behaviour])
    heard = post(world, collection, {"order": order}, f"key-{order}", timeout_s)
    world.wait_idle()
    (arrival,) = world.arrivals(collection, order=order)
    return heard, world.effects(collection, order=order), arrival


# What is heard, how many effects there are, and what the arrivals table says.
TABLE = [
    ("ok", "whole", 201, 1, "201", None),
    ("request_lost", "reset", None, 0, "reset", None),
    (Behaviour("request_lost", how="fin"), "fin", None, 0, "fin", None),
    ("reply_lost", "reset", None, 1, "reset", None),
    (Behaviour("reply_lost", how="fin"), "fin", None, 1, "fin", None),
    (Behaviour("reply_lost", how="hang"), "timeout", None, 1, "hang", None),
    (Behaviour("slow_deadline", seconds=0.3), "timeout", None, 1, "201", None),
    (Behaviour("slow_lease", seconds=0.1), "whole", 201, 1, "201", None),
    ("throttled", "whole", 429, 0, "429", "THROTTLED"),
    ("throttled_date", "whole", 429, 0, "429", "THROTTLED"),
    ("error_500_before", "whole", 500, 0, "500", "INTERNAL"),
    ("error_500_after", "whole", 500, 1, "500", "INTERNAL"),
    ("unavailable_503_before", "whole", 503, 0, "503", "UNAVAILABLE"),
    ("unavailable_503_after", "whole", 503, 1, "503", "UNAVAILABLE"),
    ("unauthorised_401", "whole", 401, 0, "401", "UNAUTHORISED"),
    ("forbidden_403", "whole", 403, 0, "403", "FORBIDDEN"),
    ("business_refusal", "whole", 409, 0, "409", "OPEN_TICKET_EXISTS"),
    ("error_body_2xx", "whole", 200, 0, "200", "REFUSED_BY_POLICY"),
    ("truncated", "truncated", 201, 1, "truncated", None),
    (Behaviour("truncated", how="reset"), "reset", None, 1, "truncated", None),
    ("lookup_misses_first", "reset", None, 1, "reset", None),
    (Behaviour("late_execution", seconds=0.1), "reset", None, 1, "reset", None),
    (Behaviour("accepted_202", seconds=0.1), "whole", 202, 1, "202", None),
    ("in_progress_409", "whole", 409, 0, "409", "in_progress"),
    ("hang_no_effect", "timeout", None, 0, "hang", None),
    ("unprocessed_503", "whole", 503, 0, "503", "not_processed"),
    ("empty_body", "whole", 201, 1, "201", None),
    ("validation_422", "whole", 422, 0, "422", "VALIDATION"),
    ("already_exists", "whole", 409, 0, "409", "ALREADY_EXISTS"),
]
IDS = [f"{getattr(row[0], 'name', row[0])}-{row[1]}" for row in TABLE]


@pytest.mark.parametrize("behaviour, end, http, effects, answered, code", TABLE, ids=IDS)
def test_a_behaviour_is_heard_and_happens_as_named(
    world, order, behaviour, end, http, effects, answered, code
):
    timeout_s = 0.1 if end == "timeout" else 5.0
    heard, happened, arrival = play(world, KEYED, order, behaviour, timeout_s)
    if behaviour == Behaviour("truncated", how="reset"):  # may overtake what was sent before it
        assert heard.end in ("reset", "truncated")
    else:
        assert (heard.end, heard.http) == (end, http)
    assert len(happened) == effects
    assert (arrival.answered, arrival.code) == (answered, code)
    assert arrival.behaviour == (behaviour if isinstance(behaviour, str) else behaviour.name)
    if code is not None:
        assert heard.code == code


def test_every_behaviour_is_in_the_table_or_has_a_test_of_its_own():
    played = {row[0] if isinstance(row[0], str) else row[0].name for row in TABLE}
    assert played == {*BEHAVIOURS, *MORE_BEHAVIOURS} - {"duplicate_delivery"}


def test_the_fourteen_are_fourteen_and_cover_the_list():
    assert len(FOURTEEN) == 14
    assert {b.name for variants in FOURTEEN.values() for b in variants} == set(BEHAVIOURS)


def test_a_slow_reply_still_comes(world, order):
    heard, effects, arrival = play(world, KEYED, order, Behaviour("slow_deadline", seconds=0.2))
    assert heard.body["ticket_id"] == effects[0].ref
    assert effects[0].executed_at - effects[0].received_at >= 0.2
    assert arrival.answered_at >= effects[0].executed_at


def test_duplicate_delivery_makes_two_effects_only_without_a_key(world, order):
    heard, effects, _ = play(world, BARE, order, "duplicate_delivery")
    assert [effect.delivery for effect in effects] == [1, 2]
    assert effects[0].arrival == effects[1].arrival
    assert heard.body["notice_id"] == effects[0].ref != effects[1].ref
    _, effects, _ = play(world, KEYED, order, "duplicate_delivery")
    assert len(effects) == 1


@pytest.mark.parametrize(
    "behaviour, end, index",
    [
        (Behaviour("duplicate_delivery", reply="second"), "whole", 1),
        (Behaviour("duplicate_delivery", gap_s=0.1), "whole", 0),
        (Behaviour("duplicate_delivery", reply="lost"), "reset", None),
    ],
)
def test_the_second_delivery_may_come_later_and_its_reply_be_the_one_heard(
    world, order, behaviour, end, index
):
    heard, effects, _ = play(world, BARE, order, behaviour)
    assert (heard.end, len(effects)) == (end, 2)
    if index is not None:
        assert heard.body["ref"] == effects[index].ref


def test_the_nth_create_meets_the_nth_behaviour_and_then_all_is_well(world, order):
    world.script(KEYED, {"order": order}, ["request_lost", "forbidden_403", "reply_lost"])
    other = next(orders)
    ends = []
    for _ in range(5):
        heard = post(world, KEYED, {"order": order}, f"key-{order}")
        ends.append(heard.http or heard.end)
        assert post(world, KEYED, {"order": other}, f"key-{other}").http == 201
    assert ends == ["reset", 403, "reset", 201, 201]
    assert world.count(KEYED, order=order) == 1


def test_a_script_may_fit_by_key_and_the_oldest_goes_first(world, order):
    world.script(KEYED, behaviours=["forbidden_403"], key=f"key-{order}")
    world.script(KEYED, {"order": order}, ["unauthorised_401"])
    assert post(world, KEYED, {"order": order}, f"key-{order}").http == 403
    assert post(world, KEYED, {"order": order}, f"key-{order}").http == 401
    world.script(KEYED, {"order": order}, ["forbidden_403"])
    world.clear_scripts(KEYED)
    assert post(world, KEYED, {"order": order}, f"key-{order}").http == 201


# ----------------------------------------------------------------------- refusals and advice


def test_retry_after_comes_in_both_forms(world, order):
    heard, _, arrival = play(world, KEYED, order, Behaviour("throttled", retry_after_s=2))
    assert (heard.headers["retry-after"], arrival.retry_after_s) == ("2", 2)
    before = time.time()
    heard, _, arrival = play(
        world, KEYED, next(orders), Behaviour("throttled_date", retry_after_s=30)
    )
    at = email.utils.parsedate_to_datetime(heard.headers["retry-after"]).timestamp()
    assert before + 30 <= at <= time.time() + 31
    assert 30 <= arrival.retry_after_s <= 31
    heard, _, _ = play(
        world, KEYED, next(orders), Behaviour("unavailable_503_before", retry_after_s=1.5)
    )
    assert heard.headers["retry-after"] == "1.5"


def test_the_ticket_that_stands_in_the_way_can_be_read_and_belongs_to_somebody(world, order):
    owner = {"order": order, "principal": "u7"}
    refusal = Behaviour("business_refusal", existing_ref=f"T-{order}", belongs_to=owner)
    heard, _, _ = play(world, KEYED, order, refusal)
    assert heard.body["error"]["ref"] == f"T-{order}"
    existing = get(world, f"/{KEYED}/T-{order}").body
    assert (existing["order"], existing["principal"]) == (order, "u7")
    assert existing["request"] is None


def test_already_exists_may_be_our_own(world, order):
    world.script(KEYED, {"order": order}, ["reply_lost", "already_exists"])
    post(world, KEYED, {"order": order}, f"key-{order}")
    heard = post(world, KEYED, {"order": order}, f"key-{order}")
    (effect,) = world.effects(KEYED, order=order)
    assert heard.body["error"]["ref"] == effect.ref
    assert get(world, f"/{KEYED}/{effect.ref}").body["request"] == f"key-{order}"


def test_a_provider_may_promise_that_it_refuses_unprocessed(world, order):
    heard, _, _ = play(world, "honest", order, "unavailable_503_before")
    assert heard.body["error"]["processed"] is False
    heard, _, _ = play(world, KEYED, order, "unavailable_503_before")
    assert "processed" not in heard.body["error"]


def test_a_stored_refusal_covers_what_comes_later(world, order):
    late = Behaviour("late_execution", seconds=0.2)
    world.script("storing", {"order": order}, [late, "forbidden_403"])
    post(world, "storing", {"order": order}, f"key-{order}")
    assert post(world, "storing", {"order": order}, f"key-{order}").http == 403
    world.wait_idle()
    assert world.count("storing", order=order) == 0
    assert post(world, "storing", {"order": order}, f"key-{order}").http == 403
    assert look_up(world, "storing", f"key-{order}").body == {
        "state": "refused",
        "code": "FORBIDDEN",
    }


def test_an_effect_stands_against_a_refusal_where_refusals_are_stored(world, order):
    world.script("storing", {"order": order}, ["reply_lost", "business_refusal"])
    post(world, "storing", {"order": order}, f"key-{order}")
    assert post(world, "storing", {"order": order}, f"key-{order}").http == 201


# ----------------------------------------------------------------------------- later effects


def test_a_late_execution_lands_after_a_look_up_has_said_absent(world, order):
    world.script(BARE, {"order": order}, [Behaviour("late_execution", seconds=0.3)])
    assert post(world, BARE, {"order": order}, f"key-{order}").end == "reset"
    assert look_up(world, BARE, f"key-{order}").body == []
    world.wait_idle()
    (effect,) = world.effects(BARE, order=order)
    (absent,) = world.arrivals(BARE, method="GET", key=f"key-{order}")
    assert (absent.code, effect.executed_at > absent.answered_at) == ("absent", True)
    assert 0.3 <= effect.executed_at - effect.received_at < 2


def test_a_resend_overtakes_a_late_execution_and_the_key_makes_them_one(world, order):
    for collection, effects in ((KEYED, 1), (BARE, 2)):
        world.script(collection, {"order": order}, [Behaviour("late_execution", seconds=0.2)])
        post(world, collection, {"order": order}, f"key-{order}")
        assert post(world, collection, {"order": order}, f"key-{order}").http == 201
        world.wait_idle()
        assert world.count(collection, order=order) == effects


def test_an_accepted_job_works_until_it_is_done(world, order):
    world.script(KEYED, {"order": order}, [Behaviour("accepted_202", seconds=0.3)])
    heard = post(world, KEYED, {"order": order}, f"key-{order}")
    handle = heard.body["handle"]
    assert look_up(world, KEYED, f"key-{order}").body == {"state": "working"}
    assert get(world, f"/{KEYED}/{handle}").body == {"state": "working"}
    assert post(world, KEYED, {"order": order}, f"key-{order}").http == 202
    world.wait_idle()
    (effect,) = world.effects(KEYED, order=order)
    assert [row["ref"] for row in look_up(world, KEYED, f"key-{order}").body] == [effect.ref]
    assert get(world, f"/{KEYED}/{handle}").body["ref"] == effect.ref
    assert post(world, KEYED, {"order": order}, f"key-{order}").body["ref"] == effect.ref
    assert world.count(KEYED, order=order) == 1


# --------------------------------------------------------------------------------- look-ups


def test_a_look_up_may_miss_break_or_say_otherwise(world, order):
    world.script(BARE, {"order": order}, lookup=["miss", "error_500", "reset", "working",
                 lookup("refused", code="CLOSED"), "hang"])  # fmt: skip
    key = f"key-{order}"
    ref = post(world, BARE, {"order": order}, key).body["ref"]
    assert look_up(world, BARE, key).body == []
    assert look_up(world, BARE, key).code == "INTERNAL"
    assert look_up(world, BARE, key).end == "reset"
    assert look_up(world, BARE, key).body == {"state": "working"}
    assert look_up(world, BARE, key).body == {"state": "refused", "code": "CLOSED"}
    assert look_up(world, BARE, key, timeout_s=0.2).end == "timeout"
    assert [row["ref"] for row in look_up(world, BARE, key).body] == [ref]
    asked = world.arrivals(BARE, method="GET", key=key)
    assert [look.behaviour for look in asked] == [
        "miss", "error_500", "reset", "working", "refused", "hang", "ok"
    ]  # fmt: skip
    assert {look.behaviour for look in asked} == set(LOOKUPS)
    assert [(look.answered, look.code) for look in asked] == [
        ("200", "absent"),
        ("500", "INTERNAL"),
        ("reset", None),
        ("200", "working"),
        ("200", "refused"),
        ("hang", None),
        ("200", "found"),
    ]


def test_a_look_up_misses_at_first_as_often_as_told(world, order):
    key = f"key-{order}"
    play(world, BARE, order, Behaviour("lookup_misses_first", misses=2))
    found = [len(look_up(world, BARE, key).body) for _ in range(4)]
    assert found == [0, 0, 1, 1]


def test_the_six_outcomes_of_an_after_sales_service():
    with World({"tickets": Provider(key_field="request_id")}) as world:
        heard = {}
        for name, behaviour in SIX._asdict().items():
            world.script("tickets", {"order_id": name}, [behaviour])
            heard[name] = post(world, "tickets", {"order_id": name}, f"R7-{name}", timeout_s=0.3)
        assert heard["normal"].body["ticket_id"] == "T900"
        assert heard["reply_lost"].end == "reset"
        assert heard["not_created_timeout"].end == "timeout"
        assert heard["throttled_beyond_budget"].headers["retry-after"] == "60"
        assert heard["forbidden"].code == "FORBIDDEN"
        assert heard["already_open"].body["error"]["ref"] == "T850"
        assert get(world, "/tickets/T850").body["order_id"] == "already_open"
        assert [effect.ref for effect in world.effects()] == ["T900", "T901"]
        found = look_up(world, "tickets", "R7-reply_lost").body
        assert [(row["ticket_id"], row["request_id"]) for row in found] == [
            ("T901", "R7-reply_lost")
        ]


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Behaviour("reply_list"), "no post behaviour 'reply_list'"),
        (lambda: Behaviour("throttled", after=3), "no parameter after; it has"),
        (lambda: Behaviour("reply_lost", how="smoke"), "how is one of reset, fin, hang"),
        (lambda: lookup("request_lost"), "no lookup behaviour"),
        (lambda: Provider(lookup=False, lookup_fences=True), "asking is what fences"),
        (lambda: Provider(lookup_fences=True, lookup_lag_s=1), "cannot lag"),
        (lambda: Provider(honours_key=False, stores_refusals=True), "honours_key"),
        (lambda: Provider(key_lifetime_s=0), "above 0"),
        (lambda: Provider(first_ref="T"), "end in digits"),
        (lambda: Provider.from_json('{"honors_key": true}'), "no field honors_key"),
    ],
)
def test_a_wrong_word_is_refused_with_its_reason(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_look_up_behaviour_is_no_behaviour_of_a_create(world, order):
    with pytest.raises(ValueError, match="lookup behaviour, used as a post one"):
        world.script(KEYED, {"order": order}, [lookup("miss")])
