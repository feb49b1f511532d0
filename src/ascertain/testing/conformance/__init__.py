"""What every store must do, as tests to run against yours.

Derive from :class:`StoreConformance` and say where the store keeps its data::

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def place(self, tmp_path):
            return MyPlace(tmp_path)

See :class:`~ascertain.testing.conformance.place.Place` for what a place has to offer.
"""

from __future__ import annotations

import pytest

for _name in ("chain", "crowd", "differential", "leases", "moves", "reserving", "samples"):
    pytest.register_assert_rewrite(f"{__name__}.{_name}")

from ascertain.testing.conformance.place import Place  # noqa: E402 - after the rewriting
from ascertain.testing.conformance.suite import StoreConformance  # noqa: E402

__all__ = ["Place", "StoreConformance"]
