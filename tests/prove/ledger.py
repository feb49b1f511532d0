"""The ledger as the search knows it: what `Advance` accepts and what `Take` does."""

from ascertain.rules import fold


class Ledger:
    """Compare-and-set on the number of events and the fence; leases that hold are respected."""

    ignores_leases = False
    ignores_epochs = False

    def takes(self, n_same, fence_same, held, current):
        """Whether a write is taken that stands on `held` while the ledger holds `current`."""
        return n_same and fence_same == 1

    def hopeless(self, n_same, fence_same):
        """Whether no write on this basis can be taken any more, whatever happens."""
        return not (n_same and fence_same)

    def take(self, record, owner, until):
        """A lease for a due action."""
        return fold.take(record, owner=owner, until=until)
