"""A line between a client and a provider that can hold a reply back. Bytes only, no HTTP."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self


class HeldLine:
    """Forwards each connection to a provider; some replies wait until :meth:`release`."""

    def __init__(self, port: int, *, hold: bytes) -> None:
        """Listen.

        :param port: of the provider, on 127.0.0.1.
        :param hold: how the requests begin whose replies are held.
        """
        self._port = port
        self._hold = hold
        self._released = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = [self._server]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.getsockname()[1]}"

    def release(self) -> None:
        """Let the replies through, those that are held and those to come."""
        self._released.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return  # closed
            far = socket.create_connection(("127.0.0.1", self._port))
            self._open += [near, far]
            may_pass = threading.Event()
            may_pass.set()
            for pump, source, goal in ((self._there, near, far), (self._back, far, near)):
                threading.Thread(target=pump, args=(source, goal, may_pass), daemon=True).start()

    def _there(self, source: socket.socket, goal: socket.socket, may_pass: threading.Event) -> None:
        def seen(data: bytes) -> None:
            if data.startswith(self._hold):
                may_pass.clear()

        self._pump(source, goal, seen)

    def _back(self, source: socket.socket, goal: socket.socket, may_pass: threading.Event) -> None:
        def seen(_: bytes) -> None:
            if not may_pass.is_set():
                self._released.wait()

        self._pump(source, goal, seen)

    @staticmethod
    def _pump(source: socket.socket, goal: socket.socket, seen: Callable[[bytes], None]) -> None:
        try:
            while data := source.recv(65536):
                seen(data)
                goal.sendall(data)
            goal.shutdown(socket.SHUT_WR)
        except OSError:
            return  # one end is gone, so there is nothing left to forward

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        for one in self._open:
            one.close()
