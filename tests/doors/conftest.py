"""One provider for all doors; each test has orders, a ledger and a session of its own."""

import itertools

import pytest

from ascertain.testing.world.control import World
from tests.doors.drivers import DRIVERS
from tests.doors.shop import Shop

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def world():
    with World() as running:
        yield running


@pytest.fixture(params=[one for one in DRIVERS if not one.light], ids=lambda driver: driver.name)
def driver(request):
    """Each door once."""
    return request.param


@pytest.fixture(params=DRIVERS, ids=lambda driver: driver.name)
def variant(request):
    """Each door in all its forms: sync and async, streamed and not."""
    return request.param


@pytest.fixture
def order():
    return f"A{next(_numbers)}"


@pytest.fixture
def make_shop(world, tmp_path):
    """Shops on one ledger: a second one is the process that comes after the first."""
    made = []

    def make(**said):
        made.append(Shop(world, tmp_path, **said))
        return made[-1]

    yield make
    for shop in made:
        shop.close()


@pytest.fixture
def shop(make_shop):
    return make_shop()
