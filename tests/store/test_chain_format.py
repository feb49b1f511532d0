"""The chain as docs/reference/chain.md says it, written once more from that page alone."""

import contextlib
import hashlib
import hmac
import json
import sqlite3

import pytest

from ascertain.model.tables import Event, State
from ascertain.store.ledger import Advanced, Reserved
from ascertain.store.rows import IDENTITY
from ascertain.store.seal import chain_mac, event_hash
from ascertain.store.sqlite import SqliteLedger
from ascertain.testing.conformance.samples import advance, confirm, reserve_sent, submit, wanted

SECRET = b"a secret of the tests"
GOLDEN = "0c483c2af6cc1accc28de6ddbd5aa81840ae7f4d4dd6c6008f653240129d5a44"


def sha(key, message):
    return hmac.new(key, message, hashlib.sha256).digest()


def js(value):
    return json.dumps(value, separators=(",", ":"))


def said(row, origin):
    lines = [
        js(row["action_id"]), str(row["n"]), row["start"], row["event"], row["end"],
        js(row["by"]), js(row["reason"]), str(row["attempt"]), str(row["fence"]), repr(row["at"]),
        row["detail"], row["stand"], row["covers"].hex(), origin if row["n"] == 1 else "",
    ]  # fmt: skip
    return "\n".join(lines).encode()


@pytest.fixture
def story(tmp_path):
    """A history with odd characters in every free text; the rows of its file."""
    ledger = SqliteLedger(tmp_path / "ledger.db", secret=SECRET)
    odd = wanted(principal='李"\n\\', call_id="call\n1", replaces=None, tenant="\x1f")
    sent = submit(ledger, reserve_sent(odd), Reserved).record
    lost = advance(sent, Event.LOSE, State.UNKNOWN, detail={"text": "\u2028\n"}, reason="\n")
    lost = submit(ledger, lost, Advanced).record
    done = submit(ledger, confirm(lost, ref='T"900\n'), Advanced).record
    assert list(ledger.verify()) == []
    ledger.close()
    with contextlib.closing(sqlite3.connect(ledger.path)) as db:
        db.row_factory = sqlite3.Row
        yield {
            "action": db.execute("SELECT * FROM action").fetchone(),
            "events": db.execute("SELECT * FROM event ORDER BY n").fetchall(),
            "payload": {row["what"]: row for row in db.execute("SELECT * FROM payload")},
            "meta": dict(db.execute("SELECT name, value FROM meta").fetchall()),
            "done": done,
        }


def test_the_page_is_enough_to_check_a_ledger(story):
    action, events = story["action"], story["events"]
    columns = action.keys()
    origin = js([action[name] for name in columns[: columns.index("created_at") + 1]])
    key, head = sha(SECRET, b"ascertain chain 1"), bytes(32)
    assert len(events) == 4
    for row in events:
        head = sha(key, head + said(row, origin))
        assert head == row["hash"], f"event {row['n']}"
    assert head == action["head"] == story["done"].head


def test_payloads_are_covered_where_the_page_says(story):
    covers = {
        what: hashlib.sha256(row["salt"] + row["body"].encode()).digest()
        for what, row in story["payload"].items()
    }
    assert [row["covers"] for row in story["events"]] == [
        covers["args"], b"", b"", covers["result"],
    ]  # fmt: skip


def test_the_stand_is_that_of_the_row(story):
    action = story["action"]
    known = ("state", "final", "kind", "code", "provider_ref", "related_ref", "disputed")
    stand = js([*(action[name] for name in known), action["maybe_twice"]])
    assert [bool(row["stand"]) for row in story["events"]] == [False, True, True, True]
    assert story["events"][-1]["stand"] == stand


def test_the_secret_is_named_as_the_page_says(story):
    assert story["meta"]["secret_id"] == sha(SECRET, b"ascertain secret id").hex()[:16]


def test_the_format_is_final():
    """An event of the first release; if this differs, older ledgers no longer verify."""
    row = {
        "action_id": "0199c0ffee", "n": 1, "start": "", "event": "prepare", "end": "prepared",
        "by": "call", "reason": "prepared", "attempt": 0, "fence": 0, "at": 1800000000.25,
        "detail": "{}", "stand": '["prepared",0,null,null,null,null,0,0]', "covers": bytes(32),
    }  # fmt: skip
    origin = '["0199c0ffee","","create_ticket"]'
    by_the_page = sha(sha(SECRET, b"ascertain chain 1"), bytes(32) + said(row, origin))
    assert by_the_page.hex() == GOLDEN
    by_the_code = event_hash(chain_mac(SECRET), bytes(32), *row.values(), origin=origin)
    assert by_the_code.hex() == GOLDEN
    assert IDENTITY == (
        "id", "tenant", "tool", "principal", "session", "opening", "turn", "slot", "chain",
        "call_id", "parent", "replaces", "intent", "ordinal", "exact", "wording", "key",
        "contract", "mode", "created_at",
    )  # fmt: skip


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1_000])
def test_the_quick_mac_is_hmac(size):
    message = bytes(range(256)) * 4
    message = message[:size]
    key = sha(SECRET, b"ascertain chain 1")
    assert chain_mac(SECRET)(message) == sha(key, message)
