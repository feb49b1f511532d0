"""Whether a recorded tool has an effect: as its contract says, else guessed from its verb."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from ascertain.model.contract import Contract


def words_of(words: str) -> frozenset[str]:
    """A list of words as a set."""
    return frozenset(words.split())


READ_VERBS: Final = words_of(
    "analyze browse calculate check compare compute convert count current describe detect diff "
    "download estimate evaluate examine explain extract fetch find get has identify inspect is "
    "list load lookup look match measure parse peek ping preview query quote read recommend "
    "retrieve retrieval scan search see select show status summarize think translate validate "
    "verify view weather what when where which who"
)
WRITE_VERBS: Final = words_of(
    "accept activate add allocate append apply approve archive assign block book buy cancel change "
    "charge checkout close commit complete confirm copy create deactivate debit decline delete "
    "deliver deploy dispatch drop edit email enable escalate exchange execute file forward grant "
    "hire insert install invite invoice issue log mail make merge modify move notify open order "
    "pay place post provision publish purchase push put refund register reject release remove "
    "rename renew reopen reply report request reschedule reserve reset resolve restart return "
    "reverse revoke rollback run save schedule send set ship sign start stop store submit "
    "subscribe suspend terminate transfer trigger unsubscribe update upgrade upload upsert void "
    "withdraw write"
)
# They are things as well: `order_status` and `file_search` only look.
THINGS_TOO: Final = words_of(
    "book change charge copy email file grant invoice issue log mail open order place post release "
    "reply report request reset return run schedule set ship store transfer"
)
_SPACED = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class By(StrEnum):
    """On whose word a tool counts as a read or a write."""

    CONTRACT = "contract"
    RECORDING = "recording"
    VERB = "verb"
    NOTHING = "nothing"


class Effect(NamedTuple):
    """Whether a tool writes, and how that is known."""

    writes: bool
    by: By
    verb: str = ""

    @property
    def said(self) -> str:
        """The same as half a sentence."""
        match self.by:
            case By.CONTRACT:
                return f"a {'write' if self.writes else 'read'} by its contract"
            case By.RECORDING:
                return f"a {'write' if self.writes else 'read'} by the recording"
            case By.VERB:
                kind = "write" if self.writes else "read"
                return f"guessed to be a {kind} from its verb ({self.verb})"
            case By.NOTHING:
                return "taken for a write, for its name says nothing"


def effect_of(tool: str, kind: str, contracts: Mapping[str, Contract]) -> Effect:
    """Whether a tool writes.

    :param kind: what the recording says (``read``, ``write``, ``generic``), or ''.
    """
    contract = contracts.get(tool) or contracts.get(own_name(tool))
    if contract is not None:
        return Effect(writes=not contract.is_read, by=By.CONTRACT)
    if kind:
        return Effect(writes=kind == "write", by=By.RECORDING)
    words = _words(tool)
    verb = next((word for word in words if word in READ_VERBS or word in WRITE_VERBS), "")
    if verb in THINGS_TOO:
        verb = next((word for word in words if word in READ_VERBS), verb)
    elif verb in READ_VERBS and {"or", "and"} & set(words):
        verb = next((word for word in words if word in WRITE_VERBS - THINGS_TOO), verb)
    if verb:
        return Effect(writes=verb in WRITE_VERBS, by=By.VERB, verb=verb)
    return Effect(writes=True, by=By.NOTHING)


def is_read_verb(tool: str) -> bool:
    """Whether a tool's name says that it only reads; in doubt it is a write."""
    return not effect_of(tool, "", {}).writes


def own_name(tool: str) -> str:
    """A tool's name without the server that it comes from (``mcp__crm__create_ticket``)."""
    return re.split(r"__|[./:]", tool)[-1] or tool


def _words(tool: str) -> list[str]:
    spaced = _SPACED.sub("_", own_name(tool))
    return [word for word in re.split(r"[\W_]+", spaced.casefold()) if word]
