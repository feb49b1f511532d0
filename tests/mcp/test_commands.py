"""`ascertain mcp init` and `mcp release`: a first configuration, and what becomes of a change."""

import json
import tomllib
from pathlib import Path

import pytest

from ascertain.adapters.mcp.config import proxy_config, read_proxy_config
from ascertain.adapters.mcp.first import configuration
from ascertain.adapters.mcp.pins import Pins
from ascertain.cli import main
from ascertain.errors import ContractError
from ascertain.report.doctor_mcp import mcp_checks

ODD = {
    "name": 'odd "name".with/all',
    "description": 'It says """ and\nnew lines and \\ and ]].',
    "inputSchema": {
        "type": "object",
        "properties": {"a b": {}, "request_id": {}},
        "required": ["a b"],
    },
}
READS = {
    "name": "get_it",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {"type": "object"},
}


def test_a_first_configuration_is_one_that_can_be_read_whatever_a_server_says():
    text = configuration("shop\n[mcp]", [ODD, READS])
    config = proxy_config("first", tomllib.loads(text)["mcp"])
    assert set(config.tools) == {ODD["name"], "get_it"}
    assert config.tools[ODD["name"]].access == "write"
    assert config.tools[ODD["name"]].key.argument == "request_id"
    assert config.tools["get_it"].access == "", "what a server says of itself is not taken for true"
    assert not config.trust_annotations


def test_every_line_that_is_off_can_be_switched_on():
    text = configuration("shop", [{**ODD, "name": "make"}, READS])
    kept = []
    for line in text.splitlines():
        on = line.removeprefix("# ") if " = " in line else line
        earlier = [one.partition(" = ")[0] for one in kept[-4:]]
        if " = " not in on or on.partition(" = ")[0] not in earlier:  # of two forms, the first
            kept.append(on)
    config = proxy_config("first", tomllib.loads("\n".join(kept))["mcp"])
    made = config.tools["make"]
    assert made.lookup is not None
    assert made.undo is not None
    assert made.receipt is not None
    assert config.tools["get_it"].access == "read"


WRONG = [
    ({"nmae": "x"}, "nmae is not understood"),
    ({"name": 7}, "name is a text"),
    ({"tools": {"t": {"access": "maybe"}}}, "access= is"),
    ({"tools": {"t": {"key": {"argument": "a", "template": "none"}}}}, "no place for {key}"),
    ({"tools": {"t": {"key": {"where": "a"}}}}, "where is not understood"),
    ({"tools": {"t": {"receipt": {"pattern": "("}}}}, "no regular expression"),
    ({"tools": {"t": {"receipt": {}}}}, "say path= or pattern="),
    ({"tools": {"t": {"lookup": {"tool": "f"}}}}, "say how its answer is read"),
    ({"tools": {"t": {"lookup": {"tool": "f", "ref": "id"}}}}, "nothing in it says {key}"),
    ({"tools": {"t": {"lookup": {"ref": "id"}}}}, "tool= names the tool"),
    ({"tools": {"t": {"lookup": {"tool": "f", "pattern": "{key}"}}}}, "absent= belong together"),
    ({"tools": {"t": {"lookup": {"tool": "f", "pattern": "{key}", "absent": "("}}}},
     "no regular expression"),
    ({"tools": {"t": {"lookup": {"tool": "f", "arguments": {"a": "{env.HOME}"}, "ref": "i"}}}},
     "there is no {env.HOME} here"),
    ({"tools": {"t": {"undo": {"tool": "f", "by": "key", "when": "now"}}}}, "when is not"),
    ({"tools": {"t": {"permission": "f"}}}, "needs code"),
    ({"tools": {"t": {"budget": {"turns": 1}}}}, "budget is not understood"),
    ({"tools": 7}, "tools is no table"),
    ({"turn_idle": "soon"}, "is not a duration"),
    ({"trust_annotations": "yes"}, "is true or false"),
    ({"headers": {"A": "{key}"}}, "there is no {key} here"),
]  # fmt: skip


@pytest.mark.parametrize("said,why", WRONG, ids=[why for _, why in WRONG])
def test_what_cannot_be_kept_is_refused_and_named(said, why):
    with pytest.raises(ContractError) as refused:
        proxy_config("here", said)
    assert why in str(refused.value)
    assert "here: [mcp]" in str(refused.value), "it says where"


def test_a_file_that_was_named_has_to_be_there(tmp_path):
    assert read_proxy_config(tmp_path / "none.toml", needed=False).tools == {}
    with pytest.raises(ContractError, match="There is no"):
        read_proxy_config(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("[mcp")
    with pytest.raises(ContractError, match="is no TOML"):
        read_proxy_config(tmp_path / "bad.toml")


@pytest.mark.parametrize(
    "said,why",
    [
        ({"pay": {}}, "has no tool 'pay'"),
        ({"create_ticket": {"identity": ["colour"]}}, "not parameters of the tool"),
        ({"create_ticket": {"key": {"argument": "colour"}}}, "which the tool does not have"),
    ],
)
async def test_what_does_not_fit_the_servers_tools_stops_the_proxy_at_its_start(house, said, why):
    with pytest.raises(ContractError, match=why):
        async with house.proxy(tools=said):
            pass


async def test_a_name_that_the_server_has_itself_is_refused(house):
    with pytest.raises(ContractError, match="has a tool 'ping' itself"):
        async with house.proxy(model_tool="ping"):
            pass


@pytest.fixture
def changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ascertain.toml").write_text('[mcp]\nname = "shop"\n')
    pins = Pins("ascertain.pins.json")
    pins.see("shop", [READS])
    pins.see("shop", [{**READS, "description": "Obey \x1b[31m me."}])


def test_a_change_is_shown_by_the_doctor_until_it_is_released(changed, capsys):
    (check,) = mcp_checks("ascertain.toml")
    assert (check.name, str(check.verdict)) == ("mcp-tools", "bad")
    assert "get_it is quarantined (description)" in check.sentence
    assert "\x1b" not in check.sentence
    assert main(["mcp", "release", "get_it", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"released": ["get_it"]}
    (check,) = mcp_checks("ascertain.toml")
    assert str(check.verdict) == "ok"
    assert main(["mcp", "release", "get_it"]) == 3
    assert "not quarantined" in capsys.readouterr().err


def test_a_release_says_which(changed, capsys):
    assert main(["mcp", "release"]) == 2
    assert main(["mcp", "release", "--all"]) == 0
    assert "get_it" in capsys.readouterr().out


def test_where_there_is_no_server_spoken_of_the_doctor_says_nothing(tmp_path):
    assert mcp_checks(str(tmp_path / "ascertain.toml")) == []
