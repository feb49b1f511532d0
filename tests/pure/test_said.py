"""What a person may say, checked before anybody looks at how the action stands."""

import json
from types import SimpleNamespace

import pytest

from ascertain.errors import ContractError
from ascertain.model.tables import By
from ascertain.rules.cases import Verdict
from ascertain.rules.said import check_said, is_last_word


def said(*verdicts):
    return {verdict: verdict in verdicts for verdict in Verdict}


@pytest.mark.parametrize("verdict", Verdict)
def test_one_verdict_with_what_it_needs(verdict):
    reference = "T900" if verdict is Verdict.CONFIRMED else None
    assert check_said(said(verdict), reference, "seen in the CRM") is verdict


def test_a_confirmation_needs_no_more_than_its_reference():
    assert check_said(said(Verdict.CONFIRMED), "T900", "") is Verdict.CONFIRMED


@pytest.mark.parametrize(
    "verdicts, reference, match",
    [
        ([], None, "exactly one"),
        ([Verdict.CONFIRMED, Verdict.NOT_DONE], "T900", "exactly one"),
        ([Verdict.TOO_MANY, Verdict.KEPT], None, "exactly one"),
        ([Verdict.CONFIRMED], "  ", "names the provider's reference"),
    ],
)
def test_anything_else_is_refused(verdicts, reference, match):
    with pytest.raises(ContractError, match=match):
        check_said(said(*verdicts), reference, "much")


@pytest.mark.parametrize("verdict", [one for one in Verdict if one is not Verdict.CONFIRMED])
def test_without_evidence_it_says_what_is_missing(verdict):
    with pytest.raises(ContractError, match="needs evidence") as refused:
        check_said(said(verdict), None, " ")
    assert f"--{verdict.value.replace('_', '-')}" in refused.value.advice


def event(reason, by=By.PERSON, **detail):
    return SimpleNamespace(by=by, reason=reason, detail=json.dumps(detail))


def test_only_what_a_person_said_last_and_just_so_is_said_again():
    looked_up = event("found_by_lookup", By.LOOKUP)
    confirmed = event("verdict_confirmed", ref="T900", evidence="seen in the CRM")
    again = (Verdict.CONFIRMED, "T900", "seen in the CRM")
    assert is_last_word([looked_up, confirmed], *again)
    assert is_last_word([confirmed, looked_up], *again), "what others find is no person's word"
    assert not is_last_word([], *again)
    assert not is_last_word([looked_up], *again)
    assert not is_last_word([confirmed, event("verdict_not_done")], *again)
    assert not is_last_word([confirmed], Verdict.CONFIRMED, "T901", "seen in the CRM")
