"""Codes, times and records, told in words that a person understands."""

import ast

import pytest

from ascertain.model.contract import Contract, LookupPromise, OncePer, OnUnknown, Repeat
from ascertain.report.promises import promises_of
from ascertain.report.reasons import sentence_of
from ascertain.report.words import ago, joined, lowered, many, sender_words, size, span
from ascertain.rules.decide import Reason
from ascertain.rules.news.classify import REASONS
from tests.cli.conftest import ROOT

MAKERS = {"move", "note", "dispute", "withdraw", "lose", "open_review", "_evidence", "_doubt"}


def written_reasons():
    """Every reason that the rules, the protocol and the app write as it stands."""
    for folder in ("rules", "flow", "runtime"):
        for path in (ROOT / "src" / "ascertain" / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.Call):
                    continue
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name not in MAKERS:
                    continue
                values = [*node.args, *(k.value for k in node.keywords if k.arg == "reason")]
                for value in values:
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        yield value.value


WRITTEN = sorted(set(written_reasons()))


def test_the_reasons_are_found_in_the_code():
    assert {"lease_expired", "found_by_lookup", "absent_final", "sender_gone"} <= set(WRITTEN)
    assert len(WRITTEN) > 20


@pytest.mark.parametrize("reason", [*WRITTEN, *map(str, Reason), *REASONS])
def test_every_reason_has_words(reason):
    for code in (reason, f"review:{reason}"):
        said = sentence_of(code)
        assert "Reason:" not in said
        assert "reason:" not in said
        assert said.endswith(".")


@pytest.mark.parametrize(
    "reason, says",
    [
        ("http_599", "The provider answered with HTTP 599."),
        ("precondition: policy V2", "The precondition 'policy V2' does not hold."),
        ("something_new", "Reason: something_new."),
        ("review:cannot_ask", "Handed to a person: the answer was lost"),
    ],
)
def test_reasons_that_are_made_up_on_the_way(reason, says):
    assert sentence_of(reason).startswith(says)


@pytest.mark.parametrize(
    "seconds, says",
    [
        (0.0, "0 ms"),
        (0.45, "450 ms"),
        (1.0, "1 s"),
        (5.5, "5.5 s"),
        (59.4, "59 s"),
        (60.0, "1 min"),
        (125.0, "2 min 5 s"),
        (3600.0, "1 h"),
        (3605.0, "1 h"),
        (86400.0 * 3 + 7200, "3 d 2 h"),
        (-5.0, "5 s"),
    ],
)
def test_a_length_of_time(seconds, says):
    assert span(seconds) == says


def test_a_length_of_time_in_its_largest_unit_alone():
    assert span(125.0, units=1) == "2 min"
    assert span(86400.0 * 3 + 7200, units=1) == "3 d"


@pytest.mark.parametrize(
    "count, says",
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (64 * 1024, "64 KiB"),
        (300 * 1024**2, "300 MiB"),
        (1536 * 1024**2, "1.5 GiB"),
        (4096 * 1024**3, "4096.0 GiB"),
    ],
)
def test_a_number_of_bytes(count, says):
    assert size(count) == says


def test_small_words():
    assert (ago(90, 100), ago(110, 100)) == ("10 s ago", "in 10 s")
    assert (many(1, "call"), many(0, "call"), many(2, "was", "were")) == (
        "1 call", "0 calls", "2 were",
    )  # fmt: skip
    assert joined(["a", "b", "c"]) == "a, b and c"
    assert lowered("The lease ended.") == "the lease ended"
    assert lowered("HTTP 503.") == "HTTP 503"
    assert sender_words("web-1/boot/4026/4711/99#2") == "process 4711 on web-1 (attempt 2)"
    assert sender_words("somebody") == "somebody"


@pytest.mark.parametrize(
    "changes, says",
    [
        ({}, "never repeated blindly"),
        ({}, "no look-up"),
        ({}, "irreversible"),
        ({"access": "read"}, "a read: retried in bounds, never unknown"),
        ({"once_per": OncePer.TENANT}, "once per tenant"),
        ({"repeat": Repeat.BY_KEY, "key_lifetime_s": 86400.0}, "may be repeated by key for 1 d"),
        ({"repeat": Repeat.BY_KEY}, "may be repeated by key (no lifetime promised)"),
        ({"repeat": Repeat.BY_NATURE}, "may be repeated: it sets or deletes"),
        ({"repeat": Repeat.HARMLESS}, "may be repeated: a double is harmless"),
        ({"lookup": LookupPromise()}, "look-up by key, absence never final"),
        ({"lookup": LookupPromise(absence_final_after_s=10)}, "absence final after 10 s"),
        ({"lookup": LookupPromise(fences=True)}, "absence is final at once"),
        ({"refusal_covers_key": True}, "a refusal covers the key"),
        ({"on_unknown": OnUnknown.LEAVE}, "best effort: an open end needs nobody"),
        ({"undo": "recall_mail", "undo_within_s": 60.0}, "reversed by recall_mail within 1 min"),
    ],
)
def test_a_contract_in_short(changes, says):
    fields = {"tool": "send_mail", "noun": "mail", **changes}
    assert says in "; ".join(promises_of(Contract(**fields)))
