"""A silent network between a process and its ledger: it hangs, and another one takes over.

With ASCERTAIN_FAULTS=long it is waited for as long as everybody's settings say.
"""

import math
import os
import select
import socket
import time

import pytest

from ascertain.store import postgres_wait
from ascertain.store.postgres_place import place_of
from ascertain.testing.crash import point
from ascertain.testing.world import FIVE_CONTRACTS, World
from tests.postgres import server, silence
from tests.postgres.shop import FIVE, Shop
from tests.postgres.silence import DEAF, FORWARDS, SILENT, Wire

WITHIN_S = 15.0
ANSWER_S = postgres_wait.ANSWER_S if silence.LONG else 2.0
# What the kernel is told to notice by itself.
KERNEL = {
    "tcp_user_timeout": socket.TCP_USER_TIMEOUT, "keepalives_idle": socket.TCP_KEEPIDLE,
    "keepalives_interval": socket.TCP_KEEPINTVL, "keepalives_count": socket.TCP_KEEPCNT,
}  # fmt: skip


@pytest.fixture(scope="module")
def world():
    with World(dict(FIVE_CONTRACTS)) as world:
        yield world


@pytest.fixture
def wire(request):
    """A proxy, unless the test asks for something else."""
    return getattr(request, "param", Wire)()


@pytest.fixture
def shops(world, start, wire):
    """One with a wire to the ledger, to be worked with in a child; and one of somebody else."""
    name = server.new_url().rpartition("schema=")[2]
    here = Shop(server.schema_url(name), world.url)
    here.app.open()
    start(wire)
    yield wire, lambda: Shop(wire.url(name), world.url), here
    here.close()
    wire.close()


def recovered(shop, *orders):
    """Recover until nothing is sent any more; how each stands."""
    give_up_at = time.monotonic() + WITHIN_S
    while True:
        shop.app.recover()
        stands = {order: shop.stand(*order) for order in orders}
        if all(stand and stand[0][0] != "sent" for stand in stands.values()):
            return stands
        assert time.monotonic() < give_up_at, stands


def told(action, since):
    return [str(action.state), action.provider_ref, time.monotonic() - since]


def judge(world, shop, order, said):
    """No effect twice; what was said and what is written is so."""
    for name in FIVE:
        refs = [effect.ref for effect in world.effects(name, order=order)]
        assert len(refs) <= 1, (name, refs)
        for state, ref in [said[name][:2], *((s, None) for s, _ in shop.stand(name, order))]:
            assert state in ("confirmed", "unknown", "rejected", "prepared"), (name, state)
            assert state != "confirmed" or (refs and ref in (None, *refs)), (name, state, ref)
            assert state != "rejected" or not refs, (name, "said not to be done, and was")
    assert list(shop.app.ledger.verify()) == []


def test_who_hangs_with_its_answer_in_hand_lands_it_late_when_the_network_is_back(
    shops, world, start
):
    """The effect is there, its answer does not reach the ledger; others take over meanwhile."""
    wire, open_behind, here = shops
    order = "answer in hand"

    def work(name):
        shop = open_behind()
        shop.call(name, f"{order}: before")
        shop.answered = lambda: wire.goes(SILENT)
        since = time.monotonic()
        return told(shop.call(name, order), since)

    said, taken_over = {}, {}
    for name in FIVE:
        wire.goes(FORWARDS)
        stuck = start(lambda name=name: work(name))
        world.wait_until(lambda n=name: world.effects(n, order=order), "it is done", WITHIN_S)
        taken_over |= recovered(here, (name, order))
        wire.goes(FORWARDS)
        said[name] = stuck.end(60.0).value
    assert {name: taken_over[name, order] for name in FIVE} == {
        "key_and_lookup": [("confirmed", None)],
        "key_only": [("confirmed", None)],
        "lookup_only": [("confirmed", None)],
        "fencing_lookup": [("confirmed", None)],
        "neither": [("unknown", "cannot_ask")],
    }
    judge(world, here, order, said)
    recovered(here, *((name, order) for name in FIVE))
    for name in FIVE:
        landed = here.stand(name, order)
        assert landed == [("confirmed", None)], f"{name}: its own answer, on its own action"


def test_who_hears_of_its_own_lease_too_late_sends_nothing(shops, world, start):
    """Its intent is stored; that it is, reaches it only after others have taken over."""
    wire, open_behind, here = shops
    order = "not heard"

    def work(name):
        shop = open_behind()
        shop.call(name, f"{order}: before")

        def deafen(side, effect):
            if point(effect, side) == "reserve.before":
                wire.goes(DEAF)

        shop.app.ledger._tally._write_at = math.inf  # else it may be more than one round trip
        shop.app.hands.on_effect = deafen
        since = time.monotonic()
        return told(shop.call(name, order), since)

    said = {}
    for name in FIVE:
        wire.goes(FORWARDS)
        stuck = start(lambda name=name: work(name))
        world.wait_until(lambda n=name: here.stand(n, order), "it is stored", WITHIN_S)
        stands = recovered(here, (name, order))
        assert stands[name, order][0][0] in ("confirmed", "unknown", "rejected")
        by_others = len(world.arrivals(name, order=order, method="POST"))
        wire.goes(FORWARDS)
        said[name] = stuck.end(60.0).value
        assert len(world.arrivals(name, order=order, method="POST")) == by_others, "nothing late"
    judge(world, here, order, said)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("wire", [silence.best], ids=["the best that can be had"], indirect=True)
def test_who_hangs_notices_it_by_itself_within_bounds(shops, world, start, monkeypatch):
    """The network never comes back: packets vanish, where that can be had; else nobody answers."""
    wire, open_behind, here = shops
    order = "for ever"
    options = place_of(wire.url("idle")).options
    if not wire.vanishes:
        monkeypatch.setattr(postgres_wait, "ANSWER_S", ANSWER_S)
    bound_s = int(options["tcp_user_timeout"]) / 1000 if wire.vanishes else ANSWER_S
    idle = postgres_wait.connect(options)

    def work():
        shop = open_behind()
        shop.call("neither", f"{order}: before")
        shop.answered = lambda: wire.goes(SILENT)
        since = time.monotonic()
        return told(shop.call("neither", order), since)

    stuck = start(work)
    stands = recovered(here, ("neither", order))
    state, ref, after_s = stuck.end(60.0).value
    assert (state, ref) == ("unknown", None), "no more than is written"
    # to connect anew is given up as the lease is
    assert bound_s <= after_s < bound_s + 10.0, after_s
    assert stands["neither", order] == [("unknown", "cannot_ask")]
    assert len(world.effects("neither", order=order)) == 1
    with socket.socket(fileno=os.dup(idle.fileno())) as quiet:
        asked = {name: quiet.getsockopt(socket.IPPROTO_TCP, one) for name, one in KERNEL.items()}
        assert asked == {name: int(options[name]) for name in KERNEL}, "the kernel knows the bounds"
        if wire.vanishes:
            ended, _, _ = select.select([quiet], [], [], 4 * bound_s)
            assert ended, "a connection on which nothing is said is noticed too"
            assert quiet.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), "as broken"
    idle.close()
    how = (
        "packets vanished (a link was down)" if wire.vanishes else "a proxy took all, and was mute"
    )
    print(f"{how}: it hung, and noticed that after {after_s:.1f} s")
