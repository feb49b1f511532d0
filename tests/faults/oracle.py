"""The oracle of the fault table: what a perfect library would have to say, and what went wrong.

It knows the promise, what was played, and the provider's own file, and imports nothing of the
library under test. `required_end` says where a cell must end; `faults` tells, in sentences, all
that is wrong with an end. An empty list is the only good one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from tests.faults.evidence import Asked, Cell, Effect, Evidence, Said, Statement
from tests.faults.lessons import (
    absence_is_final,
    counted,
    heard,
    lookup_answers,
    missed,
    proven_absent,
    resend_is_safe,
    resend_tells,
    speaks_for_all,
    taught,
    told_to_wait,
    unheard,
)

_KINDS: dict[str | None, frozenset[str]] = {
    "UNAUTHORISED": frozenset({"auth"}),
    "FORBIDDEN": frozenset({"auth"}),
    "VALIDATION": frozenset({"invalid"}),
    "OPEN_TICKET_EXISTS": frozenset({"business", "already_exists"}),
    "ALREADY_EXISTS": frozenset({"business", "already_exists"}),
    "REFUSED_BY_POLICY": frozenset({"business"}),
}


# -------------------------------------------------------------------------------- the right end


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Where a cell must end.

    `review`: never: a person must not be needed. must: an unknown end lies before a person.
    may: the provider asked for patience, or the doubt was real for a while.
    """

    states: frozenset[str]
    review: Literal["never", "may", "must"]
    why: str


def _end(*states: str, review: Literal["never", "may", "must"] = "never", why: str) -> End:
    return End(states=frozenset(states), review=review, why=why)


def required_end(cell: Cell, evidence: Evidence) -> End:
    """Say where this cell must end, from what happened and from what could have been learnt."""
    cell, evidence = counted(cell, evidence)
    end = _end_with_effect(cell, evidence) if evidence.effects else _end_without(cell, evidence)
    if told_to_wait(cell, evidence) and "yes" not in heard(cell, evidence):
        why = f"the provider asked to wait; else: {end.why}"
        if evidence.still_to_land and not evidence.effects:
            return _end("unknown", review="may", why=why)
        patient = {"unknown"} if evidence.effects else {"unknown", "rejected"}
        return _end(*(end.states | patient), review="may", why=why)
    if cell.person and end.review == "must":
        decided = "confirmed" if evidence.effects else "rejected"
        why = f"{end.why}; a person may decide"
        return _end(*(end.states | {decided}), review="must", why=why)
    return end


def _end_with_effect(cell: Cell, evidence: Evidence) -> End:
    if "yes" in heard(cell, evidence):
        return _end("confirmed", why="the provider said so")
    if resend_tells(cell, evidence):
        return _end("confirmed", why="the same key, sent again, tells")
    if lookup_answers(cell, evidence):
        first = min(effect.executed_at for effect in evidence.effects)
        answered = [look for look in evidence.lookups if look.answered == "200"]
        too_early = [look for look in answered if _found_nothing_before(look, first)]
        if cell.sender_settled or not too_early:
            return _end("confirmed", why="the look-up finds it")
        why = "a look-up came before the effect of a sender that was not proven gone"
        if too_early == answered:
            return _end("confirmed", "unknown", review="must", why=why)
        return _end("confirmed", review="may", why=why)
    in_the_last_moment = ["confirmed"] if _taught_unheard(cell, evidence, "yes") else []
    return _end("unknown", *in_the_last_moment, review="must", why="nobody can be asked")


def _found_nothing_before(look: Asked, at: float) -> bool:
    return look.code == "absent" and look.received_at < at


def _end_without(cell: Cell, evidence: Evidence) -> End:
    lessons = heard(cell, evidence)
    if not evidence.posts and cell.sender == "alive":
        return _end("prepared", "rejected", why="nothing of it has reached the provider")
    if resend_is_safe(cell, evidence):
        return _end("confirmed", why="refused before processing: it should have been sent again")
    refused = lessons and all(lesson in ("no", "unprocessed") for lesson in lessons)
    covered = speaks_for_all(cell, evidence, lessons)
    if refused or covered or "dead" in lessons:
        return _end("rejected", why="the provider refused")
    if resend_tells(cell, evidence):
        return _end("confirmed", why="the same key should have been sent again")
    provable = cell.promise.fences or (
        cell.sender_settled and cell.promise.absence_final_after_s is not None
    )
    if lookup_answers(cell, evidence) and provable:
        return _end("rejected", why="the look-up proves absence")
    in_the_last_moment = ["rejected"] if _taught_unheard(cell, evidence, "no") else []
    why = "nothing proves that it is absent"
    return _end("unknown", *in_the_last_moment, review="must", why=why)


def _taught_unheard(cell: Cell, evidence: Evidence, lesson: str) -> bool:
    """Whether an answer was given to a sender that may have recorded it before it went."""
    lost = evidence.posts[: unheard(cell, evidence)]
    return any(taught(cell.promise, post) == lesson for post in lost)


# ------------------------------------------------------------------------------------- the faults


def faults(cell: Cell, evidence: Evidence, said: Said | None) -> list[str]:
    """Tell all that is wrong with this end, each in one sentence; empty: nothing is.

    `said` is None where the ledger has no action for this intent.
    """
    cell, evidence = counted(cell, evidence)
    if said is None:
        return lost_actions(evidence.effects, []) + [
            f"NoLostAction: key {key} reached the provider, and no action has it"
            for key in sorted(evidence.keys)
        ]
    return [
        *harmful_sends(cell, evidence),
        *unruly_sends(cell, evidence, said),
        *doubles(cell, evidence, said),
        *false_statements(cell, evidence, said),
        *wrong_end(cell, evidence, said),
    ]


def harmful_sends(cell: Cell, evidence: Evidence) -> list[str]:
    """Tell which sends could have made a second effect, whether or not they did."""
    posts, found = evidence.posts, list[str]()
    keys = list(dict.fromkeys(post.key for post in posts))
    if len(keys) > 1:
        found.append(f"KeyStability: one intent was sent under {len(keys)} keys: {keys}")
    # a request whose body was cut off on the way has none
    if len({post.args for post in posts if post.args is not None}) > 1:
        found.append(f"KeyStability: key {keys[0]} was sent with changing arguments")
    for n, post in enumerate(posts):
        why = _harm(cell, evidence, post, posts[:n]) if n else None
        if why is not None:
            found.append(f"{why} (create {n + 1} of {len(posts)})")
    return found


def _harm(cell: Cell, evidence: Evidence, post: Asked, earlier: tuple[Asked, ...]) -> str | None:
    promise = cell.promise
    if promise.key:
        lifetime_s = promise.key_lifetime_s
        if lifetime_s is not None and post.received_at >= earlier[0].received_at + lifetime_s:
            return f"sent after the key's lifetime of {lifetime_s:g} s"
        return None
    if not cell.sender_settled and not promise.fences:
        return "blind resend: the earlier sender may still be alive, and there is no key"
    lost = unheard(cell, evidence)
    if all(
        proven_absent(cell, evidence, before, until=post.received_at, known=n >= lost)
        for n, before in enumerate(earlier)
    ):
        return None
    return "blind resend: an earlier create was in doubt, with neither key nor final absence"


def unruly_sends(cell: Cell, evidence: Evidence, said: Said) -> list[str]:
    """Tell of sends beyond the budget, before Retry-After, or after the last word was said."""
    promise, posts, found = cell.promise, evidence.posts, list[str]()
    if promise.sends is not None and len(posts) > promise.sends:
        found.append(f"Budget: {len(posts)} creates reached the provider, {promise.sends} allowed")
    for n, post in enumerate(posts):
        for before in posts[unheard(cell, evidence) : n]:
            at, wait_s = before.answered_at, before.retry_after_s
            if at is not None and wait_s is not None and post.received_at < at + wait_s:
                found.append(f"Budget: Retry-After {wait_s:g} s was answered and not waited for")
            done = any(
                effect.arrival == before.number and effect.executed_at <= post.received_at
                for effect in evidence.effects
            )
            if before.answered == "202" and not done:
                found.append("sent again while the provider was working on it")
        for statement in said.told:
            if _is_last_word(statement) and statement.at < post.received_at:
                found.append(f"SingleWinner: sent after {statement.state} was said")
    return found


def _is_last_word(statement: Statement) -> bool:
    return statement.state == "confirmed" or (statement.state == "rejected" and statement.final)


def broken_promise(cell: Cell, evidence: Evidence, effect: Effect) -> str | None:
    """Say which of its promises the provider (or the network) broke with this effect, if it did."""
    promise = cell.promise
    lessons = {post.number: taught(promise, post) for post in evidence.posts}
    if sum(other.arrival == effect.arrival for other in evidence.effects) > 1:
        return "one create was delivered twice"
    if lessons.get(effect.arrival) in ("no", "dead", "unprocessed"):
        return "it took effect, and the answer was that it had not"
    if promise.refusal_covers_key and "no" in lessons.values():
        return "a refusal did not cover the key"
    settling_s, took_s = promise.absence_final_after_s, effect.executed_at - effect.received_at
    if promise.lookup and not promise.fences and settling_s is not None and took_s > settling_s:
        return f"it landed after {took_s:.1f} s, the promise was {settling_s:g} s"
    if missed(cell, evidence, effect):
        return "a look-up did not find it, after the time by which it was promised to"
    after_s = promise.refusal_final_after_s
    if promise.key and after_s is not None and took_s > after_s and "no" in lessons.values():
        return f"it landed after {took_s:.1f} s, refusals are final after {after_s:g} s"
    if promise.key and effect is not evidence.effects[0]:
        return "the key did not deduplicate"
    return None


def doubles(cell: Cell, evidence: Evidence, said: Said) -> list[str]:
    """Tell of more than one effect: always a fault by our doing, else a fault if not noticed."""
    effects = evidence.effects
    if len(effects) < 2:
        return []
    refs = ", ".join(effect.ref for effect in effects)
    theirs = any(broken_promise(cell, evidence, effect) for effect in effects)
    if harmful_sends(cell, evidence) or not theirs:
        return [f"NoDuplicateEffect: {len(effects)} effects by our doing: {refs}"]
    if cell.promise.lookup and not said.noticed:
        return [f"NoDuplicateEffect: {len(effects)} effects ({refs}), a look-up, and no notice"]
    return []


def false_statements(cell: Cell, evidence: Evidence, said: Said) -> list[str]:
    """Tell every statement, of any turn and of the end, that was not true."""
    last = Statement(
        asked_at=evidence.read_at,
        at=evidence.read_at,
        state=said.state,
        final=said.final,
        provider_ref=said.provider_ref,
    )
    found: list[str] = []
    settled: Statement | None = None
    for turn, statement in enumerate([*said.told, last], start=1):
        where = "in the end" if statement is last else f"in turn {turn}"
        lie = _lie(cell, evidence, said, statement)
        if lie is not None:
            found.append(f"NoLie: {where}, {lie}")
        if settled is not None and _contradicts(settled, statement):
            found.append(f"SingleWinner: {where}, {statement.state} was said after {settled.state}")
        if _is_last_word(statement):
            settled = statement
    known = evidence.placed | {effect.ref for effect in evidence.effects}
    if said.related_ref is not None and said.related_ref not in known:
        found.append(f"NoLie: said that {said.related_ref} exists, and it does not")
    return found


def _contradicts(settled: Statement, statement: Statement) -> bool:
    if settled.state == "confirmed" and statement.state == "compensated":
        return False
    return (statement.state, statement.provider_ref) != (settled.state, settled.provider_ref)


def _lie(cell: Cell, evidence: Evidence, said: Said, statement: Statement) -> str | None:
    """Say what is false about a statement. No later send speaks against what was said before it."""
    if statement.state == "confirmed":
        by_then = [effect for effect in evidence.effects if effect.executed_at <= statement.at]
        ours = [effect.ref for effect in by_then if said.key in (None, effect.key)]
        if not by_then:
            return f"said confirmed ({statement.provider_ref}) while nothing had happened"
        if statement.provider_ref not in ours:
            return f"said {statement.provider_ref}, the provider's reference is {ours}"
        return None
    if statement.state not in ("rejected", "prepared"):
        return None
    for_good = statement.state == "rejected" and statement.final
    for effect in evidence.effects:
        broken = broken_promise(cell, evidence, effect) is not None
        excused = broken and (said.noticed or not cell.promise.lookup)
        if (for_good or effect.received_at <= statement.asked_at) and not excused:
            words = "that it did not happen, for good" if for_good else statement.state
            return f"said {words}; {effect.ref} was made, or on its way"
    return None


def wrong_end(cell: Cell, evidence: Evidence, said: Said) -> list[str]:
    """Tell how the end differs from the required one."""
    end, found = required_end(cell, evidence), list[str]()
    excused = said.noticed and any(broken_promise(cell, evidence, e) for e in evidence.effects)
    if said.state not in end.states and not excused:
        must = " or ".join(sorted(end.states))
        found.append(f"said {said.state}, must be {must}: {end.why}")
    elif not said.review_open and not cell.promise.leave and _is_stranded(end, said):
        found.append(f"stranded: {said.state}, with no review case and nothing planned")
    if end.review == "never" and said.review_opened and not excused:
        found.append(f"a person was asked and need not have been: {end.why}")
    frozen_out = end.review == "must" and not cell.sender_settled and not cell.promise.leave
    if frozen_out and not (said.review_opened or said.review_open):
        found.append(f"no review case was opened: {end.why}")
    if said.state == "rejected" and not said.by_person:
        found += _unfounded(cell, evidence, said)
    return found


def _is_stranded(end: End, said: Said) -> bool:
    if said.state not in ("unknown", "sent", "prepared"):
        return False
    return not said.planned or (said.state != "prepared" and end.review == "must")


def _unfounded(cell: Cell, evidence: Evidence, said: Said) -> Iterator[str]:
    """Tell of a refusal or absence for which there is nothing in the provider's file."""
    lessons = [taught(cell.promise, post) for post in evidence.posts]
    definite = all(lesson in ("no", "unprocessed", "dead") for lesson in lessons)
    never_sent = not lessons and cell.sender == "alive"
    covered = speaks_for_all(cell, evidence, lessons)
    refused = bool(lessons) and (definite or "dead" in lessons or covered)
    if not (never_sent or refused or absence_is_final(cell, evidence)):
        yield "NoLie: said rejected on evidence that proves nothing"
    # A word that nobody lived to record binds nobody.
    known = zip(evidence.posts, heard(cell, evidence), strict=True)
    codes = [post.code for post, lesson in known if lesson == "no"]
    fitting = frozenset[str]().union(*(_KINDS.get(code, frozenset()) for code in codes))
    if fitting and definite and said.kind is not None and said.kind not in fitting:
        yield f"said rejected ({said.kind}), the provider said {codes[-1]}"


def lost_actions(
    effects: Collection[Effect], ledger_keys: Collection[str], acknowledged: Collection[str] = ()
) -> list[str]:
    """Tell of effects whose action the ledger does not have, and of acknowledged actions gone."""
    keys = set(ledger_keys)
    found = [
        f"NoLostAction: {effect.ref} happened under key {effect.key}, which no action has"
        for effect in effects
        if effect.key not in keys
    ]
    gone = [key for key in acknowledged if key not in keys]
    return found + [f"NoLostAction: the acknowledged action of key {key} is gone" for key in gone]
