"""L0 for verdicts: evidence against what is settled, and what is said after a person decided.

The person looks at the world and is right. From then on nobody is told the opposite: the state
stays, and all that speaks of it follows what was found, until evidence speaks against that.
"""

from ascertain.model.chain import Around, ChainRecord, Course, Direction, Member, Weight
from ascertain.model.contract import Budget, Contract, LookupPromise, Repeat
from ascertain.model.outcome import Effect, Kind, Outcome, Report
from ascertain.model.tables import By, State
from ascertain.model.words import Absent, Found
from ascertain.rules import cases, chain, chain_facts, evidence, facts, fold, project, texts
from ascertain.rules.news.classify import judge_lookup
from ascertain.rules.replies import structured
from ascertain.testing import invariants as inv
from tests.prove.production import PREPARED

NOW = 1000.0
CONTRACT = Contract(
    tool="t", noun="stock", repeat=Repeat.BY_KEY, undo="undo", recount_after_s=None,
    lookup=LookupPromise(absence_final_after_s=1.0), budget=Budget(sends=3, unanswered=9),
)  # fmt: skip
ENDS = {
    "confirmed": Outcome(effect=Effect.CONFIRMED, reason="ok", provider_ref="R"),
    "refused": Outcome(effect=Effect.REFUSED, reason="no", kind=Kind.BUSINESS),
}
DONE, NOT_DONE = {"confirmed", "confirmed_no_ref", "found_done"}, {"found_not_done"}


def verdicts(choose):
    """It ends; the world is otherwise; a look-up shows it; a person decides; it is asked on."""
    said = choose(*ENDS)
    sent = fold.send(
        PREPARED.changed(id="s", chain="c", send_by_at=NOW + 99), CONTRACT, sender="p",
        lease_until=NOW + 9, now=NOW, by=By.CALL,
    ).after  # fmt: skip
    record = fold.settle(sent, CONTRACT, ENDS[said], now=NOW + 1, wait_s=0).after
    settled = record
    happened = choose(True, False)
    effects = [inv.WorldEffect(key="K", ref="R", sending="1")] if happened else []
    decided = None
    for at in range(2, 6):
        now = NOW + at * 10
        moves = ["ask", "rest"]
        if record.disputed and not record.overruled:
            moves.append("decide")
        match choose(*moves):
            case "ask":
                before = record
                shown = Found("R") if happened else Absent
                answer = judge_lookup(Report(value=shown), CONTRACT)
                record = evidence.answered(
                    record, CONTRACT, answer, asked_at=now, now=now, wait_s=0
                ).after
                if decided is None and (said == "confirmed") is not happened:
                    yield from _contradicted(record)
                if decided is happened and cases.in_review(record) and not cases.in_review(before):
                    yield "what agrees with the finding opens the case again"
            case "decide":
                decided = happened
                record = (
                    evidence.verdict_confirmed(
                        record, CONTRACT, provider_ref="R", evidence="e", now=now
                    )
                    if happened
                    else evidence.verdict_not_done(record, evidence="e", now=now)
                ).after
            case "rest":
                break
        yield from map(str, inv.single_winner(settled, record))
    if decided is None:
        return
    # and later the world is put right, behind everybody's back
    if choose("stays", "turns") == "turns":
        shown = Absent if happened else Found("R")
        answer = judge_lookup(Report(value=shown), CONTRACT)
        told = evidence.answered(
            record, CONTRACT, answer, asked_at=NOW + 99, now=NOW + 99, wait_s=0
        ).after
        if record.overruled and not happened and not cases.in_review(told):
            yield "evidence against the finding opens no case"
        return
    yield from _told(record, happened, effects)


def _contradicted(record):
    """Evidence against what is settled: somebody has to look, and nobody is told either."""
    if not cases.in_review(record):
        yield "nobody has to look at the evidence"
    if texts.which(record, CONTRACT) != "disputed":
        yield f"the person is told {texts.which(record, CONTRACT)} of what is contradicted"


def _told(record, happened, effects):
    """What anybody hears is what the person found."""
    if cases.in_review(record):
        yield "the case is closed by nothing"
    if not record.overruled:
        yield from map(str, inv.no_lie(record, effects))
    key = texts.which(record, CONTRACT)
    state, final = cases.as_found(record)
    part = facts.part_of(record, CONTRACT)
    if (key in DONE) is not happened:
        yield f"the person is told {key}"
    if (state is State.CONFIRMED) is not happened or (not happened and not final):
        yield f"it counts as {state}"
    wish = project.workflow_state([part])
    if (wish is project.WorkflowState.COMPLETED) is not happened:
        yield f"the wish is {wish}"
    if chain.satisfied(record) and not happened:
        yield "what depends on it may start"
    around = _around(record)
    wish = chain_facts.chain_state(around, lambda _: CONTRACT)
    if (wish is project.WorkflowState.COMPLETED) is not happened:
        yield f"its chain is {wish}"
    claim = {"actions": [{"name": "t", "state": "confirmed"}]}
    sayable = not structured.verify_claims(claim, [(record, CONTRACT)])
    if sayable and not happened:
        yield "a model may claim that it was done"
    yield from _undo(record, happened)


def _around(record, *undos, way=Direction.FORWARD):
    made = ChainRecord("c", "t", "u", "s", "n", "", "", "", "", NOW, way)
    return Around(made, ((Member("c", "s", "s", 1, Weight.ESSENTIAL), record), *undos))


def _undo(record, happened):
    """The same action, as the undo of another: one that was found not done undoes nothing."""
    original = PREPARED.changed(id="o", state=State.CONFIRMED, provider_ref="R", last_sent_at=NOW)
    reversing = (Member("c", "s", "u", 2, Weight.ESSENTIAL, (), "o"), record)
    made = _around(original, way=Direction.BACKWARD)
    members = ((Member("c", "o", "o", 1, Weight.ESSENTIAL), original), reversing)
    course = chain.course(original, CONTRACT, made._replace(members=members), NOW + 100)
    if course in (Course.UNDO, Course.UNDO_BY_KEY) and not happened:
        yield "an undo that was found not done counts as one that undid it"
