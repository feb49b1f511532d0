"""Compares what a case came to with what must be, and tells the story where they differ."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from typing import Any

from ascertain.rules.facts import next_allowed
from ascertain.testing.invariants import one_reference_each
from tests.cases.stage import Stage
from tests.cases.tables import Row

PATIENCE_S = 10.0
# Nobody may hear these of a write: they invite a repeat, or say more than is known.
NEVER_SAID = re.compile(
    r"\bfail|\btry again|\bretry|\bretried|\berror\b|exception|traceback|失败|重试|再试一次",
    re.IGNORECASE,
)  # fmt: skip


def judge(stage: Stage) -> list[str]:
    """All that is wrong with how the case ended."""
    case = stage.case
    _await_effects(stage)
    wrong = [one["text"] for one in stage.lines("wrong")]
    wrong += _effects(stage)
    wrong += _posts(stage)
    for row in case.ledger:
        wrong += _row(stage, row)
    wrong += _always(stage)
    return wrong


def _await_effects(stage: Stage) -> None:
    """What is still on its way lands; what must have happened is given its time."""
    stage.world.wait_idle(PATIENCE_S)
    wanted = sum(stage.case.effects.values())
    until = time.monotonic() + 2.0
    while len(stage.effects()) < wanted and time.monotonic() < until:
        stage.world.wait_until(lambda: True)


def _effects(stage: Stage) -> list[str]:
    happened = stage.effects()
    wrong = []
    for what, wanted in stage.case.effects.items():
        tool, _, order = what.partition("/")
        count = sum(one["tool"] == tool and order in ("", one["order"]) for one in happened)
        if count != wanted:
            wrong.append(f"{what} happened {count} times at the provider, must be {wanted}")
    return wrong


def _posts(stage: Stage) -> list[str]:
    case, wrong = stage.case, []
    for tool, wanted in case.posts.items():
        if (count := len(stage.posts(tool))) != wanted:
            wrong.append(f"{tool}: {count} creates came to the provider, must be {wanted}")
    for tool, most in case.at_most_posts.items():
        if (count := len(stage.posts(tool))) > most:
            wrong.append(f"{tool}: {count} creates came to the provider, at most {most} may")
    for tool, most in case.key_at_most.items():
        lengths = {len(post["key"]) for post in stage.posts(tool)}
        if max(lengths, default=0) > most:
            wrong.append(f"{tool}: keys of {sorted(lengths)} characters, at most {most} are taken")
    for tool, least_s in case.apart_s.items():
        first, second, *_ = [post["at"] for post in stage.posts(tool)] + [0.0, 0.0]
        if second - first < least_s:
            wrong.append(f"{tool}: second send {second - first:.2f} s after the first, < {least_s}")
    return wrong


def _row(stage: Stage, want: Row) -> list[str]:
    """One expected action of the ledger."""
    rows = [row for row in stage.rows(want.tool) if _is_meant(stage, row, want)]
    what = "/".join(part for part in (want.tool, want.order, want.variant, want.tenant) if part)
    if want.count is not None and len(rows) != want.count:
        return [f"the ledger has {len(rows)} actions for {what}, must have {want.count}"]
    wrong = []
    for row in rows:
        got = {
            "state": str(row.state), "kind": None if row.kind is None else str(row.kind),
            "sends": row.sends, "attempts": row.attempt, "ref": row.provider_ref is not None,
            "reason": row.reason, "review": row.review, "in_review": row.review is not None,
            "disputed": bool(row.disputed), "replaces": row.replaces is not None,
        }  # fmt: skip
        for name, value in got.items():
            wanted = getattr(want, name)
            if wanted is not None and value != wanted:
                wrong.append(f"{what}: {name} is {value!r} in the ledger, must be {wanted!r}")
        if want.asked_at_most is not None and row.asked > want.asked_at_most:
            wrong.append(f"{what}: asked {row.asked} times, at most {want.asked_at_most} may be")
        if want.events:
            seen = [f"{one.event}:{one.reason}" for one in stage.app.ledger.events(row.id)]
            lost = [one for one in want.events if not any(one in event for event in seen)]
            wrong += [f"{what}: no event {one!r} among {seen}" for one in lost]
        if want.next is not None:
            contract = stage.tools[row.tool].contract
            offered = next_allowed(row, contract, stage.app.hands.clock())
            if sorted(offered) != sorted(want.next):
                wrong.append(f"{what}: offers {offered} in the end, must offer {list(want.next)}")
    return wrong


def _is_meant(stage: Stage, row: Any, want: Row) -> bool:
    if want.tenant is not None and row.tenant != want.tenant:
        return False
    if want.order is None and want.variant is None:
        return True
    text = stage.app.ledger.arguments(row.id)
    arguments = json.loads(text) if text else {}
    return (want.order in (None, arguments.get("order"))) and (
        want.variant in (None, arguments.get("variant"))
    )


# ------------------------------------------------------------------ what is so in every case


def _always(stage: Stage) -> list[str]:
    wrong = [f"the chain of events: {text}" for text in stage.app.ledger.verify()]
    wrong += _one_effect_per_key(stage)
    wrong += _no_lie(stage)
    wrong += map(str, one_reference_each(stage.rows()))
    wrong += _nothing_unsaid(stage)
    posts = Counter(post["key"] for post in stage.posts())
    for row in stage.rows():
        contract = stage.tools[row.tool].contract
        if row.sends < posts[row.key]:
            wrong.append(f"{row.tool}: {posts[row.key]} sends came there, {row.sends} are counted")
        if posts[row.key] > contract.budget.sends:
            wrong.append(
                f"{row.tool}: {posts[row.key]} sends, the budget has {contract.budget.sends}"
            )
        planned = row.due_at is not None or row.lease_owner is not None
        watched = row.review is not None or contract.best_effort
        if row.open and not (planned or watched):
            wrong.append(f"{row.tool} is {row.state}, and nobody will ever look at it again")
    return wrong


def _one_effect_per_key(stage: Stage) -> list[str]:
    if stage.case.broken:
        return []
    counts = Counter((one["tool"], one["key"]) for one in stage.effects() if one["key"])
    return [f"{tool}: {n} effects of the key {key}" for (tool, key), n in counts.items() if n > 1]


def _no_lie(stage: Stage) -> list[str]:
    """What was told as known was so, and is so in the ledger."""
    wrong = []
    happened = Counter(one["key"] for one in stage.effects())
    watched = {
        tool.name for tool in stage.case.tools if (tool.at or tool.replies) and not tool.read
    }
    steps = {tool.name for tool in stage.case.tools if tool.body == "two_writes"}
    for told in stage.lines("told"):
        if told.get("tool") not in watched - steps or told.get("read"):
            continue
        if told["state"] == "confirmed" and not happened[told["key"]]:
            wrong.append(f"{told['step']} was told confirmed, and nothing of its key happened")
        if told["state"] == "rejected" and told["final"] and happened[told["key"]]:
            wrong.append(f"{told['step']} was told not done, and it happened")
    for row in stage.rows():
        if row.tool not in watched - steps or row.disputed:
            continue
        if (
            str(row.state) == "confirmed"
            and not happened[row.key]
            and row.reason != "verdict_confirmed"
        ):
            wrong.append(f"{row.tool} is confirmed in the ledger, and nothing of its key happened")
        if str(row.state) == "rejected" and row.final and happened[row.key]:
            wrong.append(f"{row.tool} is finally rejected in the ledger, and it happened")
    return wrong


def _nothing_unsaid(stage: Stage) -> list[str]:
    wrong = []
    for told in stage.lines("told"):
        if "error" in told:
            continue  # a mistake of the call itself, told to who made it
        said = [told.get("say", ""), told.get("zh", "")]
        wrong += [
            f"{told['step']} says {found[0]!r}: {text!r}"
            for text in said
            if (found := NEVER_SAID.search(text))
        ]
        whole = json.dumps(told.get("facts"), ensure_ascii=False, default=str)
        words = (*stage.case.unsaid, "Traceback", "ReadTimeout", "HTTPStatusError")
        wrong += [
            f"{told['step']}: the facts contain {word!r}: {whole}"
            for word in words
            if word in whole
        ]
    return wrong


# ------------------------------------------------------------------------------- the story


def story(stage: Stage) -> str:
    """What happened, for a reader who was not there."""
    case = stage.case
    lines = [f"{case.id} ({case.kind}): {case.story}", "", "what was done and told:"]
    lines += [f"  {one['told']}" for one in stage.lines("story")]
    lines += ["what came to the provider:"]
    lines += [
        f"  create {one['tool']}/{one['order']} key {str(one['key'])[:8]}: "
        f"{one.get('behaviour', 'scripted')}, answered {one.get('answered', 'as scripted')}"
        for one in stage.posts()
    ]
    lines += [
        f"  look-up with key {str(one.key)[:8]}: answered {one.answered} {one.code or ''}"
        for row in stage.rows()
        for one in stage.world.arrivals(method="GET", key=row.key)
    ]
    lines += ["what really happened there:"]
    lines += [
        f"  {one['tool']}/{one['order']} key {str(one['key'])[:8]}" for one in stage.effects()
    ]
    lines += ["what the ledger holds:"]
    for row in stage.rows():
        lines.append(
            f"  {row.tool} {row.state}{' final' if row.final else ''} [{row.reason}] kind "
            f"{row.kind} ref {row.provider_ref} attempts {row.attempt} sends {row.sends} review "
            f"{row.review} disputed {row.disputed} key {row.key[:8]} "
            f"{stage.app.ledger.arguments(row.id)}"
        )
        lines += [
            f"    {one.start or ''} --{one.event}--> {one.end} by {one.by}: {one.reason}"
            for one in stage.app.ledger.events(row.id)
        ]
    return "\n".join(lines)
