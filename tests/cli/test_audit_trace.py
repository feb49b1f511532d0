"""`ascertain audit-trace`: what recorded conversations repeated, and what they told."""

import json
import shutil
import sys

import pytest

from tests.replay.test_formats import FOLDER, SAMPLES


@pytest.fixture
def chat(here):
    shutil.copy(FOLDER / "openai_chat.jsonl", here / "chat.jsonl")
    return "chat.jsonl"


def report(cli, *words, code=1):
    done = cli("audit-trace", *words, "--json")
    assert done.code == code, done.out
    return json.loads(done.out)


def test_what_was_found_is_told_with_its_evidence(cli, chat):
    done = cli("audit-trace", chat)
    assert done.code == 1
    assert "create_ticket was called again although it timed out." in done.said
    assert "call (line 1, message 3): create_ticket" in done.said
    assert "said (line 1, message 11): Unfortunately the refund failed." in done.said
    assert "1 blind retry, 1 probable duplicate, 1 false statement" in done.said
    assert "guessed from their names; --app or --toml says it" in done.said
    assert max(map(len, done.out.splitlines())) <= 80


def test_the_same_as_data(cli, chat):
    found = report(cli, chat)
    assert found["formats"] == {"chat.jsonl": "openai-chat"}
    assert found["counts"] == {"blind_retry": 1, "probable_duplicate": 1, "false_statement": 1}
    (retry,) = [f for f in found["findings"] if f["kind"] == "blind_retry"]
    assert (retry["confidence"], retry["conversation"], retry["turn"]) == ("medium", "chat-7", 1)
    assert [one["what"] for one in retry["evidence"]] == ["call", "answer", "call", "answer"]


def test_only_what_is_sure_enough_is_listed_and_the_rest_counted(cli, chat):
    found = report(cli, chat, "--confidence", "high", code=0)
    assert (found["findings"], found["less_sure"]) == ([], 3)
    assert "3 more that are less sure than high" in cli(
        "audit-trace", chat, "--confidence", "high"
    ).said  # fmt: skip


def test_nothing_found_is_fine(cli, here):
    (here / "a.json").write_text('[{"role": "user", "content": "Hello"}]')
    done = cli("audit-trace", "a.json")
    assert done.code == 0
    assert "1 conversation (OpenAI chat), 0 calls, 0 writes" in done.said
    assert "no statement could be checked" in done.said


def test_many_files_of_many_formats(cli):
    found = report(cli, *(FOLDER / file for file in SAMPLES.values()))
    assert found["conversations"] == len(SAMPLES)


def test_the_contracts_of_an_app_say_what_writes(cli, shop, chat):
    found = report(cli, chat, "--app", shop)
    (retry,) = [f for f in found["findings"] if f["kind"] == "blind_retry"]
    assert retry["effect"] == "a write by its contract"


def test_the_contracts_of_a_file_say_so_too(cli, here, chat):
    (here / "a.toml").write_text(
        '[tools.send_notice]\ntarget = "shop:send"\naccess = "read"\n'
        '[tools.create_ticket]\ntarget = "shop:create"\nidentity = ["order_id"]\n'
        'lookup = { target = "shop:find", absence_final_after = "10s" }\n'
    )
    found = report(cli, chat, "--toml", "a.toml")
    assert found["counts"]["probable_duplicate"] == 0, "it only reads"
    (retry,) = [f for f in found["findings"] if f["kind"] == "blind_retry"]
    assert retry["effect"] == "a write by its contract"
    assert "shop" not in sys.modules, "nothing is imported for it"


@pytest.mark.parametrize(
    "words, says",
    [
        (["nowhere.json"], "nowhere.json cannot be read"),
        (["a.json"], "a.json, line 1: this is in no format that is known"),
        (["a.json", "--format", "otlp"], '"resourceSpans" is missing'),
        (["a.json", "--format", "csv"], "no format 'csv'"),
        (["a.json", "--app", "x:y", "--toml", "z"], "--app and --toml both"),
        (["a.json", "--toml", "z.toml"], "z.toml cannot be read"),
        (["a.json", "--confidence", "some"], "--confidence"),
    ],
)
def test_bad_input_is_named_and_nothing_is_done(cli, here, words, says):
    (here / "a.json").write_text('{"hello": 1}')
    done = cli("audit-trace", *words)
    assert (done.code, done.out) == (2, "")
    assert says in done.complained


def test_replay_reads_every_format(cli, chat):
    done = cli("replay", chat, "--limit", "2", "--json")
    assert done.code == 0, done.out
    assert json.loads(done.out)["calls"] == 2
    assert cli("replay", chat, "--format", "otlp").code == 2
