"""Records for the laws."""

from ascertain.model.action import ActionRecord

NOW = 1000.0


def record(**changes):
    """A prepared action, with changes."""
    return ActionRecord(
        id="a1", tenant="t", tool="t", principal="u", session="s", opening="o", turn="1", slot="1",
        chain="", call_id=None, parent=None, replaces=None, intent="i", ordinal="", exact="",
        wording="", key="K", contract="d", mode="guard", created_at=NOW, send_by_at=NOW + 60,
    )._replace(**changes)  # fmt: skip
