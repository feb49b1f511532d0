"""The table of all decisions, as text: `tests/golden/decide.txt`.

    python -m tests.laws.golden --write      write it anew after a change of policy
    python -m tests.laws.golden              show what would change

Every view that can be is judged. Views that lead to the same decision whatever some columns say are
one line, with `.` in those columns; `views` says how many it stands for.
"""

import difflib
import sys
from functools import cache
from itertools import product
from pathlib import Path

from ascertain.model.chain import Course
from ascertain.model.outcome import Evidence
from ascertain.model.tables import State
from ascertain.rules.decide import Held, Lookup, View, decide

FILE = Path(__file__).resolve().parent.parent / "golden" / "decide.txt"
COMMAND = "python -m tests.laws.golden --write"
BOTH = (False, True)
COLUMNS = {
    "state": tuple(State),
    "course": tuple(Course),
    "disputed": BOTH,
    "final": BOTH,
    "wanted": BOTH,
    "evidence": tuple(Evidence),
    "lookup": tuple(Lookup),
    "refused": BOTH,
    "repeat": BOTH,
    "sends_left": BOTH,
    "turn": BOTH,
    "leave": BOTH,
    "held": tuple(Held),
}

# What is settled, and may therefore be disputed.
SETTLED = (State.CONFIRMED, State.COMPENSATED)
# What can be known without a look-up: nothing, that it was accepted, or that no attempt happened.
UNASKED = (Evidence.NOT_ASKED, Evidence.WORKING, Evidence.ABSENT_FINAL)


def final_is_of_rejections(view):
    """Only a rejection is final or not; everything else that is settled is so by its state."""
    return view.final and view.state is not State.REJECTED


def disputes_are_of_what_is_settled(view):
    """Evidence contradicts only what was settled; before, it is evidence like any other."""
    return view.disputed and not (view.state in SETTLED or view.final)


def a_refusal_in_hand_needs_doubt(view):
    """A send takes it back, and without doubt it would have settled the action."""
    settled = view.state in SETTLED or view.final
    return view.refused and view.state is not State.UNKNOWN and not settled


def evidence_begins_anew_with_each_send(view):
    """A send sets it to "not asked", and nothing that is told meanwhile changes that."""
    return view.state is State.SENT and view.evidence is not Evidence.NOT_ASKED


def counting_is_of_what_is_settled(view):
    """Effects are counted after a confirmation; a send begins anew, and leads to every unknown."""
    return view.state is State.UNKNOWN and view.evidence is Evidence.COUNTED


def absence_is_known_by_asking(view):
    """Where the provider cannot be asked, no look-up was silent or found nothing."""
    asked = view.evidence not in UNASKED
    return view.state is State.UNKNOWN and view.lookup is Lookup.NONE and asked


def only_a_send_is_held(view):
    """What is under way or settled is not about to be sent."""
    under_way = view.state is State.SENT or view.state in SETTLED or view.final
    return view.held is not Held.NO and under_way


IMPOSSIBLE = (
    final_is_of_rejections,
    disputes_are_of_what_is_settled,
    a_refusal_in_hand_needs_doubt,
    evidence_begins_anew_with_each_send,
    counting_is_of_what_is_settled,
    absence_is_known_by_asking,
    only_a_send_is_held,
)


@cache
def every_view():
    """All combinations of values, possible or not."""
    return [
        View(**dict(zip(COLUMNS, values, strict=True))) for values in product(*COLUMNS.values())
    ]


def why_impossible(view):
    """The name of the predicate that excludes the view; None where it can be."""
    return next((rule.__name__ for rule in IMPOSSIBLE if rule(view)), None)


@cache
def possible_views():
    return [view for view in every_view() if why_impossible(view) is None]


@cache
def rows():
    """The lines of the table, as `(cells, decision, views)`."""
    judged = {view: decide(view) for view in possible_views()}
    return list(_merged(dict(judged), {}, list(COLUMNS)))


def _merged(judged, chosen, columns):
    """Split by the columns in order, and only by those that make a difference."""
    decisions = set(judged.values())
    if len(decisions) == 1:
        yield tuple(chosen.get(name, ".") for name in COLUMNS), decisions.pop(), len(judged)
        return
    name = next(column for column in columns if _matters(judged, column))
    left = [column for column in columns if column != name]
    for values, part in _alike(judged, name):
        yield from _merged(part, {**chosen, name: values}, left)


def _alike(judged, name):
    """The views by their value in a column; courses that are all decided alike are one line."""
    parts = {value: {} for value in COLUMNS[name]}
    for view, end in judged.items():
        parts[getattr(view, name)][view] = end
    if name != "course":
        return [(value, part) for value, part in parts.items() if part]
    groups = {}
    for value, part in parts.items():
        same = frozenset((view._replace(course=None), end) for view, end in part.items())
        values, whole = groups.setdefault(same, ([], {}))
        values.append(value.value)
        whole.update(part)
    return [("|".join(values), whole) for values, whole in groups.values() if whole]


def _matters(judged, column):
    """Whether two possible views that differ only in this column are decided differently."""
    seen = {}
    for view, end in judged.items():
        key = view._replace(**{column: COLUMNS[column][0]})
        if seen.setdefault(key, end) != end:
            return True
    return False


def text():
    """The whole file."""
    everything = every_view()
    reasons = [why_impossible(view) for view in everything]
    lines = [
        "# What `decide` says for every view that can be.",
        f"# Written by: {COMMAND}",
        "#",
        f"# {len(everything):,} combinations; {reasons.count(None):,} can be. The others cannot:",
    ]
    for rule in IMPOSSIBLE:
        count = reasons.count(rule.__name__)
        lines.append(f"#   {rule.__name__} ({count:,}): {' '.join(rule.__doc__.split())}")
    table = [[*COLUMNS, "views", "->", "decision", "reason"]]
    for cells, decision, count in rows():
        words = [_word(name, cell) for name, cell in zip(COLUMNS, cells, strict=True)]
        table.append([*words, str(count), "->", decision.what.value, decision.reason.value])
    widths = [max(len(line[at]) for line in table) for at in range(len(table[0]))]
    lines.append("")
    lines += [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    ]
    return "\n".join(lines) + "\n"


def _word(name, cell):
    if cell == ".":
        return "."
    if cell is True or cell is False:
        return "yes" if cell else "no"
    return str(cell)


def difference(old, new):
    """The changed lines, with their neighbours left out."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def main(arguments):
    new = text()
    if arguments == ["--write"]:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(new, encoding="utf-8")
        print(f"{FILE.name}: {len(rows())} lines")
        return
    old = FILE.read_text(encoding="utf-8") if FILE.exists() else ""
    print("\n".join(difference(old, new)) or "No difference.")


if __name__ == "__main__":
    main(sys.argv[1:])
