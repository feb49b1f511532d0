"""One provider for all doors; each test has orders, a ledger and a session of its own."""

import itertools
import shutil

import pytest

from ascertain import Ascertain
from ascertain.testing.world.control import World
from tests.doors.drivers import DRIVERS, ELSEWHERE
from tests.doors.shop import SECRET, Shop

_numbers = itertools.count(1)
# Their frameworks are not installed here; `make examples` runs them where they are.
collect_ignore = [f"test_{name}.py" for name in ELSEWHERE]


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


@pytest.fixture(scope="session")
def empty_ledger(tmp_path_factory):
    """A ledger as a first process leaves it before it has done anything."""
    folder = tmp_path_factory.mktemp("ledger")
    Ascertain(f"sqlite:///{folder}/ledger.db", worker="none", secret=SECRET).open().close()
    return folder / "ledger.db"


@pytest.fixture
def make_shop(world, tmp_path, empty_ledger):
    """Shops on one ledger: a second one is the process that comes after the first."""
    shutil.copy(empty_ledger, tmp_path)
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
