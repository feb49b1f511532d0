"""What a model is told: never an order of a provider's, never an invitation to do it once more."""

import json
import unicodedata

import pytest

from ascertain import Ascertain, Refused
from ascertain.adapters import door as doors
from ascertain.adapters import guests, told, unmade
from ascertain.adapters.calling import ToolCall
from ascertain.adapters.door import Door
from ascertain.adapters.told import Fact
from ascertain.errors import IntentConflict, InvalidArguments, LedgerBusy, NotAllowed, UnknownTool
from ascertain.rules import texts
from tests.doors import injections
from tests.doors.phrases import invitations
from tests.doors.shop import schema

CORPUS = injections.corpus()
FACTS = {
    "workflow_state": "completed",
    "actions": [{"name": "open_case", "state": "confirmed", "provider_ref": "T900", "attempt": 1}],
    "next_allowed": [],
    "say": {"en": "The case is submitted: T900.", "zh-CN": "case已提交：T900。"},
}
FORMS = {
    "anthropic": lambda fact: told.anthropic(fact, "c1")["content"],
    "openai_chat": lambda fact: told.openai_chat(fact, "c1")["content"],
    "openai_responses": lambda fact: told.openai_responses(fact, "c1")["output"],
    "openai_agents": told.openai_agents,
    "pydantic_ai": lambda fact: json.dumps(told.pydantic_ai(fact)),
    "langchain": lambda fact: told.langchain(fact, "c1")["content"],
    "mcp": lambda fact: told.mcp(fact)["content"][0]["text"],
}


def everything(value):
    """Every text in it, names too."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from everything(member)
    elif isinstance(value, list):
        for member in value:
            yield from everything(member)
    elif isinstance(value, str):
        yield value


def hidden_characters(text):
    return [
        one for one in text if unicodedata.category(one) in ("Cc", "Cf", "Cs") and one not in "\n\t"
    ]


def test_the_corpus_is_what_its_generator_makes_and_large_enough():
    assert list(injections.made()) == CORPUS
    assert len(set(CORPUS)) == len(CORPUS) >= 200


@pytest.mark.parametrize("form", FORMS)
def test_what_a_provider_wrote_stands_as_data_only(form):
    for text in CORPUS:
        fact = Fact("open_case", FACTS, confirmed=True, data={"note": text, text: [text]})
        shown = json.loads(FORMS[form](fact))
        assert not [one for part in everything(shown) for one in hidden_characters(part)], text
        data = shown.pop("provider_data")
        assert data["note"] == told.NOTE
        assert shown == FACTS  # nothing that it says has changed what is known
        assert len(FORMS[form](fact)) < 3 * told.MOST_CHARACTERS


def test_a_reference_that_reads_like_words_is_marked_and_never_said():
    for text in CORPUS:
        ref, code = texts.clean(text, 200), texts.clean(text, 80)
        action = {**FACTS["actions"][0], "provider_ref": ref, "error_code": code}
        said = f"The case is submitted: {texts.clean(text, 120)}."
        facts = {**FACTS, "actions": [action], "say": {"en": said}}
        shown = told.told(Fact("open_case", facts, confirmed=True))
        if " " in ref:
            assert shown["from_provider"]["note"] == told.NOTE
            assert "provider_ref" in shown["from_provider"]["fields"]
            for words in injections.ORDERS:
                assert words not in shown["say"]["en"]


def test_through_a_door_no_text_of_a_provider_changes_what_is_known(tmp_path):
    app = Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none")
    door = Door(app, scope=app.session("chat-42", principal="u7"))
    door.learn("open_case", schema("order"))

    def refuses(arguments):
        raise Refused(CORPUS[int(arguments["order"])])

    with app:
        for number, text in enumerate(CORPUS):
            call = ToolCall("open_case", {"order": str(number)}, f"c{number}")
            if number % 2:
                fact = door.answer(call, lambda arguments, text=text: {"id": "T1", "note": text})
                assert told.told(fact)["workflow_state"] == "completed"
            else:
                fact = door.answer(call, refuses)
                assert (fact.state, fact.facts["next_allowed"]) == ("rejected", ["ask_person"])
            shown = told.text(fact)
            assert not hidden_characters(shown)
            json.loads(shown)


# ----------------------------------------------------------------------------------- invitations


def model_facing():
    for key, sentences in (texts.SENTENCES | texts.WORKFLOW).items():
        yield from ((key, sentence) for sentence in sentences)
    yield from (("ascertain", text) for text in (doors.DESCRIPTION, told.NOTE))
    for kind, words in unmade._OTHERS:
        yield from ((kind.__name__, text) for text in (words.english, words.chinese))
    for error in (
        InvalidArguments("order is missing"), IntentConflict(), LedgerBusy(), NotAllowed(),
        UnknownTool(), TimeoutError(),
    ):  # fmt: skip
        yield type(error).__name__, told.text(unmade.refused("open_case", error))
    yield "cut_off", told.text(unmade.cut_off("open_case"))
    yield "not_listed", told.text(unmade.not_listed("open_case"))
    yield "no_answer", told.text(unmade.no_answer("look_around", ValueError("x")))
    yield "no_run", guests.NO_RUN


@pytest.mark.parametrize("key, text", list(model_facing()))
def test_no_text_for_a_model_invites_a_blind_repeat(key, text):
    assert not invitations(text)


def test_the_list_of_phrases_finds_what_frameworks_say():
    said = [
        "An error occurred while running the tool. Please try again.",
        "Error: boom\n Please fix your mistakes.",
        "Tool failed, please retry.",
        "请稍后再试",
    ]
    assert all(map(invitations, said))


# -------------------------------------------------------------------------------------- the form


def test_it_is_an_error_unless_it_is_confirmed():
    confirmed = Fact("open_case", FACTS, confirmed=True)
    unknown = Fact("open_case", FACTS, confirmed=False)
    assert "is_error" not in told.anthropic(confirmed, "c1")
    assert told.anthropic(unknown, "c1")["is_error"] is True
    assert told.langchain(confirmed, "c1")["status"] == "success"
    assert told.langchain(unknown, "c1")["status"] == "error"
    assert told.mcp(unknown)["structuredContent"] == FACTS
    # a client would check it against the tool's own output schema
    assert "structuredContent" not in told.mcp(confirmed)


@pytest.mark.parametrize(
    "value",
    ["x" * 100_000, ["y" * 5_000] * 500, {str(n): "z" * 100 for n in range(5_000)},
     [[[[[[[[[[[[[[[["deep"]]]]]]]]]]]]]]]]],
    ids=["text", "list", "object", "deep"],
)  # fmt: skip
def test_what_is_shown_of_an_answer_is_bounded(value):
    fact = Fact("open_case", FACTS, confirmed=True, data=value)
    assert len(told.text(fact)) < told.MOST_CHARACTERS + 4_000
    assert "…" in told.text(fact)
