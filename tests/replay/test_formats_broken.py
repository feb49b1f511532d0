"""Whatever is wrong with a recording, it is read, or refused with an error that names the place."""

import json
import random

import pytest

from ascertain.replay.audit.judge import audit
from ascertain.replay.formats.misread import RecordingError
from tests.replay.test_formats import FOLDER, SAMPLES

ODD = (
    None,
    True,
    0,
    -1.5,
    "",
    "x",
    "\x00",
    [],
    {},
    [None],
    [[]],
    {"type": 3},
    {"role": "user"},
    1e308,
)
SEEDS = range(60)


def places(value, found):
    """Every place in a value that can be put to something else."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for name, member in members:
        found.append((value, name))
        if isinstance(member, dict | list):
            places(member, found)
    return found


def spoiled(text, seed):
    """The lines of a recording, of which one has something odd in it, or lacks something."""
    chance = random.Random(seed)
    lines = [json.loads(line) for line in text.splitlines()]
    holder, name = chance.choice(places(lines, []))
    if chance.random() < 0.3:
        del holder[name]
    else:
        holder[name] = chance.choice(ODD)
    return "\n".join(map(json.dumps, lines)) + "\n"


@pytest.mark.parametrize("format", SAMPLES)
def test_a_recording_with_something_odd_in_it_is_read_or_refused(tmp_path, format):
    text = (FOLDER / SAMPLES[format]).read_text(encoding="utf-8")
    if SAMPLES[format].endswith(".json"):
        text = json.dumps(json.loads(text))
    path = tmp_path / "recording.jsonl"
    came_to = set()
    for seed in SEEDS:
        path.write_text(spoiled(text, seed), encoding="utf-8")
        try:
            came_to.add(audit([path], {}, format).conversations > 0)
        except RecordingError as refused:
            came_to.add("refused" if str(path) in refused.message else refused.message)
        except Exception as broken:
            broken.add_note(f"seed {seed} of {format}")
            raise
    assert came_to <= {True, False, "refused"}, "a refusal names the file"
    assert {True, "refused"} <= came_to, "both happened"
