"""U10: an approval is bound to one exact call, expires, and is used once."""

from __future__ import annotations

import asyncio
import json

import pytest

from ascertain import Ascertain, IntentConflict, NotAllowed, NotSent, State
from ascertain.errors import ContractError
from ascertain.testing import invariants
from tests.ledgers import by_hand, ledger_url
from tests.requirements.conftest import QUICK

pytestmark = pytest.mark.every_ledger


class Till:
    """A tool that pays money back, and what left it."""

    def __init__(self, folder, **said) -> None:
        self.paid: list[tuple[str, int]] = []
        self.gives: list[BaseException] = []
        self.path = folder / "till.db"
        self.app = Ascertain(ledger_url(self.path), worker="none", lease_s=0.3)
        promises = {"identity": ["order"], "approval": True, "budget": QUICK} | said

        @self.app.tool(**promises)
        def refund(order: str, amount: int = 5, text: str = "") -> dict:
            if self.gives:
                raise self.gives.pop(0)
            self.paid.append((order, amount))
            return {"id": f"R{len(self.paid)}"}

        self.refund = refund

    def session(self, id="chat-1", **more):
        return self.app.session(id, **({"principal": "u7"} | more))

    def asked(self, **arguments):
        """A call that waits, and the digest that the person who approves has seen."""
        with self.session():
            action = self.refund(**({"order": "A1"} | arguments))
        return action, self.app.approval_digest(action.id)

    def events(self, action):
        return [(e.event, e.by, e.reason) for e in self.app.ledger.events(action.id)]

    def forge(self, statement, *values):
        by_hand(self.path, statement, *values)


@pytest.fixture
def till(tmp_path):
    till = Till(tmp_path)
    yield till
    till.app.close()


def test_req_U10_nothing_is_sent_before_a_person_approves_and_the_facts_say_so(till):
    action, _ = till.asked()
    assert till.app.recover() == 0
    facts = action.facts()
    assert (action.state, action.record.review, till.paid) == (State.PREPARED, "approval", [])
    assert facts["workflow_state"] == "needs_review"
    assert facts["next_allowed"] == ["ask_person", "wait"]
    assert action.say() == "The refund waits for approval; nothing has been sent."
    assert action.say("zh-CN") == "refund等待审批，尚未提交。"


def test_req_U10_it_is_stored_with_one_commit_and_sent_with_a_second(till):
    commits = []
    till.app.hands.on_effect = lambda side, effect: side == "after" and commits.append(effect)
    action, digest = till.asked()
    assert [type(effect).__name__ for effect in commits] == ["Reserve"]
    commits.clear()
    till.app.approve(action.id, by="ops", digest=digest)
    till.app.recover()
    written = [type(e).__name__ for e in commits if type(e).__name__ in ("Advance", "Reserve")]
    assert written == ["Advance", "Advance"]


def test_req_U10_an_approved_call_is_sent_by_the_worker_and_names_its_approval(till):
    action, digest = till.asked()
    till.app.approve(action.id, by="ops", digest=digest)
    assert till.app.recover() == 1
    action = action.refresh()
    assert (action.state, till.paid) == (State.CONFIRMED, [("A1", 5)])
    events = till.app.ledger.events(action.id)
    approved, sent = events[1], events[2]
    assert (approved.by, approved.reason) == ("person", "approved")
    assert json.loads(approved.detail)["approval"] == digest
    assert json.loads(sent.detail) == {"approved_in": approved.n}
    assert not list(till.app.ledger.verify())
    assert not invariants.approved_sends(action.record, events)


def test_req_U10_the_same_call_joins_what_waits_and_sends_it_once_it_is_approved(till):
    action, digest = till.asked()
    with till.session():
        again = till.refund(order="A1")
        assert (again.id, again.how, till.paid) == (action.id, "joined", [])
        with pytest.raises(IntentConflict):
            till.refund(order="A1", amount=500)
        till.app.approve(action.id, by="ops", digest=digest)
        assert till.refund(order="A1").state is State.CONFIRMED
        assert till.refund(order="A1").how == "replayed"
    assert till.paid == [("A1", 5)]


def test_req_U10_it_is_bound_to_the_arguments_the_principal_and_the_one_action(till):
    one, digest = till.asked()
    with till.session("chat-2"):
        other = till.refund(order="A1")
    with till.session("chat-1", principal="u8"):
        whose = till.refund(order="A1")
    for wrong in (other, whose):
        with pytest.raises(NotAllowed, match="another call was looked at"):
            till.app.approve(wrong.id, by="ops", digest=digest)
    till.app.approve(one.id, by="ops", digest=digest)
    with pytest.raises(NotAllowed, match="waits for no approval"):
        till.app.approve(one.id, by="ops", digest=digest)
    till.app.recover()
    assert till.paid == [("A1", 5)]


def test_req_U10_arguments_changed_behind_its_back_are_not_sent(till):
    action, digest = till.asked()
    till.app.approve(action.id, by="ops", digest=digest)
    changed = '{"amount":500,"order":"A1","text":""}'
    till.forge("UPDATE payload SET body = ? WHERE action_id = ?", changed, action.id)
    till.app.recover()
    record = till.app.ledger.get(action.id)
    assert (record.state, record.review) == (State.PREPARED, "approval_invalid")
    assert till.paid == []


def test_req_U10_a_column_that_says_approved_proves_nothing(till):
    action, _ = till.asked()
    till.forge("UPDATE action SET review = NULL, review_at = NULL, due_at = 0")
    till.app.recover()
    record = till.app.ledger.get(action.id)
    assert (record.state, record.review, till.paid) == (State.PREPARED, "approval", [])


def test_req_U10_a_forged_approval_is_noticed_and_nothing_is_sent(till):
    action, digest = till.asked()
    detail = json.dumps({"approval": digest, "who": "ops", "until": 9e9})
    head = bytes(32)
    till.forge(
        "INSERT INTO event VALUES (?, 2, 'prepared', 'note', 'prepared', 'person', 'approved', "
        "0, 0, 1.0, ?, ?, '', ?)", action.id, detail, head, b"",
    )  # fmt: skip
    till.forge("UPDATE action SET review = NULL, due_at = 0, n = 2, head = ?", head)
    till.app.recover()
    record = till.app.ledger.get(action.id)
    assert (record.state, record.review, till.paid) == (State.PREPARED, "approval_invalid", [])


@pytest.mark.parametrize("approved", [False, True])
def test_req_U10_it_expires_and_what_was_not_sent_by_then_is_withdrawn(tmp_path, approved):
    now = [1000.0]
    till = Till(tmp_path, approval_within="10m")
    till.app.hands.clock = lambda: now[0]
    action, digest = till.asked()
    if approved:
        till.app.approve(action.id, by="ops", digest=digest)
    now[0] += 600
    if not approved:
        with pytest.raises(NotAllowed, match="has passed"):
            till.app.approve(action.id, by="ops", digest=digest)
    till.app.recover()
    record = till.app.ledger.get(action.id)
    assert (record.state, record.kind, record.final) == (State.REJECTED, "withdrawn", 1)
    assert till.paid == []
    till.app.close()


def test_req_U10_another_person_where_the_contract_says_so(tmp_path):
    till = Till(tmp_path, approval_by_other=True)
    action, digest = till.asked()
    with pytest.raises(NotAllowed, match="somebody else than u7"):
        till.app.approve(action.id, by="u7", digest=digest)
    till.app.approve(action.id, by="ops", digest=digest)
    till.app.recover()
    assert till.paid == [("A1", 5)]
    till.app.close()


def test_req_U10_what_is_declined_is_over_and_is_not_asked_again_in_this_opening(till):
    with till.session():
        action = till.refund(order="A1")
        till.app.decline(action.id, by="ops", why="too often")
        again = till.refund(order="A1")
    assert (again.id, again.how, again.state) == (action.id, "bound", State.REJECTED)
    assert again.facts()["next_allowed"] == ["ask_person"]
    assert again.say() == "The refund was not approved; nothing was sent."
    with pytest.raises(NotAllowed):
        till.app.decline(action.id, by="ops")
    assert till.paid == []


def test_req_U10_permission_is_checked_again_at_the_moment_of_sending(tmp_path):
    permitted = [True]
    till = Till(tmp_path, permission=lambda asked: permitted[0])
    action, digest = till.asked()
    till.app.approve(action.id, by="ops", digest=digest)
    permitted[0] = False
    till.app.recover()
    record = till.app.ledger.get(action.id)
    assert (record.state, record.reason, till.paid) == (State.REJECTED, "permission", [])
    till.app.close()


def test_req_U10_proof_that_nothing_left_leaves_the_approval_until_it_expires(till):
    till.gives = [NotSent("busy")]
    action, digest = till.asked()
    till.app.approve(action.id, by="ops", digest=digest)
    deadline = 200
    while not till.app.ledger.get(action.id).terminal and deadline:
        till.app.recover()
        deadline -= 1
    events = till.app.ledger.events(action.id)
    assert till.paid == [("A1", 5)]
    assert sum(event.reason == "approved" for event in events) == 1
    assert [event.event for event in events].count("send") == 2
    assert not invariants.approved_sends(till.app.ledger.get(action.id), events)


def test_req_U10_a_lost_answer_after_the_approval_expired_needs_a_new_one(tmp_path):
    """The same key again would be safe; whether it is still approved is another question."""
    now = [1000.0]
    till = Till(tmp_path, approval_within="10m", key_lifetime="24h")
    till.app.hands.clock = lambda: now[0]
    till.gives = [TimeoutError()]
    action, digest = till.asked()
    till.app.approve(action.id, by="ops", digest=digest)
    till.app.recover()
    assert till.app.ledger.get(action.id).state is State.UNKNOWN
    now[0] += 700
    till.app.recover()
    record = till.app.ledger.get(action.id)
    assert (record.state, record.review, till.paid) == (State.UNKNOWN, "approval_expired", [])
    till.app.approve(action.id, by="ops", digest=digest)
    till.app.recover()
    assert till.app.ledger.get(action.id).state is State.CONFIRMED
    assert till.paid == [("A1", 5)]
    till.app.close()


@pytest.mark.parametrize("amount, waits", [(5, False), (500, True)])
def test_req_U10_a_rule_of_the_server_says_which_calls_wait(tmp_path, amount, waits):
    till = Till(tmp_path, approval=lambda asked: asked.arguments["amount"] > 100)
    action, digest = till.asked(amount=amount)
    assert (action.state is State.PREPARED, len(till.paid)) == (waits, int(not waits))
    if waits:
        till.app.approve(action.id, by="ops", digest=digest)
        till.app.recover()
    assert till.paid == [("A1", amount)]
    till.app.close()


def test_req_U10_a_rule_that_breaks_has_not_done_without_approval(tmp_path, caplog):
    till = Till(tmp_path, approval=lambda asked: asked.arguments["nothing"] > 100)
    action, _ = till.asked()
    assert (action.state, till.paid) == (State.PREPARED, [])
    assert "its rule of approval broke" in caplog.text
    till.app.close()


def test_req_U10_an_async_tool_waits_in_the_same_way(tmp_path):
    paid = []

    async def story():
        app = Ascertain(ledger_url(f"{tmp_path}/aio.db"), worker="none")

        async def above(asked):
            return asked.arguments["amount"] > 100

        @app.tool(identity=["order"], approval=above)
        async def refund(order: str, amount: int) -> dict:
            paid.append(amount)
            return {"id": "R1"}

        async with app, app.session("s", principal="u7"):
            action = await refund(order="A1", amount=500)
            assert (action.state, paid) == (State.PREPARED, [])
            app.approve(action.id, by="ops", digest=app.approval_digest(action.id))
            action = await refund(order="A1", amount=500)
            assert (action.state, paid) == (State.CONFIRMED, [500])

    asyncio.run(story())


def test_req_U10_bad_input_is_told_before_anything_happens(tmp_path, till):
    action, digest = till.asked()
    with pytest.raises(ContractError, match="who decides"):
        till.app.approve(action.id, by=" ", digest=digest)
    with pytest.raises(ContractError, match="approval='yes'"):
        Till(tmp_path / "..", approval="yes")
    with pytest.raises(ContractError, match="approval_within"):
        Till(tmp_path / "..", approval_within=0)
