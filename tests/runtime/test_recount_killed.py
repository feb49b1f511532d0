"""A recount of two that look alike, killed at each of its effects, disputes neither."""

import pytest

from ascertain import Absent, Ascertain, Found
from ascertain.store.ledger import Filter
from ascertain.testing.crash import COUNT_POINTS, crash_everywhere
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger


def test_who_dies_while_it_counts_has_written_nothing_wrong(tmp_path):
    rows, rounds = tmp_path / "rows", iter(range(1_000))

    def app_of(plan):
        app = Ascertain(ledger_url(f"{tmp_path}/{ledger}.db"), worker="none", lease_s=0.1)

        @app.tool(identity=["order"])
        def book(order: str) -> dict:
            made = f"R{len(rows.read_text().split()) + 1}" if rows.exists() else "R1"
            with rows.open("a") as file:
                file.write(f"{made}\n")
            return {"id": made}

        @book.lookup(by="fields", absence_final_after=0)
        def find(action):
            refs = rows.read_text().split()
            return Found(refs[0], refs=refs) if refs else Absent

        app.hands.on_effect = plan
        return app, book

    def begin():
        nonlocal ledger
        ledger = next(rounds)
        rows.unlink(missing_ok=True)
        app, book = app_of(None)
        for session in "ab":
            with app.session(session, principal="u7"):
                assert book(order="A1").confirmed
        app.close()

    def count(plan):
        app, _ = app_of(plan)
        app.recount()
        app.close()

    ledger, seen = 0, set()
    for crash in crash_everywhere(count, count, before=begin):
        seen |= set(crash.passed)
        app = Ascertain(ledger_url(f"{tmp_path}/{ledger}.db"), worker="none")
        records = app.ledger.find(Filter())
        assert [(r.state, r.disputed) for r in records] == [("confirmed", 0)] * 2, str(crash)
        app.close()
    assert seen >= COUNT_POINTS
