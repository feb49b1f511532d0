"""Uses a ledger as a user who may not write there; prints the errors as JSON."""

import json
import os
import sys

from ascertain.errors import AscertainError
from ascertain.store.queries import load_migrations
from ascertain.store.sqlite import SqliteLedger
from ascertain.testing.conformance.samples import reserve_sent, wanted

NOBODY = 65534


def main(path):
    load_migrations("sqlite")  # all that is read from the package is read before the user changes
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    ledger = SqliteLedger(path, busy_timeout_s=0.5)
    said = []
    for use in (lambda: ledger.submit([reserve_sent(wanted("new"))]), lambda: ledger.get("x")):
        try:
            said.append({"error": f"none, but {use()!r}"})
        except AscertainError as error:
            said.append(error.as_dict())
    print(json.dumps(said))


main(sys.argv[1])
