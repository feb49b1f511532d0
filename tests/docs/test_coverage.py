"""Everything that is public is on a page, and every link leads to its very heading."""

import ast
import inspect
import re

import pytest

import ascertain
from ascertain import errors, sql
from ascertain.cli.run import COMMANDS
from ascertain.model.contract import Budget, Contract, LookupPromise
from ascertain.rules import facts
from ascertain.runtime import promises
from ascertain.store.secret import ENVIRONMENT
from ascertain.testing import world
from tests.docs.pages import PAGES, ROOT, text_of

CONTRACTS = text_of("docs/concepts/contracts.md")
# Fields of a contract that are not said by the name under which they are stored.
SAID_AS = {"tool": "name", "key": "key_format"}
# ... and those that are said by the decorator itself.
BY_THE_DECORATOR = {
    "access": "@app.read",
    "lookup": "@tool.lookup",
    "undo_by": "@tool.compensate",
    "undo_offered": "@tool.compensate",
    "undoes": "@tool.compensate",
}


def errors_below(kind):
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield below
            yield from errors_below(below)


@pytest.mark.parametrize("name", ascertain.__all__)
def test_every_public_name_has_a_heading(name):
    assert f"\n### {name}\n" in text_of("docs/reference/python.md")


def test_every_option_of_the_app_is_told():
    page = text_of("docs/reference/python.md")
    options = inspect.signature(ascertain.Ascertain).parameters
    assert [name for name in options if f"`{name}`" not in page] == []


@pytest.mark.parametrize("kind", [errors.AscertainError, *errors_below(errors.AscertainError)])
def test_every_error_is_told_with_its_code_and_next_step(kind):
    (line,) = [
        line
        for line in text_of("docs/concepts/errors.md").splitlines()
        if f"**{kind.__name__}** `{kind.code}`" in line
    ]
    assert kind.next_step in line


def test_every_error_of_the_module_is_below_the_one_root():
    assert {kind.__name__ for kind in errors_below(errors.AscertainError)} == set(
        errors.__all__
    ) - {"AscertainError"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_section(command):
    assert f"\n## {command}\n" in text_of("docs/reference/cli.md")


@pytest.mark.parametrize("name", promises.Promises.__annotations__)
def test_every_promise_has_a_row_with_a_meaning(name):
    (row,) = re.findall(rf"^\| `{name}` \| (?:any|write) \| .*$", CONTRACTS, re.MULTILINE)
    _, _, default, _, meaning = [cell.strip() for cell in row.strip("|").split(" | ")]
    assert default
    assert len(meaning) > 10


@pytest.mark.parametrize("field", Contract.__dataclass_fields__)
def test_every_field_of_a_contract_can_be_found_by_what_is_said(field):
    name = SAID_AS.get(field, field.removesuffix("_s"))
    if field in BY_THE_DECORATOR:
        assert BY_THE_DECORATOR[field] in CONTRACTS
    else:
        assert name in promises.Promises.__annotations__
        assert f"| `{name}` |" in CONTRACTS


@pytest.mark.parametrize("kind", [Budget, LookupPromise])
def test_every_field_of_the_parts_of_a_contract_has_a_row(kind):
    for field in kind.__dataclass_fields__:
        assert f"| `{field}` |" in CONTRACTS


def test_the_facts_page_has_a_row_for_every_field():
    tree = ast.parse(inspect.getsource(facts.action_facts))
    fields = {
        node.slice.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    }
    first = next(node for node in ast.walk(tree) if isinstance(node, ast.Dict))
    fields |= {key.value for key in first.keys}
    page = text_of("docs/concepts/facts.md")
    section = page.partition("## An action")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == fields


def test_what_is_below_the_public_face_has_its_page():
    own_database = text_of("docs/how-to/own-database.md")
    assert all(f"`sql.{name}(" in own_database for name in sql.__all__)
    testing = text_of("docs/how-to/testing-your-tools.md")
    untold = [name for name in world.__all__ if not re.search(rf"\b{name}\b", testing)]
    assert set(untold) <= {
        "Arrival", "BEHAVIOURS", "Effect", "LOOKUPS", "MORE_BEHAVIOURS", "SixOutcomes",
        "WorldError",
    }  # fmt: skip


def test_every_variable_that_is_read_is_on_the_page():
    read = {ENVIRONMENT, "NO_COLOR"}
    for path in (ROOT / "src").rglob("*.py"):
        read |= set(re.findall(r"environ[^\n]*\"(ASCERTAIN_\w+)\"", path.read_text()))
        read |= set(re.findall(r"^\w+ = \"(ASCERTAIN_[A-Z_]+)\"", path.read_text(), re.MULTILINE))
    page = text_of("docs/how-to/run-a-worker.md")
    assert sorted(name for name in read if f"| `{name}` |" not in page) == []


def test_the_decisions_are_numbered_and_listed():
    folder = ROOT / "docs" / "decisions"
    pages = sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert [int(name[:4]) for name in pages] == list(range(1, len(pages) + 1))
    listed = re.findall(r"\((\d{4}-[a-z-]+\.md)\) \| (.*) \|", text_of("docs/decisions/README.md"))
    assert [name for name, _ in listed] == pages
    for name, title in listed:
        text = (folder / name).read_text()
        assert text.startswith(f"# {name[:4]} {title}\n")
        parts = ("Context", "Decision", "Consequences", "Weighed")
        assert [word for word in parts if f"\n**{word}.**" in text] == list(parts)


def anchors(page):
    """The headings of a page, as links name them."""
    for title in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        yield re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_their_headings(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", text):
        there = (page.parent / target).resolve() if target else page
        assert anchor in set(anchors(there)), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_page_can_be_reached(page):
    """From the README, by links."""
    seen, waiting = set(), [ROOT / "README.md"]
    while waiting:
        here = waiting.pop()
        if here in seen or here.suffix != ".md":
            continue
        seen.add(here)
        targets = re.findall(r"\]\(([^)#\s:]+\.md)[^)]*\)", here.read_text(encoding="utf-8"))
        waiting += [(here.parent / target).resolve() for target in targets]
    assert page in seen
