"""The rules above find what they are meant to find, and leave the rest alone."""

import ast
import re

import pytest

from tests.tidy import test_danger, test_repository, test_words


@pytest.mark.parametrize(
    "name", ["RetryManager", "http_helper", "is_success", "utils", "status", "delay_seconds"]
)
def test_these_are_no_names(name):
    assert test_words.complaint(name)


@pytest.mark.parametrize(
    "name", ["HTTPStatus", "status_code", "http_status", "delay_s", "sent_at", "commonest", "state"]
)
def test_these_are_names(name):
    assert test_words.complaint(name) is None


@pytest.mark.parametrize(
    "code",
    [
        "try: f()\nexcept Exception: pass",
        "try: f()\nexcept: ...",
        "try: f()\nexcept (ValueError, BaseException):\n  'quiet'",
        "with contextlib.suppress(Exception): f()",
    ],
)
def test_swallowing_is_seen(code):
    assert swallowed(code)


@pytest.mark.parametrize(
    "code",
    [
        "try: f()\nexcept ValueError: pass",
        "try: f()\nexcept Exception as error: log(error)",
        "with contextlib.suppress(KeyError): f()",
    ],
)
def test_handling_is_left_alone(code):
    assert not swallowed(code)


def swallowed(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ExceptHandler) and test_danger.catches_everything(node):
            return test_danger.does_nothing(node.body)
        if isinstance(node, ast.Call) and test_danger.suppresses_everything(node):
            return True
    return False


def test_traces_are_seen():
    text = " ".join(
        ["see DESI" + "GN.md", "and sha" + "red/facts", "at py" + "pi.org, iss" + "ue #2"]
    )
    assert all(re.search(pattern, text) for pattern in test_repository.TRACES.values())
