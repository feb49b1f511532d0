"""`check_reply` on sentences of our own: what contradicts the ledger is found, and nothing else."""

from collections import Counter
from pathlib import Path

import pytest

from ascertain.rules.replies.check import check_reply
from ascertain.rules.replies.finding import WHY
from ascertain.rules.replies.words import CHINESE
from tests.replies.settings import BESIDE, SETTINGS

CORPUS = Path(__file__).parent / "corpus.txt"


def lines():
    for line in CORPUS.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            setting, rule, sentence = (part.strip() for part in line.split("|", 2))
            yield setting, rule, sentence


SENTENCES = list(lines())


@pytest.mark.parametrize("setting, rule, sentence", SENTENCES)
def test_req_F20_a_sentence_is_found_out_or_left_alone(setting, rule, sentence):
    found = check_reply(sentence, SETTINGS[setting], **BESIDE[setting])
    assert [f.rule for f in found] == ([] if rule == "-" else [rule])


def test_the_corpus_is_as_wide_as_it_says():
    assert len(SENTENCES) == len(set(SENTENCES)) >= 120
    assert {setting for setting, _, _ in SENTENCES} == set(SETTINGS)
    by_language = Counter(bool(CHINESE.search(sentence)) for _, _, sentence in SENTENCES)
    assert min(by_language.values()) >= 40
    right = Counter(rule == "-" for _, rule, _ in SENTENCES)
    assert min(right.values()) >= 60
    of_text = set(WHY) - {
        "state_differs",
        "reference_differs",
        "workflow_differs",
        "unreadable_claim",
    }
    assert {rule for _, rule, _ in SENTENCES} - {"-"} == of_text
