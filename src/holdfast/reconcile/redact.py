"""Keeping secrets out of everything that is compared, stored or shown.

A declaration with secrets becomes two documents: the clear one, which only the provider's writer ever sees, and the
redacted one, in which every secret is its keyed fingerprint. Observations are redacted the same way as they are read,
before anything uses them (`observe`), so a secret that comes back in clear is still compared, as a fingerprint.

Three kinds of values are secret: those at the places of declared secrets, in any element of a list (`secret_paths`),
those that the rules call secret, and every text that contains a secret known to this process (`known_secrets`) or shown
by the document itself at such a place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from holdfast.compare import comparators, paths, quick_scan
from holdfast.manifests.secrets import Secret
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.record import dataclass
from holdfast.reconcile.known_secrets import Fingerprint, KnownSecrets

if TYPE_CHECKING:
    from holdfast.compare.rule_tree import Node, RuleTree
    from holdfast.reconcile.secret_paths import SecretPlace

FINGERPRINT = "hmac-sha256:"


def split(value: Json, fingerprint: Fingerprint) -> tuple[Json, Json, list[Path]]:
    """Return the clear document, the redacted one, and where the secrets stand; without any, the document itself."""
    if quick_scan.is_plain(value):
        return value, value, []
    found: list[Path] = []
    return (*_split(value, fingerprint, (), found), found)


def _split(value: Json, fingerprint: Fingerprint, path: Path, found: list[Path]) -> tuple[Json, Json]:
    if isinstance(value, Secret):
        found.append(path)
        return value.reveal(), fingerprint(value.told_by())
    if isinstance(value, dict):
        pairs = {key: _split(item, fingerprint, (*path, key), found) for key, item in value.items()}
        return {key: pair[0] for key, pair in pairs.items()}, {key: pair[1] for key, pair in pairs.items()}
    if isinstance(value, list):
        items = [_split(item, fingerprint, (*path, index), found) for index, item in enumerate(value)]
        return [item[0] for item in items], [item[1] for item in items]
    return value, value


def guarded(desired: Json, rules: RuleTree) -> Json:
    """Return a declaration in which the values that rules call secret are wrapped, though they were written in clear.

    A profile outweighs the author of the manifest: a value that it calls secret must not be kept in clear.
    """
    return _guarded(desired, rules.root)


def _guarded(value: Json, node: Node) -> Json:
    if isinstance(value, Secret) or comparators.is_masked(value):
        return value
    if node.secret:
        return Secret(value)
    if isinstance(value, dict):
        return {key: _guarded(item, node.child(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_guarded(item, node.element(item, index)) for index, item in enumerate(value)]
    return value


def secret_profile(patterns: Sequence[str], observed: Json, own: RuleTree) -> Json:
    """Return a profile, as a document, for the places where the declaration has secrets.

    Where the provider returns something readable there it is compared; where it masks or withholds it, only a change of
    the declaration counts. A secret that the rules of its kind (`own`) call readable and that is absent was removed, so
    it is compared as well. A document, because a decision must be replayable with it.
    """
    from holdfast.compare.rules import FieldClass  # noqa: PLC0415
    from holdfast.reconcile import secret_paths  # noqa: PLC0415

    rules = []
    for pattern in patterns:
        seen = secret_paths.values_at(observed, pattern) if observed is not ABSENT else []
        is_withheld = any(map(comparators.is_masked, seen)) if seen else not _is_readable(own, pattern)
        cls = FieldClass.WRITE_ONLY if is_withheld else FieldClass.SECRET
        rules.append({"path": pattern, "class": cls.value})
    return {"profile": "secret-references", "version": 1, "rules": rules}


def _is_readable(rules: RuleTree, pattern: str) -> bool:
    """Return True if the rules call the place a secret that the provider shows."""
    from holdfast.compare.rules import FieldClass  # noqa: PLC0415

    node = rules.root
    for step in paths.parse_pattern(pattern).segments:
        if not isinstance(step, str):
            return False  # which element it is, only the live list could tell
        node = node.child(step)
    return node.cls is FieldClass.SECRET


def redact(document: Json, place: SecretPlace | None, rules: RuleTree | None, means: RedactionContext) -> Json:
    """Return a document with fingerprints for its secrets; masks stay, they say nothing."""
    met: list[str] = []
    if place is not None:
        document = _at_places(document, place, means.fingerprint, met)
    if rules is not None:
        document = _by_rules(document, rules.root, means.fingerprint, met)
    known = means.known
    if met:
        known.meet(met, means.where)
    others = [name for name in known.met(means.where) if not means.is_shown(name)]
    if not known and not others and not means.own:
        return document
    return known.scrubbed(document, means.fingerprint, [*others, *means.own])


def revealed(document: Json, secrets: Mapping[str, Json]) -> Json:
    """Return a redacted document in which the fingerprints of `secrets` are replaced by their values."""
    if isinstance(document, dict):
        return {key: revealed(item, secrets) for key, item in document.items()}
    if isinstance(document, list):
        return [revealed(item, secrets) for item in document]
    return secrets.get(document, document) if isinstance(document, str) else document


@dataclass(frozen=True, slots=True)
class RedactionContext:
    """The inputs of redacting a document in addition to the places of its secrets."""

    fingerprint: Fingerprint
    known: KnownSecrets
    where: str = ""  # the resource
    own: tuple[str, ...] = ()  # secrets of the declaration itself that are not looked for elsewhere
    desired: Json = None  # the redacted declaration: what it shows is no secret

    def is_shown(self, value: str) -> bool:
        """Return True if the declaration has the text in clear."""
        return self.desired is not None and _mentions(self.desired, value)


def _mentions(value: Json, text: str) -> bool:
    if isinstance(value, dict):
        return any(text in key or _mentions(item, text) for key, item in value.items())
    if isinstance(value, list):
        return any(_mentions(item, text) for item in value)
    return isinstance(value, str) and text in value


def _at_places(value: Json, place: SecretPlace, fingerprint: Fingerprint, met: list[str]) -> Json:
    if place.everything:
        return _concealed(value, fingerprint, met)
    if isinstance(value, dict):
        return {key: _below(item, _at_key(place, key, item), fingerprint, met) for key, item in value.items()}
    if isinstance(value, list):
        inside = place.inside(value) if place.elements is not None else [place] * len(value)
        return [_below(item, element, fingerprint, met) for item, element in zip(value, inside, strict=True)]
    # One value where several were declared, a secret among them: it may be the secret.
    return value if value is None or isinstance(value, bool) else _concealed(value, fingerprint, met)


def _at_key(place: SecretPlace, key: str, item: Json) -> SecretPlace | None:
    """Return the place at a key; where a list was declared and is a map now, that may be one of its elements or all."""
    found = place.child(key)
    if found is not None or place.elements is None:
        return found
    inside = place.elements.child(key)
    return inside if inside is not None or not isinstance(item, dict | list) else place.elements


def _below(value: Json, place: SecretPlace | None, fingerprint: Fingerprint, met: list[str]) -> Json:
    return value if place is None else _at_places(value, place, fingerprint, met)


def _by_rules(value: Json, node: Node, fingerprint: Fingerprint, met: list[str]) -> Json:
    if node.secret:
        return _concealed(value, fingerprint, met)
    if isinstance(value, dict):
        return {key: _by_rules(item, node.child(key), fingerprint, met) for key, item in value.items()}
    if isinstance(value, list):
        return [_by_rules(item, node.element(item, index), fingerprint, met) for index, item in enumerate(value)]
    return value


def _concealed(value: Json, fingerprint: Fingerprint, met: list[str]) -> Json:
    if comparators.is_fingerprint(value) or comparators.is_masked(value):
        return value
    met.extend(_texts(value))
    return fingerprint(value)


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        if not comparators.is_masked(value) and not comparators.is_fingerprint(value):
            yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
