"""Where the secrets of a declaration may stand in a live document: at the same fields of any element of a list.

Elements come, go and change places, so a place in a list is never told by its index. A field that is secret in one
element is secret in all; only an element that the declaration names by its key, and whose field it shows in clear, may
show it. Where a live value has another shape than was declared, it is taken for secret rather than shown. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from holdfast.compare import element_identity, paths
from holdfast.manifests.secrets import Secret
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Path, Selector
from holdfast.model.record import dataclass


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """The secrets at and below one place: everything, or those at some keys or in the elements of a list."""

    everything: bool = False
    keys: Mapping[str, SecretPlace] = field(default_factory=dict)  # without regard to case
    elements: SecretPlace | None = None
    key: str = ""  # the field that tells the elements apart, if there is one
    named: Mapping[str, SecretPlace | None] = field(default_factory=dict)  # elements that the declaration has, by that

    def child(self, key: str) -> SecretPlace | None:
        """Return the place at a key of a map."""
        return self.keys.get(key.casefold())

    def inside(self, values: list[Json]) -> list[SecretPlace | None]:
        """Return the place of each element of a list, wherever it stands; names count only where each has its own."""
        names = [value.get(self.key) if isinstance(value, dict) else None for value in values] if self.key else []
        texts = [item for item in names if isinstance(item, str)]
        if not names or len(set(texts)) != len(names):
            return [self.elements] * len(values)
        return [self.named.get(name, self.elements) for name in texts]


SECRET = SecretPlace(everything=True)


def of(declared: Json) -> SecretPlace | None:
    """Return where the secrets of a declaration stand; None if it has none."""
    return _merged([declared])


def _merged(values: Sequence[Json]) -> SecretPlace | None:
    """Return the places that are secret in any of some values at the same place of several elements."""
    if any(isinstance(value, Secret) for value in values):
        return SECRET
    by_key: dict[str, list[Json]] = {}
    for value in values:
        if isinstance(value, dict):
            for key, item in value.items():
                by_key.setdefault(key.casefold(), []).append(item)
    keys = {key: found for key, items in by_key.items() if (found := _merged(items)) is not None}
    lists = [value for value in values if isinstance(value, list)]
    elements = _merged([item for element in lists for item in element]) if lists else None
    if not keys and elements is None:
        return None
    out = SecretPlace(keys=keys, elements=elements)
    key = _key(lists[0]) if elements is not None and len(lists) == 1 else ""
    return replace(out, key=key, named=_named(elements, lists[0], key)) if key and elements is not None else out


def _key(elements: list[Json]) -> str:
    """Return the field that names the elements of a list; a secret names nothing."""
    found = element_identity.natural_key([elements])
    return found[0] if found and all(isinstance(item[found[0]], str) for item in elements) else ""


def _named(elements: SecretPlace, declared: list[Json], key: str) -> dict[str, SecretPlace | None]:
    return {item[key]: _without_shown(elements, item) for item in declared}


def _without_shown(place: SecretPlace, declared: Json) -> SecretPlace | None:
    """Return a place without the parts that one element declares in clear."""
    if place.everything:
        return place if declared is ABSENT else _merged([declared])
    if isinstance(declared, list) and place.elements is not None:
        key = _key(declared)
        return replace(place, key=key, named=_named(place.elements, declared, key)) if key else place
    if not isinstance(declared, dict):
        return place
    own = {key.casefold(): item for key, item in declared.items()}
    left = {key: _without_shown(below, own.get(key, ABSENT)) for key, below in place.keys.items()}
    keys = {key: below for key, below in left.items() if below is not None}
    return replace(place, keys=keys) if keys or place.elements is not None else None


# --- as rules ---------------------------------------------------------------------------------------------------------


def patterns(secrets: Sequence[Path], declared: Json, place: SecretPlace | None) -> tuple[str, ...]:
    """Return the paths to the secrets of a declaration as patterns that hold wherever the elements of lists stand."""
    return tuple(dict.fromkeys(_pattern(path, declared, place) for path in secrets))


def _pattern(path: Path, declared: Json, place: SecretPlace | None) -> str:
    out: list[str] = []
    here = declared
    for step in path:
        if isinstance(step, int) and isinstance(here, list):
            chosen = _selector(here[step], place)
            out.append(paths.format_path((chosen,)) if chosen is not None else "/*")
            place = place.inside(here)[step] if place is not None else None
        else:
            out.append(paths.format_path((step,)))
            place = place.child(str(step)) if place is not None else None
        here = paths.resolve(here, (step,))
    return "".join(out)


def _selector(element: Json, place: SecretPlace | None) -> Selector | None:
    """Return the selector of an element if another one shows the field in clear; else the field is secret in all."""
    if place is None or not place.key or all(below == place.elements for below in place.named.values()):
        return None
    return Selector(((place.key, element[place.key]),))


def values_at(document: Json, pattern: str) -> list[Json]:
    """Return the values of a document at all places that a pattern matches."""
    found = [document]
    for step in paths.parse_pattern(pattern).segments:
        below: list[Json] = []
        for here in found:
            if isinstance(here, list) and not isinstance(step, str):
                below += [item for item in here if not isinstance(step, Selector) or paths.selects(step, item)]
            elif isinstance(step, str):
                below.append(paths.resolve(here, (step,)))
        found = [item for item in below if item is not ABSENT]
    return found
