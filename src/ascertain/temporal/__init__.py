"""The same application under Temporal: the ledger stays the truth, Temporal owns time.

::

    from ascertain import Ascertain
    from ascertain.temporal import Temporal

    app = Ascertain("sqlite:///ledger.db", worker=Temporal("127.0.0.1:7233"))

Needs the extra: ``pip install 'ascertain[temporal]'``. The SDK is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ascertain.temporal.address import TemporalMissing, Unreachable
from ascertain.temporal.place import Temporal
from ascertain.temporal.words import Approval, Heard, Open, Planned, Progress, Stand, Verdict

if TYPE_CHECKING:
    from ascertain.temporal.guarding import Acting, acting, told
    from ascertain.temporal.inside import settled
    from ascertain.temporal.starting import Starter
    from ascertain.temporal.worker import plugin
    from ascertain.temporal.workflows import Chain, Reconcile

__all__ = [
    "Acting",
    "Approval",
    "Chain",
    "Heard",
    "Open",
    "Planned",
    "Progress",
    "Reconcile",
    "Stand",
    "Starter",
    "Temporal",
    "TemporalMissing",
    "Unreachable",
    "Verdict",
    "acting",
    "plugin",
    "settled",
    "told",
]

_AT = {
    "Acting": "guarding", "acting": "guarding", "told": "guarding", "Starter": "starting",
    "settled": "inside", "plugin": "worker", "Chain": "workflows", "Reconcile": "workflows",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load what needs the SDK when it is asked for."""
    import importlib

    if name not in _AT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{_AT[name]}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "temporalio":
            raise
        raise TemporalMissing from error
    return getattr(module, name)
