"""Every tool call of an agent ends in a known truth.

Write before the wire; keep a lost answer as ``unknown``; ask the provider by the same key before
anything is repeated; repeat only what the contract makes safe; say only what is known.
"""

from ascertain.errors import AscertainError, IntentConflict, NotAllowed, Unsettled
from ascertain.model.contract import Budget, KeyFormat, RefusalRule
from ascertain.model.tables import State
from ascertain.model.words import (
    Absent,
    Accepted,
    Found,
    FoundItems,
    Items,
    NotSent,
    Processing,
    Receipt,
    Refused,
    Undone,
)
from ascertain.rules.gate import Tiers
from ascertain.rules.plan import Ref
from ascertain.runtime.action import Action
from ascertain.runtime.app import Ascertain
from ascertain.runtime.attempt import Attempt, current_attempt, key
from ascertain.runtime.deadline import deadline
from ascertain.runtime.promises import Breaker
from ascertain.runtime.rates import Rate
from ascertain.runtime.session import Session
from ascertain.runtime.steps import Step

__all__ = [
    "Absent",
    "Accepted",
    "Action",
    "Ascertain",
    "AscertainError",
    "Attempt",
    "Breaker",
    "Budget",
    "Found",
    "FoundItems",
    "IntentConflict",
    "Items",
    "KeyFormat",
    "NotAllowed",
    "NotSent",
    "Processing",
    "Rate",
    "Receipt",
    "Ref",
    "RefusalRule",
    "Refused",
    "Session",
    "State",
    "Step",
    "Tiers",
    "Undone",
    "Unsettled",
    "current_attempt",
    "deadline",
    "key",
]
