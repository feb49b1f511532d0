"""A story on paper: what the model was told, what the person sees, the ledger, the provider."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ascertain.demo.account import Account, is_move
from ascertain.demo.judge import Deed
from ascertain.demo.telling import Told
from ascertain.model.action import ActionRecord, EventRecord
from ascertain.replay.columns import Paper, beside, fit, width_of

FEW = 3  # intents of a story that are shown one by one
_KEY_SHOWN = 8

MODEL, PERSON = "THE MODEL WAS TOLD", "THE PERSON SEES"
CONTROL = "THE CONTROL: the same, on a session store that is written in the background"
LEDGER, PROVIDER = "THE LEDGER", "THE PROVIDER REALLY DID"


def show(paper: Paper, account: Account) -> list[str]:
    """The lines of a story."""
    story = account.story
    lines = ["", heading(paper, f"{story.id}  {story.title}", account.agrees)]
    lines += [paper.paint(line, "dim") for line in fit([story.what], paper.width)]
    lines += [paper.paint(line, "dim") for note in account.notes
              for line in fit([f"- {note}"], paper.width)]  # fmt: skip
    lines.append("")
    shown, hidden = _split(account)
    told = _told(shown)
    blocks = [
        (MODEL, [*_model(told), *_more(hidden, "told", _told_states(hidden))]),
        (PERSON, [*_person(told), *_more(hidden, "told", Counter())]),
        (LEDGER, [*_turned(account), *_ledger(shown), *_more(hidden, "recorded", _states(hidden))]),
        (PROVIDER, [*_provider(shown), *_reversed(shown), *_provider_sum(account, hidden)]),
    ]
    lines += beside(paper, blocks)
    if account.control is not None:
        lines.append(paper.paint(CONTROL, "cyan"))
        what = f"  {account.control}"
        lines += [paper.paint(line, "yellow") for line in fit([what], paper.width)]
    return lines


def heading(paper: Paper, title: str, agrees: bool) -> str:
    """A story's first line, with the verdict at its end."""
    verdict = "agrees" if agrees else "DISAGREES"
    head = f"── {title} "
    rule = "─" * max(2, paper.width - width_of(head) - len(verdict) - 1)
    shown = paper.paint(verdict, "green" if agrees else "red")
    return f"{paper.paint(head + rule, 'bold')} {shown}"


def _split(account: Account) -> tuple[Sequence[Deed], Sequence[Deed]]:
    """Which intents are shown, and which are only summed up. Those with findings come first."""
    deeds = account.deeds
    if len(deeds) <= FEW or account.chain is not None:
        return deeds, ()
    text = " ".join(str(finding) for finding in account.findings)
    marked = sorted(deeds, key=lambda deed: f"({deed.intent.order})" not in text)
    return marked[:2], marked[2:]


def _told(deeds: Sequence[Deed]) -> list[Told]:
    return list({id(one): one for deed in deeds for one in deed.told}.values())


# ------------------------------------------------------------------------------------ four views


def _model(told: Sequence[Told]) -> list[str]:
    rows: list[str] = []
    for one in told:
        rows.append(f"“{one.asked}”")
        rows += _facts(one.facts)
    return rows or ["nothing: there was nobody to tell it"]


def _facts(facts: dict[str, Any]) -> list[str]:
    """The facts object as the model receives it, without the sentences for the person."""
    actions = [json.dumps(action, ensure_ascii=False) for action in facts["actions"]]
    rows = [f'{{"workflow_state": {json.dumps(facts["workflow_state"])},', ' "actions": [']
    rows += [f"  {action}{',' if n < len(actions) else ']'}" for n, action in enumerate(actions, 1)]
    rows[-1] += ","
    return [*rows, f' "next_allowed": {json.dumps(facts["next_allowed"])}}}']


def _person(told: Sequence[Told]) -> list[str]:
    rows: list[str] = []
    for one in told:
        rows.append(f"“{one.asked}”")
        rows += [f"  {sentence}" for sentence in one.say.values()]
    return rows or ["nothing: there was nobody to tell it"]


def _turned(account: Account) -> list[str]:
    if account.chain is None:
        return []
    chain = account.chain.chain
    why = f": {chain.reason}" if chain.reason else ""
    return [f"chain “{chain.name}” goes {chain.direction}{why}"]


def _ledger(deeds: Sequence[Deed]) -> list[str]:
    rows: list[str] = []
    for deed in deeds:
        for record in deed.records:
            rows.append(_action(record, deed.intent.order))
            events = [event for event in deed.events if event.action_id == record.id]
            rows += [_event(event, events[0].at, record) for event in events]
    return rows or ["no action"]


def _action(record: ActionRecord, order: str) -> str:
    name = f"{order}, {record.ordinal}" if record.ordinal else order
    return f"{record.tool} ({name}) key {_key(record.key)}"


def _event(event: EventRecord, since: float, record: ActionRecord) -> str:
    took = f"{(event.at - since) * 1000:6.0f} ms"
    if not is_move(event):
        return f"{took}  noted: {event.reason}"
    said = [f"{took}  {event.event} -> {event.end}"]
    if event.event == "send":
        said.append(f"attempt {event.attempt}, {event.by}")
    elif event.event != "prepare":
        said.append(f"{event.reason}, {event.by}")
    if event.event == "confirm" and record.provider_ref:
        said[0] += f" {record.provider_ref}"
    return ": ".join(said)


def _provider(deeds: Sequence[Deed]) -> list[str]:
    rows: list[str] = []
    for deed in deeds:
        count = len(deed.effects)
        what = "1 effect" if count == 1 else f"{count} effects"
        refs = ", ".join(f"{one.ref} (key {_key(one.key)})" for one in deed.effects)
        rows.append(
            f"{deed.intent.provider} ({deed.intent.order}): {what}{': ' if refs else ''}{refs}"
        )
        rows += [f"  has {ref} from before" for ref in deed.intent.existing]
        came = sorted((*deed.posts, *deed.lookups), key=lambda one: one.number)
        for one in came:
            code = f" {one.code}" if one.code else ""
            asks = "look-up by key" if one.method == "GET" else "create, key"
            rows.append(f"  {one.method} {asks} {_key(one.key)} -> {one.answered}{code}")
    return rows


def _reversed(deeds: Sequence[Deed]) -> list[str]:
    """How much was done, and how much of it was reversed."""
    undone = sum(len(deed.effects) for deed in deeds if deed.intent.undoes)
    done = sum(len(deed.effects) for deed in deeds if not deed.intent.undoes)
    return [f"in all: {done} effects, {undone} of them reversed"] if undone else []


def _key(key: str | None) -> str:
    return "none" if key is None else f"{key[:_KEY_SHOWN]}.."


# ---------------------------------------------------------------------- where there are many


def _more(hidden: Sequence[Deed], what: str, states: Counter[str]) -> list[str]:
    if not hidden:
        return []
    counts = ", ".join(f"{count} {state}" for state, count in states.items())
    return [f"{len(hidden)} more {what} alike{f': {counts}' if counts else ''}"]


def _states(deeds: Sequence[Deed]) -> Counter[str]:
    return Counter(str(record.state) for deed in deeds for record in deed.records)


def _told_states(deeds: Sequence[Deed]) -> Counter[str]:
    return Counter(
        str(action["state"]) for deed in deeds for one in deed.told[-1:]
        for action in one.facts["actions"]
    )  # fmt: skip


def _provider_sum(account: Account, hidden: Sequence[Deed]) -> list[str]:
    if not hidden:
        return []
    deeds = account.deeds
    effects = sum(len(deed.effects) for deed in deeds)
    keys = {one.key for deed in deeds for one in deed.effects}
    posts = sum(len(deed.posts) for deed in deeds)
    lookups = sum(len(deed.lookups) for deed in deeds)
    return [
        f"in all: {len(deeds)} intents, {effects} effects under {len(keys)} keys",
        f"in all: {posts} creates and {lookups} look-ups arrived",
    ]
