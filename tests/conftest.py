"""What every test has: the kind of its ledger. And what takes longest is begun first."""

import os
from pathlib import Path

import coverage
import pytest

from ascertain.store.secret import ENVIRONMENT
from tests import ledgers
from tests.postgres import server

HERE = Path(__file__).parent
# Providers of tests are spoken to without TLS, or with certificates of the tests; to read those of
# all the world takes 20 ms for each client.
os.environ.setdefault("SSL_CERT_FILE", str(HERE / "nobody.pem"))
server.keep_in_memory()
# Begun in this order and before all others, so that no process is left with a long one at the end.
LONGEST = {
    name: rank for rank, name in enumerate((HERE / "longest.txt").read_text().split()) if name
}


# Not watched where branches are counted (`make test COVER=1`), nor are the processes that they
# start: what these reach of the judgement the others reach too, and watching costs time.
UNWATCHED = {"bench", "demo", "docs", "foreign", "replay", "temporal", "testing", "wire"}
OF_CHILDREN = "COVERAGE_PROCESS_CONFIG"


@pytest.fixture(autouse=True, scope="module")
def watched(request):
    """Whether branches are counted, where they are at all."""
    watching = coverage.Coverage.current()
    if watching is None or request.path.relative_to(HERE).parts[0] not in UNWATCHED:
        yield
        return
    of_children = os.environ.pop(OF_CHILDREN, None)
    watching.stop()
    yield
    watching.start()
    if of_children is not None:
        os.environ[OF_CHILDREN] = of_children


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: LONGEST.get(item.path.relative_to(HERE).as_posix(), len(LONGEST)))


def pytest_generate_tests(metafunc):
    marked = metafunc.definition.get_closest_marker
    here = os.environ.get(ledgers.EVERYTHING) or not marked("slow")  # else with `make prove`
    if marked("every_ledger") and not marked("one_ledger") and here:
        metafunc.parametrize("ledger_kind", ledgers.KINDS, indirect=True)


@pytest.fixture(autouse=True)
def ledger_kind(request, monkeypatch):
    """SQLite, unless the test is one of those that run for every kind of ledger."""
    kind = getattr(request, "param", "sqlite")
    before = ledgers.use(kind)
    if kind == "postgres":
        monkeypatch.setenv(ENVIRONMENT, ledgers.SECRET)
    yield kind
    ledgers.use(before)
