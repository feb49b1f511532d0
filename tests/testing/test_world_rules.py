"""What the World's provider promises it keeps, also when many ask at once."""

import asyncio
import itertools
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import requests

from ascertain.testing.world import FIVE_CONTRACTS, Behaviour, Provider, World
from tests.testing.world_caller import Caller, get, look_up, post

orders = (f"B{n}" for n in itertools.count(100))
PROVIDERS = {
    **FIVE_CONTRACTS,
    "short": Provider(key_lifetime_s=0.3),
    "lagging": Provider(lookup_lag_s=0.5),
    "padded": Provider(first_ref="S-0009", ref_field="stock_id"),
}


@pytest.fixture(scope="module")
def world():
    with World(PROVIDERS) as running:
        yield running
    assert running.db_path.with_suffix(".log").read_text() == "", "the World complained"


@pytest.fixture
def order():
    return next(orders)


def reset_script(world, collection, order, *behaviours):
    world.script(collection, {"order": order}, behaviours)


# ------------------------------------------------------------------------------------- the key


@pytest.mark.parametrize("collection", FIVE_CONTRACTS)
def test_a_second_create_with_the_key_is_one_effect_only_where_the_key_is_honoured(
    world, order, collection
):
    first, second = (post(world, collection, {"order": order}, order) for _ in range(2))
    honours = PROVIDERS[collection].honours_key
    assert world.count(collection, order=order) == (1 if honours else 2)
    assert (second.body == first.body) is honours
    assert (second.headers.get("idempotent-replayed") == "true") is honours


def test_the_key_with_other_arguments_is_refused_and_does_nothing(world, order):
    post(world, "key_only", {"order": order, "amount": 1}, order)
    other = post(world, "key_only", {"order": order, "amount": 2}, order)
    assert (other.http, other.code) == (422, "key_reused")
    assert world.count("key_only", order=order) == 1


def test_the_order_of_the_arguments_is_no_difference(world, order):
    post(world, "key_only", {"order": order, "amount": 1}, order)
    assert post(world, "key_only", {"amount": 1, "order": order}, order).http == 201
    assert world.count("key_only", order=order) == 1


def test_a_key_that_is_being_worked_on_is_refused_until_it_is_done(world, order):
    reset_script(world, "key_only", order, Behaviour("slow_lease", seconds=0.3))
    with Caller(world.url) as slow:
        body = json.dumps({"order": order}).encode()
        slow.send("POST", "/key_only", body, Idempotency_Key=order)
        world.wait_until(lambda: world.arrivals("key_only", key=order) != [])
        busy = post(world, "key_only", {"order": order}, order)
        assert (busy.http, busy.code) == (409, "in_progress")
        assert slow.hear().http == 201
    assert post(world, "key_only", {"order": order}, order).http == 201
    assert world.count("key_only", order=order) == 1


def test_a_forgotten_key_is_a_new_effect(world, order):
    post(world, "short", {"order": order}, order)
    (first,) = world.effects("short", order=order)
    assert post(world, "short", {"order": order}, order).body["ref"] == first.ref
    world.wait_until(lambda: time.time() > first.received_at + 0.4, "the key is forgotten")
    assert post(world, "short", {"order": order}, order).body["ref"] != first.ref
    assert [effect.delivery for effect in world.effects("short", order=order)] == [1, 2]


def test_the_key_may_come_as_a_client_reference_in_the_arguments(world, order):
    post(world, "lookup_only", {"order": order, "request": f"ref-{order}"})
    found = look_up(world, "lookup_only", f"ref-{order}").body
    assert [(row["order"], row["request"]) for row in found] == [(order, f"ref-{order}")]


def test_creates_without_any_key_are_effects_of_their_own(world, order):
    for _ in range(2):
        assert post(world, "key_only", {"order": order}).http == 201
    assert [effect.delivery for effect in world.effects("key_only", order=order)] == [1, 1]


def test_fifty_creates_with_one_key_at_once_are_one_effect(world, order):
    with ThreadPoolExecutor(50) as callers:
        heard = list(
            callers.map(lambda _: post(world, "key_and_lookup", {"order": order}, order), range(50))
        )
    assert {one.http for one in heard} == {201}
    assert len({one.body["ref"] for one in heard}) == 1
    assert world.count("key_and_lookup", order=order) == 1
    assert len(world.arrivals("key_and_lookup", order=order)) == 50


# ----------------------------------------------------------------------------------- look-ups


@pytest.mark.parametrize("collection", FIVE_CONTRACTS)
def test_a_look_up_is_offered_or_not(world, order, collection):
    post(world, collection, {"order": order}, order)
    heard = look_up(world, collection, order)
    if PROVIDERS[collection].lookup:
        assert [row["request"] for row in heard.body] == [order]
        assert look_up(world, collection, f"no-{order}").body == []
    else:
        assert (heard.http, heard.code) == (404, "no_such_route")


def test_a_look_up_lags_behind(world, order):
    post(world, "lagging", {"order": order}, order)
    assert look_up(world, "lagging", order).body == []
    world.wait_until(lambda: look_up(world, "lagging", order).body != [], "the record is visible")
    (effect,) = world.effects("lagging", order=order)
    looks = world.arrivals("lagging", method="GET", key=order)
    assert looks[-1].answered_at >= effect.executed_at + 0.5
    assert {look.code for look in looks[:-1]} == {"absent"}


def test_a_search_by_fields_finds_what_reads_so(world, order):
    ref = post(world, "lookup_only", {"order": order, "amount": 3}, order).body["ref"]
    found = get(world, f"/lookup_only?order={order}&amount=3").body
    assert [row["ref"] for row in found] == [ref]
    assert get(world, f"/lookup_only?order={order}&amount=4").body == []
    assert get(world, f"/key_only?order={order}").code == "no_such_route"


def test_what_was_there_before_is_found_and_is_no_effect(world, order):
    world.place("lookup_only", f"T-{order}", {"order": order}, key=f"old-{order}")
    assert look_up(world, "lookup_only", f"old-{order}").body[0]["ref"] == f"T-{order}"
    assert get(world, f"/lookup_only/T-{order}").body["order"] == order
    assert world.count("lookup_only", order=order) == 0
    assert get(world, f"/lookup_only/T-{order}x").code == "not_found"


def test_references_count_up_in_the_providers_own_form(world):
    refs = [post(world, "padded", {}, f"p{n}").body["stock_id"] for n in range(3)]
    assert refs == ["S-0009", "S-0010", "S-0011"]


# ------------------------------------------------------------------------------------- fences


def test_a_fenced_key_never_takes_effect(world, order):
    assert look_up(world, "fencing_lookup", order).body == []
    assert world.fenced(order)
    late = post(world, "fencing_lookup", {"order": order}, order)
    assert (late.http, late.code) == (409, "fenced")
    assert look_up(world, "fencing_lookup", order).body == []
    assert world.count("fencing_lookup", order=order) == 0


@pytest.mark.parametrize("name", ["late_execution", "slow_lease"])
def test_a_fence_also_stops_what_is_on_its_way(world, order, name):
    reset_script(world, "fencing_lookup", order, Behaviour(name, seconds=0.2))
    with Caller(world.url) as caller:
        body = json.dumps({"order": order}).encode()
        caller.send("POST", "/fencing_lookup", body, Idempotency_Key=order)
        world.wait_until(lambda: world.arrivals("fencing_lookup", order=order) != [])
        assert look_up(world, "fencing_lookup", order).body == []
        world.wait_idle()
        heard = caller.hear()
    assert heard.end == "reset" if name == "late_execution" else heard.code == "fenced"
    assert world.count("fencing_lookup", order=order) == 0


def test_a_record_cannot_be_fenced_nor_overlooked(world, order):
    world.script("fencing_lookup", {"order": order}, ["lookup_misses_first"], ["miss"])
    post(world, "fencing_lookup", {"order": order}, order)
    for _ in range(2):
        assert len(look_up(world, "fencing_lookup", order).body) == 1
    assert not world.fenced(order)


def test_an_accepted_job_is_not_fenced_but_working(world, order):
    reset_script(world, "fencing_lookup", order, Behaviour("accepted_202", seconds=0.2))
    post(world, "fencing_lookup", {"order": order}, order)
    assert look_up(world, "fencing_lookup", order).body == {"state": "working"}
    world.wait_idle()
    assert world.count("fencing_lookup", order=order) == 1


def test_of_a_racing_create_and_look_up_exactly_one_wins(world):
    keys = [f"race-{n}" for n in range(60)]
    gate = threading.Barrier(8)

    def race(caller):
        gate.wait()
        answers = {}
        for n, key in enumerate(keys):
            if (caller + n) % 2:
                answers[key] = post(world, "fencing_lookup", {"race": key}, key).http == 201
            else:
                answers[key] = look_up(world, "fencing_lookup", key).body != []
        return answers

    with ThreadPoolExecutor(8) as callers:
        told = list(callers.map(race, range(8)))
    effects = {effect.key for effect in world.effects("fencing_lookup") if effect.key in keys}
    fenced = {key for key in keys if world.fenced(key)}
    assert effects & fenced == set()
    assert effects | fenced == set(keys)
    assert effects, "every look-up was first: nothing raced"
    assert fenced, "every create was first: nothing raced"
    lies = [key for answers in told for key, happened in answers.items()
            if happened != (key in effects)]  # fmt: skip
    assert lies == []


# --------------------------------------------------------------------------- HTTP and arrivals


def test_three_hundred_creates_at_once_over_kept_connections(world):
    async def create(n):
        port = int(world.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answers = []
        for turn in range(2):
            body = json.dumps({"crowd": n}).encode()
            key = f"crowd-{n}-{turn}"
            writer.write(
                f"POST /padded HTTP/1.1\r\nIdempotency-Key: {key}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            answers.append(json.loads(await reader.readexactly(length))["ref"])
        writer.close()
        await writer.wait_closed()
        return answers

    async def crowd():
        return await asyncio.gather(*(create(n) for n in range(300)))

    before, started = world.count("padded"), time.monotonic()
    refs = [ref for answers in asyncio.run(crowd()) for ref in answers]
    assert time.monotonic() - started < 10
    assert len(set(refs)) == 600
    assert world.count("padded") == before + 600
    arrivals = [came for came in world.arrivals("padded") if "crowd" in (came.args or {})]
    assert len({came.connection for came in arrivals}) == 300


def test_one_connection_serves_many_requests_also_ahead_of_their_answers(world, order):
    with Caller(world.url) as caller:
        for n in range(3):
            body = json.dumps({"order": order, "n": n}).encode()
            caller.send("POST", "/key_only", body, Idempotency_Key=f"{order}-{n}")
        refs = [caller.hear().body["ref"] for _ in range(3)]
        assert caller.get(f"/key_only/{refs[2]}").body["n"] == 2
    came = world.arrivals("key_only", order=order)
    assert len({one.connection for one in came}) == 1
    assert [one.args["n"] for one in came] == [0, 1, 2]


def test_real_clients_are_understood(world, order):
    url = f"{world.url}/key_and_lookup"
    with httpx.Client() as client:
        made = client.post(url, json={"order": order}, headers={"Idempotency-Key": order})
        assert made.json()["request"] == order
        chunked = client.post(url, content=iter([b'{"order":', b'"x"}']))
        assert chunked.json()["order"] == "x"
    with requests.Session() as session:
        found = session.get(url, params={"request": order}, timeout=5)
        assert found.json()[0]["ticket_id"] == made.json()["ticket_id"]
        expecting = {"Expect": "100-continue"}
        assert session.post(url, json={"order": order}, headers=expecting, timeout=5).ok


def test_a_request_that_is_cut_is_written_down_and_does_nothing(world, order):
    with Caller(world.url) as caller:
        head = f"POST /key_only HTTP/1.1\r\nIdempotency-Key: cut-{order}\r\nContent-Length: 99\r\n"
        caller.sock.sendall(head.encode() + b"\r\n" + b'{"order": "')
    world.wait_until(lambda: world.arrivals(key=f"cut-{order}") != [], "the cut request is noted")
    (arrival,) = world.arrivals(key=f"cut-{order}")
    assert (arrival.answered, arrival.args) == ("body_cut", None)
    assert world.count(key=f"cut-{order}") == 0


@pytest.mark.parametrize(
    "raw, http, code",
    [
        (b"NONSENSE\r\n\r\n", 400, "bad_request"),
        (b"POST /key_only HTTP/1.1\r\nContent-Length: many\r\n\r\n", 400, "bad_request"),
        (b"POST /key_only HTTP/1.1\r\nContent-Length: 4\r\n\r\nnull", 400, "bad_json"),
        (b"POST /key_only HTTP/1.1\r\nContent-Length: 1\r\n\r\n{", 400, "bad_json"),
        (b"POST /nothing HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 404, "no_such_route"),
        (b"DELETE /key_only/T900 HTTP/1.1\r\n\r\n", 405, "no_such_method"),
        (b"GET /key_only/job-12345678901234567890 HTTP/1.1\r\n\r\n", 404, "not_found"),
    ],
)
def test_what_is_not_understood_is_refused(world, raw, http, code):
    with Caller(world.url) as caller:
        caller.sock.sendall(raw)
        heard = caller.hear()
    assert (heard.http, heard.code) == (http, code)


def test_strange_texts_are_kept_as_they_came(world, order):
    args = {"order": order, "words": "左耳有杂音 \ud83d \U0001f600", "big": 2**70, "deep": [[{}]]}
    assert post(world, "key_only", args, order).body["big"] == 2**70
    assert world.effects("key_only", order=order)[0].args == args


def test_each_answer_carries_the_providers_own_request_id(world, order):
    heard = post(world, "key_only", {"order": order}, order)
    (arrival,) = world.arrivals("key_only", order=order)
    assert heard.headers["x-request-id"] == f"req-{arrival.number}"
    assert get(world, "/_world/healthz").body["state"] == "ready"
