"""A structured reply against the ledger: its claims are of the shape of the facts object."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from ascertain.model.tables import State
from ascertain.rules import texts
from ascertain.rules.facts import Known, part_of
from ascertain.rules.project import WorkflowState, workflow_state
from ascertain.rules.replies.check import check_reply, instead
from ascertain.rules.replies.finding import Finding

# Free text in a reply: a text, or one by language.
TEXTS = ("say", "text", "message", "reply")
_NAMES = ("name", "tool", "action")
_REFS = ("provider_ref", "related_ref")
_SHOWN = 200


def verify_claims(
    reply: Mapping[str, Any],
    known: Sequence[Known],
    *,
    wish: Sequence[Known] | None = None,
    quoted: Iterable[str] = (),
    shown: Iterable[str] = (),
    language: str = "en",
) -> list[Finding]:
    """Find what a structured reply of a model claims and the ledger does not hold.

    ``actions``: each names its action (``name``, or ``id``) and gives what it likes of ``state``,
    ``provider_ref``, ``related_ref``. ``workflow_state``: of the whole wish. ``say``, ``text``,
    ``message``, ``reply``: sentences, see :func:`check_reply`. Other members are not looked at, and
    what is left out claims nothing.

    :param reply: such as ``{"workflow_state": "completed", "actions": [{"name": "create_ticket",
        "state": "confirmed", "provider_ref": "T900"}]}``.
    :param known: the actions of the conversation, with their contracts.
    :param wish: those of the turn, of which ``workflow_state`` speaks; by default all.
    :param language: of the sentences to say instead (``en``, ``zh-CN``).
    """
    case = _Case(known, language)
    found = case.of_workflow(reply.get("workflow_state"), known if wish is None else wish)
    claims = reply.get("actions", [])
    if isinstance(claims, Sequence) and not isinstance(claims, str):
        for claim in cast("Sequence[object]", claims):
            found += case.of_action(claim)
    else:
        found.append(case.unreadable({"actions": claims}))
    for text in _texts(reply):
        found += check_reply(text, known, quoted=quoted, shown=shown)
    return found


class _Case:
    """Compares one claim after the other; each action answers for one claim."""

    def __init__(self, known: Sequence[Known], language: str) -> None:
        self._known = list(known)
        self._left = list(known)
        self._language = language

    def of_workflow(self, claimed: object, wish: Sequence[Known]) -> list[Finding]:
        if claimed is None:
            return []
        if claimed not in list(WorkflowState):
            return [self.unreadable({"workflow_state": claimed})]
        writes = [pair for pair in wish if not pair[1].is_read]
        real = workflow_state([part_of(*pair) for pair in writes])
        if claimed == real:
            return []
        said = {"workflow_state": claimed}
        return [self._finding("workflow_differs", said, writes, f"workflow_state {real}")]

    def of_action(self, claim: object) -> list[Finding]:
        if not isinstance(claim, Mapping):
            return [self.unreadable(claim)]
        said = cast("Mapping[str, Any]", claim)
        meant = self._meant(said)
        if meant is None:
            return [self.unreadable(said)]
        if not meant:
            return [self._finding("no_such_action", said, [], "no such action")]
        best = min(meant, key=lambda pair: len(self._differences(said, pair)))
        if best in self._left:
            self._left.remove(best)
        return [
            self._finding(rule, said, [best], known)
            for rule, known in self._differences(said, best)
        ]

    def unreadable(self, claim: object) -> Finding:
        return self._finding("unreadable_claim", claim, [], "")

    def _meant(self, claim: Mapping[str, Any]) -> list[Known] | None:
        """The actions that a claim may mean; None: it names none."""
        wanted = claim.get("id", claim.get("action_id"))
        if isinstance(wanted, str):
            return [pair for pair in self._known if pair[0].id == wanted]
        name = next((claim[key] for key in _NAMES if isinstance(claim.get(key), str)), None)
        if name is None or any(not _is_text(claim.get(key)) for key in ("state", *_REFS)):
            return None
        named = [pair for pair in self._known if name in (pair[0].tool, pair[1].noun)]
        return [pair for pair in named if pair in self._left] or named

    def _differences(self, claim: Mapping[str, Any], pair: Known) -> list[tuple[str, str]]:
        record, _ = pair
        found: list[tuple[str, str]] = []
        state = claim.get("state")
        doubted = bool(record.disputed) and claim.get("disputed") is not True
        if state is not None and (state != record.state or (doubted and _settles(state))):
            stands = f"{record.state}, disputed" if record.disputed else str(record.state)
            found.append(("state_differs", f"state {stands}"))
        for name in _REFS:
            claimed, real = claim.get(name), getattr(record, name)
            if claimed is None or claimed == real:
                continue
            others = {
                ref for other, _ in self._known if other is not record
                for ref in (other.provider_ref, other.related_ref)
            }  # fmt: skip
            rule = "reference_of_another" if claimed in others else "reference_differs"
            found.append((rule, f"{name} {real or 'not known'}"))
        return found

    def _finding(self, rule: str, said: object, known: Sequence[Known], stands: str) -> Finding:
        words = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, default=str)
        return Finding(
            rule=rule,
            said=texts.clean(words, _SHOWN),
            actions=tuple(record.id for record, _ in known),
            known=texts.clean(stands, _SHOWN),
            say="" if rule == "unreadable_claim" else instead(known, self._language),
        )


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _settles(state: object) -> bool:
    return state in (State.CONFIRMED, State.REJECTED, State.COMPENSATED)


def _texts(reply: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for name in TEXTS:
        value = reply.get(name)
        several = (
            cast("Mapping[str, object]", value).values() if isinstance(value, Mapping) else [value]
        )
        found += [text for text in several if isinstance(text, str)]
    return found
