"""Plays cases, several at once, each in processes of its own that may be killed."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascertain.testing.world import World
from tests.cases.judge import judge, story
from tests.cases.stage import Stage, prepare
from tests.cases.steps import Player, shown
from tests.cases.tables import PROVIDERS, Case, Die, Restart
from tests.faults.children import Child, Moment, Story, run_stories
from tests.ledgers import ledger_url

AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Played:
    """How a case ended: what is wrong (nothing, it is hoped), and the story."""

    wrong: tuple[str, ...]
    story: str


def play_all(cases: Iterable[Case], folder: Path, *, at_once: int = AT_ONCE) -> dict[str, Played]:
    """Play cases against one World."""
    played: dict[str, Played] = {}
    with World(dict(PROVIDERS)) as world:
        stories = [_story(case, folder / case.id, world, played) for case in cases]
        run_stories(stories, at_once=at_once)
    return played


def _story(case: Case, folder: Path, world: World, played: dict[str, Played]) -> Story:
    folder.mkdir(parents=True)
    prepare(case, world)
    url = ledger_url(folder / "ledger.db")

    def begin() -> Stage:
        return Stage(case, folder, world, url)

    lives, last = _lives(case.play)
    for life in lives:
        ended = yield Child(
            lambda life=life: _live(begin, life), kill_when=_kill(case, world, life)
        )
        expected = isinstance(life[-1], Die)
        if ended.killed is not expected:
            played[case.id] = Played(
                (f"a process was {'' if expected else 'not '}to be killed",), ""
            )
            return
    ended = yield Child(lambda: _last(begin, last))
    wrong, told = ended.value
    played[case.id] = Played(tuple(wrong), told)


def _lives(steps: tuple[Any, ...]) -> tuple[list[list[Any]], list[Any]]:
    """The steps by process; a process ends where it dies or is restarted."""
    lives: list[list[Any]] = [[]]
    for step in steps:
        lives[-1].append(step)
        if isinstance(step, Die | Restart):
            lives.append([])
    return lives[:-1], lives[-1]


def _kill(case: Case, world: World, life: list[Any]) -> Any:
    die = life[-1]
    if not isinstance(die, Die) or die.when is None:
        return None
    tool, count = die.when
    return lambda: len(world.arrivals(method="POST", case=case.id, tool=tool)) >= count


def _live(begin: Callable[[], Stage], life: list[Any]) -> None:
    """One process that does not see the end."""
    stage = begin()
    player = Player(stage)
    try:
        for step in life:
            _play(stage, player, step)
        stage.close()
    except Exception:
        stage.note("wrong", {"text": traceback.format_exc()})
    stage.note("story", {"told": "the process ended; another one goes on"})


def _play(stage: Stage, player: Player, step: Any) -> None:
    match step:
        case Restart():
            return
        case Die():
            stage.note(
                "story", {"told": f"killed ({step.at or step.when}) during {shown(step.step)}"}
            )
            if step.at:
                stage.app.hands.on_effect = Moment(step.at, step.nth)
            player.play(step.step)
            if step.when is not None:
                signal.pause()  # it was seen there; the kill is under way
        case _:
            player.play(step)


def _last(begin: Callable[[], Stage], life: list[Any]) -> tuple[list[str], str]:
    """The process that sees the end."""
    stage = begin()
    player = Player(stage)
    try:
        for step in life:
            player.play(step)
    except Exception:
        stage.note("wrong", {"text": traceback.format_exc()})
    return judge(stage), story(stage)
