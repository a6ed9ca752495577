"""Secrets: how manifests point at them, how they are fetched, and the wrapper that keeps them from being shown.

A manifest never holds a secret, only its location: `{secretRef: {env: NAME}}`, `{secretRef: {file: path}}`, or
`{secretRef: {connectionSecret: key}}` for a secret of the connection, which holdfast.yaml may also fetch by a command.
Values are fetched as late as possible. No message here ever holds one.

Resolve secrets before references (`policy.references`), because a document from a provider must never be taken for a
reference to a file on this machine.
"""

from __future__ import annotations

import hmac
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Final, NoReturn, assert_never

from holdfast.compare import paths
from holdfast.compare.comparators.base import canonical_text
from holdfast.errors import InputError, Location
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.model.record import dataclass
from holdfast.schema import did_you_mean, fields
from holdfast.schema.document import DocumentPath
from holdfast.schema.fields import FieldType

COMMAND_SECONDS: Final = 30.0
MAX_BYTES: Final = 1024 * 1024
MASK: Final = "******"


class Secret:
    """A value that cannot be shown: not printed, formatted, copied into text, pickled or hashed."""

    __slots__ = ("_value",)
    __hash__ = None  # type: ignore[assignment]  # a secret is not a key

    def __init__(self, value: Json) -> None:
        self._value = value

    def reveal(self) -> Json:
        """Return the value in clear. Only for requests to a provider, and for fingerprints."""
        return self._value

    def told_by(self) -> Json:
        """Return the value that identifies a change of the secret. Only for fingerprints."""
        return self._value

    def joined(self, parts: Iterable[object]) -> Secret:
        """Return the text made of these parts, itself a secret because one of them is."""
        clear = (part.reveal() if isinstance(part, Secret) else part for part in parts)
        return Secret("".join(paths.scalar_text(part) for part in clear))

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, _: str) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(_bytes(self._value), _bytes(other.reveal()))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _: dict[int, object]) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled")


class Unwatched(Secret):
    """A secret that is sent and may be another tomorrow: no change of it is ever told, or leads to a write."""

    __slots__ = ()

    def told_by(self) -> Json:
        """Return the same for all."""
        return ""


def _bytes(value: Json) -> bytes:
    return canonical_text(value).encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class FromEnvironment:
    """The value of an environment variable."""

    name: str


@dataclass(frozen=True, slots=True)
class FromFile:
    """The contents of a file, without one newline at the end; a relative path begins at `base`."""

    path: str
    base: str = ""


@dataclass(frozen=True, slots=True)
class FromCommand:
    """The output of a command that is run without a shell. Only the project file may name one."""

    words: tuple[str, ...]
    base: str = ""


@dataclass(frozen=True, slots=True)
class FromConnection:
    """One of the secrets of the resource's connection."""

    key: str


Reference = FromEnvironment | FromFile | FromCommand | FromConnection
SECRET_REF: Final = "secretRef"  # noqa: S105 - the key of a reference in a document
IN_RESOURCES: Final = ("env", "file", "connectionSecret")
IN_PROJECT: Final = ("env", "file", "command")
_EXAMPLES: Final = {
    "env": "{env: NAME}",
    "file": "{file: path}",
    "command": "{command: [program, argument]}",
    "connectionSecret": "{connectionSecret: key}",
}


def parse_reference(value: Json, allowed: Sequence[str], base: str = "") -> Reference:
    """Read `{env: NAME}` and the like; raise InputError, which never repeats the value."""
    choices = " or ".join(_EXAMPLES[word] for word in allowed)
    if not isinstance(value, Mapping) or len(value) != 1:
        raise InputError(f"a secret is never written here, only where to find it: {choices}")
    ((word, found),) = value.items()
    if word not in allowed:
        raise InputError(f"{word!r} is no place for a secret; write {choices}{did_you_mean.hint(word, allowed)}")
    if word == "command":
        return FromCommand(_command(found), base)
    if not _is_word(found):
        raise InputError(f"{word}: expected a string: {_EXAMPLES[word]}")
    match word:
        case "env":
            return FromEnvironment(found)
        case "file":
            return FromFile(found, base)
        case _:
            return FromConnection(found)


def _command(value: Json) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(map(_is_word, value)):
        raise InputError("expected a list of words: [program, argument, ...]; there is no shell")
    return tuple(value)


def _is_word(value: Json) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value  # no file name or argument can hold a NUL


def _project_reference(value: Json, at: DocumentPath) -> Reference | fields.Invalid:
    try:
        return parse_reference(value, IN_PROJECT, at.folder)
    except InputError as error:
        at.note(error)
        return fields.INVALID


COMMAND: Final = fields.parsed(_command, type="array", items={"type": "string"}, minItems=1)
SECRET: Final[FieldType[Reference]] = FieldType(
    _project_reference,
    lambda: {"type": "object", "properties": {word: {} for word in IN_PROJECT}, "additionalProperties": False},
)


def find(value: Json) -> Iterator[tuple[Pointer, Reference | InputError]]:
    """Go through the references to secrets in a document, in order, the malformed among them as errors."""
    pending: list[tuple[Pointer, Json]] = [((), value)]
    while pending:
        pointer, here = pending.pop()
        if isinstance(here, Mapping):
            body = _body(here)
            if body is None:
                pending.extend(((*pointer, key), item) for key, item in reversed(list(here.items())))
                continue
            try:
                yield pointer, _reference(here, body)
            except InputError as error:
                yield pointer, error
        elif isinstance(here, list):
            pending.extend(((*pointer, index), here[index]) for index in range(len(here) - 1, -1, -1))


def _body(here: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """Return the body of secretRef if it is meant for us. APIs have fields of that name too, with other content."""
    body = here.get(SECRET_REF)
    if not isinstance(body, Mapping):
        return None
    ours = any(word in _EXAMPLES or did_you_mean.closest(word, IN_RESOURCES) for word in body)
    return body if ours else None


def _reference(here: Mapping[str, Json], body: Mapping[str, Json]) -> Reference:
    if len(here) != 1:
        raise InputError("secretRef stands for the whole value, so nothing may stand beside it")
    return parse_reference(body, IN_RESOURCES)


Run = Callable[[Sequence[str], str], bytes]


def run_command(words: Sequence[str], folder: str) -> bytes:
    """Run a program of the project file and return its output. Its error output is not repeated."""
    try:
        done = subprocess.run(  # noqa: S603 - the words come from the project's own file, without a shell
            words,
            cwd=folder or None,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except OSError as error:
        raise InputError(f"the command {words[0]} for a secret cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"the command {words[0]} for a secret took longer than {COMMAND_SECONDS:g} seconds") from None
    if done.returncode != 0:
        raise InputError(f"the command {words[0]} for a secret failed with exit code {done.returncode}; run it by hand")
    return done.stdout


@dataclass(frozen=True, slots=True)
class Resolver:
    """Fetches secrets, each once; relative files begin at `folder`."""

    environ: Mapping[str, str] = field(repr=False)
    folder: str = "."
    connection: str = ""
    of_connection: Mapping[str, Reference] = field(default_factory=dict)
    run: Run = run_command
    _fetched: dict[tuple[Reference, str], Secret] = field(default_factory=dict, repr=False)

    def within(self, folder: str, connection: str, references: Mapping[str, Reference]) -> Resolver:
        """Return the resolver for resources of one folder and connection. Fetched secrets are shared."""
        return replace(self, folder=folder, connection=connection, of_connection=references)

    def fetch(self, reference: Reference) -> Secret:
        """Return the secret; raise InputError that names where it was looked for."""
        if isinstance(reference, FromConnection):
            return self.fetch(self._from_connection(reference))
        folder = "" if isinstance(reference, FromEnvironment) else reference.base or self.folder
        found = self._fetched.get((reference, folder))
        if found is None:
            found = self._fetched[reference, folder] = Secret(self._text(reference, folder))
        return found

    def _from_connection(self, reference: FromConnection) -> Reference:
        found = self.of_connection.get(reference.key)
        if found is None or isinstance(found, FromConnection):
            guess = did_you_mean.hint(reference.key, self.of_connection)
            raise InputError(f"the connection {self.connection} has no secret {reference.key!r}{guess}")
        return found

    def _text(self, reference: FromEnvironment | FromFile | FromCommand, folder: str) -> str:
        match reference:
            case FromEnvironment(name):
                if name not in self.environ:
                    raise InputError(f"the environment variable {name}, which should hold a secret, is not set")
                return _not_empty(self.environ[name], f"the environment variable {name}")
            case FromFile(path):
                file = Path(folder, Path(path).expanduser())
                return _not_empty(_decoded(_contents(file), str(file)), f"the file {file}")
            case FromCommand(words):
                return _not_empty(_decoded(self.run(words, folder), words[0]), f"what {words[0]} prints")
        assert_never(reference)


def _not_empty(text: str, what: str) -> str:
    if not text:
        raise InputError(f"{what}, which should hold a secret, is empty")
    return text


def _contents(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"the file {file}, which should hold a secret, cannot be read: {error.strerror or error}"
        ) from None


def _decoded(data: bytes, what: str) -> str:
    if len(data) > MAX_BYTES:
        raise InputError(f"the secret from {what} is larger than {MAX_BYTES // 1024} KB")
    try:
        return data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise InputError(f"the secret from {what} is not UTF-8 text") from None


def resolve_secrets(value: Json, resolver: Resolver) -> Json:
    """Return the document with a Secret in place of each reference. Parts without references are shared, not copied.

    Raise InputError with the field of the first reference that is malformed or leads nowhere.
    """
    places: dict[Pointer, Secret] = {}
    for pointer, reference in find(value):
        try:
            if isinstance(reference, InputError):
                raise reference
            places[pointer] = resolver.fetch(reference)
        except InputError as error:
            raise error.at(Location(field=paths.format_path(pointer))) from None
    return _placed(value, (), places) if places else value


def _placed(value: Json, pointer: Pointer, places: Mapping[Pointer, Secret]) -> Json:
    if pointer in places:
        return places[pointer]
    if isinstance(value, Mapping):
        return {key: _placed(item, (*pointer, key), places) for key, item in value.items()}
    if isinstance(value, list):
        return [_placed(item, (*pointer, index), places) for index, item in enumerate(value)]
    return value
