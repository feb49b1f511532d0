"""An archive of actions: a file with one action on each line, as JSON, which proves itself.

A line holds what the ledger held: the row, its events with their hashes, arguments and result with
their salts, the contract, the place in a chain. So a line can be moved to another file or looked at
alone. The same action may be there twice, after a process was killed; that is no harm.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from ascertain.errors import ArchiveUnusable, AscertainError, LedgerFull
from ascertain.model.action import ActionRecord
from ascertain.model.chain import ChainRecord, Member
from ascertain.store.check import Stored, check_action
from ascertain.store.compact import compact_json
from ascertain.store.filed import Filed
from ascertain.store.rows import FIELDS, STATE_TEXT, to_record
from ascertain.store.seal import chain_mac
from ascertain.store.secret import secret_id

FORMAT = 1
EVENT = (
    "n", "start", "event", "end", "by", "reason", "attempt", "fence", "at", "detail", "hash",
    "stand", "covers",
)  # fmt: skip
_HEX = ("hash", "covers")
_MARK = b'{"archive":'


class Archive:
    """A file that is appended to, by one process at a time. Makes it where there is none.

    :param path: the file; for its owner only, as a ledger is.
    :param secret: of the ledger. Each line names it, by its id.
    :param values: whether arguments and results are kept; without them the chain still holds.
    :raises ArchiveUnusable: it is something else, cannot be written, or another process writes it.
    """

    def __init__(self, path: str | Path, *, secret: bytes, values: bool = True) -> None:
        self.name = str(path)
        self._path = Path(path)
        self._secret_id = secret_id(secret)
        self._values = values
        is_new = not self._path.exists()
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise self._unusable(f"cannot be opened: {error.strerror}") from error
        try:
            self._begin(is_new=is_new)
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def append(self, filed: Sequence[Filed]) -> None:
        """Write these, and force them to the disk.

        :raises LedgerFull: there is no room; what was written of them is taken back.
        :raises ArchiveUnusable: the disk does not take them.
        """
        lines = [line_of(one, self._secret_id, values=self._values) for one in filed]
        left = memoryview("".join(f"{line}\n" for line in lines).encode("ascii"))
        before = os.fstat(self._file).st_size
        try:
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, before)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise LedgerFull(
                    f"There is no space left for the archive {self.name}; nothing of this batch "
                    "was removed."
                ) from error
            raise self._unusable(f"cannot be written: {error.strerror}") from error

    def _begin(self, *, is_new: bool) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._unusable("is being written by another process") from None
        with self._path.open("rb") as found:
            head = found.read(len(_MARK))
            if not _MARK.startswith(head):
                raise self._unusable("is something else")
            whole = _end_of_lines(found)
        # A line without an end was begun by a process that was killed: nothing of it was removed.
        if os.fstat(self._file).st_size > whole:
            os.ftruncate(self._file, whole)
            os.fsync(self._file)
        if is_new:
            folder = os.open(self._path.absolute().parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _unusable(self, why: str) -> ArchiveUnusable:
        return ArchiveUnusable(f"The archive {self.name} {why}.")


def _end_of_lines(file: BinaryIO, at_once: int = 1 << 16) -> int:
    """Where the last whole line ends."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - at_once)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


# ------------------------------------------------------------------------------------------ lines


def line_of(filed: Filed, known_id: str, *, values: bool = True) -> str:
    """One action as a line of JSON, in ASCII, without the line feed.

    :param known_id: names the secret of its ledger.
    """
    stored = filed.stored
    record = stored.record._asdict()
    record.update(state=STATE_TEXT[stored.record.state], head=stored.record.head.hex())
    payloads = {
        what: {"salt": salt.hex(), "body": body} for what, (salt, body) in stored.payloads.items()
    }
    return compact_json({
        "archive": FORMAT,
        "secret_id": known_id,
        "action": {name: _plain(value) for name, value in record.items()},
        "events": [_event(row) for row in stored.events],
        "payloads": payloads if values else {},
        "contract": filed.contract,
        "chain": filed.chain and dict(zip(ChainRecord._fields, filed.chain, strict=True)),
        "member": filed.member and dict(zip(Member._fields, filed.member, strict=True)),
    })  # fmt: skip


def filed_of(line: str) -> tuple[Filed, str]:
    """What a line holds, and the id of the secret that it was sealed with.

    :raises ValueError: it is no such line.
    """
    try:
        found: dict[str, Any] = json.loads(line)
        if found["archive"] != FORMAT:
            raise ValueError(f"its format is {found['archive']}; this release reads {FORMAT}")
        row: dict[str, Any] = {**found["action"], "head": bytes.fromhex(found["action"]["head"])}
        record = to_record([row[name] for name in FIELDS])
        stored = Stored(
            record=record,
            events=[_row(record, event) for event in found["events"]],
            payloads={
                what: (bytes.fromhex(one["salt"]), one["body"])
                for what, one in found["payloads"].items()
            },
        )
        chain, member = found["chain"], found["member"]
        return (
            Filed(
                stored,
                found["contract"],
                chain and tuple(chain[name] for name in ChainRecord._fields),
                member and tuple(member[name] for name in Member._fields),
            ),
            found["secret_id"],
        )
    except AscertainError as error:
        raise ValueError(error.message) from None
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a part of it is missing or another: {error}") from None


def _event(row: Sequence[Any]) -> dict[str, Any]:
    said = dict(zip(EVENT, row[1:], strict=True))
    return {**said, **{name: bytes(said[name]).hex() for name in _HEX}}


def _row(record: ActionRecord, event: dict[str, Any]) -> tuple[Any, ...]:
    said = {**event, **{name: bytes.fromhex(event[name]) for name in _HEX}}
    return (record.id, *(said[name] for name in EVENT))


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


# ------------------------------------------------------------------------------------ verifying


class Line(NamedTuple):
    """What a look at one line found.

    :param action_id: None where it cannot be read. :param again: an earlier line has this action.
    :param wrong: one sentence for each thing that does not hold.
    """

    number: int
    action_id: str | None
    again: bool
    wrong: tuple[str, ...]


def verified(path: str | Path, secret: bytes) -> Iterator[Line]:
    """Check every line of an archive: nothing is needed but the file and the ledger's secret.

    :raises ArchiveUnusable: there is no such file, or it is something else.
    """
    name, mac, known_id = str(path), chain_mac(secret), secret_id(secret)
    seen: set[str] = set()
    try:
        with Path(path).open("rb") as file:
            if not _MARK.startswith(file.read(len(_MARK))):
                raise ArchiveUnusable(f"{name} is no archive of actions.")
            file.seek(0)
            for number, raw in enumerate(file, start=1):
                if not raw.endswith(b"\n"):
                    yield Line(number, None, False, (f"Line {number} {_UNFINISHED}",))
                    return
                try:
                    filed, sealed_by = filed_of(raw.decode("ascii"))
                except ValueError as error:
                    yield Line(number, None, False, (f"Line {number} cannot be read: {error}.",))
                    continue
                record = filed.stored.record
                wrong = [f"Line {number}: {said}" for said in check_action(mac, filed.stored)]
                if sealed_by != known_id:
                    wrong = [f"Line {number}: its secret has the id {sealed_by}, not {known_id}."]
                yield Line(number, record.id, record.id in seen, tuple(wrong))
                seen.add(record.id)
    except OSError as error:
        raise ArchiveUnusable(f"The archive {name} cannot be read: {error.strerror}.") from error


_UNFINISHED = (
    "has no end: a run was killed as it wrote it (then it removed nothing of this line, and the "
    "next run with this archive takes it away), or this copy is cut short."
)
