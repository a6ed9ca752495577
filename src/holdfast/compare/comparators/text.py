"""Comparators of words: case, spaces, regions, vocabularies, token lists, patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from holdfast.compare.comparators import base
from holdfast.errors import ProfileError
from holdfast.model.json import Json
from holdfast.model.record import dataclass

_BLANKS = re.compile(r"[ \t\r\n\f\v]+")
_BLANKS_IN_LINE = re.compile(r"[ \t\f\v]+")
_LINE_END = re.compile(r"\r\n?")


def casefold() -> base.Comparator:
    """Ignore letter case."""
    return base.Rewritten("casefold", str.casefold)


def region() -> base.Comparator:
    """Ignore case and spaces: "West US 2" is "westus2". Hyphens count, as in "us-east-1"."""
    return base.Rewritten("region", _region)


def _region(text: str) -> str:
    return text.replace(" ", "").casefold()


def whitespace(*, keep_lines: bool = False) -> base.Comparator:
    """Collapse runs of blanks and trim; with `keep_lines` lines count, but not how they end or are indented."""
    return base.Rewritten(base.label("whitespace", keep_lines=keep_lines), _lines if keep_lines else collapse)


def collapse(text: str) -> str:
    """Return `text` trimmed, with every run of ASCII white space as one space."""
    return _BLANKS.sub(" ", text).strip(" ")


def _lines(text: str) -> str:
    lines = _LINE_END.sub("\n", text).split("\n")
    return "\n".join(_BLANKS_IN_LINE.sub(" ", line).strip(" ") for line in lines).strip("\n")


def token_set(*, sep: str = ",", ignore_case: bool = False) -> base.Comparator:
    """Compare delimited tokens as a set: order, repetition, empty tokens and the blanks around tokens do not count."""
    if not sep:
        raise ProfileError('token_set: option "sep" is empty; give the text that separates the tokens, such as ","')

    def parse(value: Json) -> base.Key:
        if not isinstance(value, str):
            return None
        tokens = (token.strip() for token in (value.split() if sep.isspace() else value.split(sep)))
        return tuple(sorted({token.casefold() if ignore_case else token for token in tokens if token}))

    return base.Parsed(base.label("token_set", sep=sep, ignore_case=ignore_case), "token_set", parse)


def regex(*, pattern: str, replace: str = "") -> base.Comparator:
    """Compare what is left after `pattern` is replaced; `replace` may refer to groups."""
    try:
        compiled = re.compile(pattern)
        compiled.sub(replace, "")
    except (re.error, IndexError) as error:
        raise ProfileError(f"regex: {pattern!r} with replacement {replace!r} does not compile: {error}") from error
    return base.Rewritten(
        base.label("regex", pattern=pattern, replace=replace or None), lambda text: compiled.sub(replace, text)
    )


@dataclass(frozen=True, slots=True)
class Vocabulary(base.ByKey):
    """Words and codes that stand for each other; `classes` maps each member's identity to that of its class."""

    classes: Mapping[base.Key, base.Key] = field(hash=False)
    ignore_case: bool

    def key(self, value: Json) -> base.Key:
        """Return the class of a known word, else the word itself."""
        word = _word(value, ignore_case=self.ignore_case)
        found = self.classes.get(word)
        return word if found is None else ("enum_map", found)


def enum_map(*, mapping: Mapping[str, Json], ignore_case: bool = False) -> base.Comparator:
    """Take each name of `mapping` and its value, or each of a list of values, as the same word, in both directions.

    Being an equivalence it joins chains: {"A": 1, "B": 1} makes A and B the same.
    """
    if not mapping:
        raise ProfileError('enum_map: option "mapping" is empty; give the words that stand for each other')
    classes: dict[base.Key, base.Key] = {}
    for name, value in _pairs(mapping):
        left, right = _word(name, ignore_case=ignore_case), _word(value, ignore_case=ignore_case)
        keep, join = classes.setdefault(left, left), classes.setdefault(right, right)
        for member in [member for member, cls in classes.items() if cls == join]:
            classes[member] = keep
    return Vocabulary(base.label("enum_map", mapping=dict(mapping), ignore_case=ignore_case), classes, ignore_case)


def _pairs(mapping: Mapping[str, Json]) -> Iterator[tuple[Json, Json]]:
    for name, values in mapping.items():
        for value in values if isinstance(values, list) else [values]:
            if value is None or isinstance(value, (dict, list)):
                raise ProfileError(f'enum_map: "{name}" must map to a string, number or boolean, or a list of them')
            yield name, value


def _word(value: Json, *, ignore_case: bool) -> base.Key:
    return value.casefold() if ignore_case and isinstance(value, str) else base.identity(value)
