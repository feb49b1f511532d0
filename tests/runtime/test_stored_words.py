"""U05, F08: a call that finds an open action sends what that one stored, never its own words."""

import pytest

from ascertain import Absent, Ascertain, Budget
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

QUICK = Budget(turn_s=0.3, turn_sends=1)


class Provider:
    """Loses its first request, and keeps what it was sent with which key."""

    def __init__(self):
        self.came = []

    def take(self, key, order, issue):
        self.came.append((key, order, issue))
        if len(self.came) == 1:
            raise TimeoutError
        return {"id": "T1"}


def test_req_U05_a_reworded_call_sends_the_first_words_again(tmp_path):
    provider = Provider()
    app = Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none")

    @app.tool(identity=["order"], wording=["issue"], key_lifetime="24h", budget=QUICK)
    def create_ticket(order: str, issue: str) -> dict:
        from ascertain import key

        return provider.take(key(), order, issue)

    with app, app.session("chat-42", principal="u7"):
        assert create_ticket("A1", "it buzzes").state == "unknown"
        assert create_ticket("A1 ", "a noise").confirmed
    assert len(set(provider.came)) == 1


async def test_req_U05_the_same_in_async_code_where_the_look_up_is_told_them_too(tmp_path):
    provider, asked = Provider(), []
    app = Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none")

    @app.tool(identity=["order"], wording=["issue"], key_lifetime="24h", budget=QUICK)
    async def create_ticket(order: str, issue: str) -> dict:
        from ascertain import key

        return provider.take(key(), order, issue)

    @create_ticket.lookup()
    async def find(action):
        asked.append(action.arguments["issue"])
        return Absent

    async with app, app.session("chat-42", principal="u7"):
        assert (await create_ticket("A1", "it buzzes")).state == "unknown"
        assert (await create_ticket("A1", "a noise")).confirmed
    assert len(set(provider.came)) == 1
    assert set(asked) == {"it buzzes"}
