"""What proofs with real processes share: a provider, and processes that end with their test."""

from contextlib import ExitStack

import pytest

from ascertain.testing.world import FIVE_CONTRACTS, World
from tests.faults.children import Process


@pytest.fixture(scope="module")
def worlds():
    """A provider for each kind of ledger: the same orders are new to each."""
    with ExitStack() as stack:
        made = {}

        def of(kind):
            if kind not in made:
                made[kind] = stack.enter_context(World(dict(FIVE_CONTRACTS)))
            return made[kind]

        yield of


@pytest.fixture
def world(worlds, ledger_kind):
    """A provider that keeps the promises of the five contracts."""
    return worlds(ledger_kind)


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
