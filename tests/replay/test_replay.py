"""A replay of real input: counts that agree with the provider's own books."""

import json
from dataclasses import replace

import pytest

from ascertain.demo.run import RECORDING
from ascertain.errors import ContractError
from ascertain.model.tables import State
from ascertain.replay import run_replay
from ascertain.replay.judge import report_of
from ascertain.replay.play import Plan, play, replay
from ascertain.replay.provider import CONTRACTS, collection_of, draw_faults
from ascertain.replay.recording import Call, Recording, RecordingError, load_recording
from ascertain.testing.world import Behaviour


def quietly(_):
    """Nobody watches."""


def recording_of(*calls):
    return Recording(name="made", calls=tuple(calls))


def call(order, tool="refund", kind="write", conv="c1", **more):
    args = more.pop("args", {"order_id": "S-1", "amount": "29.10"})
    return Call(line=order + 1, conv=conv, order=order, tool=tool, kind=kind, args=args, **more)


@pytest.fixture(scope="module")
def done():
    return replay(Plan(path=RECORDING, seed=3), quietly)


def test_req_F18_nothing_disagrees_with_the_providers_books(done):
    assert done.violations == ()
    assert done.totals == {
        "duplicates": 0,
        "false_statements": 0,
        "lost_actions": 0,
        "other": 0,
        "left_open": 0,
        "left_to_person": 0,
    }


def test_all_calls_were_made_and_counted(done):
    assert (done.calls, done.reads, done.writes, done.generic) == (57, 36, 16, 5)
    assert done.intents == 13
    assert sum(done.ends.values()) == done.intents
    assert sum(done.read_ends.values()) == done.reads + done.generic


def test_each_write_ends_as_it_had_in_the_recording(done):
    assert done.as_recorded == done.intents
    assert done.ends == {"confirmed": 10, "rejected (business)": 3}
    assert done.effects == 10


def test_faults_were_really_met(done):
    drawn = draw_faults(load_recording(RECORDING), 3, Plan(path=RECORDING, seed=3).share)
    assert sum(done.faults.values()) >= len(drawn)
    assert set(done.faults) == {fault.name for fault in drawn.values()}


def test_req_U05_an_identical_repeat_is_replayed_and_not_sent():
    done = replay(Plan(path=RECORDING, seed=0, share=0.0), quietly)
    assert done.faults == {}
    assert done.creates == done.intents == 13, "16 recorded writes, three of them repeats"
    became = {one.tool: (one.how, one.state) for one in done.repeats}
    assert became == {
        "request_inspection": ("replayed", "confirmed"),
        "cancel_order": ("bound", "rejected"),
        "refund": ("replayed", "confirmed"),
    }
    assert all("not sent" in one.became for one in done.repeats)


def test_the_same_seed_draws_the_same_faults_and_another_seed_others():
    recording = load_recording(RECORDING)
    assert draw_faults(recording, 5, 0.6) == draw_faults(recording, 5, 0.6)
    assert draw_faults(recording, 5, 0.6) != draw_faults(recording, 6, 0.6)


def test_a_provider_that_refuses_is_given_no_fault_with_an_effect():
    recording = load_recording(RECORDING)
    for seed in range(40):
        for intent, fault in draw_faults(recording, seed, 1.0).items():
            if recording.first_calls()[intent].error:
                assert fault.row.when == "never"


def test_without_key_and_look_up_a_lost_reply_is_left_to_a_person():
    lost = call(0)
    faults = {lost.intent: Behaviour("reply_lost")}
    done = play(recording_of(lost, call(1)), faults, "none", tick=quietly)
    assert done.violations == ()
    assert done.ends == {"unknown (with a person)": 1}
    assert (done.effects, done.creates, done.left_open, done.in_review) == (1, 1, 1, 1)
    assert done.repeats == ()  # this recording does not say that it is one


def test_req_U14_the_same_write_in_two_conversations_is_two_intents():
    done = play(recording_of(call(0), call(1, conv="c2")), {}, "key+lookup", tick=quietly)
    assert (done.intents, done.effects, done.violations) == (2, 2, ())


def test_names_of_tools_that_are_no_part_of_an_address_are_taken():
    done = play(
        recording_of(
            call(0, tool="crm/tickets: create"),
            call(1, tool="搜索 orders", kind="read", result="[1]"),
        ),
        {},
        "key+lookup",
        tick=quietly,
    )
    assert (done.effects, done.read_ends, done.violations) == (1, {"confirmed": 1}, ())
    assert collection_of("crm/tickets: create") == "crm-tickets--create"


# ----------------------------------------------------------------------------- it can find fault


@pytest.fixture
def with_books(monkeypatch):
    """Replay one lost reply, and change what the judge is shown."""

    def judged(change_spoken=None, change_world=None):
        lost = call(0)
        kept = {}

        def report(recording, faults, contract, world, ledger, spoken, **more):
            if change_world is not None:
                change_world(world)
            told = spoken if change_spoken is None else [change_spoken(one) for one in spoken]
            kept["told"] = told
            return report_of(recording, faults, contract, world, ledger, told, **more)

        monkeypatch.setattr("ascertain.replay.play.report_of", report)
        faults = {lost.intent: Behaviour("reply_lost")}
        return play(recording_of(lost), faults, "key+lookup", tick=quietly)

    return judged


def names(done):
    return {one.invariant for one in done.violations}


def test_the_unchanged_books_agree(with_books):
    assert names(with_books()) == set()


def test_a_statement_that_is_false_is_found(with_books):
    def lie(spoken):
        statement = replace(spoken.statement, state=State.REJECTED, final=True)
        return replace(spoken, statement=statement, value=None)

    assert names(with_books(change_spoken=lie)) == {"NoLie"}


def test_a_value_that_the_provider_has_not_is_found(with_books):
    def swap(spoken):
        return replace(spoken, value={**spoken.value, "reply": "something else"})

    assert names(with_books(change_spoken=swap)) == {"NoLie"}


def test_an_action_that_is_gone_is_found(with_books):
    def other(spoken):
        return replace(spoken, statement=replace(spoken.statement, action="nowhere"))

    assert names(with_books(change_spoken=other)) == {"NoLostAction"}


def test_a_second_effect_is_found(with_books):
    def send_again(world):
        import httpx

        args = world.effects()[0].args
        reply = httpx.post(f"{world.url}/refund", json=args, headers={"Idempotency-Key": "other"})
        assert reply.status_code == 201

    found = names(with_books(change_world=send_again))
    assert found == {"NoDuplicateEffect", "KeyStability", "NoLostAction"}


# ------------------------------------------------------------------------------------- the command


def test_the_report_reads_at_eighty_columns(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert run_replay(RECORDING, seed=1, limit=20) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "20 calls in" in out
    last = out.splitlines()[-1]
    assert "all agrees" in last
    assert "\x1b" not in out


def test_the_report_is_json_when_asked(capsys):
    assert run_replay(str(RECORDING), 1, True, 10, "fencing") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["calls"], told["contract"], told["seed"], told["agrees"]) == (
        10,
        "fencing",
        1,
        True,
    )
    assert told["totals"]["duplicates"] == 0


def test_a_contract_that_does_not_exist_is_refused_with_the_list():
    with pytest.raises(ContractError, match="no contract") as caught:
        run_replay(RECORDING, contract="both")
    assert all(name in caught.value.advice for name in CONTRACTS)


def test_a_broken_recording_is_a_typed_error(tmp_path):
    path = tmp_path / "calls.jsonl"
    path.write_text("{\n", encoding="utf-8")
    with pytest.raises(RecordingError, match="line 1"):
        run_replay(path)
