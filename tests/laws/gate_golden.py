"""The table of what the gate does about one key, as text: `tests/golden/gate.txt`.

python -m tests.laws.gate_golden --write      write it anew after a change of policy
"""

import sys
from itertools import product
from pathlib import Path

from ascertain.model.session import KeyState
from ascertain.rules.gate import Fill, GateWhat, KeyView, judge

FILE = Path(__file__).resolve().parent.parent / "golden" / "gate.txt"
COMMAND = "python -m tests.laws.gate_golden --write"
ORDER = (GateWhat.GO, GateWhat.READ, GateWhat.WAIT, GateWhat.HOLD)
WAITS = ((0, 3), (1, 3), (3, 3))
BOTH = (False, True)


def table():
    """One line for each key that can be, before, between and after the waits."""
    head = f"{'state':10} {'stale':5} {'needed':6} {'fill':4} {'waited':6}  decision"
    lines = [head]
    for state, stale, needed, fill, (waited, waits) in product(KeyState, BOTH, BOTH, Fill, WAITS):
        step = judge([KeyView(state, stale, needed, fill)], waited=waited, waits=waits)
        said = f"{'yes' if stale else 'no':5} {'yes' if needed else 'no':6} {fill:4}"
        lines.append(f"{state:10} {said} {f'{waited}/{waits}':6}  {step.what}: {step.reason}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


if __name__ == "__main__":
    if "--write" in sys.argv:
        FILE.write_text(table(), encoding="utf-8")
    else:
        print(table(), end="")
