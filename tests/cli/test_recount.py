"""`ascertain recount`: exit code 0 only where everything that could be asked for agrees."""

import json

from tests.cli import shop as shops


def effect(here, **changes):
    """Change the one record that the provider holds."""
    (path,) = (here / "provider").glob("T*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return path


def sold(order_id="A123"):
    shop = shops.make()
    with shop.app.session("chat-42", principal="u7"):
        action = shop.create_ticket(order_id)
    shop.app.close()
    return action


def test_req_P13_a_command_checks_that_the_three_agree(cli, shop):
    sold()
    done = cli("recount", shop)
    assert done.code == 0, done.complained
    assert "1 agree with the provider's record" in done.said
    assert "Read 1 action of the last 7d" in done.said
    assert done.said.endswith("All that could be asked for agree.")


def test_req_P13_differences_are_listed_with_all_three_views(cli, shop, here):
    action = sold()
    twice = effect(here).with_name("T950.json")
    twice.write_text(json.dumps({"ref": "T950", "key": action.key, "order_id": "A123"}))
    done = cli("recount", shop)
    assert done.code == 1
    assert "ledger confirmed T900, disputed" in done.said
    assert "provider T900, 2 times" in done.said
    assert "person Records about the inspection contradict each other" in done.said
    assert "The provider holds more than one effect of it." in done.said
    told = json.loads(cli("recount", shop, "--json").out)
    assert (told["agrees"], told["differences"], told["scanned"]) == (False, 1, 1)
    (row,) = told["actions"]
    assert row["differences"][0]["rule"] == "extra_effects"
    assert row["provider"] == {"said": "found", "ref": "T900", "count": 2, "not_asked": None}


def test_a_provider_that_does_not_answer_is_no_agreement(cli, shop, here):
    sold()
    next((here / "provider").glob("T*.json")).write_text("no JSON")
    done = cli("recount", shop)
    assert done.code == 1
    assert "0 actions differ, 1 without an answer." in done.said


def test_what_cannot_be_asked_for_is_said(cli, shop):
    app = shops.make()
    with app.app.session("chat-42", principal="u7"):
        app.send_mail("ann")
    app.app.close()
    done = cli("recount", shop)
    assert done.code == 0
    assert "1 not asked: its tool has no look-up" in done.said
    assert done.said.endswith("Nobody could be asked about anything.")


def test_one_tool_only_and_bad_input(cli, shop):
    sold()
    assert json.loads(cli("recount", shop, "--tool", "send_mail", "--json").out)["actions"] == []
    assert cli("recount", shop, "--tool", "refund").code == 3
    assert cli("recount", shop, "--since", "soon").code == 2
    assert cli("recount", shop, "--limit", "0").code == 2
    assert cli("recount").code == 2
