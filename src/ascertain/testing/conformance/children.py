"""What other processes do to the ledger under test. Nothing here needs pytest."""

from __future__ import annotations

import os
import sys
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.model.session import Kept, Needs, Provides
from ascertain.store.ledger import Advanced, ClaimBy, Ledger, Reserved, Take, Taken
from ascertain.testing.conformance.place import Place
from ascertain.testing.conformance.samples import (
    LEASE_S,
    NOW,
    claim,
    confirm,
    must,
    records,
    reserve_sent,
    wanted,
)


def reserve_all(place: Place, start: Any, intents: int, told: Any) -> None:
    """Reserve the same intents as everybody else, at the same instant; tell how each came."""
    ledger = place.open()
    ledger.secret()
    start.wait()
    replies = [
        must(ledger.submit([reserve_sent(wanted(f"i{n}"))])[0], Reserved) for n in range(intents)
    ]
    told.put([(reply.via, reply.record.id) for reply in replies])
    ledger.close()


def take_all(place: Place, start: Any, owner: str, told: Any) -> None:
    """Take whatever is due, a few at a time, until nothing is left; tell which."""
    ledger = place.open()
    ledger.secret()
    start.wait()
    mine: list[str] = []
    take = Take(owner=owner, now=NOW + LEASE_S, lease_until=NOW + 2 * LEASE_S, limit=4)
    while taken := must(ledger.submit([take])[0], Taken).records:
        mine.extend(record.id for record in taken)
    told.put(mine)
    ledger.close()


def provide_one(place: Place, start: Any, told: Any) -> None:
    """Begin to provide a key of the session, and finish at the same instant as everybody else."""
    ledger = place.open()
    action = wanted(f"provider-{os.getpid()}")
    needs = Needs(now=NOW, expires_at=NOW + 60, epoch="epoch-1", pledges=("order_id",))
    begin = reserve_sent(action)._replace(beside=(needs,))
    (sent,) = records(ledger.submit([begin]), Reserved)
    start.wait()
    value = Kept("order_id", f'"{sent.id}"')
    brings = Provides(values=(value,), now=NOW, began_at=NOW, limit_bytes=1000)
    must(ledger.submit([confirm(sent)._replace(beside=(brings,))])[0], Advanced)
    told.put(sent.id)
    ledger.close()


def claim_all(place: Place, start: Any, mine: list[list[ActionRecord]], told: Any) -> None:
    """Claim one reference after the other for actions of our own, as everybody else does too."""
    ledger = place.open()
    ledger.secret()
    place_in_line: int = start.wait()
    actions = mine[place_in_line]
    won = [
        n
        for n, record in enumerate(actions)
        if isinstance(ledger.submit([claim(record, f"T{n}", ClaimBy.LOOKUP)])[0], Advanced)
    ]
    told.put(won)
    ledger.close()


def begin_together(place: Place, start: Any, told: Any) -> None:
    """Begin a ledger that is not there yet, at the same instant as everybody else."""
    start.wait()
    ledger = place.open()
    must(ledger.submit([reserve_sent(wanted("i0"))])[0], Reserved)
    told.put(ledger.secret().hex())
    ledger.close()


def fork_at_work(place: Place, children: int, actions: int, told: Any) -> None:
    """Write, fork, and write on both sides of the fork with the same object."""
    ledger = place.open()
    ledger.submit([reserve_sent(wanted("before"))])
    assert ledger.get("nobody") is None
    pids = [_fork(ledger, f"child-{n}", actions) for n in range(children)]
    _work(ledger, "parent", actions)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    _work(ledger, "afterwards", actions)
    told.put((codes, list(ledger.verify())))
    ledger.close()


def _fork(ledger: Ledger, name: str, actions: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        _work(ledger, name, actions)
        ledger.close()
        code = 0
    except BaseException as error:
        sys.stderr.write(f"{name}: {error!r}\n")
        raise
    finally:
        os._exit(code)


def _work(ledger: Ledger, name: str, actions: int) -> None:
    for n in range(actions):
        (sent,) = records(ledger.submit([reserve_sent(wanted(f"{name}-{n}"))]), Reserved)
        must(ledger.submit([confirm(sent)])[0], object)
        assert ledger.get(sent.id) is not None
