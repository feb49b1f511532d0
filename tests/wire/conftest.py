import datetime as dt
import ipaddress
import ssl
from importlib.util import find_spec

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.wire.behaviours import by_path
from tests.wire.callers import KINDS
from tests.wire.server import Server

# httpx speaks HTTP/2 only with this; without it there is nothing to test, and the header says so.
HTTP2 = find_spec("h2") is not None
collect_ignore = [] if HTTP2 else ["test_wire_http2.py"]


def pytest_report_header():
    http2 = "with HTTP/2" if HTTP2 else "without HTTP/2 (h2 is not installed)"
    return f"wire: {', '.join(KINDS)}; {http2}"


@pytest.fixture(params=list(KINDS))
def kind(request):
    """Each client library in turn."""
    return request.param


@pytest.fixture
def server():
    with Server(by_path) as running:
        yield running


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A certificate for the loopback address, signed by itself: (certificate, key) as files."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    crt, pem = folder / "server.crt", folder / "server.key"
    crt.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return str(crt), str(pem)


@pytest.fixture
def tls(certificate):
    """The server's side of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context
