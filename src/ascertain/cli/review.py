"""``ascertain review``: what waits for a person, and the person's answer."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ascertain.cli.deciding import OPTIONS, Word, judge, with_word, writing
from ascertain.cli.exits import Exit, UsageProblem, json_text
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, AsJson, LedgerUrl, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.cli.show import timeline
from ascertain.report.cases import Case, case_of, cases
from ascertain.report.reading import find_one
from ascertain.report.words import ago, day_and_time, many, span
from ascertain.rules.cases import in_review
from ascertain.runtime.cases import assign
from ascertain.runtime.clock import clock_of
from ascertain.runtime.durations import seconds
from ascertain.store.ledger import Ledger

EPILOG = examples(
    "ascertain review",
    "ascertain review show 019ad2f0c1",
    "ascertain review assign 019ad2f0c1 --to li --within 4h",
    "ascertain review verdict 019ad2f0c1 --confirmed T900",
    "ascertain review verdict 019ad2f0c1 --not-done --evidence 'not there'",
)


class What(StrEnum):
    """What to do with cases."""

    LIST = "list"
    SHOW = "show"
    ASSIGN = "assign"
    VERDICT = "verdict"


@with_word
def command(
    what: Annotated[What, typer.Argument(help="list, show, assign or verdict.")] = What.LIST,
    id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The action's id, or its beginning.")
    ] = None,
    *,
    word: Word,
    to: Annotated[str, typer.Option(metavar="NAME", help="Whose case it is from now on.")] = "",
    within: Annotated[
        str | None, typer.Option(metavar="TIME", help="By when: 4h, 2d from now.")
    ] = None,
    ledger: LedgerUrl = DEFAULT_LEDGER,
    as_json: AsJson = False,
) -> int:
    """What waits for a person: list it, show it with its evidence, assign it, decide it.

    A case has an owner, a deadline and the verdicts that what is known permits. The list is sorted
    by deadline; it exits with 1 if a case is overdue.
    """
    with opened(ledger) as found:
        clock = clock_of(found)
        if what is What.LIST:
            return _list(sorted(cases(found, clock()), key=_urgency), found, as_json=as_json)
        if id is None:
            raise UsageProblem(f"{what}: which one?", next_step=f"ascertain review {what} ID")
        record = find_one(found, id)
        if what is What.SHOW:
            return _show(case_of(found, record, clock()), as_json=as_json)
        if what is What.ASSIGN:
            with writing(found, clock) as hands:
                after = assign(hands, record.id, owner=to, within_s=seconds(within, "--within"))
            return _show(case_of(found, after, clock()), as_json=as_json)
        return judge(found, record, clock, word, as_json=as_json)


def _urgency(case: Case) -> float:
    return case.handed.by_at


def _list(found: list[Case], ledger: Ledger, *, as_json: bool) -> int:
    overdue = sum(case.overdue for case in found)
    code = Exit.FOUND if overdue else Exit.FINE
    if as_json:
        put(f"{json_text({'cases': [case.as_dict() for case in found], 'overdue': overdue})}\n")
        return code
    paper = Paper()
    if not found:
        paper.line(f"Nothing waits for a person in {ledger.url}.")
        paper.write()
        return code
    titles = ("ID", "STATE", "TOOL", "WHY", "OWNER", "DEADLINE")
    paper.table(titles, [_row(case) for case in found], keep=("ID", "STATE", "DEADLINE"))
    late: Cell = (f", {overdue} overdue", "bad") if overdue else ""
    paper.line((many(len(found), "case"), "quiet"), late)
    paper.write()
    return code


def _row(case: Case) -> list[Cell]:
    state = str(case.record.state)
    left = case.handed.by_at - case.now
    deadline: Cell = (f"{span(left)} ago", "bad") if case.overdue else f"in {span(left)}"
    return [
        case.record.id, (state, state), case.record.tool, case.reason, case.handed.owner or "-",
        deadline,
    ]  # fmt: skip


def _show(case: Case, *, as_json: bool) -> int:
    if as_json:
        put(f"{json_text(case.as_dict(trail=True))}\n")
        return Exit.FINE
    record = case.record
    state = str(record.state)
    paper = Paper()
    paper.line((record.tool, "title"), "  ", (state, state), (f"  action {record.id}", "quiet"))
    if not in_review(record):
        paper.line("It is no case: nobody has to decide about it.", indent=2)
    paper.blank()
    paper.pairs(list(_facts(case)))
    timeline(paper, case.story)
    paper.write()
    return Exit.FINE


def _facts(case: Case) -> list[tuple[str, Cell]]:
    record, handed = case.record, case.handed
    about = ", ".join(f"{name} {value}" for name, value in case.about.items())
    due = f"{day_and_time(handed.by_at)}, {ago(handed.by_at, case.now)}"
    rows: list[tuple[str, Cell]] = []
    if case.reason:
        rows += [
            ("why", (case.sentence, "warn")),
            ("owner", handed.owner or "nobody yet"),
            ("deadline", (due, "bad") if case.overdue else due),
        ]
    rows += [
        ("request id", record.key),
        ("about", about or "-"),
        ("for", f"principal {record.principal}, session {record.session}"),
    ]
    if record.chain:
        rows.append(("chain", record.chain))
    if handed.items:
        rows.append(("items", f"not taken for now: {', '.join(handed.items)}"))
    if record.provider_ref or record.related_ref:
        rows.append(("reference", record.provider_ref or f"existing {record.related_ref}"))
    if handed.request_ids:
        rows.append(("theirs", f"provider's request ids {', '.join(handed.request_ids)}"))
    rows.append(
        (
            "verdicts",
            ", ".join(OPTIONS.get(word, word) for word in case.verdicts) or "none: it is settled",
        )
    )
    if case.waits_for:
        rows.append(("not yet", f"not done cannot be said while {'; '.join(case.waits_for)} lives"))
    rows += [(f"told {language}", said) for language, said in case.story.told.items()]
    return rows
