"""Checks on what a ledger holds: its chains, who recovers, what waits, and its clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from ascertain.errors import LookupAnswer
from ascertain.model.action import ActionRecord
from ascertain.model.breaker import Circuit
from ascertain.model.tables import State
from ascertain.report.breakers import sentence_of
from ascertain.report.doctor import Check, bad, ok, warn
from ascertain.report.reading import contract_of, is_observed, walk
from ascertain.report.shown import Shown
from ascertain.report.story import holder_is_gone, moment_of
from ascertain.report.words import joined, many, sender_words, span
from ascertain.report.workers import Health, workers
from ascertain.report.workers import sentence_of as sentence_of_worker
from ascertain.rules.left import CASE as LEFT_CASE
from ascertain.store.ledger import Filter, Ledger

OVERDUE_S = 60.0
NOBODY_S = 600.0
LONG_UNKNOWN_S = 3600.0
CLOCK_TOLERANCE_S = 5.0
_NEWEST = 200
_SHOWN = 3
_WORKERS_SHOWN = 20


def ledger_checks(ledger: Ledger, now: float, *, deep: bool = False) -> Iterator[Check]:
    """All checks on the content; ``deep`` checks the chains of closed actions too.

    :param now: seconds since the epoch.
    :raises LedgerError: the ledger cannot be read.
    """
    waiting = [r for r in walk(ledger, Filter(open_only=True)) if not is_observed(r)]
    yield _chains(ledger, waiting, deep=deep)
    yield _recovering(ledger, waiting, now)
    yield _workers(ledger, now)
    yield _oldest_unknown(ledger, waiting, now)
    yield _lookups(ledger, waiting)
    yield from _cases(ledger, now)
    yield _left(ledger)
    yield _breakers(ledger, now)
    yield _resent(ledger)
    yield _clock(ledger, waiting, now)
    yield _leases(ledger, waiting)


def _chains(ledger: Ledger, waiting: list[ActionRecord], *, deep: bool) -> Check:
    if deep:
        said, checked = list(ledger.verify()), "all actions"
    else:
        said = [found for record in waiting for found in ledger.verify(record.id)]
        checked = many(len(waiting), "open action")
    if not said:
        return ok("chain", f"The hash chains hold ({checked}).")
    more = f" (and {len(said) - _SHOWN} more)" if len(said) > _SHOWN else ""
    return bad(
        "chain", f"{' '.join(said[:_SHOWN])}{more}",
        "Keep this file as evidence, and compare it with a backup.",
    )  # fmt: skip


def _recovering(ledger: Ledger, waiting: list[ActionRecord], now: float) -> Check:
    seen_at = ledger.last_heartbeat()
    overdue = [at for r in waiting if (at := _due_at(r)) is not None and at <= now - OVERDUE_S]
    others = (ledger.next_due_at(), ledger.chains.next_due_at())
    due_at = min([*overdue, *(at for at in others if at is not None), now])
    if seen_at is None:
        seen = "no worker was seen within a day"
    else:
        seen = f"a worker was seen {span(max(0.0, now - seen_at))} ago"
    if due_at > now - OVERDUE_S:
        return ok("recovery", f"Nothing waits for a worker; {seen}.")
    count = many(len(overdue), "open action is", "open actions are") if overdue else "A count is"
    said = f"{count} due, the oldest for {span(now - due_at)}; {seen}."
    if seen_at is None or seen_at < now - NOBODY_S:
        return bad("recovery", f"Nobody recovers: {said}", "Start one: ascertain worker MODULE:APP")
    return warn(
        "recovery", f"The worker does not keep up: {said}",
        "Look at its log; raise --concurrency, or start a second one.",
    )  # fmt: skip


def _workers(ledger: Ledger, now: float) -> Check:
    """Every worker; one that died or hangs is no loss, but nobody has said why."""
    seen = workers(ledger.fleet.workers(), ledger.fleet.leases(now), now)
    if not seen:
        return ok("workers", "No worker is at work.")
    said = "; ".join(sentence_of_worker(one, now) for one in seen[:_WORKERS_SHOWN])
    more = f"; and {len(seen) - _WORKERS_SHOWN} more" if len(seen) > _WORKERS_SHOWN else ""
    lost = [one for one in seen if one.health in (Health.DEAD, Health.SILENT)]
    sentence = f"{many(len(seen), 'worker')}: {said}{more}."
    if not lost:
        return ok("workers", sentence)
    return warn(
        "workers", sentence,
        "Others take up what it held; see why it ended, and start it again: ascertain worker "
        "MODULE:APP",
    )  # fmt: skip


def _due_at(record: ActionRecord) -> float | None:
    """When somebody may take it up: at once where who holds it is gone."""
    return record.updated_at if holder_is_gone(record) else record.due_at


def _oldest_unknown(ledger: Ledger, waiting: list[ActionRecord], now: float) -> Check:
    unknown = [r for r in waiting if r.state is State.UNKNOWN and r.review is None]
    left = [r for r in unknown if (c := contract_of(ledger, r)) is not None and c.best_effort]
    named = {r.id for r in left}
    sought = [r for r in unknown if r.id not in named]
    beside = f" {many(len(left), 'best-effort one stays', 'best-effort ones stay')} open."
    if not sought:
        return ok("unknown", f"No action is unknown and still sought.{beside if left else ''}")
    oldest = min(sought, key=lambda r: r.last_sent_at or r.created_at)
    age_s = now - (oldest.last_sent_at or oldest.created_at)
    are = many(len(sought), "action is", "actions are")
    said = f"{are} unknown and being sought; the oldest was sent {span(age_s)} ago."
    said += beside if left else ""
    if age_s < LONG_UNKNOWN_S:
        return ok("unknown", said)
    return warn("unknown", said, f"ascertain why {oldest.id}")


def _lookups(ledger: Ledger, waiting: list[ActionRecord]) -> Check:
    """Look-ups that returned None or a foreign value: a defect that no waiting heals."""
    unanswered = (r for r in waiting if r.state is State.UNKNOWN and r.unanswered)
    broken: dict[str, str] = {}
    for record in islice(unanswered, _NEWEST):
        seen = Shown(
            record=record, arguments=None, result=None
        )  # of a look-up's defect only the type of what it returned
        told = [moment_of(event, seen) for event in ledger.events(record.id)]
        defects = [one for one in told if one.is_defect]
        if defects and record.tool not in broken:
            broken[record.tool] = "; ".join(defects[-1].evidence)
    if not broken:
        return ok("lookup", "No look-up has returned what is no answer.")
    tools = joined([f"{tool} ({what})" for tool, what in sorted(broken.items())])
    return bad(
        "lookup", f"{LookupAnswer.code}: the look-up returns nothing that is an answer: {tools}.",
        LookupAnswer.next_step,
    )  # fmt: skip


def _cases(ledger: Ledger, now: float) -> Iterator[Check]:
    cases = [r for r in walk(ledger, Filter(review_only=True)) if not is_observed(r)]
    disputed = [r for r in cases if r.disputed]
    reviews = [r for r in cases if not r.disputed]
    if disputed:
        yield bad(
            "disputed",
            f"{many(len(disputed), 'settled action is', 'settled actions are')} contradicted by "
            f"evidence: {_named(disputed)}.",
            f"ascertain show {disputed[0].id}, then ascertain resolve",
        )
    else:
        yield ok("disputed", "No evidence contradicts what is settled.")
    if reviews:
        oldest = min(r.review_at or r.updated_at for r in reviews)
        yield warn(
            "review",
            f"{many(len(reviews), 'action waits', 'actions wait')} for a person, the oldest for "
            f"{span(now - oldest)}.",
            "ascertain actions --review",
        )
    else:
        yield ok("review", "Nothing waits for a person.")


def _left(ledger: Ledger) -> Check:
    """Chains whose code did not come to its end; a person decides what becomes of each."""
    found = [r for r in walk(ledger, Filter(review_only=True)) if r.review == LEFT_CASE]
    if not found:
        return ok("left", "No chain was left before its end.")
    return warn(
        "left",
        f"{many(len(found), 'chain was', 'chains were')} left before "
        f"{'its' if len(found) == 1 else 'their'} end: {_named(found)}.",
        f"Run its code again, or: ascertain review show {found[0].id}",
    )


def _breakers(ledger: Ledger, now: float) -> Check:
    found = [one for one in ledger.breakers.all() if one.circuit is not Circuit.CLOSED]
    if not found:
        return ok("breakers", "No tool is closed for automatic sends.")
    said = " ".join(f"{one.name} is {one.circuit}: {sentence_of(one, now)}" for one in found)
    return warn("breakers", said, "ascertain breakers; ascertain actions --review")


def _resent(ledger: Ledger) -> Check:
    """Requests beyond one for each attempt: a client, or the body itself, sent again below."""
    extra: Counter[str] = Counter()
    for record in islice(walk(ledger, Filter()), _NEWEST):
        extra[record.tool] += max(0, record.sends - record.attempt)
    found = {tool: count for tool, count in sorted(extra.items()) if count}
    if not found:
        return ok("resent", "No attempt is known to have sent more than once.")
    tools = joined([f"{tool} ({many(count, 'send')} too many)" for tool, count in found.items()])
    return warn(
        "resent",
        f"Attempts sent more than once, among the newest {_NEWEST} actions: {tools}.",
        "ascertain lint MODULE:APP names the client that sends again; several requests of one body "
        "are several tools, or steps.",
    )


def _clock(ledger: Ledger, waiting: list[ActionRecord], now: float) -> Check:
    latest = now + CLOCK_TOLERANCE_S
    newest = islice(walk(ledger, Filter()), _NEWEST)
    ahead = {
        r.id: max(r.created_at, r.updated_at)
        for r in (*newest, *waiting)
        if max(r.created_at, r.updated_at) > latest
    }
    seen_at = ledger.last_heartbeat()
    if ahead:
        by_s = max(ahead.values()) - now
        return bad(
            "clock",
            f"{many(len(ahead), 'action has', 'actions have')} events from the future, up to "
            f"{span(by_s)} ahead: the clock here or there is wrong.",
            "Set the clock; what is due then waits no longer than it should.",
        )
    if seen_at is not None and seen_at > latest:
        return bad(
            "clock", f"A worker was seen {span(seen_at - now)} in the future.", "Set the clock."
        )
    return ok("clock", "No event is from the future.")


def _leases(ledger: Ledger, waiting: list[ActionRecord]) -> Check:
    """A lease that ends before its send's deadline lets others begin beside a live sender."""
    short: list[ActionRecord] = []
    sent = [r for r in waiting if r.state is State.SENT]
    for record in sent:
        contract = contract_of(ledger, record)
        if contract is None or record.lease_until is None or record.last_sent_at is None:
            continue
        if record.lease_until - record.last_sent_at <= contract.budget.send_deadline_s:
            short.append(record)
    if short:
        whose = sender_words(short[0].lease_owner or "")
        return bad(
            "leases", f"The lease of {whose} ends before the deadline of its own send.",
            "Make lease_s= longer, or the send's deadline shorter.",
        )  # fmt: skip
    under_way = many(len(sent), "send is", "sends are")
    return ok("leases", f"{under_way} under way; no lease is shorter than its deadline.")


def _named(records: list[ActionRecord]) -> str:
    ids = ", ".join(record.id for record in records[:_SHOWN])
    return f"{ids}, ..." if len(records) > _SHOWN else ids
