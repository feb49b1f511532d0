"""Plays the cases of a test file that were asked for, several at once."""

from __future__ import annotations

import pytest

from tests.cases.runner import play_all


@pytest.fixture(scope="module")
def played(request, tmp_path_factory):
    """What each case of this file that is to be run came to."""
    wanted = {
        item.callspec.params["case"].id: item.callspec.params["case"]
        for item in request.session.items
        if item.path == request.path
        and hasattr(item, "callspec")
        and "case" in item.callspec.params
    }
    return play_all(wanted.values(), tmp_path_factory.mktemp("cases"))
