"""TLS for a cluster of Pinot in tests: a certificate of loopback that signs itself, and the settings that name it."""

from __future__ import annotations

import datetime as dt
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509.oid import NameOID

CA_FILE = "ca.pem"
_STORE = "store.p12"
_LOCK = "changeit"


def make_certificate(folder: Path) -> None:
    """For Java and for us."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / CA_FILE).write_bytes(made.public_bytes(serialization.Encoding.PEM))
    locked = serialization.BestAvailableEncryption(_LOCK.encode())
    (folder / _STORE).write_bytes(serialize_key_and_certificates(b"cluster", key, made, None, locked))


def secured(role: str, api: str, folder: Path, port: int) -> dict[str, str]:
    """Settings by which a role speaks TLS at a port."""
    stores = [f"{role}.tls.{store}" for store in ("keystore", "truststore")]
    return {
        f"{api}.access.protocols": "https",
        f"{api}.access.protocols.https.port": str(port),
        **{f"{store}.path": str(folder / _STORE) for store in stores},
        **{f"{store}.password": _LOCK for store in stores},
        **{f"{store}.type": "PKCS12" for store in stores},
    }
