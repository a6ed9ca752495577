"""URL templates: `/widgets/{id}`, with {name}, {namespace} and {desired./pointer}, each value percent-encoded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.provider import InputError, Path, Target

_PLAIN = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*")  # needs no encoding; most ids are
_ONLY_ID = ("id",)
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class UnfilledError(Exception):
    """A value that the template needs is not there, or cannot stand in a URL."""

    def __init__(self, name: str, message: str) -> None:
        self.name = name
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class UrlTemplate:
    """Literal text between placeholders; `text` is how messages name a request, because it holds no values."""

    text: str
    literals: tuple[str, ...]
    names: tuple[str, ...]
    pointers: tuple[Path, ...]

    def fill(self, target: Target, ident: str | None) -> str:
        """Return the path, and query if any, for a target."""
        if self.names == _ONLY_ID:  # by far the most common, and on the path of every check
            return self.literals[0] + _encoded("id", ident) + self.literals[1]
        out = self.literals[0]
        for name, pointer, literal in zip(self.names, self.pointers, self.literals[1:], strict=True):
            out += _encoded(name, self._value(name, pointer, target, ident)) + literal
        return out

    @staticmethod
    def _value(name: str, pointer: Path, target: Target, ident: str | None) -> str | None:
        if name == "id":
            return ident
        if name == "name":
            return target.name
        if name == "namespace":
            return target.namespace
        value = paths.resolve(target.desired, pointer)
        return None if value is ABSENT or isinstance(value, dict | list) else paths.scalar_text(value)


def _encoded(name: str, value: str | None) -> str:
    if value is None:
        raise UnfilledError(name, f"the URL needs {{{name}}}, and there is none")
    if _PLAIN.fullmatch(value):
        return value
    if value in ("", ".", ".."):
        raise UnfilledError(f"{name} as text", f"{{{name}}} is {value!r}, which cannot stand in a URL")
    return quote(value, safe="")


def parse(text: str) -> UrlTemplate:
    """Parse a template. Raise InputError if it is not a path, or names an unknown placeholder."""
    if not text.startswith("/"):
        raise InputError("a path starts with / and is appended to base_url")
    pieces = _PLACEHOLDER.split(text)
    literals, names = pieces[::2], pieces[1::2]
    if any("{" in literal or "}" in literal for literal in literals):
        raise InputError("a { without its }, or a } without its {")
    return UrlTemplate(text, tuple(literals), tuple(names), tuple(_pointer(name) for name in names))


def _pointer(name: str) -> Path:
    if name in ("id", "name", "namespace"):
        return ()
    if not name.startswith("desired."):
        raise InputError(f"{{{name}}} is not known; there are {{id}}, {{name}}, {{namespace}} and {{desired./field}}")
    field = name.removeprefix("desired.")
    return paths.parse_path(field if field.startswith("/") else f"/{field}")
