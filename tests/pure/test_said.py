"""What a person may say, checked before anybody looks at how the action stands."""

import pytest

from ascertain.errors import ContractError
from ascertain.rules.cases import Verdict
from ascertain.rules.said import check_said


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
