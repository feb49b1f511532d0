"""``ascertain resolve ID``: a person's verdict."""

from __future__ import annotations

from ascertain.cli.deciding import Word, judge, with_word
from ascertain.cli.ledgers import opened
from ascertain.cli.options import DEFAULT_LEDGER, ActionId, AsJson, LedgerUrl, examples
from ascertain.report.reading import find_one
from ascertain.runtime.clock import clock_of

EPILOG = examples(
    "ascertain resolve 019ad2f0c1 --confirmed T900",
    "ascertain resolve 019ad2f0c1 --not-done --evidence 'not in the CRM'",
    "ascertain resolve 019ad2f0c1 --undone --evidence 'receipt 118'",
)


@with_word
def command(
    id: ActionId,
    word: Word,
    ledger: LedgerUrl = DEFAULT_LEDGER,
    as_json: AsJson = False,
) -> int:
    """Decide what nobody could find out, or undo: it happened, or it did not; it was reversed.

    What is settled is never rewritten, and "not done" is refused while a process that sent it may
    still be alive, or what it sent may still be on its way. What was refused for a while is ended
    by "not done", and may be wished anew.
    """
    with opened(ledger) as found:
        return judge(found, find_one(found, id), clock_of(found), word, as_json=as_json)
