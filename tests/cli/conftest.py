"""What the tests of the command line share: a folder with a shop, and ways to run commands."""

import importlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from ascertain.cli import main
from ascertain.testing.world.fixtures import make_world
from tests.cli import shop as shops

__all__ = ["make_world"]

ROOT = Path(__file__).resolve().parent.parent.parent
ASCERTAIN = str(Path(sys.executable).parent / "ascertain")


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def said(self):
        """The output as one line, wherever it was wrapped."""
        return " ".join(self.out.split())

    @property
    def complained(self):
        return " ".join(self.err.split())


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An own folder, which is also the current one; nothing of the caller's settings is in it."""
    for name in ("ASCERTAIN_LEDGER", "ASCERTAIN_SECRET", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def forget_modules(folder):
    """A command imports an app anew, as a process of its own does."""
    for name, module in list(sys.modules.items()):
        places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
        if any(str(place).startswith(str(folder)) for place in places):
            del sys.modules[name]
    importlib.invalidate_caches()


@pytest.fixture
def cli(here, capsys):
    """Run a command in this process."""

    def run(*argv):
        capsys.readouterr()
        code = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        forget_modules(here)
        return Done(code, out, err)

    return run


@pytest.fixture
def spawn(here):
    """Start the real command as a process of its own; what is left over is killed.

    It hears Ctrl-C, even where these tests were begun in the background and do not.
    """
    children = []
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def start(*argv, command=ASCERTAIN, **options):
        child = subprocess.Popen(
            [command, *argv], cwd=here, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=options.pop("stderr", subprocess.PIPE), **options,
        )  # fmt: skip
        children.append(child)
        return child

    yield start
    if ignored:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    for child in children:
        if child.poll() is None:
            child.kill()
        child.communicate()


@pytest.fixture
def shop(here):
    """A module `shop:app` in the folder."""
    (here / "shop.py").write_text(shops.MODULE)
    return "shop:app"


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    """A folder with a ledger that has one action of each kind, and their ids by name."""
    folder = tmp_path_factory.mktemp("filled")
    ids = fill(folder)
    filled_at = time.time()
    # a person may then say "not done" of it: the mail without an answer is no longer on its way
    until(lambda: time.time() > filled_at + shops.QUICK.send_deadline_s)
    return folder, ids


@pytest.fixture
def ledger(here, filled):
    """A copy of that ledger in the current folder; returns the ids by name."""
    folder, ids = filled
    shutil.copytree(folder, here, dirs_exist_ok=True)
    return ids


def fill(folder, **options):
    """Call the shop's tools once each."""
    shop = shops.make(f"sqlite:///{folder / 'ledger.db'}", folder / "provider", **options)
    with shop.app.session("chat-42", principal="u7"):
        ids = {
            "confirmed": shop.create_ticket("A123").id,
            "rejected": shop.create_ticket("REFUSED").id,
            "unknown": shop.create_ticket("LOST-UNSEEN").id,
            "review": shop.send_mail("ann").id,
        }
    shop.app.close()
    return ids


def until(holds, *, within_s=15.0):
    """Wait for an event, with a deadline."""
    give_up_at = time.monotonic() + within_s
    while time.monotonic() < give_up_at:
        found = holds()
        if found:
            return found
        threading.Event().wait(0.01)
    raise AssertionError("it did not happen in time")
