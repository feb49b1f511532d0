"""Where the ledger of a test lies: a file in its folder, or a schema that stands for that file.

Tests marked ``every_ledger`` run once for each kind; those among them that reach into the file
itself are marked ``one_ledger``.
"""

import hashlib

KINDS = ("sqlite", "postgres")
SECRET = "the secret of every ledger of the tests"
_kind = ["sqlite"]


def use(kind):
    """From now on ledgers are of this kind; returns the kind until now."""
    before, _kind[0] = _kind[0], kind
    return before


def ledger_url(path):
    """The URL of the ledger of this path; the same path is the same ledger."""
    if _kind[0] == "sqlite":
        return f"sqlite:///{path}"
    from tests.postgres import server  # its driver is not where doors alone are tried

    name = hashlib.sha256(str(path).encode()).hexdigest()[:24]
    return server.schema_url(f"t{name}")
