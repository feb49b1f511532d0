"""Every reason that an outcome or an answer can carry, in one plain sentence each."""

from __future__ import annotations

from typing import Final

from ascertain.errors import LookupAnswer
from ascertain.rules.news import exceptions, http, spoken

OWN_WORDS: Final[dict[str, str]] = {
    "interrupted": "The caller was interrupted before there was an answer.",
    "lease_ran_out": "The time of this sender was nearly up, so nothing was sent.",
    "all_threads_busy": "No thread was free to send it in, so nothing was sent.",
}
"""What the library itself says when it holds a body back."""

REASONS: Final[dict[str, str]] = {
    **OWN_WORDS,
    "receipt": "The provider answered and named its reference.",
    "answered": "The provider answered.",
    "said_receipt": "The tool named the provider's reference.",
    "said_accepted": "The provider accepted it and is still working.",
    "said_refused": "The tool said that the provider refused.",
    "said_not_sent": "The tool said that it sent nothing.",
    "said_not_sent_but_left": "The tool said that it sent nothing, but something was seen leaving.",
    "nothing_left": "The hooks in the client saw that nothing left.",
    "never_connected": "No connection was ever made, by the class of the exception.",
    "tool_error_before_send": "The tool's own code broke before it had sent anything.",
    "returned_without_sending": "The tool returned, but nothing was seen leaving by its exits.",
    "swallowed_loss": "The tool returned although its request had got no answer.",
    "swallowed_error": "The tool returned although the provider had answered with an error.",
    "truncated": "The answer broke off before its end.",
    "empty_answer": "The answer was empty where something was due.",
    "no_receipt": "There was an answer, but no receipt in it.",
    "error_body": "The provider answered with an error in the body.",
    "error_like_body": "The answer says that something went wrong, but not what.",
    "refused_by_contract": "The contract says that this answer is a refusal.",
    "undeclared_refusal": "The contract names a refusal whose meaning is not known.",
    "refused_unprocessed": "The provider promises that this status means: refused before any work.",
    "refused_after_resend": "The last of several sends was refused; that speaks for itself only.",
    "several_effects": "The tool wrote to several targets, so an error leaves all of it in doubt.",
    "two_voices": "The exception and the hooks in the client tell different stories.",
    "http_202": "The provider accepted it and is still working.",
    "http_207": "The answer is a list of parts; whether all of it was done is not known.",
    "http_208": "The provider has it already, or is still working on it.",
    "not_drained": "The tool returned something that had still to be run.",
    "foreign_word": "The tool returned a word that is for look-ups.",
    "returned_error": "The tool returned an exception as its answer.",
    "unsafe_read": "A tool declared as a read sent a write.",
    "found": "The look-up found the record.",
    "absent": "The look-up found no record.",
    "working": "The provider knows the key and is still working on it.",
    "lookup_refused": "The provider keeps a refusal for this key.",
    "no_items": "The tool is declared as a batch, and its answer does not tell of its items.",
    "items": "Every item of the batch was taken.",
    "items_partly": "Some items of the batch were taken, the others declined.",
    "items_refused": "Every item of the batch was declined.",
    "items_accepted": "Some items of the batch are still being worked on.",
    "items_unknown": "Some items of the batch have no definite answer.",
    "items_open": "The provider has some items of the batch and not yet the others.",
    "lookup_answer": f"The look-up returned nothing that is an answer. {LookupAnswer.next_step}",
    "lookup_broke": "The look-up gave an answer although its own request had none.",
    "found_without_ref": "The look-up found a record but named no reference.",
    **exceptions.REASONS,
    **spoken.REASONS,
    **http.REASONS,
}
