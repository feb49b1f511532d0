"""Recordings of every format are read into one form; what is none of them is named by its line."""

import json
import shutil
import tracemalloc
from pathlib import Path

import pytest

from ascertain.replay.formats import FORMATS, open_recording
from ascertain.replay.formats.conversation import ToolAnswer, ToolCall, Utterance, calls_of
from ascertain.replay.formats.misread import RecordingError
from ascertain.replay.recording import load_recording

FOLDER = Path(__file__).parent / "recordings"
SAMPLES = {
    "calls": "calls.jsonl", "otlp": "otlp.jsonl", "langsmith": "langsmith.jsonl",
    "openai-responses": "openai_responses.jsonl", "anthropic": "anthropic.json",
    "openai-chat": "openai_chat.jsonl",
}  # fmt: skip
SPOKEN = {name: file for name, file in SAMPLES.items() if name != "calls"}
TOOLS = [
    "create_ticket", "create_ticket", "refund_payment", "send_notice", "send_notice", "get_order",
]  # fmt: skip


def copy_recordings(folder):
    """The samples under the names that the documentation gives them."""
    for name, file in (("chats", "openai_chat"), ("spans", "otlp"), ("runs", "langsmith")):
        shutil.copy(FOLDER / f"{file}.jsonl", folder / f"{name}.jsonl")


def read(path, format=None):
    return list(open_recording(path, format).conversations)


def written(folder, *values, name="recording.jsonl"):
    path = folder / name
    lines = [value if isinstance(value, str) else json.dumps(value) for value in values]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def refusal(path, format=None):
    with pytest.raises(RecordingError) as caught:
        read(path, format)
    assert caught.value.advice, "the next step is said"
    return caught.value


def test_there_is_a_sample_of_every_format():
    assert set(SAMPLES) == set(FORMATS)


@pytest.mark.parametrize("format", SAMPLES)
def test_a_recording_is_known_by_what_is_in_it(format):
    assert open_recording(FOLDER / SAMPLES[format]).format == format


@pytest.mark.parametrize("format", SAMPLES)
def test_every_format_tells_the_same_calls_with_their_answers(format):
    (conversation,) = read(FOLDER / SAMPLES[format])
    calls = calls_of(conversation.entries)
    assert [call.tool for call, *_ in calls] == TOOLS
    assert calls[0][0].args == {"order_id": "A123", "issue": "noise in the left ear"}
    assert [answer is not None for _, answer, *_ in calls] == [True] * 6
    assert json.loads(calls[1][1].text) == {"ticket_id": "T901"}
    assert "timed out" in calls[0][1].text
    assert len({call.where for call, *_ in calls}) == 6, "each has a place of its own"


@pytest.mark.parametrize("format", SPOKEN)
def test_every_format_tells_what_was_said_once_and_in_order(format):
    (conversation,) = read(FOLDER / SPOKEN[format])
    said = [(e.role, e.text[:12]) for e in conversation.entries if isinstance(e, Utterance)]
    assert said == [
        ("user", "The left ear"), ("assistant", "Your inspect"), ("user", "Thanks. Plea"),
        ("assistant", "Unfortunatel"), ("user", "Then tell th"), ("assistant", "The workshop"),
    ]  # fmt: skip


@pytest.mark.parametrize("format", SAMPLES)
def test_every_format_can_be_replayed(format):
    recording = load_recording(FOLDER / SAMPLES[format])
    assert [call.tool for call in recording.calls] == TOOLS
    assert [call.kind for call in recording.calls] == ["write"] * 5 + ["read"]
    assert [call.repeat for call in recording.calls] == [0, 0, 0, 0, 1, 0]
    assert len(load_recording(FOLDER / SAMPLES[format], limit=2).calls) == 2


# ------------------------------------------------------------------------------- ways of writing


USER = {"role": "user", "content": "Book it."}
CALL = {
    "role": "assistant",
    "content": "One moment.",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"n": 1}'}}
    ],
}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
READ = [
    Utterance("user", "Book it.", ""),
    Utterance("assistant", "One moment.", ""),
    ToolCall("c1", "book", {"n": 1}, ""),
    ToolAnswer("c1", "ok", ""),
]


def entries(conversation):
    return [entry._replace(where="") for entry in conversation.entries]


@pytest.mark.parametrize(
    "name, text",
    [
        ("a.json", json.dumps([USER, CALL, ANSWER])),
        ("a.json", json.dumps([USER, CALL, ANSWER], indent=2)),
        ("a.json", json.dumps({"messages": [USER, CALL, ANSWER]}, indent=2)),
        ("a.jsonl", json.dumps([USER, CALL, ANSWER])),
        ("a.jsonl", "\n".join(map(json.dumps, [USER, CALL, ANSWER]))),
        ("a.jsonl", json.dumps({"request": {"messages": [USER, CALL, ANSWER]}})),
        (
            "a.jsonl",
            "\n".join(
                json.dumps({"messages": messages})
                for messages in ([USER], [USER, CALL], [USER, CALL, ANSWER])
            ),
        ),
        (
            "a.jsonl",
            json.dumps(
                {
                    "custom_id": "x",
                    "body": {"messages": [USER]},
                    "response": {"body": {"choices": [{"message": CALL}]}},
                }
            )
            + "\n"
            + json.dumps({"custom_id": "x", "body": {"messages": [USER, CALL, ANSWER]}}),
        ),
    ],
    ids=["list", "tall list", "tall", "list in a line", "bare lines", "request", "log", "batch"],
)
def test_a_chat_is_read_however_it_was_put_down(tmp_path, name, text):
    (conversation,) = read(written(tmp_path, text, name=name))
    assert entries(conversation) == READ


def test_conversations_that_share_a_beginning_only_are_two(tmp_path):
    other = {"role": "user", "content": "Cancel it."}
    path = written(tmp_path, {"messages": [USER, CALL]}, {"messages": [other]})
    assert len(read(path)) == 2


def test_two_lists_in_a_file_are_two_conversations(tmp_path):
    assert len(read(written(tmp_path, [USER, CALL, ANSWER], [USER, CALL, ANSWER]))) == 2


def test_a_window_that_moved_on_tells_what_is_shared_once(tmp_path):
    later = {"role": "user", "content": "And now?"}
    path = written(
        tmp_path,
        {"thread_id": "t", "messages": [USER, CALL, ANSWER]},
        {"thread_id": "t", "messages": [CALL, ANSWER, later]},
    )
    (conversation,) = read(path)
    assert entries(conversation) == [*READ, Utterance("user", "And now?", "")]


def test_arguments_that_are_no_object_are_kept_as_they_are(tmp_path):
    broken = {"id": "c", "function": {"name": "book", "arguments": '{"n": '}}
    path = written(tmp_path, {"messages": [{"role": "assistant", "tool_calls": [broken]}]})
    ((call, *_),) = calls_of(read(path)[0].entries)
    assert (call.args, call.raw) == (None, '{"n": ')


def test_answers_belong_to_calls_by_their_ids():
    calls = [ToolCall(each, "pay", {}, "") for each in ("a", "b", "a")]
    told = [ToolAnswer(each, text, "") for each, text in (("b", "1"), ("a", "2"), ("a", "3"))]
    found = calls_of([*calls, *told, ToolAnswer("z", "of nobody", "")])
    assert [answer.text for _, answer, *_ in found] == ["2", "1", "3"]


def test_spans_without_content_tell_that_something_was_called(tmp_path):
    def span(at, **attributes):
        pairs = [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()]
        return {
            "traceId": "t", "spanId": str(at), "startTimeUnixNano": str(at), "attributes": pairs,
        }  # fmt: skip

    spans = [
        span(2, **{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}),
        span(1, **{"gen_ai.operation.name": "chat"}),
    ]
    path = written(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    ((call, answer, *_),) = calls_of(read(path)[0].entries)
    assert (call.tool, call.args, answer) == ("pay", None, None)


def test_a_span_that_broke_takes_the_words_from_the_message(tmp_path):
    (conversation,) = read(FOLDER / "otlp.jsonl")
    broken = [answer for _, answer, *_ in calls_of(conversation.entries) if answer.error_type]
    assert [answer.error_type for answer in broken] == ["TimeoutError", "TimeoutError"]
    assert "timed out" in broken[0].text


# ------------------------------------------------------------------------------------ what is none


@pytest.mark.parametrize(
    "format, value, says",
    [
        (None, {"hello": 1}, "in no format that is known"),
        (None, "3", "in no format that is known"),
        ("openai-chat", {"hello": 1}, '"messages" is missing'),
        ("openai-chat", {"messages": 3}, '"messages" must be a list, it is a number'),
        ("openai-chat", {"messages": [3]}, "message 1 is no JSON object"),
        ("openai-chat", {"messages": [{"role": "robot"}]}, "role must be one of"),
        ("openai-chat", {"messages": [{"role": "user", "content": 3}]}, "content must be a list"),
        ("openai-chat", {"choices": [{"delta": {}}]}, 'a choice has no "message"'),
        ("anthropic", {"messages": [{"role": "tool"}]}, "role must be user or assistant"),
        ("anthropic", {"messages": [{"role": "user"}]}, "content must be a text or a list"),
        ("openai-responses", {"output": {}}, '"output" must be a list, it is an object'),
        ("openai-responses", {"input": [{}]}, 'has a "type" or a "role"'),
        ("otlp", {"spans": []}, '"resourceSpans" is missing'),
        ("otlp", {"resourceSpans": {}}, '"resourceSpans" must be a list'),
        ("langsmith", {"id": "1"}, '"run_type" is missing'),
        ("calls", {"conv": "c"}, "order, tool, kind, args are missing"),
    ],
)
def test_what_does_not_fit_is_named_with_file_line_and_what_was_expected(
    tmp_path, format, value, says
):
    told = refusal(written(tmp_path, "", value), format)
    assert "recording.jsonl, line 2" in told.message
    assert says in told.message
    assert told.context["line"] == 2


def test_a_span_whose_messages_were_cut_off_says_so(tmp_path):
    cut = {"key": "gen_ai.input.messages", "value": {"stringValue": '[{"role": "us'}}
    spans = [{"traceId": "t", "attributes": [cut]}]
    told = refusal(written(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    assert "gen_ai.input.messages is no JSON" in told.message
    assert "cut off" in told.advice


def test_a_format_that_is_not_there_is_refused(tmp_path):
    told = refusal(written(tmp_path, {}), "csv")
    assert "no format 'csv'" in told.message
    assert "langsmith" in told.advice


@pytest.mark.parametrize(
    "text, line, says",
    [
        ('[\n{"role": "user",\n "content": }\n]', 3, "no JSON"),
        ('[\n{"role": "user", "content": "a"}\n', 1, "has no end"),
        ('[\n{"role": "user", "content": "a"}\n]\nmore', 4, "no JSON"),
        ('{\n"messages": [NaN]}', 1, "NaN is no JSON value"),
        ('{\n"messages": [' + "[" * 100_000, 1, "nested too deep"),
        ('{\n"messages": "\udc80"}'.encode("utf-8", "surrogateescape"), None, "(byte 15)"),
    ],
    ids=["broken", "no end", "more", "NaN", "deep", "not UTF-8"],
)
def test_a_document_that_is_broken_is_named_by_its_line(tmp_path, text, line, says):
    path = tmp_path / "a.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    told = refusal(path)
    assert says in told.message
    assert told.context.get("line") == line


@pytest.mark.parametrize("indent", [None, 1])
def test_of_a_big_list_only_a_piece_is_held(tmp_path, indent):
    message = {**USER, "pad": "x" * 5000}
    many = [{"thread_id": str(n), "messages": [message, CALL]} for n in range(600)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(many, indent=indent))
    size = path.stat().st_size
    tracemalloc.start()
    try:
        assert sum(1 for _ in open_recording(path).conversations) == 600
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size / 4, f"{peak} bytes were held of {size}"


def test_what_is_cut_by_a_piece_is_whole_again(tmp_path):
    text = "é" * 70_000 + '\\"' + "中" * 70_000
    rows = [{"messages": [{"role": "user", "content": text}]}, {"messages": [USER]}]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")
    first, second = read(path)
    assert first.entries[0].text.startswith("éé")
    assert second.line == 10
