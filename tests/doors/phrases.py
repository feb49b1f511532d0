"""What invites to do something once more; nothing that a model is told may say so."""

import re

PHRASES = [
    r"try (it |this |that )?again", r"tried again", r"\bretr(y|ies|ied|ying)\b", r"\bre-?try\b",
    r"once more", r"\brepeat (the|this|that|it|your)\b", r"\bre-?send\b", r"\bresubmit\b",
    r"\bre-?run\b", r"\bre-?issue\b", r"\bre-?attempt\b", r"another attempt", r"one more time",
    r"call (it|this|the tool) again", r"(send|submit|make|do) (it|this|that) again",
    r"please wait and", r"fix your mistakes", r"start over",
    "再试", "重试", "重新提交", "重新发送", "再次提交", "再发一次", "再提交",
]  # fmt: skip

_FOUND = re.compile("|".join(PHRASES), re.IGNORECASE)


def invitations(text):
    """The phrases in a text that invite a repeat."""
    return [found.group(0) for found in _FOUND.finditer(text)]
