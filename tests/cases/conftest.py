"""Plays the cases of a test file that were asked for, several at once, on each kind of ledger."""

from __future__ import annotations

import functools

import pytest

from tests.cases.runner import play_all


@pytest.fixture(scope="module")
def played_on(request, tmp_path_factory):
    """What each case of this file that is to be run on this kind of ledger came to."""

    @functools.cache
    def play(kind):
        wanted = {
            item.callspec.params["case"].id: item.callspec.params["case"]
            for item in request.session.items
            if item.path == request.path
            and hasattr(item, "callspec")
            and "case" in item.callspec.params
            and item.callspec.params.get("ledger_kind", "sqlite") == kind
        }
        return play_all(wanted.values(), tmp_path_factory.mktemp("cases"))

    return play


@pytest.fixture
def played(played_on, ledger_kind):
    """The same for the kind of ledger of this test."""
    return played_on(ledger_kind)
