"""All SQL of the ledger lives in one folder."""

import ast
import re

import pytest

from tests.tidy import sources

STORE = sources.PACKAGE / "store"
# A provider keeps its own books, in its own file; they are no part of the ledger.
PROVIDERS = sources.PACKAGE / "testing" / "world"
SQL = re.compile(
    r"^\s*(--.*\s+)*"
    r"(select\s.+\sfrom\s|insert\s+(or\s+\w+\s+)?into\s|update\s+\w+\s+set\s|delete\s+from\s"
    r"|create\s+(unique\s+|temp\s+)?(table|index|trigger|view)\s|drop\s+(table|index|trigger|view)\s"
    r"|alter\s+table\s|pragma\s+\w|begin\s+(immediate|exclusive)|with\s+\w+\s+as\s*\()",
    re.IGNORECASE | re.DOTALL,
)


def outside(path):
    return not (path.is_relative_to(STORE) or path.is_relative_to(PROVIDERS))


def docstrings(tree):
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            yield body[0].value


def sql_texts(path):
    tree = sources.tree(path)
    words_for_people = set(docstrings(tree))
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and node not in words_for_people and SQL.match(node.value):
            yield f"{sources.name(path)}:{node.lineno}: {' '.join(node.value.split())[:60]}"


OUTSIDE = [path for path in sources.python("src") if outside(path)]


@pytest.mark.parametrize("path", OUTSIDE, ids=sources.name)
def test_there_is_no_sql_outside_the_store(path):
    found = list(sql_texts(path))
    assert not found, "SQL belongs into src/ascertain/store:\n" + "\n".join(found)


def test_sql_files_lie_in_the_store():
    stray = [sources.name(p) for p in sources.files("src") if p.suffix == ".sql" and outside(p)]
    assert not stray


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM action WHERE id = ?",
        "\n  -- find it --\n  select a, b\n  from c ",
        "INSERT OR IGNORE INTO action VALUES (?)",
        "UPDATE action SET state = ?",
        "PRAGMA synchronous = FULL",
        "WITH due AS (SELECT 1) SELECT * FROM due",
    ],
)
def test_the_rule_knows_sql_when_it_sees_it(text):
    assert SQL.match(text)


@pytest.mark.parametrize("text", ["update the address", "select a tool", "with care", "deleted"])
def test_the_rule_leaves_english_alone(text):
    assert not SQL.match(text)
