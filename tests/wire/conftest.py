import importlib
import time

import pytest

from ascertain.wire.log import WireLog, current_log
from tests.wire.behaviours import by_path
from tests.wire.callers import KINDS
from tests.wire.certificates import self_signed, server_tls
from tests.wire.server import Server


def pytest_report_header():
    return f"wire: {', '.join(KINDS)}"


@pytest.fixture(params=list(KINDS))
def kind(request):
    """Each client library in turn."""
    return request.param


@pytest.fixture(params=sorted({library for _, library in KINDS.values()} - {"requests"}))
def lib(request):
    """httpx and its kind, in turn."""
    return importlib.import_module(request.param)


@pytest.fixture
def log():
    """The log of one attempt, set for the test."""
    recorder = WireLog(time.monotonic() + 5.0)
    token = current_log.set(recorder)
    yield recorder
    current_log.reset(token)


@pytest.fixture
def server():
    with Server(by_path) as running:
        yield running


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A certificate for the loopback address, signed by itself: (certificate, key) as files."""
    return self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def tls(certificate):
    return server_tls(certificate)
