"""What a session says of a reply before it reaches the person."""

import pytest

from ascertain import Ascertain
from ascertain.errors import InvalidArguments
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger


@pytest.fixture
def app(tmp_path):
    app = Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none")

    @app.tool(identity=["order_id"])
    def create_ticket(order_id: str, issue: str = "noise") -> dict[str, str]:
        if order_id == "LOST":
            raise TimeoutError
        return {"ticket_id": "T900"}

    yield app
    app.close()


def call(session, order_id):
    return session.call("create_ticket", {"order_id": order_id})


def found(session, said):
    return [finding.rule for finding in session.check_reply(said)]


def test_req_F20_never_submitted_without_evidence(app):
    with app.session("s", principal="u7") as session:
        action = call(session, "LOST")
        (finding,) = session.check_reply("Your ticket was submitted for order LOST.")
        assert finding.actions == (action.id,)
        assert finding.say == action.say()
        assert session.check_reply(finding.say) == []


def test_req_F20_never_more_than_the_receipt_and_never_another_reference(app):
    with app.session("s", principal="u7") as session:
        call(session, "A123")
        assert found(session, "Ticket T900 for order A123 is submitted.") == []
        assert found(session, "Order A123 was refunded.") == ["more_than_receipt"]
        assert found(session, "Ticket T901 is submitted.") == ["unknown_reference"]
        assert found(session, "Ticket T900 for order A124 is submitted.") == ["unknown_reference"]


def test_claims_are_of_the_session_and_the_wish_is_the_turn_s(app):
    with app.session("s", principal="u7", turn="1") as session:
        call(session, "LOST")
    with app.session("s", principal="u7", turn="2") as session:
        call(session, "A123")
        assert session.verify_claims({"workflow_state": "completed"}) == []
        claim = {"actions": [{"name": "create_ticket", "state": "unknown"}]}
        assert session.verify_claims(claim) == []  # of the turn before
        (finding,) = session.verify_claims('{"workflow_state": "refused"}')
        assert finding.rule == "workflow_differs"


def test_nobody_else_s_actions_count(app):
    with app.session("s", principal="u8") as session:
        call(session, "A123")
    with app.session("s", principal="u7") as session:
        assert found(session, "I have submitted the ticket.") == ["no_such_action"]


@pytest.mark.parametrize("reply", ["", "[]", '{"workflow_state": "comp', "done", 7, None, []])
def test_a_structured_reply_is_one_json_object(app, reply):
    session = app.session("s", principal="u7")
    with pytest.raises(InvalidArguments):
        session.verify_claims(reply)


def test_a_reply_to_check_is_a_text(app):
    with pytest.raises(InvalidArguments):
        app.session("s", principal="u7").check_reply(None)
