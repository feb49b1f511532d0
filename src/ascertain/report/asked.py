"""What a person is asked to approve: the exact arguments, masked where they are personal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract
from ascertain.report.words import iso
from ascertain.rules import approval
from ascertain.rules.identity import intent_mac
from ascertain.store.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedFor:
    """A call that waits for approval.

    :param digest: names exactly this call; an approval is given to it and to no other.
    :param until: when it can no longer be approved. :param by_other: not by whose wish it is.
    """

    digest: str
    arguments: dict[str, Any]
    until: float
    by_other: bool

    def as_dict(self) -> dict[str, Any]:
        return {
            "digest": self.digest,
            "arguments": self.arguments,
            "until": self.until,
            "until_utc": iso(self.until),
            "by_other": self.by_other,
        }


def asked_for(
    ledger: Ledger, record: ActionRecord, contract: Contract | None, arguments: Any
) -> AskedFor | None:
    """What is to be approved of this action; None where it waits for no approval.

    :param arguments: as they may be shown (see :mod:`ascertain.report.shown`).
    """
    if record.review not in approval.CASES or contract is None:
        return None
    text = ledger.arguments(record.id)
    if text is None:
        return None
    return AskedFor(
        digest=approval.digest_of(intent_mac(ledger.secret()), record, text),
        arguments=arguments,
        until=record.send_by_at,
        by_other=contract.approval_by_other,
    )
