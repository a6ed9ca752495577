"""A certificate authority for one run, and a certificate of this machine from it.

Both are created at each start, so that no key lies in the repository. The client is given the authority's certificate,
as in a company with its own authority.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

HOSTS = ("localhost",)
ADDRESSES = ("127.0.0.1", "::1")
_LIFE = dt.timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files that were written."""

    ca_bundle: Path
    chain: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of a server."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.chain, self.key)
        return context


def make(folder: Path) -> Certificates:
    """Make an authority and a certificate for this machine, and write them into a folder."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _name("Holdfast emulator authority")
    authority = (
        _begun(issuer, issuer, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    names: list[x509.GeneralName] = [x509.DNSName(host) for host in HOSTS]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in ADDRESSES]
    leaf = (
        _begun(_name("localhost"), issuer, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    files = Certificates(folder / "ca.pem", folder / "server.pem", folder / "server-key.pem")
    files.ca_bundle.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    files.chain.write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    files.key.touch(mode=0o600)
    files.key.write_bytes(secret)
    return files


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)  # of the machine, for that is what TLS compares with
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + _LIFE)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
