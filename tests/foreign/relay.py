"""A relay between an SDK and its provider that loses requests and replies, as told."""

from __future__ import annotations

import http.client
import threading
from collections import Counter, deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

PASS, LOSE_REQUEST, LOSE_REPLY = "pass", "lose request", "lose reply"
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "server", "date"}


class Relay:
    """Forwards every request to `port`. `lose` says what becomes of the next ones of a kind.

    A request is of a kind when the kind's text stands in its target header, its path or its body.
    What was forwarded and what was lost is counted per kind, in `came`.
    """

    def __init__(self, port: int) -> None:
        self.upstream = port
        self.came: Counter[str] = Counter()
        self._scripts: dict[str, deque[str]] = {}
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def lose(self, kind: str, *fates: str) -> None:
        """From now on count requests of this kind; the next ones meet these fates."""
        with self._lock:
            self.came[kind] = 0
            self._scripts[kind] = deque(fates)

    def fate_of(self, request: str) -> str:
        with self._lock:
            for kind, script in self._scripts.items():
                if kind in request:
                    self.came[kind] += 1
                    return script.popleft() if script else PASS
        return PASS

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler_for(relay: Relay) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            target = self.headers.get("X-Amz-Target", "")
            fate = relay.fate_of(f"{self.command} {self.path} {target} {body.decode('latin-1')}")
            self.close_connection = True
            if fate == LOSE_REQUEST:
                return
            answer = self._ask(body)
            if fate == LOSE_REPLY:
                return
            http_status, headers, text = answer
            self.send_response_only(http_status)
            for name, value in headers:
                if name.lower() not in HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(text)

        def _ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            line = http.client.HTTPConnection("127.0.0.1", relay.upstream, timeout=20)
            try:
                line.request(self.command, self.path, body, dict(self.headers))
                reply = line.getresponse()
                return reply.status, reply.getheaders(), reply.read()
            finally:
                line.close()

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    return Handler
