"""References: a field of one resource used in the declaration of another.

    ${prod/Network/core.id}            the provider's id of the network
    ${Network/core.subnets[0].cidr}    a field of its observed document; a shortened address must be unique
    ${core#/tags/a.b}                  the field as a path, for names and keys that hold a dot

A string that is one reference and nothing else takes the value with its type; inside a longer text the value is
written out. `$${` stands for a plain `${`. Where a name itself holds dots the longest known name wins. Short forms may
leave out the connection, the kind, and the namespace if it is that of the referring resource or there is none.

A reference to a declared field has the declared value, whatever the live state is (`reconcile.reference_values`).
Values are never searched for references again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, Protocol, runtime_checkable

from holdfast.compare import paths, quick_scan
from holdfast.errors import InputError
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.path import Path, Pointer
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.policy import source_location
from holdfast.schema import did_you_mean

MARK: Final = "${"
_TOKEN = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_STEP = re.compile(r"\.([^.\[\]]+)|\[([^\]]*)\]")
_MOST_GUESSES = 50  # more errors than that are not shown, so their guesses are not needed


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference as written, and where."""

    text: str  # between the braces
    pointer: Pointer  # of the string that holds it, from the top of the wanted document


@dataclass(frozen=True, slots=True)
class ReferenceTarget:
    """The target of a reference: a field of a resource. An empty path with `is_id` is the provider's id."""

    address: Address
    path: Path
    is_id: bool = False

    def __str__(self) -> str:
        return f"{self.address}{'.id' if self.is_id else '#' + paths.format_path(self.path)}"


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Why a value cannot be had, at least not yet."""

    reason: str


@dataclass(frozen=True, slots=True)
class HeldReference:
    """A value that cannot be relied on now, because of the status of its source."""

    value: Json
    reason: str


@dataclass(frozen=True, slots=True)
class Pending:
    """A reference that could not be filled in, or whose value cannot be relied on now."""

    pointer: Pointer
    text: str
    field: ReferenceTarget
    reason: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """The wanted document with its references filled in; strings with a pending one are left as written."""

    document: Json
    pending: tuple[Pending, ...] = ()
    held: tuple[Pending, ...] = ()  # filled in, with values that cannot be relied on now


@runtime_checkable
class Sealed(Protocol):
    """A value that must stay wrapped, such as a secret: a text that it becomes part of is wrapped as well."""

    def joined(self, parts: Iterable[object]) -> Sealed:
        """Return the wrapped text made of plain and sealed parts."""


Lookup = Callable[[ReferenceTarget], Json | Unresolved | HeldReference]


def escape(text: str) -> str:
    """Return the text such that it is read as itself, whatever it holds."""
    return text.replace("${", "$${")


def find(declaration: Declaration) -> tuple[list[Reference], list[InputError]]:
    """Return the references in a declaration, in document order, and the places where one is malformed."""
    found: list[Reference] = []
    errors: list[InputError] = []
    imported = declaration.import_from.filter if declaration.import_from is not None else None
    if not quick_scan.may_mention([declaration.desired, imported], MARK):
        return found, errors
    for pointer, text in (*_texts(declaration.desired), *_texts(imported)):
        for token in _TOKEN.finditer(text):
            if token[1] is not None and token[1].strip():
                found.append(Reference(token[1].strip(), pointer))
            elif token[0] != "$${":
                what = "an empty reference ${}" if token[1] is not None else "a ${ without its }"
                message = f"{what}; write ${{Kind/name.field}}, or $${{ for a plain ${{"
                errors.append(InputError(message, source_location.desired(declaration, pointer)))
    return found, errors


def _texts(value: Json) -> Iterator[tuple[Pointer, str]]:
    """Go through every string that may hold a reference, in document order, without recursion."""
    pending: list[tuple[Pointer, Json]] = [((), value)]
    while pending:
        pointer, here = pending.pop()
        if isinstance(here, str):
            if MARK in here:
                yield pointer, here
        elif isinstance(here, Mapping):
            pending.extend(((*pointer, key), item) for key, item in reversed(list(here.items())))
        elif isinstance(here, list):
            pending.extend(((*pointer, index), here[index]) for index in range(len(here) - 1, -1, -1))


class Names:
    """Everything that may be referred to, under each of the names it answers to."""

    def __init__(self, addresses: Iterable[Address], types: Mapping[Address, str] | None = None) -> None:
        self._answering: dict[str, list[Address]] = {}
        self._guesses = 0
        for address in sorted(set(addresses), key=str):
            names = _names(address)
            if types and address in types:
                names |= _names(replace(address, kind=types[address]))
            for name in names:
                self._answering.setdefault(name, []).append(address)

    def address(self, name: str, referrer: Address) -> Address:
        """Return the one resource that a full or short name means to the referrer; raise InputError otherwise."""
        answering = self._answering.get(name)
        if answering is None:
            raise InputError(f"there is no resource {name}{self._hint(name)}")
        exact = [address for address in answering if str(address) == name]
        near = exact or [address for address in answering if _is_near(address, name, referrer)]
        if len(near) == 1:
            return near[0]
        if not near:
            raise InputError(f"{name} is in another namespace; write {_listed(answering)}")
        raise InputError(f"{name} may be any of {len(near)} resources; write {_listed(near)}")

    def field(self, text: str, referrer: Address) -> ReferenceTarget:
        """Return the target of the text between braces for the referrer. Raise InputError with the mistake."""
        name, hash_, pointer = text.partition("#")
        if hash_:
            return ReferenceTarget(self.address(name, referrer), paths.parse_path(pointer))
        name, rest = self._split(text)
        if not rest:
            # A shell variable in a text file looks like this, so the message must help its author too.
            raise InputError(f"names no field; write ${{{text}.id}} or another field, or $${{{text}}} for plain text")
        address = self.address(name, referrer)
        path = _dotted(rest)
        return ReferenceTarget(address, (), is_id=True) if path == ("id",) else ReferenceTarget(address, path)

    def _split(self, text: str) -> tuple[str, str]:
        """Part a reference into name and field, at the last dot that leaves a known name before it."""
        head = text.partition("[")[0]
        start = head.rfind("/") + 1
        cuts = [index for index in range(start, len(head)) if head[index] == "."]
        if len(head) < len(text):
            cuts.append(len(head))
        for cut in reversed(cuts):
            if text[:cut] in self._answering:
                return text[:cut], text[cut:]
        return (text[: cuts[0]], text[cuts[0] :]) if cuts else (text, "")

    def _hint(self, name: str) -> str:
        self._guesses += 1
        if self._guesses > _MOST_GUESSES:
            return ""
        slashes = name.count("/")
        return did_you_mean.hint(name, (text for text in self._answering if text.count("/") == slashes))


def _names(address: Address) -> set[str]:
    connection, kind, name, namespace = address.connection, address.kind, address.name, address.namespace
    out = {f"{connection}/{kind}/{name}", f"{kind}/{name}", name}
    if namespace is not None:
        local = f"{namespace}/{name}"
        out |= {f"{connection}/{kind}/{local}", f"{kind}/{local}", local}
    return out


def _is_near(address: Address, name: str, referrer: Address) -> bool:
    """Return True if a short name reaches an address: it names the namespace, or shares it, or there is none."""
    if address.namespace is None or address.namespace == referrer.namespace:
        return True
    return f"/{name}".endswith(f"/{address.namespace}/{address.name}")


def _listed(addresses: list[Address]) -> str:
    shown = [str(address) for address in addresses[:4]]
    return " or ".join(shown) + (" or ..." if len(addresses) > len(shown) else "")


def _dotted(rest: str) -> Path:
    out: list[Path] = []
    position = 0
    while position < len(rest):
        step = _STEP.match(rest, position)
        if step is None:
            raise InputError("the field cannot be read; write .a.b[0].c, or #/a/b/0/c")
        key, index = step.groups()
        out.append((key,) if key is not None else _bracket(index))
        position = step.end()
    return tuple(item for steps in out for item in steps)


def _bracket(body: str) -> Path:
    if body.isascii() and body.isdigit():
        return (body,)
    return paths.parse_path(f"/[{body.replace('/', '~1')}]")  # inside brackets a slash can only be itself


def resolve(desired: Json, bindings: Mapping[str, ReferenceTarget], lookup: Lookup) -> Resolution:
    """Return a desired document with its references filled in. `bindings` maps the text between braces to its target.

    The document is not changed. Parts without references are shared with the result.
    """
    pending: list[Pending] = []
    held: list[Pending] = []

    def look_up(pointer: Pointer, name: str) -> Json | Unresolved:
        value = lookup(bindings[name])
        if isinstance(value, HeldReference):
            held.append(Pending(pointer, name, bindings[name], value.reason))
            return value.value
        return value

    def fill(value: Json, pointer: Pointer) -> Json:
        if isinstance(value, str):
            return _filled(value, pointer, bindings, look_up, pending) if MARK in value else value
        if isinstance(value, Mapping):
            return {key: fill(item, (*pointer, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [fill(item, (*pointer, index)) for index, item in enumerate(value)]
        return value

    return Resolution(fill(desired, ()), tuple(pending), tuple(held))


def _filled(
    text: str,
    pointer: Pointer,
    bindings: Mapping[str, ReferenceTarget],
    look_up: Callable[[Pointer, str], Json | Unresolved],
    pending: list[Pending],
) -> Json:
    parts: list[Json] = []
    position = 0
    blocked = False
    for token in _TOKEN.finditer(text):
        parts.append(text[position : token.start()])
        position = token.end()
        if token[1] is None:
            parts.append("${")
            continue
        name = token[1].strip()
        value = look_up(pointer, name)
        if token[0] != text:
            value = _embeddable(value)
        if isinstance(value, Unresolved):
            pending.append(Pending(pointer, name, bindings[name], value.reason))
            blocked = True
        elif token[0] == text:
            return value
        parts.append(value)
    parts.append(text[position:])
    return text if blocked else _join(parts)


def _embeddable(value: Json | Unresolved) -> Json | Unresolved:
    if isinstance(value, str | Unresolved | Sealed):
        return value
    if value is None:
        return Unresolved("is null, which cannot stand inside a text")
    if isinstance(value, Mapping | list):
        kind = "a list" if isinstance(value, list) else "a map"
        return Unresolved(f"is {kind}, which cannot stand inside a text; let the reference stand alone")
    return paths.scalar_text(value)


def _join(parts: list[Json]) -> Json:
    seal = next((part for part in parts if isinstance(part, Sealed) and not isinstance(part, str)), None)
    return "".join(parts) if seal is None else seal.joined(parts)


def value_in(field: ReferenceTarget, provider_id: str | None, document: Json) -> Json | Unresolved:
    """Read a field from the known document of a resource. ABSENT as the document means it has not been read yet."""
    if field.is_id:
        return provider_id if provider_id is not None else Unresolved(f"{field.address} has no id yet")
    if document is ABSENT:
        return Unresolved(f"{field.address} has not been read yet")
    value = paths.resolve(document, field.path)
    if value is ABSENT:
        return Unresolved(f"{field.address} has no field {paths.format_path(field.path)}")
    return value
