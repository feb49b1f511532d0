"""What may be said of a provider's rate, and what is refused before anything is sent."""

import pytest

from ascertain import Ascertain, Breaker, Rate
from ascertain.errors import ContractError
from ascertain.model.contract import contract_from_json
from ascertain.model.rate import Rate as Rule


@pytest.fixture
def app(tmp_path):
    with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none") as made:
        yield made


def declare(app, name, **said):
    def body(order_id: str) -> dict:
        return {"ticket_id": f"T{order_id}"}

    return app.tool(name=name, identity=["order_id"], **said)(body)


@pytest.mark.parametrize(
    "said, rule",
    [
        ("50/s", Rule(limit=50)),
        (" 3000 / m ", Rule(limit=3000, window_s=60.0)),
        ("10/2s", Rule(limit=10, window_s=2.0)),
        ("1/100ms", Rule(limit=1, window_s=0.1)),
        (Rate("5/h", group="crm"), Rule(limit=5, window_s=3600.0, group="crm")),
        (None, None),
    ],
)
def test_a_rate_is_read_and_stored_with_the_contract(app, said, rule):
    tool = declare(app, "create_ticket", rate=said)
    assert tool.contract.rate == rule
    assert contract_from_json(tool.contract.as_json()).rate == rule


@pytest.mark.parametrize(
    "said, why",
    [
        ("fast", "is not a rate (50/s, 3000/m, 10/2s)"),
        ("-5/s", "is not a rate"),
        ("5", "is not a rate"),
        ("1.5/s", "is not a rate"),
        ("0/s", "must let at least 1 request through"),
        ("5/0s", "must let at least 1 request through"),
        ("5/2d", "in a day or less"),
        (50, "is Rate(...) or text such as '50/s'"),
        (True, "is Rate(...) or text such as '50/s'"),
        (Rate(most=50), "is not a rate"),
        (Rate("5/s", group=7), "must be a name"),
    ],
)
def test_what_is_no_rate_is_refused_with_the_reason(app, said, why):
    with pytest.raises(ContractError, match="create_ticket: rate") as told:
        declare(app, "create_ticket", rate=said)
    assert why in str(told.value)
    assert told.value.advice


def test_one_provider_has_one_rate(app):
    """Its group is that of the breaker, where the rate names none."""
    declare(app, "create_ticket", rate="50/s", breaker=Breaker(group="crm"))
    declare(app, "create_note", rate=Rate("50/s", group="crm"))
    declare(app, "create_order", rate="7/s")
    with pytest.raises(ContractError, match="share the provider 'crm'") as told:
        declare(app, "create_mail", rate=Rate("60/s", group="crm"))
    assert "50 in 1 s, and 60 in 1 s" in str(told.value)
    names = {tool: rate.name for tool, rate in app.registry.rates}
    assert names == {"create_ticket": "crm", "create_note": "crm", "create_order": "create_order"}


def test_a_sync_caller_waits_for_its_turn_too(app):
    tool = declare(app, "create_ticket", rate="2/200ms")
    with app.session("chat-42", principal="u7"):
        ends = [tool(order_id=f"A{n}") for n in range(5)]
    assert [action.state for action in ends] == ["confirmed"] * 5
    sent = [action.record.first_sent_at for action in ends]
    assert all(late - early >= 0.2 for early, late in zip(sent, sent[2:], strict=False))


def test_a_read_is_counted_like_a_write(app):
    tool = declare(app, "create_ticket", rate=Rate("1/h", group="crm"))

    @app.read(rate=Rate("1/h", group="crm"))
    def query_ticket(order_id: str) -> dict:
        return {"order_id": order_id}

    with app.session("chat-42", principal="u7"):
        assert query_ticket(order_id="A1").confirmed
        refused = tool.options(deadline=0.2)(order_id="A1")
    assert (refused.state, refused.reason) == ("rejected", "rate_used_up")
    assert refused.record.attempt == 0
    assert refused.facts()["next_allowed"] == ["wait", "call_again"]


def test_a_turn_that_is_not_used_is_given_back(app):
    """The call was made before: what is known of it is told, and its turn is free for another."""
    tool = declare(app, "create_ticket", rate="2/h")
    with app.session("chat-42", principal="u7"):
        first = tool(order_id="A1")
        assert tool(order_id="A1").replayed
        assert tool(order_id="A2").confirmed
    assert first.confirmed
    (seen,) = app.ledger.fleet.rates(app.hands.clock())
    assert sum(one.n for one in seen.usage.cooling) == 2
    assert seen.usage.open == ()
