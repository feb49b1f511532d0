"""From a reply to what each of its clauses claims. Pure text; the ledger comes later."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from ascertain.rules.replies import words
from ascertain.rules.replies.words import Claim

LONGEST = 20_000

_SENTENCE = re.compile(r"(?<=[!?。;\n])\s*|(?<=\.)(?=\s|$)\s*")
_CLAUSE = re.compile(
    r"[,:]\s+|[,:](?=[\u3400-\u9fff])|(?<=[\u3400-\u9fff])[,:]|\s[-–—]+\s|—+|[()]|"
    r"\b(?:but|however|although|though|while|so|because|since|yet it)\b|"
    rf"\band\b(?! (?:{words.DONE_WORDS})\b)|但是?|不过|然而|因为|所以",
)
_FORMAT = "Cf"


class Clause(NamedTuple):
    """A part of a sentence that claims at most one thing.

    :param text: lower case, in one form of each character. :param written: the same, as written.
    :param said: the whole sentence.
    :param word: the words that make the claim. :param strong: of ``open``: it says so outright.
    """

    text: str
    written: str
    said: str
    chinese: bool
    claim: Claim | None
    word: str = ""
    strong: bool = False


def clauses_of(reply: str) -> Iterator[list[Clause]]:
    """Sentence by sentence. What is beyond :data:`LONGEST` characters is not read."""
    for sentence in _SENTENCE.split(_plain(reply[:LONGEST])):
        said = sentence.strip()
        if not said:
            continue
        chinese = words.CHINESE.search(said) is not None
        asked = words.QUESTION.search(said) is not None
        parts = [part.strip() for part in _CLAUSE.split(said)]
        condition = False
        found: list[Clause] = []
        for part in filter(None, parts):
            clause = _clause(part, said, chinese, asked=asked, condition=condition)
            condition = condition or _is_condition(part.lower())
            found.append(clause)
        yield found


def language_of(text: str) -> str:
    """The language in which to answer it."""
    return "zh-CN" if words.CHINESE.search(text) else "en"


def tokens_of(text: str) -> list[str]:
    """What could be a reference: Latin letters and digits, with at least one digit."""
    return words.TOKEN.findall(_plain(text))


def _plain(text: str) -> str:
    """One form of each character, no marks of emphasis, nothing invisible."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    text = "".join(c for c in text if unicodedata.category(c) != _FORMAT)
    return re.sub(r"[*_`~#>|\"“”「」『』]+(?![A-Za-z0-9]*_)|(?<!\w)_|_(?!\w)", "", text)


_CONDITION = re.compile(
    r"(?:if|once|when|unless|until|as soon as|after|in case)\b|如果|若|一旦|确认后"
)


def _is_condition(part: str) -> bool:
    return _CONDITION.match(part) is not None


def _clause(written: str, said: str, chinese: bool, *, asked: bool, condition: bool) -> Clause:
    part = written.lower()
    claim, word, strong = _read(part, condition, _ZH if chinese else _EN)
    if asked and claim is not Claim.REPEAT:
        claim, word, strong = None, "", False
    return Clause(part, written, said, chinese, claim, word, strong)


_Read = tuple[Claim | None, str, bool]
_NOTHING: _Read = (None, "", False)


class _Lexicon(NamedTuple):
    to_approve: re.Pattern[str]
    repeat: re.Pattern[str]
    not_repeat: re.Pattern[str]
    open: re.Pattern[str]
    strongly_open: re.Pattern[str]
    undone: re.Pattern[str]
    not_done: re.Pattern[str]
    nothing_new: re.Pattern[str]
    future_outcome: re.Pattern[str]
    outcome: re.Pattern[str]
    accepted: re.Pattern[str]
    done: re.Pattern[str]
    negation: re.Pattern[str]
    not_a_claim: re.Pattern[str]


_EN = _Lexicon(
    words.EN_TO_APPROVE,
    words.EN_REPEAT, words.EN_NOT_REPEAT, words.EN_OPEN, words.EN_STRONGLY_OPEN, words.EN_UNDONE,
    words.EN_NOT_DONE, words.EN_NOTHING_NEW, words.EN_FUTURE_OUTCOME, words.EN_OUTCOME,
    words.EN_ACCEPTED, words.EN_DONE, words.EN_NEGATION, words.EN_NOT_A_CLAIM,
)  # fmt: skip
_ZH = _Lexicon(
    words.ZH_TO_APPROVE,
    words.ZH_REPEAT, words.ZH_NOT_REPEAT, words.ZH_OPEN, words.ZH_STRONGLY_OPEN, words.ZH_UNDONE,
    words.ZH_NOT_DONE, words.ZH_NOTHING_NEW, words.ZH_FUTURE_OUTCOME, words.ZH_OUTCOME,
    words.ZH_ACCEPTED, words.ZH_DONE, words.ZH_NEGATION, words.ZH_NOT_A_CLAIM,
)  # fmt: skip


def _read(part: str, condition: bool, lexicon: _Lexicon) -> _Read:
    """What a clause claims; what hedges comes first, for it takes the rest back."""
    again = lexicon.repeat.search(part)
    if again is not None:
        called_off = lexicon.not_repeat.search(part[: again.start()]) is not None
        return _NOTHING if called_off else (Claim.REPEAT, again[0], False)
    strong = lexicon.strongly_open.search(part)
    if strong is not None:
        return Claim.OPEN, strong[0], True
    promised = lexicon.future_outcome.search(part)
    if promised is not None and not condition and not _negated(part, promised, lexicon):
        return Claim.OUTCOME, promised[0], False
    handed = lexicon.to_approve.search(part)
    if handed is not None and not _is_no_claim(part, handed, lexicon):
        return Claim.TO_APPROVE, handed[0], False
    hedged = lexicon.open.search(part)
    if hedged is not None:
        return Claim.OPEN, hedged[0], False
    for claim, pattern in _orders(lexicon):
        found = pattern.search(part)
        if found is None or _is_no_claim(part, found, lexicon):
            continue
        if claim is Claim.NOT_DONE or _negated(part, found, lexicon):
            return _not_done(claim, part, found, lexicon)
        return claim, found[0], False
    return _NOTHING


def _orders(lexicon: _Lexicon) -> tuple[tuple[Claim, re.Pattern[str]], ...]:
    return (
        (Claim.NOT_DONE, lexicon.not_done),
        (Claim.UNDONE, lexicon.undone),
        (Claim.OUTCOME, lexicon.outcome),
        (Claim.DONE, lexicon.done),
        (Claim.ACCEPTED, lexicon.accepted),
    )


def _not_done(claim: Claim, part: str, found: re.Match[str], lexicon: _Lexicon) -> _Read:
    """Something is denied. That nothing was undone, or made once more, claims nothing."""
    if claim in (Claim.UNDONE, Claim.OUTCOME, Claim.ACCEPTED):
        return _NOTHING
    if lexicon.nothing_new.search(part) is not None:
        return _NOTHING
    return Claim.NOT_DONE, found[0], False


def _is_no_claim(part: str, found: re.Match[str], lexicon: _Lexicon) -> bool:
    """The future, a wish, a condition, or somebody else's doing stands before it."""
    before = lexicon.not_a_claim.search(part)
    return before is not None and before.start() < found.end() and before.start() <= found.start()


def _negated(part: str, found: re.Match[str], lexicon: _Lexicon) -> bool:
    return lexicon.negation.search(part[: found.start()]) is not None
