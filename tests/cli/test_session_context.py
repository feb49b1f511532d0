"""`session` and `trace` on a real conversation: query, then refund."""

import json

import pytest

from ascertain import Ascertain

LEDGER = ("--ledger", "sqlite:///ledger.db")
PHONE = "+49 151 2345678"


def an_app():
    """A query that finds an order, and a refund that names none."""
    app = Ascertain("sqlite:///ledger.db", worker="none", session_keys=["language"])

    @app.read(
        provides={"order_id": "id", "phone": "contact.phone", "paid": "contact"}, redact=["phone"]
    )
    def query_order(which: str, phone: str) -> dict:
        return {"id": f"order-{which}", "contact": {"phone": phone, "by": "card"}}

    @app.tool(
        context={"order_id": "order_id"}, identity=["order_id"], key_lifetime="24h",
        provides={"refund_id": "id"},
    )  # fmt: skip
    def refund(order_id: str) -> dict:
        if order_id == "order-lost":
            raise TimeoutError
        return {"id": f"R-{order_id}"}

    return app


def converse(which, *more):
    """The person asks for a refund once; returns the ids of the query and of the refund."""
    app = an_app()
    with app.session("chat-42", principal="u7") as session:
        session.remember(language="de")
        for one in (which, *more):
            query = session.call("query_order", {"which": one, "phone": PHONE})
        refund = session.call("refund", {})
    app.close()
    return query, refund


@pytest.fixture
def look(cli, here):
    def run(*words):
        done = cli(*words, *LEDGER)
        assert done.code == 0, done.complained
        return done

    return run


def told(look, *words):
    return json.loads(look(*words, "--json").out)


def keys(look, *more):
    (context,) = told(look, "session", "chat-42", *more)["contexts"]
    return {key["key"]: key for key in context["keys"]}, context


def test_a_session_shows_its_keys_with_state_version_age_and_writer(look):
    query, refund = converse("A1")
    found, context = keys(look)
    assert context["state"] == "context_ready"
    assert context["ended"] is False
    assert {name: key["state"] for name, key in found.items()} == {
        "language": "ready", "order_id": "ready", "paid": "ready", "phone": "ready",
        "refund_id": "ready",
    }  # fmt: skip
    order = found["order_id"]
    assert (order["tool"], order["action"]) == ("query_order", query.id)
    assert order["version"] < found["refund_id"]["version"] == context["version"]
    assert 0 <= order["age_s"] < 60
    assert (found["refund_id"]["action"], found["language"]["action"]) == (refund.id, None)
    said = look("session", "chat-42").said
    assert "order_id ready version" in said
    assert f"by query_order action {query.id}" in said
    assert "by the application" in said


def test_values_are_shown_only_when_they_are_asked_for_and_masked_even_then(look):
    converse("A1")
    silent, _ = keys(look)
    assert "value" not in silent["order_id"]
    assert "order-A1" not in look("session", "chat-42").said.partition("context")[2]
    found, _ = keys(look, "--values")
    assert (found["order_id"]["value"], found["language"]["value"]) == ("order-A1", "de")
    assert found["phone"]["value"] == "[masked]"
    assert found["paid"]["value"] == {"phone": "[masked]", "by": "card"}
    said = look("session", "chat-42", "--values").out
    assert '"order-A1"' in said
    assert "2345678" not in said


def test_a_key_whose_writer_is_unknown_is_in_doubt(look):
    _, refund = converse("lost")
    found, _ = keys(look)
    assert str(refund.state) == "unknown"
    assert found["refund_id"]["state"] == "in_doubt"
    assert found["refund_id"]["version"] is None
    assert "refund_id in_doubt -" in look("session", "chat-42").said


def test_a_session_that_needs_no_context_shows_none(look):
    app = an_app()

    @app.tool()
    def send_mail(to: str) -> dict:
        return {"id": "M1"}

    with app.session("chat-42", principal="u7"):
        send_mail("ann")
    app.close()
    assert told(look, "session", "chat-42")["contexts"] == []
    assert "context" not in look("session", "chat-42").said


def test_req_S14_the_five_questions_on_a_real_query_then_refund(look):
    """Nothing here is written by hand: the gate wrote where each argument came from."""
    query, refund = converse("A1")
    assert refund.record.chain == query.record.chain
    calls = told(look, "trace", refund.record.chain)["calls"]
    assert [call["tool"] for call in calls] == ["query_order", "refund"]
    (used,) = calls[1]["provenance"]["used"]
    assert (used["key"], used["writer"]) == ("order_id", query.id)
    found, _ = keys(look)
    assert used["version"] == found["order_id"]["version"]
    assert calls[1]["provenance"]["filled"] == ["order_id"]
    answers = {one["about"]: one["sentence"] for one in calls[1]["answers"]}
    assert answers["input"] == "Yes: order_id from the context."
    assert answers["context"].startswith(f"Yes: order_id version {used['version']} of {query.id}")
    assert answers["arguments"].startswith("Stored before the first send, never changed; sent once")
    assert answers["overwritten"] == "No."
    assert "after the call was stored" in answers["written"]
    assert all(one["fine"] for call in calls for one in call["answers"])


def test_req_S14_which_of_two_orders_was_refunded_is_told(look):
    """The person asked about another order first: the trace names the query that counted."""
    query, refund = converse("old", "new")
    (used,) = told(look, "trace", refund.record.chain)["calls"][-1]["provenance"]["used"]
    assert used["writer"] == query.id
    assert refund.unwrap() == {"id": "R-order-new"}
