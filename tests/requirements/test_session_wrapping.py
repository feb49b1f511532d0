"""S08: functions of somebody else's library share what a session remembers, by configuration."""

from __future__ import annotations

import pytest

from ascertain.errors import ContractError
from tests.requirements.remembering import Beside, Shop, until

pytestmark = pytest.mark.every_ledger

CONFIG = """
[tools.get_order]
target = "tests.requirements.foreign_sdk:get_order"
access = "read"
provides = { order_id = "order.id" }
budget = { turn_s = 2.0 }

[tools.cancel]
target = "tests.requirements.foreign_sdk:Client.cancel"
identity = ["order_id"]
context = { order_id = "order_id" }
refusals = [{ code = "SHIPPED" }]
lookup = { target = "tests.requirements.foreign_sdk:find", absence_final_after = "10s" }
"""


def test_req_S08_third_party_tools_are_wrapped_by_configuration(shop, tmp_path):
    """Nothing is changed in the library; its functions wait for each other all the same."""
    from tests.requirements import foreign_sdk

    (tmp_path / "ascertain.toml").write_text(CONFIG)
    tools = shop.app.wrap_config(tmp_path / "ascertain.toml")
    cancelled = len(foreign_sdk.cancelled)
    with shop.session():
        assert tools["get_order"](phone="1").confirmed
        assert tools["cancel"]().provider_ref == "C-F1"
    assert foreign_sdk.cancelled[cancelled:] == ["F1"]
    assert tools["cancel"].contract.lookup.absence_final_after_s == 10.0
    again = shop.app.wrap(foreign_sdk.get_order, access="read", name="other", provides=["order"])
    assert again.name == "other"


def test_req_S08_wrapped_functions_wait_for_what_they_need(shop, tmp_path):
    """The order is still being fetched; the cancellation waits for it, asking nobody again."""
    from tests.requirements import foreign_sdk

    (tmp_path / "ascertain.toml").write_text(CONFIG)
    tools = shop.app.wrap_config(tmp_path / "ascertain.toml")
    asked = len(foreign_sdk.asked)
    foreign_sdk.answers.clear()
    shop.once_a_call_waits(foreign_sdk.answers.set)
    with shop.session(), Beside(lambda: tools["get_order"](phone="7")):
        until(lambda: foreign_sdk.asked[asked:])
        action = tools["cancel"]()
    assert action.provider_ref == "C-F1"
    assert [tier[0] for tier in shop.first(action)["tiers"]] == ["wait"]
    assert foreign_sdk.asked[asked:] == ["7"]


def test_req_S08_what_a_wrapped_function_did_is_found_by_the_configured_look_up(tmp_path):
    """Its answer is lost; until its provider answers it is unknown, and it is not called again."""
    from tests.requirements import foreign_sdk

    shop = Shop(tmp_path, clock=None)
    (tmp_path / "ascertain.toml").write_text(CONFIG)
    tools = shop.app.wrap_config(tmp_path / "ascertain.toml")
    cancelled = len(foreign_sdk.cancelled)
    with shop.session():
        tools["get_order"](phone="1")
        foreign_sdk.answers.clear()
        try:
            action = tools["cancel"].options(deadline="0.3s")()
            assert action.state == "unknown"
        finally:
            foreign_sdk.answers.set()
        until(lambda: shop.app.recover() and action.refresh().confirmed)
    assert action.refresh().provider_ref == "C-F1"
    assert foreign_sdk.cancelled[cancelled:] == ["F1"]
    shop.app.close()


@pytest.mark.one_ledger
@pytest.mark.parametrize(
    "text, words",
    [
        ("[tools", "is no TOML"),
        (
            "[other]\nx = 1",
            "\\[mcp\\] tables are understood, got 'other'",
        ),
        ("[tools.a]\naccess = 'read'", "target= names the function"),
        ("[tools.a]\ntarget = 'nothing'", "names no function"),
        ("[tools.a]\ntarget = 'no.such:thing'", "cannot be imported"),
        ("[tools.a]\ntarget = 'json:nothing'", "cannot be imported"),
        ("[tools.a]\ntarget = 'json:__name__'", "is a str, not a function"),
        ("[tools.a]\ntarget = 'json:dumps'\naccess = 'both'", "'read' or 'write'"),
        ("[tools.a]\ntarget = 'json:dumps'\npermission = 'x'", "needs code"),
        ("[tools.a]\ntarget = 'json:dumps'\nbudget = { speed = 1 }", "budget is not understood"),
        ("tools = 1", "only \\[tools.NAME\\] and \\[mcp\\] tables are understood, got 'tools'"),
        (
            "[tools.a]\ntarget = 'tests.requirements.foreign_sdk:get_order'\nmagic = 1",
            "magic is not something",
        ),
    ],
)
def test_req_S08_what_a_configuration_cannot_say_is_refused(shop, tmp_path, text, words):
    (tmp_path / "ascertain.toml").write_text(text)
    with pytest.raises(ContractError, match=words):
        shop.app.wrap_config(tmp_path / "ascertain.toml")
    with pytest.raises(ContractError, match="cannot be read"):
        shop.app.wrap_config(tmp_path / "another.toml")
