"""The acceptance samples as text: `tests/golden/acceptance/*.txt`, one file for each tool.

    python -m tests.acceptance.golden --write      write them anew after a change that is meant
    python -m tests.acceptance.golden              show what would change

Each sample keeps the masked log of its actions, their keys and receipts, what the person is told,
and what the provider did. Ids and keys are numbered, times left out.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.acceptance.play import Played, play
from tests.acceptance.samples import (
    IMPOSSIBLE,
    NOTHING_TO_UNDO,
    TOOLS,
    Sample,
    all_samples,
    left_out,
)
from tests.laws.golden import difference

FOLDER = Path(__file__).resolve().parent.parent / "golden" / "acceptance"
COMMAND = "python -m tests.acceptance.golden --write"
START = "== "
TIMES = ("review_by",)


def text_of(played: Played) -> str:
    """One sample."""
    lines = [f"{START}{played.sample.name}", *_provider(played)]
    names = _names(played)
    for line in played.lines:
        lines += [_plain(text, names) for text in _action(line)]
    for direction, state, english, chinese in played.shown:
        lines.append(f"   told {direction}: {state}. {english} | {chinese}")
    lines += [f"   BROKEN: {text}" for text in played.broken]
    return "\n".join(lines) + "\n"


def _provider(played: Played) -> Iterator[str]:
    provider = played.provider
    done = ", ".join(ref for ref, _ in provider.effects) or "nothing"
    undone = f"; undid {', '.join(provider.undone)}" if provider.undone else ""
    yield f"   provider: {provider.sends} sends, {provider.asked} look-ups; did {done}{undone}"
    if played.counted is not None:
        found = ", ".join(map(str, played.counted.differences)) or "no difference"
        yield f"   recount: {played.counted.said}, {found}"


def _action(line: dict[str, Any]) -> Iterator[str]:
    marks = "".join(
        f" {name}={line[name]}"
        for name in ("kind", "code", "handle", "review", "disputed", "maybe_twice")
        if line[name]
    )
    final = " final" if line["final"] else ""
    yield f"   {line['tool']} is {line['state']}{final} ({line['reason']}){marks}"
    yield f"     key {line['key']} receipt {line['provider_ref'] or '-'}"
    yield f"     arguments {json.dumps(line['arguments'], sort_keys=True)}"
    for event in line["events"]:
        timeless = {name: one for name, one in event["detail"].items() if name not in TIMES}
        detail = json.dumps(timeless, sort_keys=True) if timeless else ""
        move = event["event"] if event["start"] == event["end"] else f"-> {event['end']}"
        yield f"     {event['by']}: {move} ({event['reason']}) {detail}".rstrip()


def _names(played: Played) -> dict[str, str]:
    names: dict[str, str] = {}
    for number, line in enumerate(played.lines, 1):
        names[line["action"]] = f"A{number}"
        names[line["key"]] = f"K{number}"
        names[line["chain"]] = "C1"
    return names


def _plain(text: str, names: dict[str, str]) -> str:
    for long, short in names.items():
        text = text.replace(long, short)
    return text


def played_text(sample: Sample) -> str:
    """Play a sample in a folder of its own; how it went, as text."""
    with tempfile.TemporaryDirectory() as folder:
        return text_of(play(sample, Path(folder)))


def head(tool: str) -> str:
    """What the file of a tool holds, and which combinations it leaves out."""
    rules = (*IMPOSSIBLE, *NOTHING_TO_UNDO)
    counts = left_out(tool)
    told = [
        f"#   {rule.__name__} ({counts[rule.__name__]}): {' '.join((rule.__doc__ or '').split())}"
        for rule in rules
    ]
    kept = sum(1 for _ in all_samples(tool))
    lines = [
        f"# Acceptance samples of {tool}: what became of the call / look-up / compensation.",
        f"# Written by: {COMMAND}",
        f"# {kept + sum(counts.values())} combinations; {kept} are kept. Left out:",
        *told,
    ]
    return "\n".join(lines) + "\n\n"


def kept_texts(tool: str) -> dict[str, str]:
    """The samples on file, by name."""
    found: dict[str, str] = {}
    for part in file_of(tool).read_text(encoding="utf-8").split(f"\n{START}")[1:]:
        name = part.partition("\n")[0]
        found[name] = f"{START}{part}" if part.endswith("\n") else f"{START}{part}\n"
    return found


def file_of(tool: str) -> Path:
    return FOLDER / f"{tool}.txt"


def main(arguments: list[str]) -> None:
    for tool in TOOLS:
        new = head(tool) + "\n".join(played_text(sample) for sample in all_samples(tool))
        path = file_of(tool)
        if arguments == ["--write"]:
            FOLDER.mkdir(parents=True, exist_ok=True)
            path.write_text(new, encoding="utf-8")
            print(f"{path.name}: {len(kept_texts(tool))} samples")
            continue
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        print("\n".join(difference(old, new)) or f"{path.name}: no difference.")


if __name__ == "__main__":
    main(sys.argv[1:])
