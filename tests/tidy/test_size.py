"""Files and functions are small enough to hold in the head."""

from tests.tidy import sources

FILE_LINES = 400
FUNCTION_LINES = 70
ALLOWED = "allowed_sizes.txt"


def sizes():
    """Lines of every file and of every function below src."""
    for path in sources.python("src"):
        yield sources.name(path), FILE_LINES, len(path.read_text().splitlines())
        for dotted, node in sources.functions(path):
            lines = node.end_lineno - node.lineno + 1
            yield f"{sources.name(path)}::{dotted}", FUNCTION_LINES, lines


def test_files_and_functions_are_small():
    allowed = sources.listed(ALLOWED)
    too_long = [
        f"{what} has {lines} lines, {lines - limit} more than {limit}"
        for what, limit, lines in sizes()
        if lines > limit and what not in allowed
    ]
    assert not too_long, "split these by purpose:\n" + "\n".join(too_long)


def test_the_exceptions_are_real_and_have_reasons():
    allowed = sources.listed(ALLOWED)
    needed = {what for what, limit, lines in sizes() if lines > limit}
    assert set(allowed) <= needed, f"no longer too long: {sorted(set(allowed) - needed)}"
    assert all(allowed.values()), "an exception without its reason"
