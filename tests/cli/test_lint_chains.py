"""`ascertain lint` on chains, compensations and approvals."""

import pytest

from ascertain import Absent, Ascertain, Undone
from ascertain.report.lint import lint


@pytest.fixture
def app(here):
    return Ascertain("sqlite:///ledger.db", worker="none", session_ttl="2h")


def declare(app, name, undo=True, **said):
    """A tool that can be asked and repeated, so that only what is tested is found."""

    @app.tool(name=name, noun=name, identity=["order"], key_lifetime="25h", **said)
    def make(order: str) -> dict:
        return {}

    make.lookup(absence_final_after="1s")(lambda action: Absent)
    if undo:

        @make.compensate(name=f"undo_{name}", within="48h", key_lifetime="25h")
        def reverse(undone: Undone) -> dict:
            return {}

        reverse.lookup(absence_final_after="1s")(lambda action: Absent)
        make.snapshot(lambda action: {})
    return make


def found(app, tool):
    return {f.rule: str(f.severity) for f in lint(app) if f.tool == tool}


def test_a_tool_whose_undoing_is_declared_in_full_has_no_findings(app):
    declare(app, "reserve")
    assert lint(app) == []


def test_an_essential_step_that_nothing_reverses_is_said_where_chains_go_back(app):
    declare(app, "ship", undo=False)
    assert found(app, "ship") == {"undo-undeclared": "info"}, "no chain of this app goes back"
    declare(app, "reserve")
    assert found(app, "ship") == {"undo-undeclared": "info", "irreversible-step": "warn"}
    declare(app, "notify", undo=False, on_unknown="leave")
    assert "irreversible-step" not in found(app, "notify"), "best effort is kept"


def test_an_undo_that_is_only_a_name_undoes_nothing(app):
    declare(app, "reserve")

    @app.tool(name="pay", identity=["order"], key_lifetime="25h", undo="undo_reserve")
    def pay(order: str) -> dict:
        return {}

    pay.lookup(absence_final_after="1s")(lambda action: Absent)
    assert found(app, "pay") == {"undo-unregistered": "bad"}


def test_a_compensation_that_is_blind_is_found_like_any_write(app):
    make = declare(app, "pay", undo=False)

    @make.compensate(name="undo_pay", within="1h")
    def reverse(undone: Undone) -> dict:
        return {}

    assert found(app, "undo_pay") == {"blind-write": "warn"}
    assert found(app, "pay") == {"undo-before-horizon": "info", "no-snapshot": "info"}


@pytest.mark.parametrize(
    "said, rules",
    [
        ({"approval": True, "approval_by_other": True}, {}),
        ({"approval": True}, {"approval-by-oneself": "info"}),
        (
            {"approval": True, "approval_by_other": True, "approval_within": "1m"},
            {"approval-too-soon": "warn"},
        ),
        (
            {
                "approval": True, "approval_by_other": True, "approval_within": "4h",
                "provides": {"paid": "id"},
            },
            {"approval-beyond-session": "warn"},
        ),
    ],
    ids=["well declared", "by oneself", "too soon", "beyond its session"],
)  # fmt: skip
def test_what_may_become_of_an_approval(app, said, rules):
    declare(app, "pay", **said)
    assert found(app, "pay") == rules
