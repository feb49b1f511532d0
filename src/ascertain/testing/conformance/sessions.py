"""What every session store must do. Derive from it, and override the fixture ``store``."""

from __future__ import annotations

import pytest

from ascertain.model.session import Remembered, SessionRecord
from ascertain.store.sessions import SessionStore, SessionStoreDown

OLD, NEW = "01a0", "01a1"


def session(version: int, epoch: str = OLD, tenant: str = "t", id: str = "chat") -> SessionRecord:
    """A session as the ledger has it."""
    return SessionRecord(tenant, id, "u7", version, epoch, 1.0, 2.0, 3.0)


def values(*texts: str) -> tuple[Remembered, ...]:
    """What it remembers."""
    return tuple(
        Remembered(f"key{n}", n, text, "", "a1", "c1", 0, 1.5, 2.5)
        for n, text in enumerate(texts, start=1)
    )


class SessionStoreConformance:
    """A projection that is never older than it is asked for, and never goes back."""

    @pytest.fixture
    def store(self) -> SessionStore:
        """The store under test, with nothing in it."""
        raise NotImplementedError("override the fixture `store`")

    def test_what_was_never_kept_is_not_served(self, store: SessionStore) -> None:
        """There is no value of its own making."""
        assert store.serve(session(0)) is None

    def test_what_was_kept_is_served_as_it_was(self, store: SessionStore) -> None:
        """Every field, any text."""
        kept = values('"A1"', '{"a":[1,2,"中文"]}', "null")
        assert store.project(session(3), kept, 60.0)
        served = store.serve(session(3))
        assert served is not None
        assert (served.version, served.values) == (3, kept)

    def test_nothing_below_what_is_needed_is_served(self, store: SessionStore) -> None:
        """The ledger says what is needed; above it is as good."""
        store.project(session(3), values('"A1"'), 60.0)
        assert store.serve(session(4)) is None
        served = store.serve(session(2))
        assert served is not None
        assert served.version == 3

    def test_an_older_version_never_takes_the_place_of_a_newer_one(
        self, store: SessionStore
    ) -> None:
        """However late it comes."""
        assert store.project(session(12), values('"new"'), 60.0)
        assert not store.project(session(9), values('"old"'), 60.0)
        assert not store.project(session(12), values('"same"'), 60.0)
        served = store.serve(session(0))
        assert served is not None
        assert served.values == values('"new"')

    def test_a_new_epoch_ends_the_one_before(self, store: SessionStore) -> None:
        """Whatever its version; and the one before never comes back."""
        store.project(session(12), values('"old"'), 60.0)
        assert store.serve(session(1, NEW)) is None
        assert store.project(session(1, NEW), values('"new"'), 60.0)
        assert not store.project(session(13), values('"old"'), 60.0)
        assert store.serve(session(12)) is None
        served = store.serve(session(1, NEW))
        assert served is not None
        assert served.values == values('"new"')

    @pytest.mark.parametrize(
        "one, other",
        [
            (("t", "a:b"), ("t:a", "b")), (("t", "a"), ("t", "A")), (("t", "a}"), ("t", "a")),
            (("", "t:a"), ("t", "a")), (("t", "a%3Ab"), ("t", "a:b")),
        ],
    )  # fmt: skip
    def test_sessions_and_tenants_are_apart(
        self, store: SessionStore, one: tuple[str, str], other: tuple[str, str]
    ) -> None:
        """Whatever they are called."""
        store.project(session(1, tenant=one[0], id=one[1]), values('"mine"'), 60.0)
        assert store.serve(session(1, tenant=other[0], id=other[1])) is None
        assert store.serve(session(1, tenant=one[0], id=one[1])) is not None


__all__ = ["SessionStoreConformance", "SessionStoreDown", "session", "values"]
