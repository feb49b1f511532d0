"""Processes that use one session together, and note what they ask and see.

Each note is in the file before the operation begins, and after it has ended: what a killed process
had asked stays known, and its answer stays unknown.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import time
from typing import Any, NamedTuple

import valkey

from ascertain.errors import LedgerLocked
from ascertain.model.session import Kept, Needs, Provides, SessionRecord
from ascertain.store.ids import new_id
from ascertain.store.ledger import Advanced, Blocked, Ledger, Reserved
from ascertain.store.open import open_ledger
from ascertain.store.sessions import ProjectedContexts, SessionStoreDown, values_as_json
from ascertain.store.sessions_valkey import ValkeySessions, key_of
from ascertain.testing.conformance.samples import NOW, confirm, must, reserve_sent, wanted

KEYS = ("order", "ticket")
REFUSED = "refused"
"""The answer to a use that tells nothing of the value: it is no operation of the history."""
TENANT, PRINCIPAL, EPOCH = "", "u7", "01"
SECRET = b"the secret of these histories"
LIVES_S = 3600.0
DEATHS = 0.003
"""How likely a process kills itself at each point where it could be killed."""
WAITS_S = 0.05
TRIES = 5


class Task(NamedTuple):
    """One client's part of one history."""

    session: str
    seed: str
    operations: int
    notes: str


class Notes:
    """What was asked and seen, as lines of a file that outlives its writer."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        self._n = 0

    def asked(self, level: str, kind: str, given: Any) -> int:
        self._n += 1
        self._write({"n": self._n, "level": level, "kind": kind, "given": given})
        return self._n

    def saw(self, n: int, seen: Any, at: float) -> None:
        self._write({"n": n, "seen": seen, "at": at})

    def close(self) -> None:
        os.close(self._file)

    def _write(self, note: dict[str, Any]) -> None:
        note.setdefault("at", time.monotonic())
        os.write(self._file, (json.dumps(note) + "\n").encode())


class Noted:
    """A session store that notes what it is asked, and what it said."""

    def __init__(self, store: Any, notes: Notes) -> None:
        self._store, self._notes = store, notes
        self.url = store.url

    def project(self, session: SessionRecord, values: Any, ttl_s: float) -> bool:
        given = [session.epoch, session.version, _content(values)]
        n = self._notes.asked("kept", "project", given)
        written = self._store.project(session, values, ttl_s)
        self._notes.saw(n, written, time.monotonic())
        return written

    def serve(self, session: SessionRecord) -> Any:
        n = self._notes.asked("kept", "serve", [session.epoch, session.version])
        found = self._store.serve(session)
        at = time.monotonic()
        self._notes.saw(n, found and [found.version, _content(found.values)], at)
        return found


def _content(values: Any) -> str:
    return hashlib.sha256(values_as_json(values).encode()).hexdigest()[:16]


class Patient(ProjectedContexts):
    """Asks the store again at once, instead of leaving it alone for a while."""

    def _tell(self, error: SessionStoreDown) -> None:
        """Nothing is said, and nothing waited for."""


class Careless(Patient):
    """What one writes first: what the cache holds is what the session remembers."""

    def _served(self, session: SessionRecord) -> Any:
        return super()._served(session._replace(version=0))


class GetThenSet(ValkeySessions):
    """What one writes first: look whether something newer is there, then set."""

    def project(self, session: SessionRecord, values: Any, ttl_s: float) -> bool:
        key = key_of(session.tenant, session.id)
        try:
            epoch, version = self._client.hmget(key, "epoch", "version")
            mine = (session.epoch, session.version)
            if epoch is not None and (epoch.decode(), int(version)) >= mine:
                return False
            said = {"epoch": mine[0], "version": mine[1], "values": values_as_json(values)}
            self._client.hset(key, mapping=said)
        except valkey.exceptions.ValkeyError as error:
            raise SessionStoreDown(str(error)) from error
        return True


VARIANTS = {
    "as built": (ValkeySessions, Patient),
    "get, then set": (GetThenSet, Patient),
    "no version from the ledger": (ValkeySessions, Careless),
}


class Client:
    """One process's part of one session: it begins, commits, says, reads, uses and dies."""

    def __init__(self, ledger: Ledger, store: Any, contexts: Any, task: Task) -> None:
        self._notes = Notes(task.notes)
        self._dice = random.Random(task.seed)
        self._ledger, self._session = ledger, task.session
        self._truth = ledger.contexts
        self._contexts = contexts(ledger.contexts, Noted(store, self._notes))
        self._begun: list[tuple[str, Any]] = []
        self._behind: list[Any] = []

    def play(self, operations: int) -> None:
        ways = {self.begin: 20, self.commit: 20, self.say: 3, self.read: 40, self.use: 8,
                self.renew: 0.3}  # fmt: skip
        left = operations
        while left > 0:
            (way,) = self._dice.choices(list(ways), list(ways.values()))
            left -= way()
        self._notes.close()

    def begin(self) -> int:
        """Store an action that will bring a key."""
        key, action = self._dice.choice(KEYS), self._wanted()
        n = self._notes.asked("session", "begin", [key, action.id])
        sent = self._submit(reserve_sent(action), self._needs(pledges=(key,)), Reserved).record
        self._notes.saw(n, None, time.monotonic())
        self._begun.append((key, sent))
        return 1

    def commit(self) -> int:
        """Its outcome, with what it brings; then the projection follows, soon, late or never."""
        if not self._begun:
            return self.begin()
        key, sent = self._begun.pop(self._dice.randrange(len(self._begun)))
        n = self._notes.asked("session", "commit", [key, sent.id, sent.id])
        brings = Provides(
            values=(Kept(key, json.dumps(sent.id)),), now=NOW, began_at=NOW, limit_bytes=65_536
        )
        self._submit(confirm(sent, ref=sent.id), brings, Advanced)
        at = time.monotonic()
        history = self._truth.history(TENANT, self._session)
        mine = [value.superseded for value in history if value.writer == sent.id]
        self._notes.saw(n, ("taken", "late")[mine[0]] if mine else None, at)
        self._follow()
        return 1

    def say(self) -> int:
        """What the application itself knows."""
        key, value = self._dice.choice(KEYS), new_id()
        n = self._notes.asked("session", "say", [key, value])
        said = [Kept(key, json.dumps(value))]
        me = self._record(EPOCH)
        why = _patiently(lambda: self._truth.say(me, said, now=NOW, limit_bytes=65_536))
        assert not why, why
        self._notes.saw(n, None, time.monotonic())
        self._follow()
        return 1

    def read(self) -> int:
        """What the session remembers, as its store serves it."""
        self._seen()
        return 1

    def use(self) -> int:
        """An action on a value: stored only if that is what the key holds at that moment."""
        values = {value.key: value for value in self._seen()}
        if not values:
            return 1
        found = values[self._dice.choice(list(values))]
        n = self._notes.asked("session", "use", [found.key, json.loads(found.value)])
        needs = self._needs(read=((found.key, found.version),))
        reply = self._submit(reserve_sent(self._wanted()), needs, (Reserved, Blocked))
        if isinstance(reply, Reserved):
            self._notes.saw(n, "used", time.monotonic())
            return 2
        assert reply.why == "stale_context"
        self._notes.saw(n, REFUSED, time.monotonic())
        return 1

    def renew(self) -> int:
        """The session begins anew, with nothing remembered."""
        n = self._notes.asked("session", "renew", None)
        anew = self._record(new_id())
        renewed = _patiently(lambda: self._contexts.renew(anew, now=NOW))
        self._notes.saw(n, renewed, time.monotonic())
        return 1

    def _seen(self) -> Any:
        n = self._notes.asked("session", "read", None)
        values = self._contexts.memory(TENANT, self._session).values
        at = time.monotonic()
        now = dict.fromkeys(KEYS) | {value.key: json.loads(value.value) for value in values}
        self._notes.saw(n, now, at)
        self._maybe_die()
        return values

    def _follow(self) -> None:
        """As the projector does it, only that here some are slower than others."""
        self._maybe_die()
        dice = self._dice.random()
        if dice < 0.75:
            self._behind.append(self._truth.memory(TENANT, self._session))
        if dice < 0.6:
            for memory in self._behind:
                self._contexts.keep(memory)
            self._behind.clear()

    def _submit(self, operation: Any, beside: Any, expected: Any) -> Any:
        self._maybe_die()
        whole = operation._replace(beside=(beside,))
        (reply,) = _patiently(lambda: self._ledger.submit([whole]))
        self._maybe_die()
        return must(reply, expected)

    def _maybe_die(self) -> None:
        if self._dice.random() < DEATHS:
            os.kill(os.getpid(), signal.SIGKILL)

    def _wanted(self) -> Any:
        return wanted(new_id(), session=self._session, key=new_id())

    def _needs(self, **more: Any) -> Needs:
        return Needs(now=NOW, expires_at=NOW + LIVES_S, epoch=EPOCH, **more)

    def _record(self, epoch: str) -> SessionRecord:
        return SessionRecord(
            TENANT, self._session, PRINCIPAL, 0, epoch, NOW, NOW, NOW + LIVES_S
        )  # fmt: skip


def _patiently(write: Any) -> Any:
    """Write, also where the whole machine stood still for longer than a ledger is waited for: then
    nothing was written, and the operation goes on.
    """
    for _ in range(TRIES):
        try:
            return write()
        except LedgerLocked:
            continue
    return write()


def serve_tasks(channel: Any, ledger_url: str, url: str, variant: str) -> None:
    """A process's life: one task after the other, until it is told to end or has killed itself."""
    make, contexts = VARIANTS[variant]
    ledger = open_ledger(ledger_url, secret=SECRET)
    client = valkey.Valkey.from_url(url, socket_timeout=WAITS_S, socket_connect_timeout=1.0)
    store = make(url, client=client)
    while (task := channel.recv()) is not None:
        Client(ledger, store, contexts, task).play(task.operations)
        channel.send("done")
    store.close()
    ledger.close()
