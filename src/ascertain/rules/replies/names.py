"""What an action is called in a reply: its noun, its declared names, its references."""

from __future__ import annotations

import re
from typing import NamedTuple

from ascertain.model.contract import Contract
from ascertain.rules.facts import Known
from ascertain.rules.replies import words
from ascertain.rules.replies.clauses import tokens_of

_TOO_GENERAL = frozenset({"create", "send", "make", "request", "order", "the", "for", "and", "new"})


class Subject(NamedTuple):
    """An action that a reply may speak of.

    :param names: finds one of its names in a clause. :param nouns: the plain ones.
    :param references: its own, in lower case. :param tokens: all that it may be called by, besides.
    :param own_words: of the tool's own sentence for ``confirmed``: what its receipt means.
    """

    known: Known
    names: re.Pattern[str]
    nouns: frozenset[str]
    references: frozenset[str]
    tokens: frozenset[str]
    own_words: str


def subject_of(known: Known) -> Subject:
    """How a reply may call this action."""
    record, contract = known
    references = {
        ref.casefold() for ref in (record.provider_ref, record.related_ref, record.handle) if ref
    }
    whole = (record.provider_ref, record.related_ref, record.handle, record.key, record.id)
    nouns = _nouns(contract)
    return Subject(
        known=known,
        names=_pattern(contract, nouns),
        nouns=frozenset(nouns),
        references=frozenset(references),
        tokens=frozenset(
            token.casefold() for text in whole if text for token in (text, *tokens_of(text))
        ),
        own_words=" ".join(
            said[state].casefold()
            for said in (contract.say, contract.say_zh)
            for state in ("confirmed", "confirmed_no_ref")
            if state in said
        ),
    )


def _nouns(contract: Contract) -> set[str]:
    own = " ".join((contract.tool, contract.noun, contract.say.get("name", ""))).casefold()
    named = {word for word in re.split(r"[\W_]+", own) if len(word) > 2} - _TOO_GENERAL
    called = {words.NOUNS[noun] for noun in named if noun in words.NOUNS}
    declared = contract.say_zh.get("name", "")
    return named | {
        noun
        for noun, chinese in words.NOUNS.items()
        if noun not in words.GENERIC
        and (chinese in called or (declared and re.search(chinese, declared)))
    }


def _pattern(contract: Contract, nouns: set[str]) -> re.Pattern[str]:
    called = nouns | {words.DOINGS[noun] for noun in nouns if noun in words.DOINGS}
    english = "|".join(sorted(map(re.escape, called), key=len, reverse=True)) or r"(?!)"
    chinese = [
        words.NOUNS[noun] for noun in nouns if noun in words.NOUNS and noun not in words.GENERIC
    ]
    declared = contract.say_zh.get("name", "")
    chinese += [re.escape(declared.casefold())] if declared else []
    # an English name may stand between Chinese characters, which are letters too
    english = rf"(?<![a-z0-9_])(?:{english})s?(?![a-z0-9_])"
    return re.compile("|".join([english, *chinese]))
