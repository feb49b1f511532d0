"""Everything this library raises, as one tree.

Outcomes of tool calls are values, never exceptions: a lost answer is the state ``unknown``.
Exceptions are for misuse and outages, and are raised *before* anything is sent::

    AscertainError
    ├── ContractError            a declaration that cannot be kept
    │   ├── DuplicateTool        two tools with one name, or two nouns that collide
    │   ├── WeakKey              an idempotency key below 96 bits, or empty
    │   └── LookupAnswer         a look-up that returned None or a foreign value
    ├── InvalidArguments         arguments that do not fit the tool
    │   ├── MissingArguments     required ones are absent
    │   ├── ArgumentsTooLarge    more bytes or deeper nesting than allowed
    │   ├── NotShown             a value that this person was not shown in this session
    │   └── NotCanonical         NaN, infinity, lone surrogates, values JSON cannot hold
    ├── UnknownTool              no tool of that name is registered
    │   └── ArgumentsRemoved     so old that what undoing it needs is not stored any more
    ├── ToolChanged              an MCP server's tool is not what was pinned
    ├── IntentConflict           a live intent exists with other exact arguments
    ├── NotAllowed               asked for something outside next_allowed
    │   ├── SenderMayBeAlive     "not done" said while an earlier sender may still send
    │   ├── MayStillArrive       "not done" said while a request may still be on its way
    │   └── ReferenceTaken       "confirmed" said with the reference of another action
    ├── NoSession                a guarded call outside ``app.session(...)``
    │   └── NoScope              an agent framework's call that nobody can be asked for
    ├── ForeignSession           the session is another principal's
    ├── SessionExpired           the session has ended
    ├── ContextTooLarge          more than a session may remember
    ├── NoAttempt                ``key()`` outside a guarded call
    ├── Unsettled                ``unwrap()`` of an action that is not confirmed
    ├── ActionNotFound           no action with that id
    └── LedgerError
        ├── LedgerBusy           more work is queued than the bound allows
        ├── LedgerFull           disk full, or below the free-space floor
        ├── LedgerLocked         another process holds the file beyond the timeout
        ├── LedgerReadOnly       the file or its folder cannot be written
        ├── LedgerMissing        there is none, and this command makes none
        ├── LedgerUnreachable    the database server cannot be reached, or was lost
        ├── LedgerDenied         the database server does not let this user in
        ├── LedgerCorrupt        not a ledger, or a damaged one
        ├── LedgerNewer          written by a newer release
        ├── LedgerClosed         used after ``close()``
        ├── ArchiveUnusable      the file is no archive, or cannot be read or written
        └── IllegalTransition    a move that the transition table does not have

Every class has a stable ``code``. Its docstring is the default message, so that the documentation
and the text cannot drift apart. ``next_step`` says what to do.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "ActionNotFound",
    "ArchiveUnusable",
    "ArgumentsRemoved",
    "ArgumentsTooLarge",
    "AscertainError",
    "ContextTooLarge",
    "ContractError",
    "DuplicateTool",
    "ForeignSession",
    "IllegalTransition",
    "IntentConflict",
    "InvalidArguments",
    "LedgerBusy",
    "LedgerClosed",
    "LedgerCorrupt",
    "LedgerDenied",
    "LedgerError",
    "LedgerFull",
    "LedgerLocked",
    "LedgerMissing",
    "LedgerNewer",
    "LedgerReadOnly",
    "LedgerUnreachable",
    "LookupAnswer",
    "MayStillArrive",
    "MissingArguments",
    "NoAttempt",
    "NoScope",
    "NoSession",
    "NotAllowed",
    "NotCanonical",
    "NotShown",
    "ReferenceTaken",
    "SenderMayBeAlive",
    "SessionExpired",
    "ToolChanged",
    "UnknownTool",
    "Unsettled",
    "WeakKey",
]


class AscertainError(Exception):
    """Something is wrong with how ascertain is used or with what it stands on."""

    code: ClassVar[str] = "ascertain_error"
    next_step: ClassVar[str] = ""

    def __init__(self, message: str = "", *, next_step: str = "", **context: Any) -> None:
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        self.advice = next_step or type(self).next_step
        self.context = context
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} Next: {self.advice}" if self.advice else self.message

    def as_dict(self) -> dict[str, Any]:
        """The error as data, for ``--json`` and for HTTP answers."""
        return {"error": self.code, "message": self.message, "next": self.advice, **self.context}


class ContractError(AscertainError):
    """The tool's declaration cannot be kept."""

    code = "contract_error"
    next_step = "Correct the declaration; `ascertain lint MODULE:APP` checks all tools."


class DuplicateTool(ContractError):
    """A tool of this name, or one with the same noun, is already registered."""

    code = "duplicate_tool"
    next_step = "Give one of them another name= or noun=."


class WeakKey(ContractError):
    """The idempotency key would be empty or carry fewer than 96 bits."""

    code = "weak_key"
    next_step = "Use a longer key format; two intents must never meet in one key."


class LookupAnswer(ContractError):
    """A look-up returns Found, Absent, Refused or Processing, or raises when it has no answer."""

    code = "lookup_answer"
    next_step = "Return Absent only when the provider said so; a search that broke must raise."


class InvalidArguments(AscertainError):
    """The arguments do not fit the tool; nothing was sent."""

    code = "invalid_arguments"
    next_step = "Correct the named arguments; the same wrong call will be refused again."


class MissingArguments(InvalidArguments):
    """Required arguments are missing; nothing was sent."""

    code = "missing_arguments"
    next_step = "Supply the named arguments, or ask the person for them."


class ArgumentsTooLarge(InvalidArguments):
    """The arguments exceed the size or nesting limit; nothing was sent."""

    code = "arguments_too_large"
    next_step = "Send a reference (a file id, a URL) instead of the content itself."


class NotShown(InvalidArguments):
    """This value was not shown to this person in this session; nothing was sent."""

    code = "not_shown"
    next_step = "Leave the argument out, or look the record up in this session first."


class NotCanonical(InvalidArguments):
    """The arguments hold a value that has no exact JSON form; nothing was sent."""

    code = "not_canonical"
    next_step = "Use finite numbers, Decimal for money, and well-formed Unicode."


class UnknownTool(AscertainError):
    """No tool of this name is registered."""

    code = "unknown_tool"
    next_step = "Register it with @app.tool, or check the spelling."


class ArgumentsRemoved(UnknownTool):
    """The arguments of what is to be undone are no longer stored; nothing was sent."""

    code = "arguments_removed"
    next_step = "Undo it by hand, then `ascertain resolve ID --undone --evidence TEXT`."


class ToolChanged(AscertainError):
    """This tool of an MCP server is not what was pinned; nothing was sent."""

    code = "tool_changed"
    next_step = (
        "Have a person look: `ascertain doctor` shows the change, `ascertain mcp release` ends it."
    )


class IntentConflict(AscertainError):
    """This intent is alive with other exact arguments; nothing was sent."""

    code = "intent_conflict"
    next_step = (
        "Ask what became of the first one; an intended second is named with ordinal= or intent=."
    )


class NotAllowed(AscertainError):
    """This is not among what is allowed next; it had no effect."""

    code = "not_allowed"
    next_step = "Take one of the entries of next_allowed."


class SenderMayBeAlive(NotAllowed):
    """An earlier sender may still be alive, so nobody can know yet that this was not done."""

    code = "sender_may_be_alive"
    next_step = "Stop that process, wait until its horizon has passed, or confirm with a reference."


class ReferenceTaken(NotAllowed):
    """This reference belongs to another action, and one record cannot confirm two."""

    code = "reference_taken"
    next_step = "Compare both actions with the provider's records, and name the right reference."


class MayStillArrive(NotAllowed):
    """What was sent may still take effect, so nobody can know yet that this was not done."""

    code = "may_still_arrive"
    next_step = "Look at the provider again after that time, or confirm with a reference."


class NoSession(AscertainError):
    """A guarded call needs a session: whose wish is this?"""

    code = "no_session"
    next_step = 'Wrap the call in `with app.session("chat-42", principal="u7"):`.'


class NoScope(NoSession):
    """This framework does not say whose conversation it is; nothing was sent."""

    code = "no_scope"
    next_step = (
        'Give the door scope=app.session("chat-42", principal="u7"), or a function that returns '
        "one; or run the agent inside `with app.session(...)`."
    )


class ForeignSession(AscertainError):
    """The session belongs to another principal; nothing was sent."""

    code = "foreign_session"
    next_step = "Open a session of this principal's own; an id is never shared between people."


class SessionExpired(AscertainError):
    """The session has ended, so what it remembers must not be used; nothing was sent."""

    code = "session_expired"
    next_step = "Open another session, or begin this one anew with session.renew()."


class ContextTooLarge(AscertainError):
    """This is more than a session may remember; nothing was written."""

    code = "context_too_large"
    next_step = "Keep a reference (an id) instead of the content, or raise context_limit_bytes=."


class NoAttempt(AscertainError):
    """There is no attempt here: key() and current_attempt() work inside a guarded call only."""

    code = "no_attempt"
    next_step = "Call it in the tool's body, in the same thread or task (or use attempt.bind)."


class Unsettled(AscertainError):
    """The action is not confirmed, so there is no value to unwrap."""

    code = "unsettled"
    next_step = "Read .facts(): it says what is known and what may be done next."

    def __init__(self, message: str = "", *, facts: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.facts: dict[str, Any] = facts or {}


class ActionNotFound(AscertainError):
    """There is no action with this id in the ledger."""

    code = "action_not_found"
    next_step = "`ascertain actions` lists them."


class LedgerError(AscertainError):
    """The ledger cannot do what was asked; nothing was sent on its account."""

    code = "ledger_error"


class LedgerBusy(LedgerError):
    """More work is waiting for the ledger than its bound allows; nothing was sent."""

    code = "ledger_busy"
    next_step = "Slow the callers down, or raise queue_bound=."


class LedgerFull(LedgerError):
    """The disk is full, or has less free space than the floor; nothing new is begun."""

    code = "ledger_full"
    next_step = "Free disk space; `ascertain doctor` shows the floor and what is left."


class LedgerLocked(LedgerError):
    """Another process held the ledger longer than the timeout."""

    code = "ledger_locked"
    next_step = "Find the process that keeps a transaction open on the file."


class LedgerReadOnly(LedgerError):
    """The ledger's file or folder cannot be written."""

    code = "ledger_read_only"
    next_step = "Give this user write permission on the file and its folder."


class LedgerUnreachable(LedgerError):
    """The ledger's database server cannot be reached, or the connection to it was lost."""

    code = "ledger_unreachable"
    next_step = "See that the server runs and can be reached from here; what is open is recovered."


class LedgerDenied(LedgerError):
    """The ledger's database server does not let this user in, or not to the ledger's tables."""

    code = "ledger_denied"
    next_step = "Correct the user, the password or the grants; `ascertain doctor` looks again."


class LedgerMissing(LedgerError):
    """There is no ledger at this place, and this command makes none."""

    code = "ledger_missing"
    next_step = (
        "Name it, such as --ledger sqlite:///ledger.db, or in ASCERTAIN_LEDGER; an app makes it at "
        "its first call."
    )


class LedgerCorrupt(LedgerError):
    """The file is not a ledger, or it is damaged."""

    code = "ledger_corrupt"
    next_step = "Restore it from a backup; keep the damaged file for evidence."


class LedgerNewer(LedgerError):
    """The ledger was written by a newer release of ascertain."""

    code = "ledger_newer"
    next_step = (
        "Upgrade this installation; the ledger does not let code of this age write any more."
    )


class LedgerClosed(LedgerError):
    """The ledger has been closed."""

    code = "ledger_closed"
    next_step = "Open the app again, or keep it open for as long as calls are made."


class ArchiveUnusable(LedgerError):
    """The file is no archive of actions, or it cannot be read or written."""

    code = "archive_unusable"
    next_step = (
        "Name another file, or put this one right; nothing was removed that it does not hold."
    )


class IllegalTransition(LedgerError):
    """The transition table has no such move."""

    code = "illegal_transition"
    next_step = "This is a defect; please report it with the timeline of the action."
