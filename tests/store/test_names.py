"""What operations stand on: where several write at once, it is locked by its name."""

from ascertain.store import (
    chains,  # noqa: F401 - fills the rooms
)
from ascertain.store.beside import ALONE, ROOMS

# A kind that is read and written by its own statement only, or waits for nobody.
BY_ITSELF = {"TakeChains"}
SESSIONS = {"Needs", "StillNeeds", "Provides"}
REFERENCES = {"Lookalike"}
RATES = {"Spends", "Answered", "Book", "GiveBack"}


def test_every_kind_beside_or_alone_names_what_it_stands_on():
    """By its field `chain`; or as the list in `names` says."""
    for kind in (*ROOMS, *ALONE):
        name = kind.__name__
        if name in BY_ITSELF | SESSIONS | REFERENCES | RATES:
            continue
        assert "chain" in kind.__dataclass_fields__, f"what does {name} stand on?"
