"""Old actions are kept elsewhere before anything of them is removed, and stay known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ascertain.errors import ArchiveUnusable
from ascertain.model.action import ActionRecord
from ascertain.model.chain import ChainRecord, Joins, Member, Weight
from ascertain.model.session import Needs
from ascertain.store.archive import filed_of, line_of
from ascertain.store.check import check_action
from ascertain.store.filed import Filed
from ascertain.store.ledger import Advanced, Burial, Filter, Ledger, Reserved
from ascertain.store.seal import chain_mac
from ascertain.testing.conformance.place import Place
from ascertain.testing.conformance.samples import (
    ARGUMENTS,
    NOW,
    RESULT,
    confirm,
    note,
    reject,
    reserve_sent,
    submit,
    wanted,
)

FAR = NOW + 1_000_000
CHAIN = ChainRecord("c1", "", "u7", "chat-42", "fulfil", "", "done", "", "", NOW)
UNDO_WITHIN_S = 3600.0
UNDOABLE = '{"tool":"create_ticket","undo":"cancel_ticket","undo_within_s":3600.0}'


class Box:
    """Keeps lines, as an archive would; may be told to do something first."""

    name = "box.jsonl"

    def __init__(self, first: Callable[[], object] = lambda: None) -> None:
        self.lines: list[str] = []
        self._first = first

    def append(self, filed: Sequence[Filed]) -> None:
        """Keep them."""
        self._first()
        self.lines += [line_of(one, "an id") for one in filed]

    @property
    def ids(self) -> list[str]:
        """Whose lines these are."""
        return [filed_of(line)[0].stored.record.id for line in self.lines]


class RetainRules:
    """What :meth:`~ascertain.store.ledger.Ledger.retain` keeps, removes and leaves."""

    def test_what_is_removed_was_kept_and_proves_itself(self, ledger: Ledger) -> None:
        """The line holds all that there was; the tombstone ends where its chain ends."""
        done = _settled(ledger, "old", call_id="call-1")
        box = Box()
        (batch,) = ledger.retain(closed_before=FAR, keep=box, at=NOW + 9)
        assert (batch.removed, batch.damaged, batch.undoable) == ((done,), (), 0)
        (line,) = box.lines
        filed, known_id = filed_of(line)
        assert (filed.stored.record, known_id) == (done, "an id")
        assert [row[1] for row in filed.stored.events] == [1, 2, 3]
        bodies = {what: body for what, (_, body) in filed.stored.payloads.items()}
        assert bodies == {"args": ARGUMENTS, "result": RESULT}
        assert filed.contract == ledger.contract(done.contract)
        assert list(check_action(chain_mac(ledger.secret()), filed.stored)) == []
        assert ledger.burial(done.id) == Burial(NOW + 9, "box.jsonl")
        grave = ledger.get(done.id)
        assert grave is not None
        assert (grave.state, grave.provider_ref, grave.head) == ("confirmed", "T900", done.head)
        assert ledger.events(done.id) == []
        assert list(ledger.verify()) == []

    def test_req_U17_what_was_archived_is_never_new(self, ledger: Ledger) -> None:  # noqa: N802
        """By its call id and by its intent."""
        done = _settled(ledger, "intent-1", call_id="call-1")
        _retain(ledger)
        by_call = submit(ledger, reserve_sent(wanted("other", call_id="call-1")), Reserved)
        by_intent = submit(ledger, reserve_sent(wanted()), Reserved)
        assert (by_call.via, by_intent.via) == ("call_id", "intent")
        assert by_call.record.id == by_intent.record.id == done.id

    def test_what_cannot_be_kept_is_not_removed(self, ledger: Ledger) -> None:
        """Not any of the batch."""
        ids = {_settled(ledger, f"i{n}").id for n in range(3)}

        def refuse() -> None:
            raise ArchiveUnusable("The disk is gone.")

        with pytest.raises(ArchiveUnusable):
            list(ledger.retain(closed_before=FAR, keep=Box(refuse), at=NOW))
        assert {record.id for record in ledger.find(Filter()) if ledger.events(record.id)} == ids
        assert _retain(ledger) == ids

    def test_what_moves_while_it_is_kept_is_not_removed(self, ledger: Ledger) -> None:
        """What was kept of it is not all of it; the next time it is kept anew."""
        moved, still = _settled(ledger, "moved"), _settled(ledger, "still")
        late = lambda: submit(ledger, note(moved, result='{"late":1}'), Advanced)  # noqa: E731
        box = Box(late)
        (batch,) = ledger.retain(closed_before=FAR, keep=box, at=NOW)
        assert batch.removed == (still,)
        assert box.ids == [moved.id, still.id]
        assert len(ledger.events(moved.id)) == 4
        again = Box()
        (batch,) = ledger.retain(closed_before=FAR, keep=again, at=NOW)
        assert again.ids == [moved.id]
        assert list(ledger.verify()) == []

    def test_it_goes_on_where_it_stopped(self, ledger: Ledger) -> None:
        """The oldest first, up to the limit, and nothing twice."""
        ids = [_settled(ledger, f"i{n}").id for n in range(7)]
        boxes = [Box() for _ in range(4)]
        for box in boxes:
            list(ledger.retain(closed_before=FAR, keep=box, at=NOW, limit=3))
        assert [box.ids for box in boxes] == [ids[:3], ids[3:6], ids[6:], []]

    def test_only_what_has_ended_altogether_is_removed(self, ledger: Ledger) -> None:
        """Not what is open, disputed or in review, and nothing that is younger."""
        submit(ledger, reserve_sent(wanted("open")), Reserved)
        submit(ledger, note(_settled(ledger, "disputed"), disputed=1), Advanced)
        submit(ledger, note(_settled(ledger, "review"), review="contradiction"), Advanced)
        _settled(ledger, "young", at=NOW + 50)
        refused = submit(ledger, reject(_sent(ledger, "refused")), Advanced).record
        old = _settled(ledger, "old")
        seen = [record.id for page in ledger.old(closed_before=NOW + 50) for record in page]
        assert seen == [refused.id, old.id]
        assert len(ledger.events(old.id)) == 3, "a look removes nothing"
        assert _retain(ledger, NOW + 50) == {refused.id, old.id}
        assert list(ledger.old(closed_before=NOW + 50)) == []

    def test_a_session_that_lives_keeps_its_actions(self, ledger: Ledger) -> None:
        """Until it has ended before that time, too; what remembers nothing has no such life."""
        until = NOW + 1800
        needs = Needs(now=NOW, expires_at=until, epoch="epoch-1")
        stored = reserve_sent(wanted("remembers", session="chat-1"))._replace(beside=(needs,))
        one = submit(ledger, confirm(submit(ledger, stored, Reserved).record), Advanced).record
        assert _retain(ledger, until) == set()
        assert _retain(ledger, until + 1) == {one.id}

    def test_a_session_that_was_cleared_keeps_nothing(self, ledger: Ledger) -> None:
        """Its end was long ago."""
        needs = Needs(now=NOW, expires_at=NOW + 5, epoch="epoch-1")
        stored = reserve_sent(wanted("remembers", session="chat-1"))._replace(beside=(needs,))
        one = submit(ledger, confirm(submit(ledger, stored, Reserved).record), Advanced).record
        assert ledger.contexts.clear_expired(before=NOW + 6, now=NOW + 6) == 1
        assert _retain(ledger, NOW + 3) == {one.id}

    def test_what_may_still_be_undone_is_left(self, ledger: Ledger) -> None:
        """Its arguments are needed for that; counted from its last send."""
        stored = reserve_sent(wanted("undoable", contract="c-undo"))
        stored = stored._replace(contract_json=UNDOABLE)
        one = submit(ledger, confirm(submit(ledger, stored, Reserved).record), Advanced).record
        (batch,) = ledger.retain(closed_before=NOW + UNDO_WITHIN_S, keep=Box(), at=NOW)
        assert (batch.removed, batch.undoable) == ((), 1)
        assert list(ledger.old(closed_before=NOW + UNDO_WITHIN_S)) == [[]]
        assert _retain(ledger, NOW + UNDO_WITHIN_S + 1) == {one.id}

    def test_a_chain_with_an_open_member_is_left_whole(self, ledger: Ledger) -> None:
        """And is kept with its place in it once it has ended."""
        done = submit(ledger, confirm(_step(ledger, "stock")), Advanced).record
        still_open = _step(ledger, "pay")
        assert _retain(ledger) == set()
        submit(ledger, confirm(still_open), Advanced)
        box = Box()
        list(ledger.retain(closed_before=FAR, keep=box, at=NOW))
        assert box.ids == [done.id, still_open.id]
        filed, _ = filed_of(box.lines[1])
        assert filed.chain is not None
        assert filed.member is not None
        assert (filed.chain[4], filed.member[2]) == ("fulfil", "pay")

    def test_what_does_not_verify_is_told_and_left(self, place: Place, ledger: Ledger) -> None:
        """Neither kept nor removed: it is evidence."""
        action, other = _settled(ledger, "changed"), _settled(ledger, "fine")
        place.by_force("event", {"action_id": action.id, "n": 2}, {"reason": "x"})
        box = Box()
        (batch,) = ledger.retain(closed_before=FAR, keep=box, at=NOW)
        assert box.ids == [other.id]
        assert batch.damaged
        assert all(action.id in sentence for sentence in batch.damaged)
        assert len(ledger.events(action.id)) == 3

    def test_without_an_archive_nothing_is_said_of_one(self, ledger: Ledger) -> None:
        """And of what is there nothing is said at all."""
        done, sent = _settled(ledger, "done"), _sent(ledger, "sent")
        assert ledger.bury(closed_before=FAR) == 1
        assert ledger.burial(done.id) == Burial(None, None)
        assert ledger.burial(sent.id) is None

    def test_two_that_remove_at_once_lose_nothing(self, place: Place, ledger: Ledger) -> None:
        """The second finds it gone after it has kept it: twice kept, once removed."""
        done = _settled(ledger, "old")
        other, box = place.open(), Box()
        meanwhile = Box(lambda: list(other.retain(closed_before=FAR, keep=box, at=NOW)))
        (batch,) = ledger.retain(closed_before=FAR, keep=meanwhile, at=NOW)
        assert batch.removed == ()
        assert box.ids == meanwhile.ids == [done.id]
        assert list(ledger.verify()) == []
        other.close()


def _retain(ledger: Ledger, closed_before: float = FAR) -> set[str]:
    batches = ledger.retain(closed_before=closed_before, keep=Box(), at=NOW)
    return {record.id for batch in batches for record in batch.removed}


def _sent(ledger: Ledger, intent: str, *, at: float = NOW, **changes: Any) -> ActionRecord:
    record: ActionRecord
    record = submit(ledger, reserve_sent(wanted(intent, **changes), at=at), Reserved).record
    return record


def _settled(ledger: Ledger, intent: str, *, at: float = NOW, **changes: Any) -> ActionRecord:
    sent = _sent(ledger, intent, at=at, **changes)
    done: ActionRecord = submit(ledger, confirm(sent), Advanced).record
    return done


def _step(ledger: Ledger, step: str) -> ActionRecord:
    stored = reserve_sent(wanted(f"of-{step}", chain="c1"))
    joins = Joins(chain=CHAIN, member=Member("c1", stored.record.id, step, 1, Weight.ESSENTIAL, ()))
    record: ActionRecord = submit(ledger, stored._replace(beside=(joins,)), Reserved).record
    return record
