"""Rules on the clients by which tools send: who repeats below, and who is not watched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ascertain.model.contract import Repeat
from ascertain.report.findings import Finding, Severity
from ascertain.report.made import made_by
from ascertain.report.reach import reach
from ascertain.report.retries import Client, Hidden, client_of, decorator_of
from ascertain.runtime.registry import Entry
from ascertain.wire.watch import exit_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """A client that a tool can use. ``exit`` is its name where it is watched."""

    client: Client
    path: str
    exit: str | None

    @property
    def title(self) -> str:
        return f"{self.path} ({self.client.kind})"


def client_findings(entry: Entry) -> Iterator[Finding]:
    """All findings on the clients and decorators that one tool's body uses."""
    found = reach(entry.body)
    for layer in found.layers:
        hidden = decorator_of(layer)
        if hidden is not None:
            yield _repeats(entry, "retry-decorator", "its decorator", hidden)
        for made in made_by(layer):
            for each in made.hidden:
                whose = f"a {made.kind} that its body makes"
                yield _repeats(entry, "hidden-retry", whose, each)
    for reached in found.things.values():
        client = client_of(reached.thing)
        if client is None:
            continue
        used = Used(client=client, path=reached.path, exit=exit_name(reached.thing))
        for hidden in client.hidden:
            yield _repeats(entry, "hidden-retry", used.title, hidden)
        if used.exit is None and not (entry.contract.is_read or entry.observed):
            yield _unwatched(entry, used)


def _repeats(entry: Entry, rule: str, whose: str, hidden: Hidden) -> Finding:
    return Finding(
        rule=rule,
        severity=_weight(entry, hidden),
        tool=entry.name,
        sentence=f"{entry.name}: {whose} repeats by itself: {hidden.what}.",
        next_step=f"Switch it off: {hidden.fix}.",
    )


def _weight(entry: Entry, hidden: Hidden) -> Severity:
    contract = entry.contract
    if hidden.before_send or contract.is_read:
        return Severity.INFO
    if entry.observed or contract.repeat is not Repeat.NEVER:
        return Severity.WARN
    return Severity.BAD  # nothing makes a repeat safe, and nobody is asked


def _unwatched(entry: Entry, used: Used) -> Finding:
    if not used.client.hooks:
        return Finding(
            rule="no-hooks",
            severity=Severity.INFO,
            tool=entry.name,
            sentence=f"{entry.name}: {used.title} cannot be watched; a lost answer is judged by "
            "the class of the exception.",
            next_step="Nothing to do, or send by a client that can be watched (httpx, requests).",
        )
    return Finding(
        rule="unwatched-client",
        severity=Severity.WARN,
        tool=entry.name,
        sentence=f"{entry.name}: {used.title} is not watched, so nothing proves that a request "
        "never left, and hidden retries are not counted.",
        next_step="Make one client for all requests, and wrap it: client = app.watch(client)."
        if used.client.thrown_away
        else "Wrap it: client = app.watch(client).",
    )
