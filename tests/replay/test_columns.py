"""Text in columns: nothing is wider than the paper, in Chinese neither."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascertain.replay.columns import Paper, Progress, beside, fit, paper_of, width_of, wrap

TEXT = st.text(alphabet="ab中文、 。-x", max_size=80)


@given(TEXT, st.integers(min_value=8, max_value=40))
def test_no_line_is_wider_than_it_may_be_and_no_letter_is_lost(text, width):
    lines = wrap(text, width, "  ")
    assert max(map(width_of, lines)) <= width
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_a_chinese_letter_takes_two_columns():
    assert width_of("履约完成") == 8
    assert wrap("履约完成、通知待确认", 8) == ["履约完成", "、通知待", "确认"]


def test_words_stay_whole_where_they_can():
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("incomprehensibly", 8) == ["incompre", "hensibly"]


def test_what_is_wrapped_keeps_its_indent():
    assert fit(["  aaa bbb ccc"], 9) == ["  aaa bbb", "    ccc"]


BLOCKS = [("ONE", ["first is confirmed"]), ("TWO", ["second", "third"]), ("A", ["x"]), ("B", [])]


@pytest.mark.parametrize("width, bars", [(80, 0), (120, 1), (168, 3)])
def test_blocks_stand_side_by_side_where_there_is_room(width, bars):
    lines = beside(Paper(width=width, colour=False), BLOCKS)
    assert lines[0].count("│") == bars
    assert max(map(width_of, lines)) <= width
    assert all(word in "\n".join(lines) for word in ("ONE", "TWO", "A", "B", "third"))


def test_colour_changes_no_width():
    plain = beside(Paper(width=120, colour=False), BLOCKS)
    painted = beside(Paper(width=120, colour=True), BLOCKS)
    assert "\x1b[32mconfirmed\x1b[0m" in "\n".join(painted)
    bare = [line.replace("\x1b[32m", "").replace("\x1b[36m", "") for line in painted]
    assert [line.replace("\x1b[0m", "").rstrip() for line in bare] == plain


def test_no_colour_where_nobody_could_see_it(monkeypatch):
    assert not paper_of(io.StringIO(), None).colour
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert paper_of(Terminal(), None).colour
    assert not paper_of(Terminal(), False).colour
    monkeypatch.setenv("NO_COLOR", "1")
    assert not paper_of(Terminal(), None).colour
    assert paper_of(Terminal(), True).colour


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_lines_where_nothing_can_be_written_over():
    paper = io.StringIO()
    progress = Progress(paper)
    progress.step("starting")
    progress.tick("12 of 20")
    progress.clear()
    assert paper.getvalue() == "  .. starting\n"


def test_progress_on_a_terminal_is_one_line_that_goes_away(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    progress = Progress(screen)
    progress.step("starting")
    progress.tick("中文")
    progress.clear()
    assert "\n" not in screen.getvalue()
    assert screen.getvalue().endswith("\r" + " " * 9 + "\r")
