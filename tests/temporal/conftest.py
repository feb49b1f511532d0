"""One real server for all tests of a run, one provider for each file, one shop for each test."""

from __future__ import annotations

import time

import pytest

from ascertain.testing.world import World
from tests.temporal.house import House
from tests.temporal.server import running
from tests.temporal.shop import PROVIDERS


@pytest.fixture(scope="session")
def target():
    """The address of a Temporal server."""
    with running() as address:
        yield address


@pytest.fixture(scope="module")
def world():
    with World(dict(PROVIDERS)) as world:
        yield world


@pytest.fixture
async def house(target, world, tmp_path, request):
    """A shop under Temporal. In the end its histories are read: replayable, JSON, no arguments."""
    order = f"A-{request.node.name}-{time.monotonic_ns()}"
    async with House(target, world, tmp_path, order) as house:
        yield house
        await house.check_histories()
