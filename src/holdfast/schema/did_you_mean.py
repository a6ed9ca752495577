"""Did you mean: the one place that suggests a correction of a mistyped word.

Suggestions are only ever shown, never acted on. Cheap enough for twenty thousand names.
"""

from __future__ import annotations

from collections.abc import Iterable

_LENGTH_SLACK = 4  # a word further off in length is another word
_MOST_CANDIDATES = 400  # comparing costs tens of microseconds each
_LIKENESS = 0.6


def closest(word: str, options: Iterable[str]) -> str | None:
    """Return the option most like the word, or None; case, dashes and underscores count for nothing."""
    plain = _plain(word)
    candidates: dict[str, str] = {}
    for option in options:
        shape = _plain(option)
        if shape == plain:
            return option
        if abs(len(shape) - len(plain)) <= _LENGTH_SLACK and _shares_an_end(shape, plain):
            candidates.setdefault(shape, option)
            if len(candidates) == _MOST_CANDIDATES:
                break
    import difflib  # noqa: PLC0415 - only after a mistake

    found = difflib.get_close_matches(plain, candidates, n=1, cutoff=_LIKENESS)
    return candidates[found[0]] if found else None


def hint(word: str, options: Iterable[str]) -> str:
    """Return `; did you mean X?`, or nothing: made to stand at the end of a message."""
    found = closest(word, options)
    return f"; did you mean {found}?" if found else ""


def _plain(word: str) -> str:
    return word.casefold().replace("_", "").replace("-", "")


def _shares_an_end(one: str, other: str) -> bool:
    return bool(one and other) and (one[0] == other[0] or one[-1] == other[-1] or sorted(one) == sorted(other))
