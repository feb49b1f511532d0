"""What holds on one kind of ledger is shown on the other, or it is said why not."""

import ast

from tests.tidy import sources

LIST = "../one_ledger.txt"
FOLDERS = ("tests/requirements/", "tests/cases/", "tests/linear/", "tests/fleet/")


def marks(*nodes):
    """Which of the two marks stand in these parts of a file."""
    found = (part for node in nodes for part in ast.walk(node))
    return {part.attr for part in found if isinstance(part, ast.Attribute)} & {
        "every_ledger", "one_ledger",
    }  # fmt: skip


def of_the_file(tree):
    assigned = (node for node in tree.body if isinstance(node, ast.Assign))
    return {
        mark
        for node in assigned
        if any(sources.dotted(target) == "pytestmark" for target in node.targets)
        for mark in marks(node.value)
    }


def on_one_ledger(name, tree):
    """The tests of a file that should run on every ledger, by their marks, and do not."""
    whole = of_the_file(tree)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            wanted = node.name.startswith("test_req_") or (
                node.name.startswith("test_") and name.startswith(FOLDERS)
            )
            if wanted and whole | marks(*node.decorator_list) != {"every_ledger"}:
                yield f"{name}::{node.name}"


def entry_of(test, entries):
    """The entry that names this test, its file or its folder."""
    file, _, _ = test.partition("::")
    return next((e for e in (test, file, f"{file.rpartition('/')[0]}/") if e in entries), None)


def test_every_test_of_a_requirement_runs_on_every_ledger_or_says_why_not():
    entries = sources.listed(LIST)
    assert [entry for entry, reason in entries.items() if not reason] == []
    found = [
        test
        for path in sources.python("tests")
        for test in on_one_ledger(sources.name(path), sources.tree(path))
    ]
    unnamed = [test for test in found if entry_of(test, entries) is None]
    assert unnamed == [], f"mark them every_ledger, or say in {LIST} why not"
    idle = set(entries) - {entry_of(test, entries) for test in found}
    assert idle == set(), "these name no test that runs on one kind only"


def test_that_is_noticed():
    """Marked as a whole, by itself, or taken out again."""
    code = "{}\n@pytest.mark.{}\ndef test_req_F01_x(): ..."
    whole, none = "pytestmark = pytest.mark.every_ledger", ""
    for head, mark, seen in [
        (none, "slow", True), (none, "every_ledger", False), (whole, "slow", False),
        (whole, "one_ledger", True),
    ]:  # fmt: skip
        tree = ast.parse(code.format(head, mark))
        assert bool(list(on_one_ledger("tests/cli/test_x.py", tree))) is seen, (head, mark)
