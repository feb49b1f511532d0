"""What comes next. Pure and total: no clock, no I/O, everything it needs is in the view.

Evidence comes first: ask before anything is repeated. A write is repeated only with the same key
and the same stored arguments, and only because the contract makes that safe or because its absence
is final. What can be neither asked nor repeated waits for a person.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, assert_never

from ascertain.model.chain import Course
from ascertain.model.outcome import Evidence
from ascertain.model.tables import State


class What(StrEnum):
    """The decisions."""

    SEND = "send"
    RESEND = "resend"
    LOOK_UP = "look_up"
    HOLD = "hold"
    CLOSE = "close"
    WITHDRAW = "withdraw"
    REVIEW = "review"
    COMPENSATE = "compensate"
    DONE = "done"


class Lookup(StrEnum):
    """Whether the provider can be asked."""

    NONE = "none"
    OPEN = "open"
    SPENT = "spent"


class Held(StrEnum):
    """What holds a send back that would go otherwise."""

    NO = "no"
    APPROVAL = "approval"
    CIRCUIT = "circuit"


class Reason(StrEnum):
    """Why; each has one sentence in :data:`SENTENCES`."""

    FIRST_SEND = "first_send"
    NOT_WANTED = "not_wanted"
    IN_FLIGHT = "in_flight"
    EVIDENCE_FIRST = "evidence_first"
    BY_SCHEDULE = "by_schedule"
    NO_ANSWER_YET = "no_answer_yet"
    ABSENCE_NOT_FINAL = "absence_not_final"
    ABSENCE_FINAL = "absence_final"
    ABSENCE_CLOSES = "absence_closes"
    SAME_KEY = "same_key"
    TEMPORARY_REFUSAL = "temporary_refusal"
    TURN_SPENT = "turn_spent"
    SENDER_MAY_LIVE = "sender_may_live"
    CANNOT_ASK = "cannot_ask"
    BUDGET_SPENT = "budget_spent"
    LEFT_OPEN = "left_open"
    CONTRADICTION = "contradiction"
    RECOUNT = "recount"
    CHAIN_TURNED = "chain_turned_back"
    CHAIN_STOPPED = "chain_stopped"
    UNDO_WAITS = "undo_waits"
    UNDO = "undo"
    UNDO_BY_KEY = "undo_by_key"
    UNDO_STUCK = "undo_stuck"
    IRREVERSIBLE = "irreversible"
    UNDO_TOO_LATE = "undo_too_late"
    APPROVAL = "approval"
    APPROVAL_EXPIRED = "approval_expired"
    CIRCUIT_OPEN = "circuit_open"
    SETTLED = "settled"


SENTENCES: dict[Reason, str] = {
    Reason.FIRST_SEND: "Nothing has been sent, and it is still wanted.",
    Reason.NOT_WANTED: "Nothing was sent, and the time within which it was wanted has passed.",
    Reason.IN_FLIGHT: "An attempt is under way under a lease that still holds.",
    Reason.EVIDENCE_FIRST: "The answer was lost; the provider is asked by the same key first.",
    Reason.BY_SCHEDULE: "The provider accepted it and is still working; it is asked by schedule.",
    Reason.NO_ANSWER_YET: "The look-up gave no answer; it is asked again.",
    Reason.ABSENCE_NOT_FINAL: "The provider has no record yet, but a late arrival is possible.",
    Reason.ABSENCE_FINAL: "The absence is final, so the same key may be sent again.",
    Reason.ABSENCE_CLOSES: "The absence is final and nothing may be sent any more: not done.",
    Reason.SAME_KEY: "The contract makes a repeat with the same key and arguments safe.",
    Reason.TEMPORARY_REFUSAL: "The provider refused for a while; the same key is sent again.",
    Reason.TURN_SPENT: "This turn's share of the budget is spent; the background goes on.",
    Reason.SENDER_MAY_LIVE: "The provider has no record, but an earlier sender may still be alive.",
    Reason.CANNOT_ASK: "The answer was lost, and the provider can neither be asked nor safely "
    "be sent the same again.",
    Reason.BUDGET_SPENT: "The action's budget is spent; nothing more is sent by itself.",
    Reason.LEFT_OPEN: "Best effort: it stays unconfirmed and nobody needs to decide.",
    Reason.CONTRADICTION: "Evidence contradicts what was settled; a person looks at it.",
    Reason.RECOUNT: "Confirmed where a double is possible; the provider's records are counted.",
    Reason.CHAIN_TURNED: "Its chain goes back, so nothing more is sent for it.",
    Reason.CHAIN_STOPPED: "Its chain was stopped, so nothing more is sent for it.",
    Reason.UNDO_WAITS: "It is undone once everything that depends on it is.",
    Reason.UNDO: "Its chain goes back; it is undone by an action of its own.",
    Reason.UNDO_BY_KEY: "The provider reverses it by our key, whether or not it happened.",
    Reason.UNDO_STUCK: "Undoing it was refused or could not be confirmed; a person decides.",
    Reason.IRREVERSIBLE: "Its chain goes back, but nothing reverses it; a person decides.",
    Reason.UNDO_TOO_LATE: "The time within which it could be undone has passed; a person decides.",
    Reason.APPROVAL: "Nothing is sent before a person has approved this exact call.",
    Reason.APPROVAL_EXPIRED: "The time within which it could be approved and sent has passed.",
    Reason.CIRCUIT_OPEN: "The provider keeps giving no answer, so nothing is sent by itself.",
    Reason.SETTLED: "What is known is final.",
}


class View(NamedTuple):
    """All that a decision depends on.

    :param final: a rejection that can never be rewritten.
    :param wanted: a prepared action is still inside the time in which it was wanted.
    :param evidence: what the look-ups since the last send have shown.
    :param lookup: whether the provider can be asked.
    :param repeat: the contract makes a repeat safe now.
    :param sends_left: the action half of the budget, and the key's lifetime, allow a send.
    :param turn: this turn may send (always true for the worker).
    :param refused: a definite refusal is in hand that did not settle earlier doubt, and no repeat
        can settle it.
    :param leave: best effort: an open end needs nobody.
    :param disputed: evidence contradicts the state.
    :param course: what its chain means for it.
    :param held: what holds a send back: an approval that is not given, a breaker that is open.
    """

    state: State
    final: bool = False
    wanted: bool = True
    evidence: Evidence = Evidence.NOT_ASKED
    lookup: Lookup = Lookup.NONE
    repeat: bool = False
    sends_left: bool = True
    turn: bool = True
    refused: bool = False
    leave: bool = False
    disputed: bool = False
    course: Course = Course.FORWARD
    held: Held = Held.NO


class Decision(NamedTuple):
    """What comes next, and why."""

    what: What
    reason: Reason

    @property
    def sentence(self) -> str:
        return SENTENCES[self.reason]


def decide(view: View) -> Decision:
    """Say what comes next."""
    if view.disputed:
        return Decision(What.REVIEW, Reason.CONTRADICTION)
    if view.course is not Course.FORWARD:
        return _in_chain(view)
    match view.state:
        case State.PREPARED:
            return _prepared(view)
        case State.SENT:
            return Decision(What.HOLD, Reason.IN_FLIGHT)
        case State.UNKNOWN:
            return _unknown(view)
        case State.REJECTED:
            return _rejected(view)
        case State.CONFIRMED:
            return _confirmed(view)
        case State.COMPENSATED:
            return Decision(What.DONE, Reason.SETTLED)
        case _:
            assert_never(view.state)


_HELD = {Held.APPROVAL: Reason.APPROVAL, Held.CIRCUIT: Reason.CIRCUIT_OPEN}


def _prepared(view: View) -> Decision:
    if not view.wanted:
        expired = view.held is Held.APPROVAL
        return Decision(What.WITHDRAW, Reason.APPROVAL_EXPIRED if expired else Reason.NOT_WANTED)
    if not view.sends_left:
        return Decision(What.WITHDRAW, Reason.BUDGET_SPENT)
    if view.held is not Held.NO:
        return Decision(What.REVIEW, _HELD[view.held])
    if not view.turn:
        return Decision(What.HOLD, Reason.TURN_SPENT)
    return Decision(What.SEND, Reason.FIRST_SEND)


def _rejected(view: View) -> Decision:
    if view.final:
        return Decision(What.DONE, Reason.SETTLED)
    if not view.sends_left:
        return _open_end(view, Reason.BUDGET_SPENT)
    return _resend(view, Reason.TEMPORARY_REFUSAL)


def _confirmed(view: View) -> Decision:
    if view.lookup is Lookup.OPEN and view.evidence is not Evidence.COUNTED:
        return Decision(What.LOOK_UP, Reason.RECOUNT)
    return Decision(What.DONE, Reason.SETTLED)


def _in_chain(view: View) -> Decision:
    """Its chain goes back or was stopped: nothing is sent forward any more."""
    match view.state:
        case State.PREPARED:
            return _not_sent_any_more(view)
        case State.SENT:
            return Decision(What.HOLD, Reason.IN_FLIGHT)
        case State.REJECTED:
            if view.final:
                return Decision(What.DONE, Reason.SETTLED)
            return _not_sent_any_more(view)
        case State.UNKNOWN:
            first = view.evidence in (Evidence.NOT_ASKED, Evidence.WORKING)
            asked = view.lookup is not Lookup.OPEN or not first
            if view.course is Course.UNDO_BY_KEY and asked:
                return Decision(What.COMPENSATE, Reason.UNDO_BY_KEY)
            return _unknown(view._replace(repeat=False, sends_left=False))
        case State.CONFIRMED:
            return _undo(view)
        case State.COMPENSATED:
            return Decision(What.DONE, Reason.SETTLED)
        case _:
            assert_never(view.state)


def _not_sent_any_more(view: View) -> Decision:
    stopped = view.course is Course.STOPPED
    return Decision(What.WITHDRAW, Reason.CHAIN_STOPPED if stopped else Reason.CHAIN_TURNED)


def _undo(view: View) -> Decision:
    """What is confirmed in a chain that goes back; it is never assumed that undoing works."""
    match view.course:
        case Course.WAITS:
            return Decision(What.HOLD, Reason.UNDO_WAITS)
        case Course.UNDO | Course.UNDO_BY_KEY:
            return Decision(What.COMPENSATE, Reason.UNDO)
        case Course.STUCK:
            return Decision(What.REVIEW, Reason.UNDO_STUCK)
        case Course.IRREVERSIBLE:
            return _open_end(view, Reason.IRREVERSIBLE)
        case Course.TOO_LATE:
            return Decision(What.REVIEW, Reason.UNDO_TOO_LATE)
        case Course.FORWARD | Course.STOPPED | Course.KEPT:
            return _confirmed(view)
        case _:
            assert_never(view.course)


def _unknown(view: View) -> Decision:
    can_ask = view.lookup is Lookup.OPEN
    can_repeat = view.repeat and view.sends_left and not view.refused
    match view.evidence:
        case Evidence.ABSENT_FINAL:
            if view.refused or not view.sends_left:
                return Decision(What.CLOSE, Reason.ABSENCE_CLOSES)
            return _resend(view, Reason.ABSENCE_FINAL)
        case Evidence.WORKING:
            if can_ask:
                return Decision(What.LOOK_UP, Reason.BY_SCHEDULE)
            if view.lookup is Lookup.NONE and can_repeat:
                return _resend(view, Reason.SAME_KEY)  # by its schedule: the only way to ask
            spent = view.lookup is Lookup.SPENT
            return _open_end(view, Reason.BUDGET_SPENT if spent else Reason.CANNOT_ASK)
        case Evidence.NOT_ASKED | Evidence.COUNTED:
            if can_ask:
                return Decision(What.LOOK_UP, Reason.EVIDENCE_FIRST)
        case Evidence.UNANSWERED:
            if can_ask and not can_repeat:
                return Decision(What.LOOK_UP, Reason.NO_ANSWER_YET)
        case Evidence.ABSENT:
            if can_ask and not can_repeat:
                return Decision(What.LOOK_UP, Reason.ABSENCE_NOT_FINAL)
        case Evidence.ABSENT_UNFENCED:
            if not can_repeat:
                return _open_end(view, Reason.SENDER_MAY_LIVE)
        case _:
            assert_never(view.evidence)
    if can_repeat:
        return _resend(view, Reason.SAME_KEY)
    if view.lookup is Lookup.NONE and (view.refused or not view.repeat):
        return _open_end(view, Reason.CANNOT_ASK)
    return _open_end(view, Reason.BUDGET_SPENT)


def _resend(view: View, reason: Reason) -> Decision:
    if not view.turn:
        return Decision(What.HOLD, Reason.TURN_SPENT)
    if view.held is Held.APPROVAL:
        return Decision(What.REVIEW, Reason.APPROVAL_EXPIRED)
    if view.held is Held.CIRCUIT:
        asks = view.lookup is Lookup.OPEN and view.evidence is not Evidence.ABSENT_FINAL
        probes = asks and view.state is State.UNKNOWN
        return Decision(What.LOOK_UP if probes else What.HOLD, Reason.CIRCUIT_OPEN)
    return Decision(What.RESEND, reason)


def _open_end(view: View, reason: Reason) -> Decision:
    if view.leave:
        return Decision(What.HOLD, Reason.LEFT_OPEN)
    return Decision(What.REVIEW, reason)
