"""What `decide` says is a committed table: a change of policy is a readable difference."""

from tests.laws import golden


def test_decide_says_what_the_golden_table_says():
    old = golden.FILE.read_text(encoding="utf-8")
    changed = golden.difference(old, golden.text())
    story = "\n".join(
        ["What `decide` says has changed:", *changed, f"If that is meant: {golden.COMMAND}"]
    )
    assert not changed, story


def test_the_lines_of_the_table_stand_for_every_view_that_can_be():
    assert sum(count for _, _, count in golden.rows()) == len(golden.possible_views())


def test_a_change_of_one_decision_shows_as_its_own_line():
    old = golden.FILE.read_text(encoding="utf-8")
    line = next(line for line in old.splitlines() if "evidence_first" in line)
    new = old.replace(line, line.replace("look_up", "resend "))
    assert golden.difference(old, new) == ["-" + line, "+" + line.replace("look_up", "resend ")]
