"""Sentences of a reply against the ledger.

Never submitted without evidence, never "failed" while unknown, never more than the receipt, and no
invitation to repeat blindly. A clause speaks of the actions that it names, else of those that were
named before it, else of all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, assert_never

from ascertain.model.outcome import Evidence, Kind
from ascertain.model.tables import State
from ascertain.rules import texts
from ascertain.rules.approval import CASES as FOR_APPROVAL
from ascertain.rules.breaker import WAITS as FOR_CIRCUIT
from ascertain.rules.facts import Known
from ascertain.rules.news.items import PARTLY
from ascertain.rules.replies import words
from ascertain.rules.replies.clauses import Clause, clauses_of, language_of, tokens_of
from ascertain.rules.replies.finding import Finding
from ascertain.rules.replies.names import Subject, subject_of
from ascertain.rules.replies.words import Claim

# What may be said of an action that stands so.
ALLOWED: dict[str, frozenset[Claim]] = {
    "prepared": frozenset({Claim.NOT_DONE, Claim.OPEN, Claim.REPEAT}),
    "sent": frozenset({Claim.OPEN}),
    "unknown": frozenset({Claim.OPEN}),
    "working": frozenset({Claim.OPEN, Claim.ACCEPTED}),
    "disputed": frozenset({Claim.OPEN}),
    "awaits_approval": frozenset({Claim.NOT_DONE, Claim.OPEN, Claim.TO_APPROVE}),
    "manual": frozenset({Claim.NOT_DONE, Claim.OPEN}),
    "confirmed": frozenset({Claim.DONE, Claim.ACCEPTED}),
    "partly": frozenset({Claim.DONE, Claim.ACCEPTED, Claim.NOT_DONE}),
    "compensated": frozenset({Claim.UNDONE}),
    "refused": frozenset({Claim.NOT_DONE, Claim.REPEAT}),
    "withdrawn": frozenset({Claim.NOT_DONE, Claim.REPEAT, Claim.UNDONE}),
    "refused_for_now": frozenset({Claim.NOT_DONE, Claim.OPEN, Claim.REPEAT}),
}
_NAMED_ONLY = frozenset({Claim.OPEN})  # "not known yet" may speak of anything, unless it is named
_NOT_SENT = frozenset({"prepared", "awaits_approval", "manual"})  # so nobody has refused it
_PROVES = frozenset({Claim.DONE, Claim.ACCEPTED, Claim.OUTCOME})


def standing(known: Known) -> str:
    """How an action stands, as far as it matters to what may be said of it."""
    record, _ = known
    if record.overruled:
        return "refused" if record.state is State.CONFIRMED else "confirmed"
    if record.disputed:
        return "disputed"
    if record.state is State.PREPARED and record.review is not None:
        if record.review in FOR_APPROVAL:
            return "awaits_approval"
        return "manual" if record.review == FOR_CIRCUIT else "prepared"
    if record.state is State.CONFIRMED and record.reason in PARTLY:
        return "partly"
    if record.state is State.UNKNOWN and record.evidence is Evidence.WORKING:
        return "working"
    if record.state is State.REJECTED:
        if not record.final:
            return "refused_for_now"
        return "withdrawn" if record.kind is Kind.WITHDRAWN else "refused"
    return str(record.state)


def check_reply(
    text: str,
    known: Sequence[Known],
    *,
    quoted: Iterable[str] = (),
    shown: Iterable[str] = (),
) -> list[Finding]:
    """Find the sentences of a reply, in English or Chinese, that contradict the ledger.

    Looks for claims in so many words (see ``rules/replies/words.py``): a net, not a proof. Cost
    grows with the length of the text.

    :param text: what is about to be said to the person.
    :param known: the actions of the conversation, with their contracts; reads are left out.
    :param quoted: where references may come from beside: the arguments of the calls.
    :param shown: what providers said: results. References may come from there, and what was not
        ours to do: that an order "was delivered".
    """
    writes = [pair for pair in known if not pair[1].is_read]
    case = _Case([subject_of(pair) for pair in writes], tuple(quoted), tuple(shown))
    found: list[Finding] = []
    carried: list[Subject] = []
    for sentence in clauses_of(text):
        named = [case.named(clause) for clause in sentence]
        undone = any(clause.claim is Claim.UNDONE for clause in sentence)
        so_far: list[Subject] = []
        for place, (clause, subjects) in enumerate(zip(sentence, named, strict=True)):
            so_far += [s for s in subjects if s.names.search(clause.text)]
            carried = subjects or carried
            about = subjects or so_far or _told_next(sentence, named, place) or carried
            if undone and clause.claim is Claim.DONE:
                continue  # made, and undone again: the second half counts
            found += case.judge(clause, about, explicit=bool(subjects))
            found += case.references(clause, subjects, so_far)
    return _once(found)


def _told_next(sentence: list[Clause], named: list[list[Subject]], place: int) -> list[Subject]:
    """``Submitted: the ticket``: what follows says what is meant, if it claims nothing itself."""
    after = place + 1
    return named[after] if after < len(sentence) and sentence[after].claim is None else []


class _Case(NamedTuple):
    subjects: list[Subject]
    quoted: tuple[str, ...]
    shown: tuple[str, ...]

    def named(self, clause: Clause) -> list[Subject]:
        """The actions that a clause names, by reference or in words."""
        tokens = {token.casefold() for token in tokens_of(clause.text)}
        by_ref = [s for s in self.subjects if not tokens.isdisjoint(s.references)]
        by_name = [s for s in self.subjects if s.names.search(clause.text)]
        return by_name or by_ref

    def judge(self, clause: Clause, about: list[Subject], *, explicit: bool) -> list[Finding]:
        """Whether what a clause claims is so."""
        claim = clause.claim
        if claim is None:
            return []
        if (claim in _PROVES or claim is Claim.NOT_DONE) and not explicit:
            other = self._of_something_else(clause)
            if other is not None and (claim is not Claim.OUTCOME or not self.subjects):
                return [other] if claim in _PROVES else []
        subjects = about or self.subjects
        if not subjects:
            return []
        if claim in _NAMED_ONLY and not (explicit and clause.strong):
            return []
        wrong = [s for s in subjects if not self._fits(claim, clause, s)]
        everything = _everything(clause)
        if not wrong or (len(wrong) < len(subjects) and not everything):
            return []
        return [_finding(_rule(claim, wrong[0]), clause, wrong)]

    def references(
        self, clause: Clause, subjects: list[Subject], so_far: list[Subject]
    ) -> list[Finding]:
        """References that nobody knows, or that belong to another action than the one named.

        :param so_far: the actions that the sentence has named, up to and with this clause.
        """
        found: list[Finding] = []
        allowed = self._tokens()
        for token in tokens_of(clause.written):
            low = token.casefold()
            if low not in allowed:
                if self._looks_like_one(token, clause):
                    found.append(_finding("unknown_reference", clause, subjects or self.subjects))
                continue
            owners = [s for s in self.subjects if low in s.references]
            by_name = [s for s in subjects if s.names.search(clause.text)] or so_far
            if owners and by_name and not any(s in owners for s in by_name):
                found.append(_finding("reference_of_another", clause, by_name))
        return found

    def _fits(self, claim: Claim, clause: Clause, subject: Subject) -> bool:
        stands = standing(subject.known)
        if claim is Claim.OUTCOME:
            of_receipt = stands == "confirmed" and clause.word in subject.own_words
            return of_receipt or self._was_shown(clause.word)
        if claim is Claim.NOT_DONE and stands in _NOT_SENT and _says_declined(clause):
            return False
        if stands == "partly" and claim in (Claim.DONE, Claim.NOT_DONE):
            return _in_part(clause) or (claim is Claim.DONE and not _everything(clause))
        return claim in ALLOWED[stands]

    def _was_shown(self, word: str) -> bool:
        return any(word in text.casefold() for text in self.shown)

    def _of_something_else(self, clause: Clause) -> Finding | None:
        """A clause that claims to have made what no action on record is about."""
        pattern = 1 if clause.chinese else 0
        nouns = {
            noun
            for noun, chinese in words.NOUNS.items()
            if re.search((rf"\b{noun}s?\b", chinese)[pattern], clause.text)
        }
        nouns -= {noun for s in self.subjects for noun in s.nouns}
        if not self.subjects:
            if clause.claim is Claim.NOT_DONE:
                return None  # so it is: nothing was
            mine = nouns or words.FIRST_PERSON.search(clause.text)
            return _finding("no_such_action", clause, []) if mine else None
        special = nouns - words.GENERIC
        if not special or any(self._was_shown(noun) for noun in special):
            return None
        if not special & words.OUTCOMES:
            rule = "no_such_action"
        elif any(s.known[0].state is State.CONFIRMED for s in self.subjects):
            rule = "more_than_receipt"
        else:
            rule = "submitted_without_evidence"
        return _finding(rule, clause, self.subjects)

    def _tokens(self) -> frozenset[str]:
        """Every reference that is on record, or that was shown."""
        own = {token for s in self.subjects for token in s.tokens}
        return frozenset(
            own | {t.casefold() for text in (*self.quoted, *self.shown) for t in tokens_of(text)}
        )

    def _looks_like_one(self, token: str, clause: Clause) -> bool:
        """Of the shape of a reference that is on record, or called one."""
        shape = _shape(token)
        if any(_shape(ref) == shape for s in self.subjects for ref in s.references):
            return True
        nouns = [re.escape(name) for s in self.subjects for name in s.nouns]
        called = words.ZH_REFERENCE_WORDS if clause.chinese else words.EN_REFERENCE_WORDS
        called = "|".join([called, *nouns])
        before = r"(?:\s|:|#|no\.?|number|id|is|为|是)*"
        if token.isdecimal() and len(token) < 4:
            return False
        named = rf"(?:{called}){before}{re.escape(token.casefold())}\b"
        return re.search(named, clause.text) is not None


def _shape(token: str) -> str:
    """``T900`` and ``T901`` are of one shape; ``t900`` and ``A123`` too are told apart."""
    head = re.match(r"[a-z]*[-_]?", token.casefold())
    return f"{head[0] if head else ''}#{len(token)}"


def _everything(clause: Clause) -> bool:
    pattern = words.ZH_EVERYTHING if clause.chinese else words.EN_EVERYTHING
    return pattern.search(clause.text) is not None


def _says_declined(clause: Clause) -> bool:
    pattern = words.ZH_DECLINED if clause.chinese else words.EN_DECLINED
    return pattern.search(clause.text) is not None


def _in_part(clause: Clause) -> bool:
    pattern = words.ZH_IN_PART if clause.chinese else words.EN_IN_PART
    return pattern.search(clause.text) is not None


def _rule(claim: Claim, subject: Subject) -> str:
    stands = standing(subject.known)
    match claim:
        case Claim.DONE | Claim.ACCEPTED if stands == "partly":
            return "more_than_receipt"
        case Claim.DONE | Claim.ACCEPTED | Claim.TO_APPROVE:
            return "submitted_without_evidence"
        case Claim.OUTCOME:
            known = stands in ("confirmed", "partly")
            return "more_than_receipt" if known else "submitted_without_evidence"
        case Claim.NOT_DONE if stands in ("confirmed", "partly", "compensated"):
            return "not_done_although_confirmed"
        case Claim.NOT_DONE:
            return "not_done_while_unknown"
        case Claim.UNDONE:
            return "reversed_without_evidence"
        case Claim.OPEN:
            return "doubted_although_settled"
        case Claim.REPEAT:
            return "invites_repeat"
        case _:
            assert_never(claim)


def _finding(rule: str, clause: Clause, subjects: Sequence[Subject]) -> Finding:
    return Finding(
        rule=rule,
        said=texts.clean(clause.said, 300),
        actions=tuple(s.known[0].id for s in subjects),
        known=", ".join(_in_short(s) for s in subjects),
        say=instead([s.known for s in subjects], language_of(clause.said)),
    )


def instead(known: Sequence[Known], language: str) -> str:
    """What to say of these actions; of none: that nothing has been started."""
    if not known:
        return texts.WORKFLOW["not_started"][int(language.startswith("zh"))]
    said = dict.fromkeys(texts.say(record, contract, language) for record, contract in known)
    return ("" if language.startswith("zh") else " ").join(_closed(s, language) for s in said)


def _closed(sentence: str, language: str) -> str:
    if sentence and sentence[-1] in ".。!！":
        return sentence
    return f"{sentence}{'。' if language.startswith('zh') else '.'}"


def _in_short(subject: Subject) -> str:
    record = subject.known[0]
    ref = f" {record.provider_ref}" if record.provider_ref else ""
    return texts.clean(f"{record.tool} {record.state}{ref}", 200)


def _once(found: list[Finding]) -> list[Finding]:
    """Each sentence and rule once, in order."""
    return list({(f.rule, f.said): f for f in found}.values())
