"""What a person may say, checked before anybody looks at how the action stands."""

import pytest

from ascertain.errors import ContractError
from ascertain.rules.said import check_said


@pytest.mark.parametrize(
    "said",
    [
        {"confirmed": "T900", "evidence": ""},
        {"confirmed": "T900", "evidence": "seen in the CRM"},
        {"not_done": True, "evidence": "not in the CRM"},
        {"too_many": True, "evidence": "two in the CRM"},
        {"kept": True, "evidence": "the customer keeps it"},
    ],
)
def test_one_verdict_with_what_it_needs(said):
    check_said(**said)


@pytest.mark.parametrize(
    "said, match",
    [
        ({"evidence": "much"}, "exactly one"),
        ({"confirmed": "T900", "not_done": True, "evidence": "both"}, "exactly one"),
        ({"too_many": True, "kept": True, "evidence": "both"}, "exactly one"),
        ({"confirmed": "  ", "evidence": "seen"}, "names the provider's reference"),
        ({"not_done": True, "evidence": " "}, "'Not done' needs evidence"),
        ({"too_many": True, "evidence": ""}, "'Too many' needs evidence"),
        ({"kept": True, "evidence": ""}, "'Kept' needs evidence"),
    ],
)
def test_anything_else_is_refused_and_says_what_is_missing(said, match):
    with pytest.raises(ContractError, match=match):
        check_said(**said)
