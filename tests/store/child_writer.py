"""Writes batches for ever and says after each what was acknowledged, until it is killed."""

import json
import sys

from ascertain.store.ledger import Advanced, Reserved
from ascertain.store.sqlite import SqliteLedger
from ascertain.testing.conformance.samples import confirm, records, reserve_sent, wanted


def main(path, name, size):
    ledger = SqliteLedger(path)
    number = 0
    while True:
        number += 1
        batch = f"{name}-{number}"
        begun = [reserve_sent(wanted(f"{batch}-{n}", chain=batch)) for n in range(int(size))]
        sent = records(ledger.submit(begun), Reserved)
        say({"batch": batch, "sent": [record.id for record in sent]})
        done = records(ledger.submit([confirm(record) for record in sent]), Advanced)
        say({"batch": batch, "confirmed": [record.id for record in done]})


def say(line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


main(*sys.argv[1:])
