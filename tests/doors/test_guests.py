"""A framework's own tool, guarded as it is: what a run may send, and what a worker may do."""

from types import SimpleNamespace

import pytest

from ascertain import Absent, Action, Ascertain, Budget, Found, State
from ascertain.adapters import told
from ascertain.adapters.calling import ToolCall
from ascertain.adapters.door import Door
from ascertain.adapters.told import NOTHING
from ascertain.errors import ContractError, LedgerLocked, NoScope
from ascertain.runtime import sync
from tests.doors.shop import schema

QUICK = Budget(turn_s=0.2, turn_sends=1)
SCHEMA = schema("order", "key", note="")


class House:
    """An app, a provider of a few lines whose answers get lost, and a clock that goes by pauses."""

    def __init__(self, folder, **said):
        self.now = 1_800_000_000.0
        self.sent = []
        self.loses = 1
        self.keeps = True  # what it answered nothing to, it did all the same
        self.app = Ascertain(
            f"sqlite:///{folder}/ledger.db", worker="none", secret=b"s" * 32,
            clock=lambda: self.now,
        )  # fmt: skip
        session = self.app.session("chat-42", principal="u7", turn="m1")
        self.door = Door(self.app, scope=session)
        self.door.declare("open_case", **{
            "identity": ["order"], "wording": ["note"], "fills": {"key": "key"}, "budget": QUICK,
            **said,
        })  # fmt: skip
        self.door.learn("open_case", SCHEMA)

    def run(self, arguments):
        """The framework's handler: the provider does it, and its answer may get lost."""
        lost = self.loses > 0
        self.loses -= 1
        if self.keeps or not lost:
            known = [one for one in self.sent if one["key"] == arguments["key"]]
            self.sent += [] if known else [dict(arguments)]
        if lost:
            raise TimeoutError
        return {"id": f"T{len(self.sent)}"}

    def find(self, asked):
        return Found("T1") if any(one["key"] == asked.key for one in self.sent) else Absent

    def call(self, id="c1", run="its own", **more):
        call = ToolCall("open_case", {"order": "A1", **more}, id)
        return self.door.answer(call, self.run if run == "its own" else run)

    def pass_by(self, seconds):
        self.now += seconds

    def later(self, seconds=30.0):
        """Time goes by, and a worker takes up what is due."""
        self.pass_by(seconds)
        self.app.recover()
        (action,) = self.app.session("chat-42", principal="u7").actions(whole=True)
        return action


def asks(house_find):
    return {"target": house_find, "absence_final_after": "1s"}


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Turns are short, and end by their pauses: however busy the machine is."""
    made = []

    def build(*, lookup=True, **said):
        house = None

        def find(asked):
            return house.find(asked)

        more = {"lookup": asks(find)} if lookup else {}
        house = House(tmp_path, **more, **said)
        monkeypatch.setattr(sync, "time", SimpleNamespace(sleep=house.pass_by))
        made.append(house)
        return house

    yield build
    for house in made:
        house.app.close()


def test_a_worker_asks_for_a_guest_and_confirms_it(make):
    house = make()
    house.find = lambda asked: (_ for _ in ()).throw(TimeoutError())
    assert house.call().state == "unknown"
    del house.find
    assert house.later().state is State.CONFIRMED
    assert len(house.sent) == 1


def test_what_is_absent_for_good_ends_as_not_done_and_may_be_called_again(make):
    house = make(key_lifetime="24h")  # a repeat would be safe, but nobody is there to make it
    house.keeps = False
    assert house.call().state == "unknown"
    action = house.later()
    assert (action.state, action.kind, house.sent) == (State.REJECTED, "absent", [])
    assert "call_again" in action.facts()["next_allowed"]
    assert house.call("c2").confirmed
    assert len(house.sent) == 1


def test_a_guest_that_runs_alone_is_sent_by_a_worker_with_the_same_key(make):
    house = None

    def alone(arguments):
        return house.run(arguments)

    house = make(alone=alone, key_lifetime="24h")
    house.keeps = False
    assert house.call(note="first words").state == "unknown"
    action = house.later()
    assert action.state is State.CONFIRMED
    assert house.sent == [{"order": "A1", "note": "first words", "key": action.key}]


def test_where_nobody_can_be_asked_and_no_worker_can_send_a_person_decides(make):
    house = make(lookup=False, key_lifetime="24h")
    assert house.call().state == "unknown"
    action = house.later()
    assert (action.state, action.record.review) == (State.UNKNOWN, "budget_spent")
    assert len(house.sent) == 1


def test_a_resumed_run_repeats_by_key_what_was_stored_first(make):
    house = make(lookup=False, key_lifetime="24h")
    house.keeps = False
    assert house.call(note="first words").state == "unknown"
    fact = house.call("c2", note="other words")
    assert fact.confirmed
    assert [one["note"] for one in house.sent] == ["first words"]


def test_what_was_approved_waits_for_its_run_and_is_sent_by_it_alone(make):
    house = make(approval=True)
    house.loses = 0
    fact = house.call()
    assert (fact.state, fact.needs_person) == ("prepared", True)
    digest = house.app.approval_digest(fact.action)
    house.app.approve(fact.action, by="boss", digest=digest)
    assert (house.later(5).state, house.sent) == (State.PREPARED, [])
    assert house.call().confirmed
    assert len(house.sent) == 1


def test_without_its_run_nothing_is_sent_and_nothing_is_in_doubt(make):
    house = make()
    fact = house.call(run=None)
    assert (fact.state, house.sent) == ("rejected", [])


def test_an_answer_that_is_a_text_of_json_gives_its_reference(make):
    house = make()
    fact = house.call(run=lambda arguments: '{"ticket_id": "T77", "at": "noon"}')
    assert fact.facts["actions"][0]["provider_ref"] == "T77"
    assert fact.data == {"ticket_id": "T77", "at": "noon"}


def test_facts_alone_where_the_answer_is_not_to_be_shown(make):
    house = make(show=False)
    house.loses = 0
    assert (
        "provider_data"
        not in house.door.answer(ToolCall("open_case", {"order": "A1"}, "c1"), house.run).facts
    )
    assert len(house.sent) == 1


# ------------------------------------------------------------------------------- whose wish it is


@pytest.mark.parametrize("scope", [None, lambda host: None], ids=["none", "gives none"])
def test_without_a_scope_a_door_says_what_to_do_and_sends_nothing(tmp_path, scope):
    with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none") as app:
        door = Door(app, scope=scope)
        door.learn("open_case", SCHEMA)
        with pytest.raises(NoScope, match=r"app\.session"):
            door.answer(ToolCall("open_case", {"order": "A1"}, "c1"), pytest.fail)


def test_without_a_scope_the_session_around_the_agent_counts(tmp_path):
    with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none") as app:
        door = Door(app)
        door.learn("open_case", SCHEMA)
        with app.session("chat-7", principal="u9") as session:
            call = ToolCall("open_case", {"order": "A1", "key": "k"}, "c1")
            assert door.answer(call, lambda arguments: {"id": "T1"}).confirmed
            assert session.actions()[0].record.principal == "u9"


# ----------------------------------------------------------------------------------- declarations


@pytest.mark.parametrize(
    "arguments, says",
    [
        ({}, "order"),
        ({"order": 7}, "expected string"),
        ({"order": None}, "expected string"),
        ({"order": "A1", "priority": "urgent"}, "priority"),
        ({"order": "A1", "count": True}, "integer"),
        ({"order": "A1", "surplus": 1}, "surplus"),
    ],
)
def test_arguments_are_checked_by_the_schema_before_anything_is_sent(tmp_path, arguments, says):
    form = schema("order")
    form["properties"] |= {"priority": {"enum": ["low", "high"]}, "count": {"type": "integer"}}
    with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none") as app:
        door = Door(app, scope=app.session("chat-42", principal="u7"))
        door.learn("open_case", form)
        fact = door.answer(ToolCall("open_case", arguments, "c1"), pytest.fail)
        assert fact.state == "rejected"
        assert says in fact.facts["actions"][0]["detail"]


def test_what_was_left_out_stays_left_out(tmp_path):
    given = []
    form = schema("order", note="as always")
    form["properties"]["count"] = {"type": "integer"}
    with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none") as app:
        door = Door(app, scope=app.session("chat-42", principal="u7"))
        door.learn("open_case", form)
        assert door.answer(ToolCall("open_case", {"order": "A1"}, "c1"), given.append).confirmed
    assert given == [{"order": "A1", "note": "as always"}]


def test_a_file_says_what_guests_promise(tmp_path):
    path = tmp_path / "ascertain.toml"
    path.write_text(
        '[tools.open_case]\nidentity = ["order"]\nkey_lifetime = "24h"\nfills = { key = "key" }\n'
        '[tools.search]\naccess = "pass"\n'
    )
    with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none") as app:
        door = Door(app, config=path)
        door.learn("open_case", SCHEMA)
        door.learn("search", SCHEMA)
        contract = app.registry.get("open_case").contract
        assert (contract.identity, contract.caller_sends) == (("order",), True)
        assert door.passes("search")
        assert "key" not in door.shown("open_case", SCHEMA)["properties"]


@pytest.mark.parametrize(
    "said, cause",
    [
        ({"fills": {"key": "model"}}, "fills="),
        ({"lookup": "later"}, "lookup="),
        ({"identity": ["no_such"]}, "identity"),
        ({"promise": 1}, "promise"),
    ],
)
def test_a_declaration_that_cannot_be_kept_is_refused(tmp_path, said, cause):
    with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none") as app:
        door = Door(app)
        door.declare("open_case", **said)
        with pytest.raises(ContractError, match=cause):
            door.learn("open_case", SCHEMA)


def test_a_guest_shows_the_schema_that_it_was_declared_with(make):
    house = make()
    _, shown = house.door.own("open_case")
    assert shown["properties"]["note"] == {"type": "string", "default": ""}
    assert shown["required"] == ["order"]


def test_a_schema_that_is_no_objects_is_refused(tmp_path):
    app = Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none")
    with app, pytest.raises(ContractError, match="object"):
        Door(app).learn("open_case", {"type": "array"})


def test_a_tool_is_declared_once_and_options_are_checked(tmp_path):
    with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none") as app:
        door = Door(app)
        door.declare("open_case")
        with pytest.raises(ContractError, match="already"):
            door.declare("open_case")
        with pytest.raises(ContractError, match="unlisted"):
            Door(app, unlisted="maybe")


def test_sync_code_cannot_call_a_guest_whose_look_up_is_async(tmp_path):
    async def find(asked):
        return Absent

    with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none") as app:
        door = Door(app, scope=app.session("chat-42", principal="u7"))
        door.declare("open_case", lookup=find)
        door.learn("open_case", SCHEMA)
        with pytest.raises(ContractError, match="async"):
            door.answer(ToolCall("open_case", {"order": "A1", "key": "k"}, "c1"), pytest.fail)


def breaks(*_args, **_more):
    raise LedgerLocked("busy")


def test_a_ledger_that_fails_once_the_call_was_made_takes_nothing_back(make, monkeypatch):
    """What the provider has done is told, without its answer; never that nothing was sent."""
    house = make()
    house.loses = 0
    assert house.call().confirmed
    monkeypatch.setattr(type(house.app.ledger), "result", breaks)
    fact = house.call()
    assert (fact.confirmed, fact.state, fact.data is NOTHING) == (True, "confirmed", True)
    assert fact.facts["actions"][0]["provider_ref"] == "T1"


def test_a_ledger_that_fails_while_it_is_told_leaves_a_lost_answer_unknown(make, monkeypatch):
    house = make(lookup=False)
    monkeypatch.setattr(Action, "facts", breaks)
    fact = house.call()
    assert (fact.confirmed, fact.state) == (False, "unknown")
    assert fact.facts["next_allowed"] == ["ask_person"]
    assert "Nothing was sent" not in told.text(fact)
