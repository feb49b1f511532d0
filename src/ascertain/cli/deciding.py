"""What the commands have in common by which a person decides about one action."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Annotated

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

Confirmed = Annotated[
    str | None, typer.Option(metavar="REF", help="It happened: the provider's reference.")
]
NotDone = Annotated[bool, typer.Option("--not-done", help="It did not happen, and will not.")]
TooMany = Annotated[bool, typer.Option("--too-many", help="More was done than was wished for.")]
Undone = Annotated[
    bool, typer.Option("--undone", help="It could not be undone, and was reversed by hand.")
]
TurnBack = Annotated[
    bool, typer.Option("--turn-back", help="The chain was left; what is confirmed is undone.")
]
Kept = Annotated[
    bool, typer.Option("--kept", help="What could not be undone, or was left, stays as it is.")
]
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


def judge(
    ledger: Ledger,
    record: ActionRecord,
    clock: Clock,
    *,
    confirmed: str | None,
    not_done: bool,
    too_many: bool,
    undone: bool,
    turn_back: bool,
    kept: bool,
    evidence: str,
    as_json: bool,
) -> int:
    """Write a verdict, and show what is known now.

    :raises UsageProblem: not exactly one.
    """
    if (confirmed is not None) + not_done + too_many + undone + turn_back + kept != 1:
        raise UsageProblem(
            "Say exactly one of --confirmed REF, --not-done, --too-many, --undone, --turn-back, "
            "--kept.",
            next_step=f"`ascertain review show {record.id}` names those that it takes.",
        )

    def write(hands: Hands) -> ActionRecord:
        return resolve(
            hands, record.id, confirmed=confirmed, not_done=not_done, too_many=too_many,
            undone=undone, turn_back=turn_back, kept=kept, evidence=evidence,
        )  # fmt: skip

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
