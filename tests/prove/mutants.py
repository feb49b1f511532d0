"""Mutants of the rules: each is one rule made wrong, in a few words, as somebody might write it.

A mutant is killed by an invariant that the search sees broken, never by a table of expected values.
"""

from tests.prove import mutants_decisions, mutants_epochs, mutants_evidence, mutants_sends
from tests.prove.variants import (
    BROKEN,
    COVERED,
    COVERED_ONLY,
    EXPIRES,
    FENCING,
    HARMLESS,
    JUDGED,
    KEY_LOOKUP,
    KEY_ONLY,
    LATE_REFUSALS,
    LEFT,
    LOOKUP_ONLY,
    MARKS,
    MUTE,
    NEITHER,
    NEVER_FINAL,
    OPENED,
    TURN_LOOKUP,
    UNAPPROVED,
    UNSENT,
)  # fmt: skip

MUTANTS = [
    *mutants_sends.MUTANTS, *mutants_evidence.MUTANTS, *mutants_decisions.MUTANTS,
    *mutants_epochs.MUTANTS,
]  # fmt: skip

# -------------------------------------------------------------------------------------------- elsewhere

# Mutants that no search over one action can see, and where they are killed.
ELSEWHERE = {
    "send before it is written": "the flow's order of effects: tests that kill at every effect",
    "compare nothing but the row's id in SQL": "the ledger here is the specification: tests of stores",
    "a duplicate refusal is final": "without doubt and hidden retries 'already exists' cannot be ours "
    "in this model: the fault table's already_exists behaviour",
    "attempts are known by their numbers": "it takes two in a lost history: tests of lost answers",
    "a write stands on its number of events": "here a write stands on its history: tests of PostgreSQL",
    "compensation": "the search over chains has its own mutants: test_l0_chains",
}

# -------------------------------------------------------------------------------------------- grounds


def bad(variant, faults, kinds=""):
    """The variant with so many faults, of these kinds only."""
    chosen = frozenset(kinds.split(",")) if kinds else variant.kinds
    return variant.but(faults=faults, kinds=frozenset(k.replace(" ", "_") for k in chosen))


USUAL = tuple(bad(one, 1) for one in (KEY_LOOKUP, KEY_ONLY, LOOKUP_ONLY, NEITHER))

# Where the usual grounds do not show it: the smallest that do.
GROUNDS = {
    "drop fence": (bad(KEY_ONLY, 2, "pause"),),
    "forget the sender": (bad(LOOKUP_ONLY, 2, "pause,crash"),),
    "lifetime from the last send": (bad(EXPIRES.but(away=3), 4, "lost,away"),),
    "a send forgets doubt": (bad(KEY_ONLY, 2, "slow,not_sent"),),
    "a harmless double is not said": (bad(HARMLESS, 1),),
    "a refusal covers everything": (bad(KEY_ONLY, 2, "slow,refuse"),),
    "a temporary refusal covers the key": (bad(COVERED_ONLY, 2, "slow,throttle"),),
    "a refusal in doubt is forgotten": (bad(KEY_ONLY, 2, "slow,refuse"),),
    "a refusal after hidden retries is believed": (bad(KEY_ONLY, 2, "retry,refuse"),),
    "a late refusal need not be late": (bad(LATE_REFUSALS, 2, "slow,refuse"),),
    "a late refusal speaks for living senders": (bad(LATE_REFUSALS, 4, "live,lost,refuse"),),
    "a late refusal after hidden retries is believed": (
        bad(LATE_REFUSALS, 4, "lost,refuse,retry"),
    ),
    "a send forgets when the doubt began": (bad(LATE_REFUSALS, 2, "slow,refuse"),),
    "a refusal is asked for again at once": (bad(LATE_REFUSALS, 2, "lost,refuse"),),
    "a late refusal goes to a person": (bad(LATE_REFUSALS, 2, "lost,refuse"),),
    "withdrawn for a while": (bad(NEITHER, 1, "throttle"),),
    "in progress is a refusal": (bad(KEY_ONLY, 2, "work,lost"),),
    "a refusal in doubt lets go of the action": (bad(KEY_ONLY, 2, "slow,refuse"),),
    "unsend with doubt": (bad(KEY_ONLY, 2, "slow,not_sent"),),
    "unsent is never due": (bad(KEY_ONLY, 2, "crash,not_sent"), bad(KEY_LOOKUP, 2)),
    "lose forgets doubt": (bad(HARMLESS, 1),),
    "lose forgets the suspect": (bad(LOOKUP_ONLY, 1, "live"), bad(LOOKUP_ONLY, 2, "pause,live")),
    "lose believes the lease": (bad(LOOKUP_ONLY, 2, "pause,crash"),),
    "hold lets go of a sent action": (bad(KEY_ONLY, 2, "live,not_sent"), bad(MARKS, 2, "live")),
    "closed while it may be sent": (bad(FENCING, 1),),
    "absence speaks for its recording": (bad(LOOKUP_ONLY, 2, "slow,pause"), bad(TURN_LOOKUP, 1)),
    "silence is absence": (bad(LOOKUP_ONLY, 2, "slow,silent"), bad(FENCING, 2, "slow,silent")),
    "absence after work is final": (bad(LOOKUP_ONLY, 2, "work,lag"),),
    "silence ends the work": (bad(LOOKUP_ONLY, 3, "work,silent,lag"),),
    "silence is not counted": (bad(MUTE, 1, "lost"),),
    "a refusal found is not final": (bad(COVERED, 2, "refuse,lost"),),
    "several records are one": (bad(LOOKUP_ONLY, 1, "copy"),),
    "no recount of what was found": (
        bad(LOOKUP_ONLY, 2, "lost,copy"),
        bad(LOOKUP_ONLY, 2, "slow,copy"),
    ),
    "no recount of what was confirmed": (bad(LOOKUP_ONLY, 1, "copy"),),
    "a dispute is not shown": (bad(LOOKUP_ONLY, 1, "copy"), bad(BROKEN, 1)),
    "a dead sender sent nothing": (
        bad(LOOKUP_ONLY, 2, "pause,crash"),
        bad(LOOKUP_ONLY, 2, "live,crash"),
    ),
    "a dead sender makes absence final": (bad(JUDGED, 2, "live,crash"),),
    "dead senders stay suspects": (bad(LOOKUP_ONLY, 2, "live,crash"),),
    "a late word rewrites what is settled": (bad(HARMLESS, 2, "live,slow"),),
    "a late refusal settles everything": (bad(KEY_ONLY, 2, "live,refuse"),),
    "a late word clears all doubt": (bad(KEY_ONLY, 3, "slow,live,refuse"),),
    "late silence is a word": (bad(LOOKUP_ONLY, 2, "live,slow"),),
    "a late refusal is forgotten": (bad(KEY_ONLY, 3, "slow,live,refuse"),),
    "late words after hidden retries are believed": (bad(KEY_ONLY, 3, "live,retry,refuse"),),
    "resend without an answer": (bad(LOOKUP_ONLY, 2, "slow,silent"),),
    "give up without an answer": (bad(FENCING, 2, "slow,silent"),),
    "closing absence is sent again": (bad(FENCING, 1),),
    "final absence goes to a person": (bad(MARKS, 1),),
    "best effort asks a person": (bad(LEFT, 1),),
    "a contradiction is passed over": (bad(BROKEN, 1), bad(LOOKUP_ONLY, 1, "copy")),
    "effects are never counted": (bad(LOOKUP_ONLY, 1, "copy"),),
    "what is settled is asked for ever": (bad(MUTE, 0),),
    "what is settled is sent": (bad(MUTE, 0),),
    "send over an attempt under way": (bad(KEY_ONLY, 2, "live,not_sent"),),
    "send what nobody waits for": (bad(NEITHER, 2, "not_sent,away"),),
    "never send again what never left": (bad(UNSENT, 1),),
    "not sent is an answer lost": (bad(UNSENT, 1),),
    "a business refusal is temporary": (bad(KEY_ONLY, 1, "refuse"),),
    "ignore refusals in hand": (bad(KEY_ONLY, 2, "slow,refuse"),),
    "ignore lifetime and horizon": (bad(EXPIRES, 2, "lost,away"),),
    "ignore the margin": (bad(EXPIRES, 2, "lost,away"),),
    "ignore the number of sends": (bad(KEY_ONLY, 3, "lost"),),
    "never ask": (bad(FENCING, 1),),
    "not done while it may arrive": (bad(NEITHER, 1),),
    "not done while it is on its way": (bad(NEITHER, 1),),
    "not done is not final": (bad(NEITHER, 1),),
    "a verdict drops its reference": (bad(NEITHER, 1),),
    "nobody decides": (bad(NEITHER, 1),),
    "resend what nobody can ask for": (bad(NEITHER, 1),),
    "ask for ever": (bad(NEVER_FINAL, 1, "lost"),),
    "a fenced key is sent again": (bad(FENCING, 1),),
    "send what is held back": (bad(UNAPPROVED, 2, "permit,slow"),),
    "an approval that is gone is forgotten": (bad(UNAPPROVED, 2, "permit,slow"),),
    "what waits for approval is left alone": (bad(UNAPPROVED, 2, "permit,not_sent"),),
    "what an open breaker holds is left alone": (bad(OPENED, 2, "permit,slow"),),
    "compare state only": (bad(FENCING, 1), bad(KEY_LOOKUP, 2, "pause,lost")),
}


def hunted_on(mutant):
    """The variants under which a mutant is hunted, in order."""
    return GROUNDS.get(mutant.name) or mutants_epochs.GROUNDS.get(mutant.name, USUAL)
