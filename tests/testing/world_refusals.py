"""What the refusals of the World mean, as a contract says it."""

from ascertain import RefusalRule

REFUSALS = [
    RefusalRule(code="OPEN_TICKET_EXISTS", kind="already_exists", related_path="error.ref"),
    RefusalRule(code="ALREADY_EXISTS", kind="already_exists", related_path="error.ref"),
    RefusalRule(code="REFUSED_BY_POLICY", kind="business"),
    RefusalRule(code="VALIDATION", kind="invalid"),
    RefusalRule(code="in_progress", kind="in_progress"),
]
