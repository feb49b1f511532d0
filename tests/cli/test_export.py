"""`ascertain export`: actions, keys and receipts for somebody else, personal data masked."""

import csv
import io
import json

import pytest

from ascertain import Ascertain, Receipt, Refused
from ascertain.report.export import COLUMNS
from ascertain.rules.texts import MASK

LEDGER = ("--ledger", "sqlite:///ledger.db")
PHONE = "+49 151 2345678"


def lines(done):
    assert done.code == 0, done.complained
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.fixture
def clinic(here):
    app = Ascertain("sqlite:///ledger.db", worker="none")

    @app.tool(identity=["phone"], redact=["phone"])
    def book_visit(phone: str, ward: str) -> object:
        if ward == "full":
            raise Refused(f"no room for {phone}")
        return Receipt("V7", {"phone": phone, "ward": ward})

    @app.tool()
    def note(text: str) -> object:
        return Receipt(text)

    for session, who, ward in (("s1", "ann", "west"), ("s2", "ann", "full"), ("s3", "bob", "east")):
        with app.session(session, principal=who):
            book_visit(PHONE, ward)
    with app.session("s4", principal="bob"):
        note("=HYPERLINK(1)")
    app.close()


def test_req_P15_log_keys_and_receipts_with_personal_data_masked(cli, clinic):
    done = cli("export", *LEDGER)
    assert PHONE not in done.out
    assert "2345678" not in done.out
    found = {line["session"]: line for line in lines(done)}
    west = found["s1"]
    assert (west["state"], west["provider_ref"]) == ("confirmed", "V7")
    assert west["key"]
    assert west["arguments"] == {"phone": MASK, "ward": "west"}
    assert west["result"] == {"phone": MASK, "ward": "west"}
    assert [event["event"] for event in west["events"]] == ["prepare", "send", "confirm"]
    assert found["s2"]["code"] == MASK
    assert west["said"]["en"]


def test_req_P15_who_wished_it_is_a_pseudonym_that_stays_the_same(cli, clinic):
    found = {line["session"]: line["principal"] for line in lines(cli("export", *LEDGER))}
    assert found["s1"] == found["s2"] != found["s3"] == found["s4"]
    assert not {"ann", "bob"} & set(found.values())
    shown = {line["principal"] for line in lines(cli("export", "--principals", *LEDGER))}
    assert shown == {"ann", "bob"}


def test_req_P15_a_table_for_a_spreadsheet_holds_no_formula(cli, clinic):
    done = cli("export", "--csv", *LEDGER)
    assert PHONE not in done.out
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 4
    noted = rows[0]
    assert noted["tool"] == "note"
    assert noted["provider_ref"] == "'=HYPERLINK(1)"
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "@"))]


def test_only_what_is_wanted(cli, clinic):
    assert [line["session"] for line in lines(cli("export", "--session", "s2", *LEDGER))] == ["s2"]
    assert [line["tool"] for line in lines(cli("export", "--tool", "note", *LEDGER))] == ["note"]
    assert lines(cli("export", "--since", "1ms", *LEDGER)) == []
    assert len(lines(cli("export", "--since", "1d", *LEDGER))) == 4
    assert lines(cli("export", "--chain", "nothing", *LEDGER)) == []


def test_bad_input(cli, clinic):
    assert cli("export", "--csv", "--json", *LEDGER).code == 2
    assert cli("export", "--since", "soon", *LEDGER).code == 2
    assert cli("export", "--ledger", "sqlite:///nowhere.db").code == 5


def test_a_removed_action_is_said_to_be_removed(cli, clinic, here):
    app = Ascertain("sqlite:///ledger.db", worker="none")
    app.ledger.bury(closed_before=app.hands.clock() + 10)
    app.close()
    found = lines(cli("export", *LEDGER))
    assert all(line["removed"] and line["arguments"] is None for line in found)
    assert {line["principal"] for line in found} == {""}
