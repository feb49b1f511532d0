"""Another's record is no extra effect, however many actions of the tool lie in between."""

import asyncio
import itertools

import pytest

from ascertain import Absent, Ascertain, Found
from ascertain.rules.recount import Difference, Said
from ascertain.runtime import hands
from ascertain.store.ledger import Filter

BETWEEN = 2_100
AT_ONCE = 64


class Depot:
    """A provider that lists what it did for an order, and knows no key."""

    def __init__(self, app):
        self.refs = {}
        self._numbers = itertools.count(900)

        @app.tool(identity=["order"])
        async def pick_up(order: str) -> dict:
            return {"id": self.do(order)}

        @pick_up.lookup(by="fields", absence_final_after="1s")
        async def find(action):
            refs = self.refs.get(action.arguments["order"], [])
            return Found(refs[-1], count=len(refs), refs=refs) if refs else Absent

        self.pick_up = pick_up

    def do(self, order):
        ref = f"P{next(self._numbers)}"
        self.refs.setdefault(order, []).append(ref)
        return ref


@pytest.fixture
def app(tmp_path):
    with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none") as app:
        yield app


@pytest.fixture
def depot(app):
    return Depot(app)


async def picked_up_twice(app, depot, between):
    """The same order first and last, and the other ones in between."""
    async with app.session("s", principal="u7"):
        await depot.pick_up(order="ours")
        room = asyncio.Semaphore(AT_ONCE)

        async def one(n):
            async with room:
                await depot.pick_up(order=f"other-{n}")

        await asyncio.gather(*(one(n) for n in range(between)))
        await depot.pick_up.options(ordinal=2)(order="ours")


async def test_among_thousands_of_actions_what_another_one_did_is_taken_off_exactly(app, depot):
    await picked_up_twice(app, depot, BETWEEN)
    assert BETWEEN > 2 * hands.ALIKE_AT_ONCE, "the two do not stand on one page, nor on the next"
    found = await app.recount_async(limit=1)
    (row,) = found.rows
    assert (row.said, row.count, row.differences) == (Said.FOUND, 1, ())
    depot.do("ours")  # behind our back
    (row,) = (await app.recount_async(limit=1)).rows
    assert Difference.EXTRA_EFFECTS in row.differences


@pytest.mark.parametrize("between", range(5))
async def test_wherever_a_page_ends_none_is_left_out(app, depot, monkeypatch, between):
    monkeypatch.setattr(hands, "ALIKE_AT_ONCE", 2)
    await picked_up_twice(app, depot, between)
    (row,) = (await app.recount_async(limit=1)).rows
    assert (row.count, row.differences) == (1, ())


async def test_of_all_that_is_read_only_what_looks_alike_is_kept(app, depot, monkeypatch):
    """Memory is that of one page and of the actions with the same identity."""
    monkeypatch.setattr(hands, "ALIKE_AT_ONCE", 4)
    await picked_up_twice(app, depot, 20)
    pages, find = [], app.ledger.find

    def counted(query):
        page = find(query)
        pages.append(len(page))
        return page

    monkeypatch.setattr(app.ledger, "find", counted)
    (last,) = find(Filter(limit=1))
    alike = app.hands.alike(app.registry.get("pick_up"), last)
    assert [one.provider_ref for one in alike] == depot.refs["ours"][:1]
    assert max(pages) == 4
    assert sum(pages) == 22
