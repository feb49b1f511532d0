"""Nothing that runs foreign data, swallows an error, or hides a race."""

import ast

import pytest

from tests.tidy import sources

RUNS_DATA = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle"}
NOT_CALLED = {"eval", "exec", "yaml.load", "os.system", "tempfile.mktemp"}
SLEEPS = {"time.sleep", "sleep", "asyncio.sleep", "anyio.sleep", "trio.sleep"}
NOT_RUN = {"skip", "skipif", "skipIf", "skipUnless", "xfail", "importorskip", "SkipTest"}
EVERYTHING = {"Exception", "BaseException"}
ALL_CODE = sources.python("src", "tests", "bench", "scripts")
TESTS = sources.python("tests")
SLEEPERS = "allowed_sleeps.txt"


def at(path, node):
    return f"{sources.name(path)}:{node.lineno}"


def imported(node):
    match node:
        case ast.Import(names=names):
            return {alias.name.partition(".")[0] for alias in names}
        case ast.ImportFrom(module=str(module), level=0):
            return {module.partition(".")[0]}
        case _:
            return set()


@pytest.mark.parametrize("path", ALL_CODE, ids=sources.name)
def test_json_only_and_nothing_is_evaluated(path):
    found = []
    for node in ast.walk(sources.tree(path)):
        found += [f"{at(path, node)}: imports {word}" for word in imported(node) & RUNS_DATA]
        if isinstance(node, ast.Call) and sources.dotted(node.func) in NOT_CALLED:
            found.append(f"{at(path, node)}: calls {sources.dotted(node.func)}")
    assert not found, "\n".join(found)


def catches_everything(handler):
    match handler.type:
        case None:
            return True
        case ast.Tuple(elts=kinds):
            return any(sources.dotted(kind) in EVERYTHING for kind in kinds)
        case kind:
            return sources.dotted(kind) in EVERYTHING


def suppresses_everything(call):
    is_suppress = sources.dotted(call.func).rpartition(".")[2] == "suppress"
    return is_suppress and any(sources.dotted(kind) in EVERYTHING for kind in call.args)


def does_nothing(body):
    return all(
        isinstance(statement, ast.Pass | ast.Continue)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in body
    )


@pytest.mark.parametrize("path", ALL_CODE, ids=sources.name)
def test_no_error_is_swallowed(path):
    found = []
    for node in ast.walk(sources.tree(path)):
        match node:
            case ast.ExceptHandler() if catches_everything(node) and does_nothing(node.body):
                found.append(f"{at(path, node)}: catches everything and says nothing")
            case ast.Call() if suppresses_everything(node):
                found.append(f"{at(path, node)}: suppresses everything")
    assert not found, "\n".join(found)


def sleeps(path):
    """`file::function` and line of every real sleep; giving way with sleep(0) is none."""
    for dotted, function in sources.functions(path):
        for node in ast.walk(function):
            if not (isinstance(node, ast.Call) and sources.dotted(node.func) in SLEEPS):
                continue
            gives_way = (
                node.args and isinstance(node.args[0], ast.Constant) and not node.args[0].value
            )
            if not gives_way:
                yield f"{sources.name(path)}::{dotted}", node.lineno


def sleeps_outside_functions(path):
    inside = {id(n) for _, function in sources.functions(path) for n in ast.walk(function)}
    for node in ast.walk(sources.tree(path)):
        is_sleep = isinstance(node, ast.Call) and sources.dotted(node.func) in SLEEPS
        if is_sleep and id(node) not in inside:
            yield sources.name(path), node.lineno


def allowed(where, entries):
    """An entry covers the function and what is defined inside it."""
    return any(where == entry or where.startswith(f"{entry}.") for entry in entries)


@pytest.mark.parametrize("path", TESTS, ids=sources.name)
def test_no_test_sleeps(path):
    entries = sources.listed(SLEEPERS)
    found = sorted(
        {
            f"{where} (line {line})"
            for where, line in [*sleeps(path), *sleeps_outside_functions(path)]
            if not allowed(where, entries)
        }
    )
    assert not found, "wait for the event with a deadline instead:\n" + "\n".join(found)


def test_the_functions_that_may_sleep_still_do_and_say_why():
    entries = sources.listed(SLEEPERS)
    real = [where for path in TESTS for where, _ in sleeps(path)]
    idle = [entry for entry in entries if not any(allowed(where, [entry]) for where in real)]
    assert not idle, f"these do not sleep: {idle}"
    assert all(entries.values()), "an exception without its reason"


@pytest.mark.parametrize("path", TESTS, ids=sources.name)
def test_every_test_is_run(path):
    if path.parent.name == "tidy":
        names = set()  # this file names what it looks for
    else:
        names = {
            (node.id if isinstance(node, ast.Name) else node.attr, node.lineno)
            for node in ast.walk(sources.tree(path))
            if isinstance(node, ast.Name | ast.Attribute)
        }
    found = [f"{sources.name(path)}:{line}: {word}" for word, line in names if word in NOT_RUN]
    assert not found, "a test is run, or it is not there:\n" + "\n".join(found)
