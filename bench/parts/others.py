"""Other ways to make an action durable, on the same store in the same run."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import product
from kept import Kept, Measured, Ratio, Size, rate

HERE = Path(__file__).resolve().parent.parent
RIVALS = {
    "DBOS": ("dbos_actions.py",),
    "DBOS, no step": ("dbos_actions.py", "bare"),
    "LangGraph": ("langgraph_actions.py",),
}
CALLERS = 64


def missing() -> str:
    """Why they cannot be measured here; empty where they can."""
    return not_installed("dbos", "langgraph")


def not_installed(*wanted: str) -> str:
    """Which of these modules are not there, and how they come; empty where all are."""
    absent = [name for name in wanted if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(absent)} (make bench installs them)" if absent else ""


def measure(kept: Kept, size: Size) -> None:
    in_turns(kept, size, "SQLite", lambda: None, _file)


def in_turns(
    kept: Kept,
    size: Size,
    store: str,
    ours: Callable[[], str | None],
    place: Callable[[str], AbstractContextManager[str]],
) -> None:
    """Ours and each of the rivals, again and again, each on a database of its own.

    ``ours``, ``place``: the URL of a new one for us (None: a file), and for a rival by its name.
    """
    actions = 200 if size.quick else 600
    for _ in range(1 if size.quick else 3):
        with product.shop(ours()) as shop:
            kept.measure(f"{store}, ours", lambda s=shop: product.writes(s, CALLERS, size.many))
        for name, (script, *how) in RIVALS.items():
            what = f"{store}, {name}"
            with place(name) as url:
                kept.measure(
                    what,
                    lambda w=what, s=script, u=url, h=how: rival(kept, w, s, u, actions, *h),
                )


@contextmanager
def _file(_: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(dir=HERE, prefix=".rival-") as folder:
        yield f"sqlite:///{folder}/rival.sqlite"


def ratios(kept: Kept) -> list[Ratio]:
    return [
        Ratio(
            what="64 callers on SQLite, over DBOS, a workflow per action",
            value=kept.over("SQLite, ours", "SQLite, DBOS", rate), bar=30, dream=60,
        ),
        Ratio(
            what="64 callers on SQLite, over DBOS, the tool not as a step",
            value=kept.over("SQLite, ours", "SQLite, DBOS, no step", rate),
        ),
        Ratio(
            what="64 callers on SQLite, over LangGraph's checkpointer",
            value=kept.over("SQLite, ours", "SQLite, LangGraph", rate),
        ),
    ]  # fmt: skip


def rival(kept: Kept, name: str, script: str, url: str, actions: int, *how: str) -> Measured:
    """One of them in a process of its own; what it asserted of its settings is kept too."""
    asked = [url, str(CALLERS), str(actions), *how]
    command = [sys.executable, str(HERE / "rivals" / script), *asked]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    if done.returncode:
        sys.exit(f"{name} could not be measured:\n{done.stderr[-2000:]}")
    said = json.loads(done.stdout.splitlines()[-1])
    kept.settings[name] = f"{said.pop('what')}, {said.pop('settings')}"
    return Measured(**said)
