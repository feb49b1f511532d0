"""S08: functions of somebody else's library share what a session remembers, by configuration."""

from __future__ import annotations

import pytest

from ascertain.errors import ContractError

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
key_lifetime = "24h"
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


@pytest.mark.parametrize(
    "text, words",
    [
        ("[tools", "is no TOML"),
        ("[other]\nx = 1", "only \\[tools.NAME\\] tables"),
        ("[tools.a]\naccess = 'read'", "target= names the function"),
        ("[tools.a]\ntarget = 'nothing'", "names no function"),
        ("[tools.a]\ntarget = 'no.such:thing'", "cannot be imported"),
        ("[tools.a]\ntarget = 'json:nothing'", "cannot be imported"),
        ("[tools.a]\ntarget = 'json:__name__'", "is a str, not a function"),
        ("[tools.a]\ntarget = 'json:dumps'\naccess = 'both'", "'read' or 'write'"),
        ("[tools.a]\ntarget = 'json:dumps'\npermission = 'x'", "needs code"),
        ("[tools.a]\ntarget = 'json:dumps'\nbudget = { speed = 1 }", "budget is not understood"),
        ("tools = 1", "only \\[tools.NAME\\] tables"),
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
