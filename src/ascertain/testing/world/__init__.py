"""A provider as a real HTTP service, with a truth of its own and behaviours set from outside."""

from ascertain.testing.world.catalogue import (
    BEHAVIOURS,
    FOURTEEN,
    LOOKUPS,
    MORE_BEHAVIOURS,
    SIX,
    Behaviour,
    SixOutcomes,
    lookup,
)
from ascertain.testing.world.control import World, WorldError
from ascertain.testing.world.words import FIVE_CONTRACTS, Arrival, Effect, Provider

__all__ = [
    "BEHAVIOURS",
    "FIVE_CONTRACTS",
    "FOURTEEN",
    "LOOKUPS",
    "MORE_BEHAVIOURS",
    "SIX",
    "Arrival",
    "Behaviour",
    "Effect",
    "Provider",
    "SixOutcomes",
    "World",
    "WorldError",
    "lookup",
]
