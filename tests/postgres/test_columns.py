"""Rows that go to the server as an array for each column come back as they were."""

import re

from ascertain.store.postgres_columns import FLOAT, Columns
from ascertain.store.postgres_queries import ACTION, EVENT, MOVED, PAYLOAD
from ascertain.store.rows import FIELDS, MOVING
from tests.postgres import hands

COLUMNS = Columns("it", {"words": "text", "n": "bigint", "at": FLOAT, "salt": "bytea"})
WORDS = [
    "", "plain", "NULL", "null", None, '"', '","', "\\", '\\"', "{a,b}", "{}", " blank ", "a\nb",
    "a\x1fb", "\t", "左耳", "é", "'", "$1", "%s", "\\x00",
    '{"a": "b\\n\\"c\\""}', "\x01\x7f", "a,b",
]  # fmt: skip


def back(url, rows):
    text = re.sub(r":(\w+)", lambda found: f"%s::{COLUMNS.types[found[1]]}", COLUMNS.unnested)
    with hands.shell(url) as db:
        return db.execute(f"SELECT {text}", COLUMNS.literals(rows)).fetchall()


def test_whatever_the_words_are_they_come_back(ledger, url):
    """Each by itself, all together, and those that are written as one text."""
    ledger.now()
    rows = [(words, n, n / 7, bytes([n, 92, 34])) for n, words in enumerate(WORDS)]
    as_one = [row for row in rows if row[0] is not None and "\x1f" not in row[0]]
    for some in [*([row] for row in rows), rows, as_one]:
        assert back(url, some) == some


def test_what_is_null_throughout_or_here_and_there_comes_back_so(ledger, url):
    ledger.now()
    throughout = [(None, None, None, b""), (None, None, None, b"a")]
    here_and_there = [("a", None, 1.5, b"a"), (None, 2, None, b""), ("b", 3, 1e300, b"c")]
    for rows in (throughout[:1], throughout, here_and_there):
        said = [(f"{n}", *row[1:]) for n, row in enumerate(rows)]  # a row has one value at least
        assert back(url, said) == said
    assert back(url, here_and_there) == here_and_there


def test_no_rows_are_no_rows(ledger, url):
    ledger.now()
    assert back(url, []) == []


def test_the_columns_are_those_of_the_ledger(ledger, url):
    ledger.now()
    assert ACTION.names == FIELDS
    assert MOVED.names == ("id", "before_n", "before_fence", "before_head", *MOVING)
    with hands.shell(url) as db:
        for columns, table in ((ACTION, "action"), (EVENT, "event"), (PAYLOAD, "payload")):
            db.execute(f"SELECT {columns.listed} FROM {table}")
