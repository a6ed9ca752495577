"""Reading GraphQL requests: as much of the language as RunPod's clients use, and an error for the rest.

One operation, nested selections, aliases, arguments, variables, literals. Fragments and directives are refused rather
than passed over, so that no test leans on something that was never looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from holdfast.model.json import Json

_TOKEN = re.compile(
    r"""[\s,]*(?:\#[^\n]*[\s,]*)*
    (?P<token> [{}()\[\]:=!] | \$?\w+ | "(?:[^"\\]|\\.)*" | -?\d+(?:\.\d+)?(?:[eE][+-]?\d+)? | \.\.\. | @\w+ | $)""",
    re.VERBOSE,
)
_CONSTANTS: Mapping[str, Json] = {"true": True, "false": False, "null": None}


class SyntaxWrongError(Exception):
    """The text is not GraphQL, or more of it than is understood here."""


@dataclass(slots=True)
class Selection:
    """One asked-for field."""

    name: str
    alias: str
    arguments: dict[str, Json] = field(default_factory=dict)
    below: list[Selection] = field(default_factory=list)


@dataclass(slots=True)
class Operation:
    """A whole request."""

    kind: str  # query or mutation
    name: str | None
    selections: list[Selection]


def parse(text: str, variables: Mapping[str, Json]) -> Operation:
    """Read a request; raise SyntaxWrongError."""
    return _Parser(text, variables).operation()


class _Parser:
    def __init__(self, text: str, variables: Mapping[str, Json]) -> None:
        self._tokens = _tokens(text)
        self._variables = variables
        self._here = next(self._tokens)

    def _next(self) -> str:
        token = self._here
        self._here = next(self._tokens, "")
        return token

    def _expect(self, token: str) -> None:
        found = self._next()
        if found != token:
            raise SyntaxWrongError(f'Syntax Error: Expected "{token}", found "{found or "<EOF>"}".')

    def _word(self) -> str:
        found = self._next()
        if not re.fullmatch(r"[A-Za-z_]\w*", found):
            raise SyntaxWrongError(f'Syntax Error: Expected Name, found "{found or "<EOF>"}".')
        return found

    def operation(self) -> Operation:
        kind, name = "query", None
        if self._here != "{":
            kind = self._word()
            if kind not in ("query", "mutation"):
                raise SyntaxWrongError(f'Syntax Error: Unexpected Name "{kind}".')
            if self._here not in ("{", "("):
                name = self._word()
            if self._here == "(":
                self._declarations()
        operation = Operation(kind, name, self._selections())
        if self._here:
            raise SyntaxWrongError(f'Syntax Error: Unexpected "{self._here}".')
        return operation

    def _declarations(self) -> None:
        """Pass over the types of variables: their values are checked where they are used."""
        while self._next() != ")":
            if not self._here:
                raise SyntaxWrongError('Syntax Error: Expected ")", found "<EOF>".')

    def _selections(self) -> list[Selection]:
        self._expect("{")
        found: list[Selection] = []
        while self._here != "}":
            found.append(self._selection())
        self._next()
        return found

    def _selection(self) -> Selection:
        name = alias = self._word()
        if self._here == ":":
            self._next()
            name = self._word()
        selection = Selection(name, alias)
        if self._here == "(":
            self._next()
            while self._here != ")":
                argument = self._word()
                self._expect(":")
                selection.arguments[argument] = self._value()
            self._next()
        if self._here == "{":
            selection.below = self._selections()
        return selection

    def _value(self) -> Json:
        word = self._next()
        if word.startswith("$"):
            return self._variables.get(word[1:])
        if word.startswith('"'):
            return json.loads(word)
        if word == "[":
            return self._list()
        if word == "{":
            return self._map()
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if re.fullmatch(r"[A-Za-z_]\w*", word):
            return word  # the value of an enum
        try:
            return json.loads(word)
        except ValueError:
            raise SyntaxWrongError(f'Syntax Error: Unexpected "{word or "<EOF>"}".') from None

    def _list(self) -> list[Json]:
        found = []
        while self._here != "]":
            found.append(self._value())
        self._next()
        return found

    def _map(self) -> dict[str, Json]:
        found: dict[str, Json] = {}
        while self._here != "}":
            name = self._word()
            self._expect(":")
            found[name] = self._value()
        self._next()
        return found


def _tokens(text: str) -> Iterator[str]:
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise SyntaxWrongError(f'Syntax Error: Cannot parse the unexpected character "{text[place]}".')
        if match["token"]:
            yield match["token"]
        place = match.end()
    yield ""
