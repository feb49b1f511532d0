"""A server that misbehaves on request, and keeps its own books.

What it says in its ledger is the truth that the hooks are measured by. One thread per connection,
raw sockets, loopback only. ``settle()`` waits until every connection has been worked off, so that
nobody has to guess when the ledger is complete.
"""

import contextlib
import math
import select
import socket
import ssl
import struct
import threading
import time
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

TICK_S = 0.01
PATIENCE_S = 10.0
HANG_S = 6.0


@dataclass
class Head:
    """One request head as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    connection: int
    body: bytes = b""

    @property
    def path(self):
        return urlsplit(self.target).path

    @property
    def query(self):
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))


@dataclass
class Ledger:
    """What reached the server, and what it did."""

    connections: int = 0
    heads: list[Head] = field(default_factory=list)
    tunnels: list[str] = field(default_factory=list)
    effects: list[str] = field(default_factory=list)
    handshakes: int = 0
    stray_bytes: int = 0


class Gone(Exception):
    """The peer closed the connection, or the server is being stopped."""


class Connection:
    """One accepted connection, with the words to misbehave in."""

    def __init__(self, server, sock, number):
        self.server = server
        self.ledger = server.ledger
        self.sock = sock
        self.number = number
        self.buffer = b""

    # ---------------------------------------------------------------------------------- receiving

    def wait(self, until=math.inf):
        """Wait until there is something to read (data or an end); whether there is."""
        while time.monotonic() < until:
            if isinstance(self.sock, ssl.SSLSocket) and self.sock.pending():
                return True
            if select.select([self.sock], [], [], TICK_S)[0]:
                return True
            if self.server.stopping.is_set():
                raise Gone
        return False

    def fill(self):
        self.wait()
        try:
            data = self.sock.recv(65536)
        except OSError as exc:
            raise Gone from exc
        if not data:
            raise Gone
        self.buffer += data

    def read_head(self):
        """Read one request head and write it down."""
        while b"\r\n\r\n" not in self.buffer:
            try:
                self.fill()
            except Gone:
                self.ledger.stray_bytes += len(self.buffer)
                raise
        raw, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        first, *lines = raw.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        pairs = (line.split(":", 1) for line in lines)
        headers = {name.lower(): value.strip() for name, value in pairs}
        head = Head(method, target, headers, self.number)
        if method == "CONNECT":
            self.ledger.tunnels.append(target)
        else:
            self.ledger.heads.append(head)
        return head

    def read_body(self, head):
        if head.headers.get("transfer-encoding") == "chunked":
            while True:
                size = int(self.read_line(), 16)
                head.body += self.read_exactly(size)
                self.read_exactly(2)
                if size == 0:
                    return
        head.body = self.read_exactly(int(head.headers.get("content-length", 0)))

    def read_exactly(self, count):
        while len(self.buffer) < count:
            self.fill()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def read_line(self):
        while b"\r\n" not in self.buffer:
            self.fill()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    # ------------------------------------------------------------------------------------ sending

    def send(self, data):
        try:
            self.sock.sendall(data)
        except OSError as exc:
            raise Gone from exc

    def respond(self, http_status=200, body=b'{"id": "T900"}', **headers):
        lines = [f"HTTP/1.1 {http_status} Whatever", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    # ------------------------------------------------------------------------------------- ending

    def rst(self):
        """End with a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def fin(self):
        """End in order; unread data would make the kernel send a reset, so say so first."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)
        self.sock.close()

    def hang(self):
        """Say nothing until the peer goes away, or for longer than any deadline here."""
        until = time.monotonic() + HANG_S
        while self.wait(until):
            try:
                if not self.sock.recv(65536):
                    return
            except OSError:
                return

    def pause(self, seconds):
        """Between two drops of a drip."""
        if self.server.stopping.wait(seconds):
            raise Gone


class Server:
    """Listens on a free port; each connection is handed to ``behave``."""

    def __init__(self, behave, *, tls=None, late=False):
        self.behave = behave
        self.tls = tls
        self.ledger = Ledger()
        self.stopping = threading.Event()
        self.acted = threading.Event()
        self.open_door = threading.Event()
        if not late:
            self.open_door.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.threads = []
        self.broken = []
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def url(self, path="/", scheme=None):
        return f"{scheme or ('https' if self.tls else 'http')}://{self.address}{path}"

    def close_listener(self):
        """From now on connections are refused."""
        self.listener.close()

    def _accept(self):
        self.open_door.wait()
        while self.listener.fileno() >= 0:
            try:
                last = self.stopping.is_set()  # whoever had connected before that is served
                ready = select.select([self.listener], [], [], TICK_S)[0]
                if not ready:
                    if last:
                        return
                    continue
                sock, _ = self.listener.accept()
            except (OSError, ValueError):  # closed meanwhile
                return
            self.ledger.connections += 1
            thread = threading.Thread(
                target=self._serve, args=(sock, self.ledger.connections), daemon=True
            )
            self.threads.append(thread)
            thread.start()

    def _serve(self, sock, number):
        connection = Connection(self, sock, number)
        try:
            if self.tls is not None:
                sock.settimeout(PATIENCE_S)
                try:
                    connection.sock = self.tls.wrap_socket(sock, server_side=True)
                except OSError:
                    return
                self.ledger.handshakes += 1
            self.behave(connection)
        except Gone:
            return
        except Exception as exc:  # told by settle()
            self.broken.append(exc)
        finally:
            connection.sock.close()
            sock.close()

    def settle(self):
        """Work off what has arrived, stop, and hand out the books."""
        self.open_door.set()
        self.stopping.set()
        self.acceptor.join(PATIENCE_S)
        for thread in self.threads:
            thread.join(PATIENCE_S)
        self.listener.close()
        running = [thread for thread in (self.acceptor, *self.threads) if thread.is_alive()]
        if running or self.broken:
            raise AssertionError(f"the server itself broke: {running} {self.broken}")
        return self.ledger

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.settle()


@contextlib.contextmanager
def refusing():
    """A port that refuses connections."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


@contextlib.contextmanager
def blackhole():
    """A port at which connecting hangs: its backlog is full, so that the kernel drops each SYN."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        fillers = []
        limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < limit:
            filler = stack.enter_context(socket.socket())
            filler.settimeout(0.1)
            try:
                filler.connect(listener.getsockname())
            except TimeoutError:
                yield listener.getsockname()[1]
                return
            fillers.append(filler)
        raise AssertionError("the backlog never filled up")
