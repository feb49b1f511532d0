"""One word for one thing, in names and in states; see "Words" in CONTRIBUTING.md."""

import ast
import re

import pytest

from tests.tidy import sources

# Parts of names: `retry_manager` is as bad as `Manager`.
NOT_A_NAME = {
    "common": "say what the parts have in common",
    "helper": "say what it does",
    "helpers": "say what they do",
    "manager": "say what it does",
    "success": "confirmed, or what else is known",
    "util": "say what it does",
    "utils": "say what they do",
}
NOT_A_STATE = {"failed", "failure", "success", "succeeded", "error"}
HTTP_STATUS = re.compile(r"http_?status|^_*status(es|_codes?|_line)$")
# A client's own words, where we take the place of one of its parts.
THEIR_WORDS = {"wire/requests.py": {"manager"}, "wire/urllib3.py": {"manager"}}
ENDINGS = re.compile(r"_(secs?|seconds|timestamp|duration|ts)$")


def parts(name):
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [part for part in spaced.lower().split("_") if part]


def defined(path):
    """Every name that a file gives to something, with its line; a file's own name too."""
    yield path.stem, 1
    for node in ast.walk(sources.tree(path)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node.lineno
            case ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.arg(arg=name):
                yield name, node.lineno
            case ast.Name(id=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno


def complaint(name, *, http=False, theirs=frozenset()):
    """What is wrong with a name; `http`: the file is about HTTP, where status is the word."""
    for part in parts(name):
        if part in NOT_A_NAME and part not in theirs:
            return f"not a name here ({NOT_A_NAME[part]})"
    if "status" in parts(name) and not http and not HTTP_STATUS.search(name):
        return "the word is state; status is HTTP's"
    if ENDINGS.search(name.lstrip("_")):
        return "durations end in _s, times in _at"
    return None


@pytest.mark.parametrize("path", sources.python("src"), ids=sources.name)
def test_names_are_of_the_glossary(path):
    http = "HTTP" in (ast.get_docstring(sources.tree(path)) or "")
    theirs = THEIR_WORDS.get(path.relative_to(sources.PACKAGE).as_posix(), frozenset())
    found = [
        f"{sources.name(path)}:{line}: {name}: {said}"
        for name, line in defined(path)
        if (said := complaint(name, http=http, theirs=theirs))
    ]
    assert not found, "\n".join(found)


def enum_members(path):
    for node in ast.walk(sources.tree(path)):
        if isinstance(node, ast.ClassDef) and any(
            sources.dotted(base).endswith("Enum") for base in node.bases
        ):
            for statement in node.body:
                if isinstance(statement, ast.Assign):
                    yield from ((t.id, statement) for t in statement.targets)


@pytest.mark.parametrize("path", sources.python("src"), ids=sources.name)
def test_no_state_says_failed(path):
    """`failed` hides the difference between refused and unknown; so does `success` on its side."""
    found = []
    for name, statement in enum_members(path):
        text = statement.value.value if isinstance(statement.value, ast.Constant) else ""
        if name.lower() in NOT_A_STATE or str(text).lower() in NOT_A_STATE:
            found.append(f"{sources.name(path)}:{statement.lineno}: {name}")
    assert not found, "\n".join(found)
