"""The public face is what `__all__` says, and it costs nothing to import."""

import json
import os
import subprocess
import sys

import pytest

from tests.tidy import sources

FACE = [path for path in [sources.PACKAGE / "__init__.py"] if path.exists()]
# What may need more than the standard library: doors, and the eyes for one client each.
DOORS = {"adapters", "cli", "demo", "temporal", "replay", "server", "testing", "wire"}
PARTS = [
    path
    for path in sources.python("src")
    if path.relative_to(sources.PACKAGE).parts[0].removesuffix(".py") not in DOORS
]
IMPORT_MS = 100  # where to count to a million takes as long as this
MILLION_MS = 55
# In a fresh interpreter without site-packages: what is imported, and the processor's time that it
# takes; other work on the machine does not count.
LOOK = f"""
import json, sys, time
sys.path.insert(0, {str(sources.ROOT / "src")!r})
before = set(sys.modules)
started = time.process_time()
import ascertain
took_ms = (time.process_time() - started) * 1e3
roots = {{module.partition(".")[0] for module in set(sys.modules) - before}}
print(json.dumps({{
    "took_ms": took_ms,
    "foreign": sorted(roots - set(sys.stdlib_module_names) - {{"ascertain"}}),
}}))
"""
# How fast the processor is meanwhile.
COUNT = """
started, count = time.process_time(), 0
for n in range(1_000_000):
    count += n
print(json.dumps([took_ms, (time.process_time() - started) * 1e3]))
"""
# What the public face holds, of its own and not by way of import.
NAMES = f"""
import json, sys, types
sys.path.insert(0, {str(sources.ROOT / "src")!r})
import ascertain
here = {{k for k, v in vars(ascertain).items() if not isinstance(v, types.ModuleType)}}
print(json.dumps({{
    "all": list(getattr(ascertain, "__all__", [])),
    "missing": [name for name in getattr(ascertain, "__all__", []) if not hasattr(ascertain, name)],
    "public": sorted(name for name in here if not name.startswith("_")),
}}))
"""


def fresh(code):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def order(name):
    """Constants, then classes, then functions, each by name: as the linter sorts them."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


@pytest.mark.parametrize("face", FACE, ids=sources.name)
def test_all_is_sorted_and_true(face):
    has = fresh(NAMES)
    assert has["all"], f"{face} has no __all__"
    assert not has["missing"], f"promised in __all__ and not there: {has['missing']}"
    plain = [name for name in has["all"] if not name.startswith("__")]
    assert plain == sorted(plain, key=order)
    assert len(set(plain)) == len(plain)
    unsaid = sorted(set(has["public"]) - set(plain) - {"annotations", "TYPE_CHECKING"})
    assert not unsaid, f"public and not in __all__: {unsaid}"


@pytest.mark.parametrize("face", FACE, ids=sources.name)
def test_the_face_imports_with_nothing_else_installed(face):
    seen = fresh(LOOK)
    assert seen["foreign"] == []


@pytest.mark.parametrize("face", FACE, ids=sources.name)
def test_importing_takes_no_time(face, capsys):
    fresh(LOOK)  # compiles
    timed = LOOK.rpartition("roots = ")[0] + COUNT
    took_ms, million_ms = min(fresh(timed) for _ in range(5))
    slower = max(1.0, million_ms / MILLION_MS)
    with capsys.disabled():
        print(
            f"\nimport ascertain: {took_ms:.0f} ms (quickest of 5; processor {slower:.2f} x slower)"
        )
    assert took_ms < IMPORT_MS * slower


@pytest.mark.parametrize("part", PARTS, ids=sources.name)
def test_every_part_of_the_core_imports_with_nothing_else_installed(part):
    dotted = ".".join(part.relative_to(sources.ROOT / "src").with_suffix("").parts)
    seen = fresh(LOOK.replace("import ascertain\n", f"import {dotted.removesuffix('.__init__')}\n"))
    assert seen["foreign"] == []
