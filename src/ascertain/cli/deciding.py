"""What the commands have in common by which a person decides about one action."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import wraps
from typing import Annotated, Any

import typer

from ascertain.cli.exits import Exit, UsageProblem, json_text
from ascertain.cli.out import put
from ascertain.cli.paper import Paper
from ascertain.model.action import ActionRecord
from ascertain.report.story import story_of
from ascertain.report.why import why
from ascertain.rules.cases import Verdict
from ascertain.runtime.clock import Clock
from ascertain.runtime.hands import Hands
from ascertain.runtime.registry import Registry
from ascertain.runtime.verdict import resolve
from ascertain.store.ledger import Ledger

Evidence = Annotated[
    str, typer.Option(metavar="TEXT", help="How you know; all but --confirmed need it.")
]

OPTIONS: dict[str, str] = {
    Verdict.CONFIRMED: "--confirmed REF",
    Verdict.NOT_DONE: "--not-done --evidence TEXT",
    Verdict.TOO_MANY: "--too-many --evidence TEXT",
    Verdict.UNDONE: "--undone --evidence TEXT",
    Verdict.TURN_BACK: "--turn-back --evidence TEXT",
    Verdict.KEPT: "--kept --evidence TEXT",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A verdict as it is said on the command line; each field is an option."""

    confirmed: Annotated[
        str | None, typer.Option(metavar="REF", help="It happened: the provider's reference.")
    ] = None
    not_done: Annotated[
        bool, typer.Option("--not-done", help="It did not happen, and will not.")
    ] = False
    too_many: Annotated[
        bool, typer.Option("--too-many", help="More was done than was wished for.")
    ] = False
    undone: Annotated[
        bool, typer.Option("--undone", help="It could not be undone, and was reversed by hand.")
    ] = False
    turn_back: Annotated[
        bool, typer.Option("--turn-back", help="The chain was left; what is confirmed is undone.")
    ] = False
    kept: Annotated[
        bool, typer.Option("--kept", help="What could not be undone, or was left, stays as it is.")
    ] = False
    evidence: Evidence = ""

    @property
    def verdicts(self) -> int:
        """How many were said."""
        said = (self.not_done, self.too_many, self.undone, self.turn_back, self.kept)
        return (self.confirmed is not None) + sum(said)


def with_word(command: Callable[..., int]) -> Callable[..., int]:
    """A command whose parameter ``word`` is given by the options of a :class:`Word`."""
    options = inspect.signature(Word, eval_str=True).parameters.values()
    own = inspect.signature(command, eval_str=True)
    shown: list[inspect.Parameter] = []
    for parameter in own.parameters.values():
        if parameter.name == "word":
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            shown += [option.replace(kind=kind) for option in options]
        else:
            shown.append(parameter)

    @wraps(command)
    def run(**given: Any) -> int:
        word = Word(**{option.name: given.pop(option.name) for option in options})
        return command(**given, word=word)

    seen: Any = run  # a command's options are read from these two
    seen.__signature__ = own.replace(parameters=shown)
    seen.__annotations__ = {one.name: one.annotation for one in shown}
    return run


def judge(ledger: Ledger, record: ActionRecord, clock: Clock, word: Word, *, as_json: bool) -> int:
    """Write a verdict, and show what is known now.

    :raises UsageProblem: not exactly one.
    """
    if word.verdicts != 1:
        raise UsageProblem(
            "Say exactly one of --confirmed REF, --not-done, --too-many, --undone, --turn-back, "
            "--kept.",
            next_step=f"`ascertain review show {record.id}` names those that it takes.",
        )

    def write(hands: Hands) -> ActionRecord:
        return resolve(hands, record.id, **asdict(word))

    return decided(ledger, clock, write, as_json=as_json)


@contextmanager
def writing(ledger: Ledger, clock: Clock) -> Generator[Hands]:
    """What writes to this ledger, for as long as one command takes."""
    hands = Hands(ledger, Registry(), clock=clock)
    try:
        yield hands
    finally:
        hands.committer.close()


def decided(
    ledger: Ledger,
    clock: Clock,
    write: Callable[[Hands], ActionRecord],
    *,
    as_json: bool,
) -> int:
    """Write a person's word on an action, and show what is known of it now, in a sentence."""
    with writing(ledger, clock) as hands:
        after = write(hands)
    story = story_of(ledger, after, clock())
    said = why(story)
    if as_json:
        put(f"{json_text({**story.as_dict(), 'sentence': said.sentence})}\n")
        return Exit.FINE
    paper = Paper()
    paper.line((str(after.state), str(after.state)), f" {story.record.provider_ref or after.tool}")
    paper.line(said.sentence)
    paper.write()
    return Exit.FINE
