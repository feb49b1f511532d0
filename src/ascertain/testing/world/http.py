"""HTTP/1.1 on a raw connection: reading requests, writing answers, and losing them on purpose."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import time
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote, urlsplit

from ascertain.testing.world.deliver import Answer

MAX_HEAD = 256 * 1024
MAX_BODY = 64 * 1024 * 1024
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class BadRequestError(Exception):
    """What came is not HTTP that this server reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request; `whole` is False where the client went away inside its body."""

    received_at: float
    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""
    whole: bool = True

    @property
    def path(self) -> str:
        """The path, decoded, without the query."""
        return unquote(urlsplit(self.target).path)

    @property
    def query(self) -> dict[str, str]:
        """The query; of a repeated name the last value holds."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def keeps_alive(self) -> bool:
        """Whether the client wants to use the connection again."""
        return self.headers.get("connection", "").lower() != "close"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One client's connection, with the ways in which it can go wrong."""

    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def read(self) -> Request | None:
        """Return the next request; None when the client sends no further one.

        Raises BadRequestError.
        """
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except asyncio.LimitOverrunError as too_long:
            raise BadRequestError("the head of the request is too long") from too_long
        first, headers = _parse_head(head)
        at, (method, target) = time.time(), first
        if headers.get("expect", "").lower() == "100-continue":
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            body, whole = await self._body(headers), True
        except (asyncio.IncompleteReadError, ConnectionError):
            body, whole = b"", False
        return Request(
            received_at=at, method=method, target=target, headers=headers, body=body, whole=whole
        )

    async def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return await self._chunks()
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()) or int(length) > MAX_BODY:
            raise BadRequestError("the length of the body cannot be read, or is too large")
        return await self.reader.readexactly(int(length))

    async def _chunks(self) -> bytes:
        body = bytearray()
        while True:
            line = await self.reader.readuntil(b"\r\n")
            try:
                size = int(line.split(b";")[0], 16)
            except ValueError as wrong:
                raise BadRequestError("the size of a chunk cannot be read") from wrong
            if size < 0 or len(body) + size > MAX_BODY:
                raise BadRequestError("the body is too large")
            chunk = await self.reader.readexactly(size + 2)
            if size == 0:
                return bytes(body)
            body += chunk[:-2]

    async def send(self, answer: Answer, arrival: int, *, keep_alive: bool) -> None:
        """Send a whole answer."""
        self.writer.write(_render(answer, arrival, keep_alive=keep_alive))
        with contextlib.suppress(ConnectionError):  # the client left: its loss is the point
            await self.writer.drain()

    async def send_truncated(self, answer: Answer, arrival: int, how: str, hold_s: float) -> None:
        """Promise a whole body, send half of it, and leave as `how` says."""
        whole = _render(answer, arrival, keep_alive=False)
        head, _, body = whole.partition(b"\r\n\r\n")
        self.writer.write(head + b"\r\n\r\n" + body[: len(body) // 2])
        with contextlib.suppress(ConnectionError):
            await self.writer.drain()
        await self.lose(how, hold_s)

    async def lose(self, how: str, hold_s: float) -> None:
        """Give no (further) answer: reset, FIN, or silence until the client goes or `hold_s`."""
        if how == "hang":
            await self._until_client_leaves(hold_s)
        if how == "fin":
            self.writer.close()
        else:
            self.reset()

    async def _until_client_leaves(self, hold_s: float) -> None:
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(hold_s):
                while await self.reader.read(65536):
                    pass

    def reset(self) -> None:
        """Close the connection with a reset."""
        sock = self.writer.get_extra_info("socket")
        if sock is not None and sock.fileno() >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.writer.transport.abort()

    def close(self) -> None:
        """Close the connection in the ordinary way."""
        self.writer.close()


def _parse_head(head: bytes) -> tuple[tuple[str, str], dict[str, str]]:
    try:
        first, *lines = head[:-4].decode("latin-1").split("\r\n")
        method, target, version = first.split(" ")
        pairs = [line.split(":", 1) for line in lines]
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
    except ValueError as wrong:
        raise BadRequestError("the head of the request cannot be read") from wrong
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise BadRequestError("only HTTP/1.1 is spoken here")
    if version == "HTTP/1.0":
        headers.setdefault("connection", "close")
    return (method, target), headers


def _render(answer: Answer, arrival: int, *, keep_alive: bool) -> bytes:
    body = b"" if answer.body is None else json.dumps(answer.body).encode()
    headers = [
        ("Date", formatdate(usegmt=True)),
        ("Server", "ascertain-world"),
        ("X-Request-Id", f"req-{arrival}"),
        *answer.headers,
        ("Content-Length", str(len(body))),
        ("Connection", "keep-alive" if keep_alive else "close"),
    ]
    if answer.body is not None:
        headers.insert(0, ("Content-Type", "application/json"))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    first = f"HTTP/1.1 {answer.http} {HTTPStatus(answer.http).phrase}\r\n"
    return f"{first}{lines}\r\n".encode("latin-1") + body
