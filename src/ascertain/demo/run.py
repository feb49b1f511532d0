"""The demo from beginning to end, and its one answer: do words and deeds agree?"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascertain.demo.account import Account, account_of
from ascertain.demo.children import DemoBroken
from ascertain.demo.judge import MODEL_TRUTH, Finding
from ascertain.demo.places import CONTROL
from ascertain.demo.sabotage import SABOTAGES
from ascertain.demo.show import heading, show
from ascertain.demo.stage import Stage, play_conversations, play_frozen, play_killed, set_up
from ascertain.demo.stories import STORIES, Story
from ascertain.demo.wishes import Control, play_refunds, play_resumed, play_undone
from ascertain.errors import ContractError
from ascertain.replay.columns import Paper, Progress, fit, paper_of
from ascertain.replay.play import Plan, replay
from ascertain.replay.report import Replayed, lines_of
from ascertain.store.ledger import Filter
from ascertain.testing.invariants import (
    NO_DUPLICATE_EFFECT,
    NO_LIE,
    NO_LOST_ACTION,
    PROJECTION,
)

RECORDING = Path(__file__).with_name("recording.jsonl")
SEED = 7


@dataclass(slots=True, kw_only=True)
class Outcome:
    """Everything that the demo came to."""

    sabotage: str | None
    accounts: list[Account] = field(default_factory=list[Account])
    replayed: Replayed | None = None
    whole: list[Finding] = field(default_factory=list[Finding])
    took_s: float = 0.0

    @property
    def findings(self) -> list[Finding]:
        found = [finding for account in self.accounts for finding in account.findings]
        found += self.whole
        if self.replayed is not None:
            found += [
                Finding(invariant=one.invariant, line=one.story) for one in self.replayed.violations
            ]
        return found

    @property
    def agrees(self) -> bool:
        return not self.findings

    def totals(self) -> dict[str, int]:
        """The four numbers of the last line, and who the open ends are left to."""
        found = self.findings

        def count(*names: str) -> int:
            return sum(one.count for one in found if one.invariant in names)

        left = {"person": 0, "contract": 0, "nobody": 0}
        for account in self.accounts:
            for who, number in account.left_open().items():
                left[who] += number
        if self.replayed is not None:
            left["person"] += self.replayed.in_review
            left["nobody"] += self.replayed.left_open - self.replayed.in_review
        named = (NO_DUPLICATE_EFFECT, NO_LIE, MODEL_TRUTH, NO_LOST_ACTION)
        return {
            "duplicates": count(NO_DUPLICATE_EFFECT),
            "false_statements": count(NO_LIE, MODEL_TRUTH),
            "lost_actions": count(NO_LOST_ACTION),
            "other": sum(one.invariant not in named for one in found),
            "left_open": sum(left.values()),
            **{f"left_to_{who}": number for who, number in left.items()},
        }

    def as_dict(self) -> dict[str, Any]:
        """The whole report, for ``--json``."""
        return {
            "sabotage": self.sabotage,
            "agrees": self.agrees,
            "took_s": round(self.took_s, 2),
            "totals": self.totals(),
            "findings": [
                {"invariant": one.invariant, "count": one.count, "line": str(one)}
                for one in self.findings
            ],
            "stories": [account.as_dict() for account in self.accounts],
            "replay": None if self.replayed is None else self.replayed.as_dict(),
        }


def run(sabotage: str | None, json_out: bool, colour: bool | None) -> int:
    """See :func:`ascertain.demo.run_demo`."""
    if sabotage is not None and sabotage not in SABOTAGES:
        raise ContractError(
            f"There is no sabotage {sabotage!r}.",
            next_step=f"Choose one of: {', '.join(SABOTAGES)}.",
        )
    paper = paper_of(sys.stdout, colour)
    progress = Progress()
    folder = Path(tempfile.mkdtemp(prefix="ascertain-demo-"))
    out: Sequence[str] = _opening(paper, sabotage)
    if not json_out:
        _print(progress, out)
    try:
        outcome = _play(folder, sabotage, None if json_out else paper, progress)
    except DemoBroken:
        progress.clear()  # its message names a file in there, so that stays
        raise
    except BaseException:
        progress.clear()
        shutil.rmtree(folder, ignore_errors=True)
        raise
    progress.clear()
    if json_out:
        print(json.dumps(outcome.as_dict(), ensure_ascii=False, indent=2))
    else:
        _print(progress, _closing(paper, outcome))
    if outcome.agrees or sabotage:
        shutil.rmtree(folder, ignore_errors=True)
    elif not json_out:
        sys.stderr.write(f"The ledger and the providers' books are kept in {folder}\n")
    return 0 if outcome.agrees else 1


def _play(folder: Path, sabotage: str | None, paper: Paper | None, progress: Progress) -> Outcome:
    began = time.monotonic()
    wanted = [SABOTAGES[sabotage].story] if sabotage else list(STORIES)
    outcome = Outcome(sabotage=sabotage)
    with ExitStack() as stack:
        stage = set_up(folder, stack, wanted, sabotage, progress)
        talks = [name for name in wanted if name[0] in "ab"]
        if talks:
            play_conversations(stage, talks)
            _tell(stage, outcome, talks, paper)
        for name in wanted:
            if name in talks:
                continue
            control = _play_one(stage, STORIES[name])
            _tell(stage, outcome, [name], paper, control)
        outcome.whole = _whole(stage)
    if sabotage is None:
        progress.step("replaying recorded tool calls with faults")
        plan = Plan(path=RECORDING, seed=SEED)
        outcome.replayed = replay(plan, progress.tick)
        if paper is not None:
            title = heading(paper, "e  Recorded tool calls, with faults", outcome.replayed.agrees)
            head = ["", title]
            rows = [line for row in lines_of(outcome.replayed) for line in fit([row], paper.width)]
            _print(progress, [*head, *map(paper.states, rows)])
    outcome.took_s = time.monotonic() - began
    return outcome


def _play_one(stage: Stage, story: Story) -> Control | None:
    match story.id:
        case "f":
            play_frozen(stage, story)
        case "g":
            play_undone(stage, story)
        case "h":
            play_resumed(stage, story)
        case "i":
            return play_refunds(stage, story)
        case _:
            play_killed(stage, story, workers=2 if story.id == "d" else 1)
    return None


def _tell(
    stage: Stage,
    outcome: Outcome,
    names: Sequence[str],
    paper: Paper | None,
    control: Control | None = None,
) -> None:
    for name in names:
        account = account_of(stage, STORIES[name], control)
        outcome.accounts.append(account)
        if paper is not None:
            _print(stage.progress, show(paper, account))


def _whole(stage: Stage) -> list[Finding]:
    """What concerns no single story: effects of nobody, and the chain of the ledger."""
    stage.progress.tick("checking the whole ledger and all books")
    keys = {record.key for record in stage.ledger.find(Filter(limit=100_000))}
    stray = [
        f"{name} has {effect.ref}"
        for name, world in stage.worlds.items()
        for effect in world.effects()
        if effect.key not in keys and effect.collection != CONTROL
    ]
    found: list[Finding] = []
    if stray:
        what = "effect" if len(stray) == 1 else "effects"
        line = f"{len(stray)} {what} under a key that no action has: {stray[0]}"
        found.append(Finding(invariant=NO_LOST_ACTION, line=line, count=len(stray)))
    broken = list(stage.ledger.verify())
    if broken:
        line = f"{len(broken)} times the ledger does not verify: {broken[0]}"
        found.append(Finding(invariant=PROJECTION, line=line, count=len(broken)))
    return found


def _print(progress: Progress, lines: Sequence[str]) -> None:
    progress.clear()
    print("\n".join(lines), flush=True)


def _opening(paper: Paper, sabotage: str | None) -> list[str]:
    if sabotage is None:
        what = (
            "Five providers, an agent, its workers: each a process of its own.",
            "Judged by the providers' own books.",
        )
        return fit(what, paper.width)
    rule = SABOTAGES[sabotage].rule
    return [
        paper.paint(line, "yellow") for line in fit([f"Sabotage {sabotage}: {rule}."], paper.width)
    ]


def _closing(paper: Paper, outcome: Outcome) -> list[str]:
    totals = outcome.totals()
    lines = ["", *_bad(paper, outcome)]
    to = ", ".join(
        f"{totals[f'left_to_{who}']} {words}"
        for who, words in (
            ("person", "with a person"),
            ("contract", "best effort by contract"),
            ("nobody", "with NOBODY"),
        )
        if totals[f"left_to_{who}"]
    )
    other = f", other disagreements {totals['other']}" if totals["other"] else ""
    verdict = "all agrees" if outcome.agrees else "this does NOT agree"
    text = (
        f"duplicates {totals['duplicates']}, false statements {totals['false_statements']}, "
        f"lost actions {totals['lost_actions']}, left open {totals['left_open']}"
        f"{f' ({to})' if to else ''}{other}: {verdict} ({outcome.took_s:.0f} s)"
    )
    style = "green" if outcome.agrees else "red"
    return lines + [paper.paint(line, style) for line in fit([text], paper.width)]


def _bad(paper: Paper, outcome: Outcome) -> list[str]:
    return [
        paper.paint(line, "red")
        for finding in outcome.findings
        for line in fit([str(finding)], paper.width)
    ]
