"""A shop that fulfils orders in chains, and the provider of each part of an order."""

from __future__ import annotations

import httpx
import pytest

from ascertain import Ascertain
from ascertain.testing.world import World
from tests.ledgers import ledger_url
from tests.requirements.order import PROVIDERS, Shop


@pytest.fixture(scope="session")
def world():
    with World(dict(PROVIDERS)) as world:
        yield world


@pytest.fixture
def url(tmp_path):
    return ledger_url(f"{tmp_path}/ledger.db")


@pytest.fixture
def app(url):
    app = Ascertain(url, worker="none", lease_s=0.3)
    yield app
    app.close()


@pytest.fixture
def client(app, world):
    with app.watch(httpx.Client(base_url=world.url)) as client:
        yield client


@pytest.fixture
def shop(app, client):
    return Shop(app, client)
