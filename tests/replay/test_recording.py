"""A recording is read strictly: what is wrong is named, with its line and the next step."""

import json

import pytest

from ascertain.demo.run import RECORDING
from ascertain.errors import AscertainError
from ascertain.replay.recording import RecordingError, load_recording

GOOD = {"conv": "c1", "order": 0, "tool": "refund", "kind": "write", "args": {"order_id": "S-1"}}


def recording(folder, *lines):
    path = folder / "calls.jsonl"
    rows = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def refusal(path, limit=None):
    with pytest.raises(RecordingError) as caught:
        load_recording(path, limit)
    assert isinstance(caught.value, AscertainError)
    assert caught.value.code == "recording_error"
    assert caught.value.advice, "the next step is said"
    return caught.value


def test_the_shipped_recording_has_what_a_replay_needs():
    shipped = load_recording(RECORDING)
    assert len(shipped.conversations()) >= 8
    assert {kind: len(shipped.of_kind(kind)) for kind in ("read", "write", "generic")} == {
        "read": 36,
        "write": 16,
        "generic": 5,
    }
    again = [call for call in shipped.of_kind("write") if call.repeat]
    assert [call.tool for call in again] == ["request_inspection", "cancel_order", "refund"]
    assert any(call.error for call in shipped.of_kind("write"))
    assert any(call.error for call in shipped.of_kind("read"))


def test_repeats_are_counted_here_and_agree_with_what_the_recording_says():
    said = [json.loads(line) for line in RECORDING.read_text(encoding="utf-8").splitlines()]
    counted = load_recording(RECORDING).calls
    assert [call.repeat for call in counted] == [row["repeat_of_identical"] for row in said]


def test_fields_that_nobody_knows_are_ignored_and_blank_lines_too(tmp_path):
    path = recording(tmp_path, {**GOOD, "latency_ms": 12, "model": "m"}, "", "   ", GOOD)
    calls = load_recording(path).calls
    assert [call.line for call in calls] == [1, 4]
    assert [call.repeat for call in calls] == [0, 1]


def test_calls_are_ordered_within_their_conversation_whatever_the_file_does(tmp_path):
    first = {**GOOD, "order": 1, "tool": "get_order", "kind": "read"}
    path = recording(tmp_path, {**GOOD, "order": 2}, first)
    (calls,) = load_recording(path).conversations().values()
    assert [call.tool for call in calls] == ["get_order", "refund"]


def test_a_limit_takes_the_first_calls(tmp_path):
    path = recording(tmp_path, GOOD, {**GOOD, "order": 1}, "{broken")
    assert len(load_recording(path, 2).calls) == 2
    assert "limit of 0" in refusal(path, 0).message


def test_a_missing_file_is_named(tmp_path):
    told = refusal(tmp_path / "nowhere.jsonl")
    assert "nowhere.jsonl" in told.message
    assert "No such file" in told.message


def test_a_folder_is_no_recording(tmp_path):
    assert "cannot be read" in refusal(tmp_path).message


def test_an_empty_file_is_no_recording(tmp_path):
    assert "holds no recorded calls" in refusal(recording(tmp_path, "", "")).message


def test_other_text_than_utf8_is_refused(tmp_path):
    path = tmp_path / "calls.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n\xff\xfe\n")
    assert "not UTF-8" in refusal(path).message


@pytest.mark.parametrize(
    "line, says",
    [
        ("{broken", "this is no JSON"),
        ("[1, 2]", "this is no JSON object"),
        ("null", "this is no JSON object"),
        ("[" * 100_000, "this is nested too deep"),
        ('{"conv": "c1", "order": NaN}', "NaN is no JSON value"),
        ({name: GOOD[name] for name in ("conv", "order", "kind")}, "tool, args are missing"),
        ({name: GOOD[name] for name in GOOD if name != "args"}, "args is missing"),
        ({**GOOD, "args": "S-1"}, "args must be an object"),
        ({**GOOD, "order": "0"}, "order must be a whole number"),
        ({**GOOD, "order": True}, "order must be a whole number"),
        ({**GOOD, "conv": ""}, "conv must be a text"),
        ({**GOOD, "tool": None}, "tool must be a text"),
        ({**GOOD, "kind": "delete"}, "kind must be one of read, write, generic"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "fields",
)
def test_a_line_that_is_no_call_is_named_by_its_number(tmp_path, line, says):
    told = refusal(recording(tmp_path, GOOD, "", line, GOOD))
    assert "line 3" in told.message
    assert says in told.message
    assert told.context["line"] == 3


def test_a_tool_is_of_one_kind(tmp_path):
    told = refusal(recording(tmp_path, GOOD, {**GOOD, "order": 1, "kind": "read"}))
    assert "line 2" in told.message
    assert "refund is a read here and a write in line 1" in told.message
    assert "in doubt it is a write" in told.advice
