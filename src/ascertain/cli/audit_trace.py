"""``ascertain audit-trace FILE...``: what recorded conversations repeated, and what they told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ascertain.cli.exits import Exit, UsageProblem, json_text
from ascertain.cli.load import load_app
from ascertain.cli.options import AsJson, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Cell, Paper
from ascertain.model.contract import Contract
from ascertain.replay.audit.answers import Trust
from ascertain.replay.audit.finding import Finding, Kind
from ascertain.replay.audit.judge import Audit, audit
from ascertain.replay.formats import FORMATS
from ascertain.report.words import many
from ascertain.runtime.promises import contract_of
from ascertain.runtime.wrapping import read_config

EPILOG = examples(
    "ascertain audit-trace chats.jsonl",
    "ascertain audit-trace spans.json --app shop.tools:app",
    "ascertain audit-trace runs.jsonl --format langsmith --confidence low --json",
)
_TITLES = {
    Kind.BLIND_RETRY: "blind retry",
    Kind.PROBABLE_DUPLICATE: "probable duplicate",
    Kind.FALSE_STATEMENT: "false statement",
}
_SEVERAL = {
    Kind.BLIND_RETRY: "blind retries",
    Kind.PROBABLE_DUPLICATE: "probable duplicates",
    Kind.FALSE_STATEMENT: "false statements",
}
_STYLES = {Trust.HIGH: "bad", Trust.MEDIUM: "warn", Trust.LOW: "info"}
_SHOWN = 50


def command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Recordings, as JSON.")],
    format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"{', '.join(FORMATS)}; by default found out."),
    ] = None,
    app: Annotated[
        str | None,
        typer.Option(metavar="MODULE:APP", help="Whose contracts say what writes and is the same."),
    ] = None,
    toml: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Contracts of a TOML file instead.")
    ] = None,
    confidence: Annotated[
        Trust, typer.Option(help="List what is at least as sure as this.")
    ] = Trust.MEDIUM,
    as_json: AsJson = False,
) -> int:
    """List probable duplicates, blind retries and false statements of recorded conversations.

    Judged by the recording alone: no ledger is opened, nothing is sent. The exit code is 1 where
    anything is listed.
    """
    seen = audit(files, _contracts(app, toml), format)
    listed = seen.at_least(confidence)
    if as_json:
        put(f"{json_text(seen.as_dict(confidence))}\n")
    else:
        _print(seen, listed, confidence)
    return Exit.FOUND if listed else Exit.FINE


def _contracts(app: str | None, toml: Path | None) -> dict[str, Contract]:
    if app is not None and toml is not None:
        raise UsageProblem(
            "--app and --toml both say what tools promise.", next_step="Give one of them."
        )
    if app is not None:
        return {entry.name: entry.contract for entry in load_app(app).registry}
    if toml is None:
        return {}
    found: dict[str, Contract] = {}
    for name, said in read_config(toml).items():
        promised = {what: value for what, value in said.items() if what not in _NOT_PROMISED}
        found[name] = contract_of(name, promised, access=said.get("access", "write"))
    return found


_NOT_PROMISED = frozenset({"access", "lookup", "target"})


def _print(seen: Audit, listed: list[Finding], confidence: Trust) -> None:
    paper = Paper()
    for finding in listed[:_SHOWN]:
        _finding(paper, finding)
    if len(listed) > _SHOWN:
        paper.line((f"... and {len(listed) - _SHOWN} more (--json has all)", "quiet"))
        paper.blank()
    counts = ", ".join(
        many(sum(f.kind is kind for f in listed), title, _SEVERAL[kind])
        for kind, title in _TITLES.items()
    )
    paper.line((f"{_read(seen)}: {counts}", "title"))
    for note in _notes(seen, listed, confidence):
        paper.line((note, "quiet"), indent=2)
    paper.write()


def _finding(paper: Paper, finding: Finding) -> None:
    rule = "" if finding.rule == str(finding.kind) else f" ({finding.rule})"
    title: list[Cell] = [
        (f"{finding.trust:6}", _STYLES[finding.trust]),
        (f"{_TITLES[finding.kind]}{rule}", "title"),
    ]
    paper.grid([title], indent=0)
    paper.line(finding.sentence, indent=8)
    for one in finding.evidence:
        paper.line((f"{one.what} ({one.where}): ", "quiet"), one.quote, indent=8)
    if finding.reasons:
        paper.line((f"{'; '.join(finding.reasons)}.", "quiet"), indent=8)
    if finding.effect:
        paper.line((f"{finding.tool} is {finding.effect}.", "quiet"), indent=8)
    if finding.say:
        paper.line(("say instead: ", "quiet"), finding.say, indent=8)
    where = f"{finding.file}, line {finding.line}; {finding.conversation}, turn {finding.turn}"
    paper.line((where, "quiet"), indent=8)
    paper.blank()


def _read(seen: Audit) -> str:
    formats = sorted(set(seen.formats.values()))
    titles = ", ".join(FORMATS[name].title for name in formats)
    return (
        f"{many(seen.conversations, 'conversation')} ({titles}), {many(seen.calls, 'call')}, "
        f"{many(seen.writes, 'write')}"
    )


def _notes(seen: Audit, listed: list[Finding], confidence: Trust) -> list[str]:
    """What the counts do not say."""
    notes: list[str] = []
    rest = len(seen.findings) - len(listed)
    if rest:
        notes.append(f"{rest} more that are less sure than {confidence}: --confidence low.")
    guessed = seen.effects["verb"] + seen.effects["nothing"]
    if guessed:
        notes.append(
            "Which tools write was guessed from their names; --app or --toml says it for certain."
        )
    if seen.without_arguments:
        notes.append(
            f"{many(seen.without_arguments, 'write has', 'writes have')} no arguments on record, "
            "so repeats of them cannot be seen."
        )
    if not seen.replies:
        notes.append("No message of the model is on record, so no statement could be checked.")
    return notes
