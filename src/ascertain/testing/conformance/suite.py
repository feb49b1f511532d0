"""All parts of the conformance suite in one class."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from ascertain.store.ledger import Ledger
from ascertain.testing.conformance.breakers import BreakerRules
from ascertain.testing.conformance.chain import BurialRules, ChainRules, SecretRules
from ascertain.testing.conformance.chains import ChainStoreRules
from ascertain.testing.conformance.claiming import ClaimRules
from ascertain.testing.conformance.contexts import ContextRules
from ascertain.testing.conformance.crowd import CrowdRules
from ascertain.testing.conformance.differential import DifferentialRules
from ascertain.testing.conformance.fleet import FleetRules
from ascertain.testing.conformance.leases import LeaseRules
from ascertain.testing.conformance.moves import ByHandRules, MoveRules
from ascertain.testing.conformance.place import Place
from ascertain.testing.conformance.reserving import ReserveRules
from ascertain.testing.conformance.retaining import RetainRules
from ascertain.testing.conformance.vitals import VitalRules


class StoreConformance(
    ReserveRules,
    MoveRules,
    ByHandRules,
    ClaimRules,
    LeaseRules,
    FleetRules,
    ChainRules,
    ChainStoreRules,
    ContextRules,
    BurialRules,
    RetainRules,
    SecretRules,
    CrowdRules,
    DifferentialRules,
    BreakerRules,
    VitalRules,
):
    """Derive from this, name it ``Test...`` and override the fixture ``place``."""

    @pytest.fixture
    def place(self) -> Place:
        """Where the store under test keeps its data; a new one for each test."""
        raise NotImplementedError("override the fixture `place`")

    @pytest.fixture
    def ledger(self, place: Place) -> Generator[Ledger]:
        """A handle on it."""
        ledger = place.open()
        yield ledger
        ledger.close()
