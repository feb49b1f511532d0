"""Statuses, Retry-After, and what is read out of bodies."""

from __future__ import annotations

import calendar
import enum
import time
import uuid
from collections import UserDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascertain.model.contract import Contract
from ascertain.model.outcome import Kind
from ascertain.rules.news import exceptions, http, reasons, replies, spoken
from tests.pure.stand_ins import NOW, TICKETS, response, stand_in, thing

# --------------------------------------------------------------------------------- Retry-After

DAY = 86400.0


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("0", 0.0),
        ("1", 1.0),
        ("007", 7.0),
        ("120", 120.0),
        (" 3\t", 3.0),
        ("999999999", 999999999.0),
        ("9" * 400, http.LONGEST_S),
        ("9" * 5000, http.LONGEST_S),
    ],
)
def test_req_F02_whole_seconds(text, seconds):
    assert http.retry_after_s(text, now=NOW) == seconds


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("0.493", 1.0),
        ("1.5", 2.0),
        ("1.000", 1.0),
        ("0.0", 0.0),
        ("1.0000000000000000000001", 2.0),
        ("999999999.5", http.LONGEST_S),
        ("9" * 400 + ".5", http.LONGEST_S),
    ],
)
def test_req_F02_a_fraction_is_rounded_up(text, seconds):
    assert http.retry_after_s(text, now=NOW) == seconds


@given(st.decimals(min_value=0, max_value=999_999_998, places=3))
def test_req_F02_a_fraction_is_waited_out_and_less_than_a_second_more(said):
    advice = http.retry_after_s(f"{said:f}", now=NOW)

    assert advice is not None
    assert said <= advice < said + 1


@pytest.mark.parametrize(
    "text",
    [
        "-1", "+1", ".5", "1.", "1.5.0", "-0.5", "1e3", "inf", "nan", "", " ", "soon", "1,2", "1 2",
        "0x10", "1s",
        "\u0661\u0662", "1\n", None, 5, 5.0, b"5",
        "Fri, 15 Jan 2027 08:01:00", "Fri, 15 Jan 2027 08:01:00 UTC",
        "Fri, 15 Jan 2027 08:01:00 +0000", "fri, 15 jan 2027 08:01:00 gmt",
        "Fri, 31 Feb 2027 08:01:00 GMT", "Fri, 15 Jan 2027 25:01:00 GMT",
        "Fri, 15 Jan 2027 08:01:61 GMT", "Fri, 15 Jan 0000 08:01:00 GMT",
        "Fri, 5 Jan 2027 08:01:00 GMT", "Friday, 15-Jan-2027 08:01:00 GMT",
        "Fri Jan 15 08:01:00 27", "2027-01-15T08:01:00Z",
    ],
)  # fmt: skip
def test_req_F02_anything_else_is_no_advice(text):
    assert http.retry_after_s(text, now=NOW) is None


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("Fri, 15 Jan 2027 08:01:00 GMT", 60.0),
        ("Friday, 15-Jan-27 08:01:00 GMT", 60.0),
        ("Fri Jan 15 08:01:00 2027", 60.0),
        ("Fri Jan  1 08:00:00 2027", 0.0),
        ("Fri, 15 Jan 2027 07:59:60 GMT", 0.0),
        ("Fri, 15 Jan 2027 08:00:60 GMT", 60.0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", http.LONGEST_S),
    ],
)
def test_req_F02_the_three_http_dates(text, seconds):
    assert http.retry_after_s(text, now=NOW) == seconds


def test_two_digits_of_a_year_lie_at_most_fifty_years_ahead():
    near = http.retry_after_s("Friday, 15-Jan-76 08:00:00 GMT", now=NOW)
    far = http.retry_after_s("Friday, 15-Jan-78 08:00:00 GMT", now=NOW)

    assert near == http.LONGEST_S
    assert far == 0.0, "1978"


@pytest.mark.parametrize("now", [float("nan"), float("inf"), -float("inf"), -1.0, 1e300])
def test_a_clock_beyond_reason_gives_no_odd_advice(now):
    for text in ("Friday, 15-Jan-27 08:01:00 GMT", "Fri, 15 Jan 2027 08:01:00 GMT"):
        advice = http.retry_after_s(text, now=now)
        assert advice is not None
        assert 0.0 <= advice <= http.LONGEST_S


@given(st.floats(min_value=0, max_value=4e9), st.integers(min_value=0, max_value=4_000_000_000))
def test_a_date_is_the_time_it_says(now, at):
    said = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(at))
    assert calendar.timegm(time.strptime(said, "%a, %d %b %Y %H:%M:%S GMT")) == at

    advice = http.retry_after_s(said, now=now)
    assert advice == min(max(0.0, at - now), http.LONGEST_S)


@given(st.text() | st.from_regex(r"[0-9A-Za-z,: -]{0,40}"))
def test_any_text_gives_seconds_or_nothing(text):
    advice = http.retry_after_s(text, now=NOW)

    assert advice is None or 0.0 <= advice <= http.LONGEST_S


# ------------------------------------------------------------------------------------- statuses


def test_every_status_has_a_meaning_with_a_sentence():
    for status in range(100, 600):
        row = http.meaning(status)
        assert row.reason in http.REASONS, status
        if row.kind is not None:
            assert 400 <= status < 500, "only 4xx can be a definite refusal"
            assert row.kind in (Kind.INVALID, Kind.AUTH, Kind.BUSINESS), "and it is final"
    assert http.meaning(403).kind is Kind.AUTH
    assert http.meaning(403, retry_after=True).kind is None, "a rate limit"


def test_the_tables_name_only_reasons_that_have_a_sentence():
    for row in exceptions.LEAVES.values():
        assert row.reason in reasons.REASONS
    for table in (spoken.GRPC, spoken.SQLSTATES, spoken.REDIS, spoken.MCP):
        for verdict in table.values():
            assert verdict.reason in reasons.REASONS


RESENDERS = {"urllib3", "botocore", "stripe", "google", "azure", "redis", "tenacity"}


def test_no_class_of_a_client_that_repeats_by_itself_is_proof_alone():
    bare = {f"urllib3.{leaf}" for leaf in
            ("NewConnectionError", "NameResolutionError", "ConnectTimeoutError")}  # fmt: skip
    for name, row in exceptions.LEAVES.items():
        if name.partition(".")[0] in RESENDERS and name not in bare:
            assert row.proof is not exceptions.Proof.ALONE, name
        if name.partition(".")[0] in ("openai", "anthropic"):
            assert row.counted, name


# --------------------------------------------------------------------------------- reading paths

BODY = {"error": {"code": "X", "rows": [{"code": 7}, {"code": 8}]}, "odd": None, "list": [1]}


@pytest.mark.parametrize(
    "path, found",
    [
        ("error.code", "X"),
        ("error.rows.1.code", 8),
        ("list.0", 1),
        ("error.rows.2.code", None),
        ("error.rows.-1.code", None),
        ("error.rows.\u0661.code", None),
        ("error.rows.99999999999.code", None),
        ("error.code.more", None),
        ("odd.more", None),
        ("nothing", None),
        ("", None),
        ("error.", None),
    ],
)
def test_dotted_paths(path, found):
    assert replies.read_path(BODY, path) == found


def test_paths_go_through_attributes_but_not_into_private_ones():
    record = thing("acme.Reply", error=thing("acme.Error", code="X"), _hidden="no")

    assert replies.read_path(record, "error.code") == "X"
    assert replies.read_path(record, "_hidden") is None
    assert replies.read_path(record, "__class__.__name__") is None
    assert replies.read_path(UserDict(a={"b": 1}), "a.b") == 1


class Hostile:
    """Raises whatever is asked of it."""

    def __getattr__(self, name):
        raise RuntimeError(name)


class HostileMap(UserDict):
    def get(self, *_):
        raise RuntimeError("get")


def test_foreign_things_that_raise_say_nothing():
    assert replies.read_path(Hostile(), "error") is None
    assert replies.read_path(HostileMap(a=1), "a") is None
    assert replies.receipt_in(Hostile(), TICKETS) is None
    assert spoken.said_by_reply(Hostile()) is None


# ------------------------------------------------------------------------- references and codes


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    "value, ref",
    [
        ("T900", "T900"),
        (" T900 ", " T900 "),
        (900, "900"),
        (0, "0"),
        (-3, "-3"),
        (2**70, str(2**70)),
        (Colour.RED, "red"),
        (uuid.UUID(int=7), str(uuid.UUID(int=7))),
        ("", None),
        (" \n", None),
        ("x" * 513, None),
        (10**100, None),
        (True, None),
        (None, None),
        (1.5, None),
        ([], None),
        ({}, None),
        (b"T900", None),
    ],
)
def test_what_can_be_a_reference(value, ref):
    assert replies.ref_of(value) == ref


@pytest.mark.parametrize(
    "value, code",
    [("X", "X"), (704, "704"), ("", None), (True, None), (None, None), (1.5, None), ({}, None),
     (10**100, None), ("y" * 300, "y" * 200)],
)  # fmt: skip
def test_what_can_be_a_code(value, code):
    assert replies.code_of(value) == code


@pytest.mark.parametrize(
    "body, ref",
    [
        ({"ticket_id": "T900", "id": "x"}, "T900"),
        ({"id": "T900", "ref": "x"}, "T900"),
        ({"ref": 900}, "900"),
        ({"reference": "T900"}, "T900"),
        ({"ticket_id": None, "id": "T900"}, "T900"),
        ({"id": {}, "ref": "T900"}, "T900"),
        ({"refund_id": "R1", "amount": 3}, "R1"),
        ({"refund_id": "R1", "order_id": "A123"}, "R1"),
        ({"refund_id": "R1", "request_id": "q"}, "R1"),
        ({"refund_id": "R1", "note_id": "N1"}, None),
        ({"order_id": "A123"}, None),
        ({"issue_id": "w"}, None),
        ({7: "x", "done": True}, None),
        ({}, None),
        ([{"id": "T900"}], None),
        ("T900", None),
        (None, None),
        (UserDict(id="T900"), "T900"),
        (thing(ticket_id="T900"), "T900"),
        (thing(reference="T900"), "T900"),
        (thing(other_id="T900"), None),
    ],
)
def test_where_a_receipt_stands(body, ref):
    tool = Contract(tool="t", noun="ticket", identity=("order_id",), wording=("issue_id",))

    assert replies.receipt_in(body, tool) == ref


def test_a_declared_path_is_the_only_one():
    tool = Contract(tool="t", noun="ticket", receipt="data.0.number")

    assert replies.receipt_in({"data": [{"number": 9}]}, tool) == "9"
    assert replies.receipt_in({"id": "T900"}, tool) is None


@pytest.mark.parametrize(
    "body, handle",
    [
        ({"handle": "J1", "id": "x"}, "J1"),
        ({"job": {"id": 3}, "job_id": 7}, "7"),
        ({"operation": "op/1"}, "op/1"),
        ({"id": "T900"}, None),
        ([{"job": "J1"}], None),
        (None, None),
        (HostileMap(job="J1"), None),
    ],
)
def test_where_the_handle_of_a_job_stands(body, handle):
    assert replies.handle_in(body) == handle


# ----------------------------------------------------------------------- bodies of other clients


def said(**attributes):
    return spoken.said_by(stand_in("acme.Error", **attributes))


def test_a_body_that_has_not_been_read_is_not_read_now():
    def json():
        raise AssertionError("this would be I/O")

    unread = response(422)
    unread.json, unread._content_consumed = json, False
    assert said(response=unread).body is None
    unread._content_consumed = True
    assert said(response=unread).body is None, "and what it raises is no body"


def test_a_client_that_reads_asynchronously_has_no_body_here():
    async def json():
        return {"error": {"code": "X"}}

    reply = response(422)
    reply.json = json
    assert said(response=reply).body is None, "and no coroutine is left unawaited"
    reply.json = lambda: "text"
    assert said(response=reply).body is None


def test_headers_in_any_spelling():
    assert said(response=response(503, headers={"retry-after": "3"})).retry_after == "3"
    assert said(response=response(503, headers={"Retry-After": "3"})).retry_after == "3"
    assert said(response=response(503, headers={"Retry-After": 3})).retry_after is None
    assert said(status_code=503, headers={"Retry-After": "3"}).retry_after == "3"
    assert said(status_code=503, headers=None).retry_after is None


def test_a_code_beside_the_body():
    assert said(status_code=422, code="its_code").code == "its_code"
    assert said(status_code=422, code=17).code is None
    assert said(status_code=422, json_body={"a": 1}).body == {"a": 1}
    assert said(status_code=422, json_body="text").body is None


@pytest.mark.parametrize(
    "name", ["smtplib.SMTPDataError", "psycopg.Error", "redis.exceptions.DataError",
             "mcp.shared.exceptions.MCPError", "grpc.RpcError"]
)  # fmt: skip
def test_other_protocols_that_say_nothing(name):
    error = stand_in(name)
    if name.startswith("smtplib"):
        assert spoken.said_by(error).verdict.kind is None
    else:
        assert spoken.said_by(error) is None
