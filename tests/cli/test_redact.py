"""What a contract redacts is seen nowhere: in no command, in no line of the log."""

import json
import logging

import pytest

from ascertain import Ascertain, Receipt, Refused
from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract
from ascertain.report.shown import shown
from ascertain.rules.texts import MASK
from ascertain.testing.conformance.samples import wanted

LEDGER = ("--ledger", "sqlite:///ledger.db")
PHONE, NAME = "+49 151 2345678", "Ann Example"
PRIVATE = (PHONE, NAME, "2345678")


@pytest.fixture
def clinic(here):
    """Tools whose arguments are somebody's own business, and whose provider repeats them."""
    app = Ascertain("sqlite:///ledger.db", worker="none")

    @app.tool(identity=["phone"], wording=["note"], redact=["phone", "name"], key_lifetime="24h")
    def book_visit(phone: str, name: dict[str, str], ward: str, note: str = "") -> object:
        if ward == "full":
            raise Refused(f"no room for {name['first']}", related_ref=phone)
        if ward == "lost":
            raise TimeoutError(phone)
        said = {"phone": phone, "echo": [f"hello {name['first']}"], "ward": ward, "n": 1}
        return Receipt(phone, said)

    @book_visit.lookup(absence_final_after="60s")
    def find_visit(action):
        raise ConnectionError(action.arguments["phone"])

    @app.observe(redact=["phone"])
    def call_patient(phone: str) -> str:
        return f"called {phone}"

    yield app, book_visit, call_patient
    app.close()


@pytest.fixture
def ids(clinic, caplog):
    """One of each end; nothing of it may be in the log either."""
    app, book_visit, call_patient = clinic
    found = {}
    with caplog.at_level(logging.DEBUG, logger="ascertain"):
        for ward in ("west", "full", "lost"):
            with app.session(ward, principal="u7"):
                found[ward] = book_visit(phone=PHONE, name={"first": NAME}, ward=ward).id
        call_patient(PHONE)
    assert not [text for text in PRIVATE if text in caplog.text]
    assert '"code": "[masked]"' in caplog.text, "the refusal was told"
    return found


def test_no_command_shows_what_is_redacted(cli, ids):
    listed = json.loads(cli("actions", *LEDGER, "--json").out)["actions"]
    assert len(listed) == 4, "the observed call too"
    said = [cli("actions", *LEDGER), cli("actions", *LEDGER, "--json")]
    said += [cli("observe-report", *LEDGER), cli("observe-report", *LEDGER, "--json")]
    said += [cli("doctor", *LEDGER), cli("doctor", *LEDGER, "--json")]
    for action in listed:
        for command in ("show", "why"):
            said += [
                cli(command, action["id"], *LEDGER),
                cli(command, action["id"], *LEDGER, "--json"),
            ]
    for done in said:
        assert not [text for text in PRIVATE if text in done.out + done.err]


def test_that_there_was_something_is_shown_and_the_rest_is_not_masked(cli, ids):
    story = json.loads(cli("show", ids["west"], *LEDGER, "--json").out)
    assert story["arguments"] == {"name": MASK, "note": "", "phone": MASK, "ward": "west"}
    assert story["result"] == {"phone": MASK, "echo": [MASK], "ward": "west", "n": 1}
    assert story["action"]["provider_ref"] == MASK, "it was the telephone number"
    said = cli("show", ids["west"], *LEDGER).said
    assert f'arguments {{"name": "{MASK}", "note": "", "phone": "{MASK}", "ward": "west"}}' in said
    assert f"reference {MASK}" in said


def test_a_digest_of_what_is_redacted_is_masked_too(cli, ids):
    """Whoever has the digest of a telephone number can try all telephone numbers."""
    for action in json.loads(cli("actions", *LEDGER, "--json").out)["actions"]:
        assert {action[name] for name in ("intent", "exact", "wording")} == {MASK}


def test_a_person_who_decides_sees_no_more(cli, clinic, ids):
    clinic[0].close()
    said = ("--confirmed", "V7", "--evidence", f"I rang {PHONE}")
    done = cli("resolve", ids["lost"], *said, *LEDGER, "--json")
    assert done.code == 0
    assert not [text for text in PRIVATE if text in done.out]


def test_without_redact_arguments_and_result_are_shown(cli, ledger):
    story = json.loads(cli("show", ledger["confirmed"], *LEDGER, "--json").out)
    assert story["arguments"] == {"issue": "noise", "order_id": "A123"}
    assert story["result"] == {"ticket_id": "T900"}
    said = cli("show", ledger["confirmed"], *LEDGER).said
    assert 'arguments {"issue": "noise", "order_id": "A123"}' in said
    assert 'result {"ticket_id": "T900"}' in said
    assert "result {" not in cli("show", ledger["rejected"], *LEDGER).said, "there is none"


class Kept:
    """A ledger that holds these arguments and this result."""

    def __init__(self, arguments, result=None):
        self.texts = (arguments, result)

    def arguments(self, _id):
        return self.texts[0]

    def result(self, _id):
        return self.texts[1]


def seen(arguments, result=None, *, contract: Contract | None):
    record: ActionRecord = wanted()
    return shown(Kept(arguments, result), record, contract)


BY_NAME = Contract(tool="t", noun="t", redact=("who", "age"))


@pytest.mark.parametrize(
    "result, masked",
    [
        ({"deep": [{"who": "B"}]}, {"deep": [{"who": MASK}]}),
        ({"who": None}, {"who": None}),
        ({"text": "dear Anna!"}, {"text": MASK}),
        ({"Anna": 1}, {MASK: 1}),
        ({"years": 41, "rank": 4, "room": "414"}, {"years": MASK, "rank": 4, "room": "414"}),
        (["Anna", True, None], [MASK, True, None]),
        ("Anna", MASK),
        ({"other": "Ann"}, {"other": "Ann"}),
    ],
)
def test_what_came_back_is_masked_by_name_and_by_content(result, masked):
    found = seen('{"who":{"first":"Anna"},"age":41,"x":1}', json.dumps(result), contract=BY_NAME)
    assert found.arguments == {"who": MASK, "age": MASK, "x": 1}
    assert found.result == masked


def test_all_masks_are_alike_and_nothing_stays_nothing():
    found = seen('{"who":"","age":null}', contract=BY_NAME)
    assert found.arguments == {"who": MASK, "age": None}
    assert seen(None, contract=BY_NAME).arguments is None


def test_without_a_contract_every_value_is_masked():
    found = seen('{"who":"Anna","x":null}', '{"who":"Anna"}', contract=None)
    assert (found.arguments, found.result) == ({"who": MASK, "x": None}, MASK)


def test_what_cannot_be_read_is_not_shown_as_it_is():
    found = seen('{"who":"Anna"', '"Anna', contract=BY_NAME)
    assert (found.arguments, found.result) == (MASK, MASK)


def test_a_read_may_redact_too_for_one_that_writes_is_kept(here):
    app = Ascertain("sqlite:///ledger.db", worker="none")

    @app.read(redact=["phone"])
    def find_patient(phone: str) -> str:
        return "found"

    assert app.registry.get("find_patient").contract.redact == ("phone",)
    app.close()
