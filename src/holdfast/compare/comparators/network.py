"""Comparators of what names a place on a network: URLs, paths, addresses, address ranges, host names, e-mail."""

from __future__ import annotations

import ipaddress
import re

from holdfast.compare.comparators import base, percent
from holdfast.model.json import Json

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_PORT = re.compile(r":([0-9]{0,5})$")
_SLASHES = re.compile(r"/+")
_CIDR = re.compile(r"[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_DEFAULT_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "amqp": "5672", "amqps": "5671"}


def url() -> base.Comparator:
    """Ignore case of scheme and host, the default port, one trailing slash and how characters are percent-encoded."""
    return base.Parsed("url", "url", _url)


def _url(value: Json) -> base.Key:
    return _url_text(value) if isinstance(value, str) else None


@base.remembered
def _url_text(text: str) -> str | None:
    match = _URL.fullmatch(text)
    if match is None:
        return None
    scheme, authority, path, query, fragment = match.groups()
    scheme = scheme.lower()
    path = path.removesuffix("/")
    return f"{scheme}://{_authority(scheme, authority)}{percent.normalise(path + (query or '') + (fragment or ''))}"


def _authority(scheme: str, authority: str) -> str:
    user, at, host = authority.rpartition("@")
    if (match := _PORT.search(host)) is not None:
        port = match[1].lstrip("0") or match[1][:1]
        host = host[: match.start()]
        host += f":{port}" if port and port != _DEFAULT_PORTS.get(scheme) else ""
    return percent.normalise(user) + at + percent.normalise(host.casefold())


def path() -> base.Comparator:
    """Ignore leading, trailing and doubled slashes: "/account-api" is "account-api"."""
    return base.Rewritten("path", _path)


def _path(text: str) -> str:
    return _SLASHES.sub("/", text).strip("/")


def cidr(*, keep_host_bits: bool = False) -> base.Comparator:
    """Compare address ranges: an address is its own /32 or /128, IPv6 in any spelling, bits beyond the prefix ignored.

    With `keep_host_bits` those bits count, as they do for the address of an interface.
    """
    read = _interface if keep_host_bits else _network

    def parse(value: Json) -> base.Key:
        return read(value) if isinstance(value, str) else None

    return base.Parsed(base.label("cidr", keep_host_bits=keep_host_bits), "cidr", parse)


@base.remembered
def _network(text: str) -> str | None:
    interface = _range(text)
    return None if interface is None else str(interface.network)


@base.remembered
def _interface(text: str) -> str | None:
    interface = _range(text)
    return None if interface is None else str(interface)


def _range(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface | None:
    # The pattern keeps out what ipaddress would read but no cloud means: netmasks, host masks and scope names.
    if _CIDR.fullmatch(text) is None:
        return None
    try:
        return ipaddress.ip_interface(text)
    except ValueError:
        return None


def ip() -> base.Comparator:
    """Compare single addresses; IPv6 in any spelling, its scope name included."""
    return base.Parsed("ip", "ip", _ip)


def _ip(value: Json) -> base.Key:
    return _address(value) if isinstance(value, str) else None


@base.remembered
def _address(text: str) -> str | None:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None


def fqdn() -> base.Comparator:
    """Ignore case and one trailing dot of a host name."""
    return base.Rewritten("fqdn", _fqdn)


def _fqdn(text: str) -> str:
    # ".." and "." alone are no host names with a dot too many.
    rooted = len(text) > 1 and text.endswith(".") and not text.endswith("..")
    return (text[:-1] if rooted else text).casefold()


def email() -> base.Comparator:
    """Ignore case; the part before the @ too, as every provider of note does."""
    return base.Parsed("email", "email", _email)


def _email(value: Json) -> base.Key:
    return value.casefold() if isinstance(value, str) and _EMAIL.fullmatch(value) else None
