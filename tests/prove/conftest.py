"""What proofs with real processes share: a provider, and processes that end with their test."""

import pytest

from ascertain.testing.world import FIVE_CONTRACTS, World
from tests.faults.children import Process


@pytest.fixture(scope="module")
def world():
    """A provider that keeps the promises of the five contracts."""
    with World(dict(FIVE_CONTRACTS)) as world:
        yield world


@pytest.fixture
def start():
    """Start work in a process of its own; what is still there at the end is killed."""
    processes = []

    def begin(work):
        processes.append(Process(work))
        return processes[-1]

    yield begin
    for process in processes:
        process.abandon()
