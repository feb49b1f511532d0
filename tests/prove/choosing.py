"""All runs of a scenario, by every sequence of choices: a small search for what has few moves.

A scenario is a function that asks `choose` wherever several things may happen, plays them on the
production rules, and returns what it found wrong, in sentences. It is run again from its beginning
for each sequence, so it keeps no state.
"""

from dataclasses import dataclass, field


@dataclass
class Runs:
    """What came out. `wrong`: of the first run in which something was; `how`: its choices."""

    count: int = 0
    wrong: list = field(default_factory=list)
    how: list = field(default_factory=list)
    ends: dict = field(default_factory=dict)


class Choice:
    """Chooses as it was told so far, and the first of all where it was not."""

    def __init__(self, path):
        self.path, self.taken, self.how = path, [], []

    def __call__(self, *options):
        at = len(self.taken)
        pick = self.path[at] if at < len(self.path) else 0
        self.taken.append((pick, len(options)))
        self.how.append(options[pick])
        return options[pick]


def every(scenario, limit=400_000):
    """Run the scenario by every sequence of choices, until something is wrong."""
    runs, path = Runs(), []
    while runs.count < limit:
        choose = Choice(path)
        found = list(scenario(choose))
        runs.count += 1
        if found:
            runs.wrong, runs.how = found, [str(one) for one in choose.how]
            return runs
        taken = choose.taken
        while taken and taken[-1][0] + 1 >= taken[-1][1]:
            taken.pop()
        if not taken:
            return runs
        path = [pick for pick, _ in taken[:-1]] + [taken[-1][0] + 1]
    raise AssertionError(f"more than {limit} runs: {scenario.__name__} is too large")
