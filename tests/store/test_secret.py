"""Where the secret comes from."""

import base64
import stat

import pytest

from ascertain.errors import LedgerCorrupt, WeakKey
from ascertain.store.secret import ENVIRONMENT, given_secret, secret_id
from ascertain.store.sqlite import SqliteLedger
from tests.store.samples import settled

SECRET = bytes(range(32))


@pytest.fixture(autouse=True)
def no_secret_around(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def use(path, **options):
    ledger = SqliteLedger(path, **options)
    try:
        return ledger.secret()
    finally:
        ledger.close()


def files(path):
    return sorted(file.name for file in path.parent.iterdir())


def test_a_new_ledger_makes_a_file_that_only_its_owner_reads(path):
    secret = use(path)
    file = path.with_name("ledger.db.secret")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert bytes.fromhex(file.read_text().strip()) == secret
    assert len(secret) == 32
    assert files(path) == ["ledger.db", "ledger.db.secret"], "no draft is left"
    assert use(path) == secret


def test_the_secret_is_nowhere_in_the_database(path):
    ledger = SqliteLedger(path, secret=SECRET)
    settled(ledger)
    ledger.close()
    content = path.read_bytes()
    assert SECRET not in content
    assert SECRET.hex().encode() not in content


@pytest.mark.parametrize(
    "text, secret",
    [
        ("hex:" + SECRET.hex(), SECRET),
        ("base64:" + base64.b64encode(SECRET).decode(), SECRET),
        ("sixteen letters!", b"sixteen letters!"),
        ("足够长的秘密", "足够长的秘密".encode()),
    ],
)
def test_the_environment_says_it_in_three_ways(path, monkeypatch, text, secret):
    monkeypatch.setenv(ENVIRONMENT, text)
    assert given_secret(None) == secret
    assert use(path) == secret
    assert files(path) == ["ledger.db"], "no file beside a given secret"


def test_the_argument_goes_before_the_environment_and_the_file(path, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, "sixteen letters!")
    assert use(path, secret=SECRET) == SECRET


@pytest.mark.parametrize("text", ["hex:xyz", "base64:***", "hex:00", "short"])
def test_an_environment_that_says_no_secret_is_refused(path, monkeypatch, text):
    monkeypatch.setenv(ENVIRONMENT, text)
    with pytest.raises(WeakKey, match=ENVIRONMENT):
        SqliteLedger(path)


def test_an_empty_environment_says_nothing(path, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, "")
    assert len(use(path)) == 32


@pytest.mark.parametrize("content", ["", "not hex", "00ff"])
def test_a_file_that_holds_no_secret_is_refused(path, content):
    use(path)
    path.with_name("ledger.db.secret").write_text(content)
    with pytest.raises(LedgerCorrupt, match="does not hold a secret"):
        use(path)


def test_a_secret_made_before_a_crash_is_taken_up(path):
    """Killed after the secret was made and before the ledger was: the file is used."""
    path.with_name("ledger.db.secret").write_text(SECRET.hex())
    assert use(path) == SECRET


def test_the_id_of_a_secret_tells_which_one_is_wanted(path):
    use(path, secret=SECRET)
    with pytest.raises(LedgerCorrupt, match=secret_id(SECRET)):
        use(path, secret=b"another secret of the tests")
