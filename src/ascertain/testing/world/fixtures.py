"""pytest fixtures; import them in a `conftest.py`. Nothing else here needs pytest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from ascertain.testing.world.control import World
from ascertain.testing.world.words import Provider


@pytest.fixture
def world() -> Iterator[World]:
    """A running World with one collection, `tickets`: key and look-up."""
    with World() as running:
        yield running


@pytest.fixture
def make_world() -> Iterator[Callable[..., World]]:
    """A function that starts Worlds: `make_world(tickets=Provider(lookup=False))`."""
    with ExitStack() as running:

        def make(**providers: Provider) -> World:
            return running.enter_context(World(providers or None))

        yield make
