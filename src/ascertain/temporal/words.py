"""What travels between workflows, activities and whoever asks: plain records, as JSON.

No arguments, results or texts of a provider are among them: a history is kept for long, and read by
many. What they hold is what the ledger said at that moment; the ledger is the truth.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ascertain.errors import ContractError
from ascertain.rules import cases
from ascertain.rules.said import check_said

RECONCILE = "ascertain.Reconcile"
CHAIN = "ascertain.Chain"
SETTLED = "ascertain.Settled"

# search attributes, all of them keywords
STATE, TOOL, TENANT = "AscertainState", "AscertainTool", "AscertainTenant"
ATTRIBUTES = (STATE, TOOL, TENANT)

DEFAULT_QUEUE = "ascertain"
LOOK_AGAIN_S = 900.0
TOLD_LOOK_S = 3600.0
SILENCE_S = 10.0
STEPS_PER_RUN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a person found out; exactly one of all but the evidence.

    :param confirmed: the provider's reference: it happened. :param not_done: it did not, and will
        not. :param too_many: more was done than was wished for. :param undone: it was reversed by
        hand. :param turn_back: the chain that its code left behind is undone. :param kept: it could
        not be undone, or was left behind, and stays. :param evidence: how the person knows; all but
        the first need it.
    """

    confirmed: str | None = None
    not_done: bool = False
    too_many: bool = False
    undone: bool = False
    turn_back: bool = False
    kept: bool = False
    evidence: str = ""

    def which(self) -> cases.Verdict:
        """The one that it is.

        :raises ContractError: not exactly one, or one without what it needs.
        """
        return check_said(
            {
                cases.Verdict.CONFIRMED: self.confirmed is not None,
                cases.Verdict.NOT_DONE: self.not_done, cases.Verdict.TOO_MANY: self.too_many,
                cases.Verdict.UNDONE: self.undone, cases.Verdict.TURN_BACK: self.turn_back,
                cases.Verdict.KEPT: self.kept,
            }, self.confirmed, self.evidence,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A person's word on a call that waits to be sent: exactly one of digest, decline and release.

    :param by: who decides. :param digest: approves exactly the call that ``ascertain show`` names
        so, once. :param decline: it is not to be sent. :param release: what came while its breaker
        was open is sent now. :param evidence: why it is declined.
    """

    by: str
    digest: str = ""
    decline: bool = False
    release: bool = False
    evidence: str = ""

    def check(self) -> None:
        """Refuse what says nothing, or more than one thing.

        :raises ContractError: not exactly one of the three, or nobody who says it.
        """
        if bool(self.digest.strip()) + self.decline + self.release != 1:
            raise ContractError(
                "Say exactly one of digest=, decline=True and release=True.",
                next_step="The digest stands in `ascertain show ACTION`, beside what is approved.",
            )
        if not self.by.strip() or not self.by.isprintable():
            raise ContractError(f"Say who decides, as a plain text; got by={self.by!r:.40}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """An action to take up: what :data:`RECONCILE` starts with, and goes on with.

    :param attributes: whether the namespace knows our search attributes.
    :param look_again_s: where nothing is due, the ledger is looked at this often, in seconds.
    :param silence_s: a worker that was not heard of for so long is taken for dead, in seconds.
    :param steps_per_run: after how many looks the history is begun anew.
    :param said: verdicts that were signalled and could not be written yet. :param decided: the same
        of approvals. :param waiting: ids of the workflows that wait until it is settled.
    """

    action: str
    tool: str
    tenant: str
    state: str
    attributes: bool = True
    look_again_s: float = LOOK_AGAIN_S
    silence_s: float = SILENCE_S
    steps_per_run: int = STEPS_PER_RUN
    said: list[Verdict] = field(default_factory=list[Verdict])
    decided: list[Approval] = field(default_factory=list[Approval])
    waiting: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """How an action stands in the ledger.

    :param final: of a rejection: it binds. :param review: why a person has to look; '' if none has.
    :param chain: id of the chain that it is in; ''. :param wait_s: seconds until something is due;
        None: nothing is, by itself. :param settled: what is known is known for good, and nothing is
        left to do about it.
    """

    action: str
    tool: str
    tenant: str
    state: str
    final: bool
    reason: str
    attempt: int
    provider_ref: str | None
    review: str
    chain: str
    wait_s: float | None
    settled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What became of a verdict.

    :param refused: the code of the error where it was not written; ''. :param message: why not.
    :param next_step: what to do about it. :param again_s: when it may be said again, in seconds;
        None: never, or it was written.
    """

    stand: Stand
    refused: str = ""
    message: str = ""
    next_step: str = ""
    again_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A verdict on its way to the ledger."""

    action: str
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """An approval on its way to the ledger."""

    action: str
    approval: Approval


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Somebody waits until an action is settled: what :data:`SETTLED` starts and goes on with.

    :param until: for how long, in seconds since 1970; None: until it is settled.
    :param wait_s: how soon it looks again where the action's own workflow cannot be told of it, and
        ``look_again_s`` where it is; in seconds.
    """

    action: str
    until: float | None = None
    wait_s: float = 1.0
    look_again_s: float = TOLD_LOOK_S
    steps_per_run: int = STEPS_PER_RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A chain with declared steps: what :data:`CHAIN` starts with, and goes on with."""

    chain: str
    name: str
    tenant: str
    attributes: bool = True
    silence_s: float = SILENCE_S
    steps_per_run: int = STEPS_PER_RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a chain to be made."""

    chain: str
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How a chain stands in the ledger.

    :param state: what the wish has come to. :param direction: forward or backward.
    :param ready: the steps that can be made now. :param states: of each step, in order.
    :param over: nothing is left to start, to recover or to undo.
    """

    chain: str
    name: str
    state: str
    direction: str
    ready: list[str]
    states: dict[str, str]
    over: bool
