"""Request bodies: the declaration for a create, a document or a patch for an update.

Declared secrets come from the declaration, because the observed value is a mask or a fingerprint. Read-only fields are
never sent. Runtime fields are sent only if they are declared.
"""

from __future__ import annotations

import json
from typing import Final

import orjson

from holdfast.compare import apply_patch, comparators, element_identity, paths
from holdfast.compare.comparators import typed_equal
from holdfast.compare.rule_tree import Node, RuleTree
from holdfast.compare.rules import HIDDEN_UNLESS_DECLARED, FieldClass
from holdfast.model.absent import ABSENT
from holdfast.provider import Change, Json, Path
from holdfast.providers import minimal_patch
from holdfast.providers.http.description import Body, Described

FINGERPRINT: Final = "hmac-sha256:"  # how the engine marks, in Change.observed, what it keeps from everybody
_ENCODED: Final = b'"' + FINGERPRINT.encode()  # how every fingerprint begins in JSON; no character of it is escaped
_UNSENT: Final = HIDDEN_UNLESS_DECLARED | {FieldClass.READ_ONLY}


def for_create(kind: Described, desired: Json) -> Json:
    """Return the body of a create."""
    return wrapped(kind.envelope, _without_unsent(desired, desired, kind.rules))


def for_update(kind: Described, body: Body, change: Change) -> Json:
    """Return the body of an update; ABSENT if there is nothing to send."""
    desired = dict(change.desired)
    if body is Body.DESIRED:
        return wrapped(kind.envelope, _without_unsent(desired, desired, kind.rules))
    known = _with_secrets(change.observed, desired, kind.rules.root)
    after = minimal_patch.wanted(desired, known, change.paths)
    if body is Body.WHOLE:
        return wrapped(kind.envelope, _without_unsent(after, desired, kind.rules))
    before = _made_to_differ(known, after, change.paths)
    if body is Body.JSON_PATCH:
        return minimal_patch.json_patch(before, after) or ABSENT
    patch = (minimal_patch.merge_patch if body is Body.MERGE else minimal_patch.changed_fields)(before, after)
    return wrapped(kind.envelope, patch) if patch else ABSENT


def holds_fingerprints(document: Json) -> bool:
    """Return True if an observed document has a fingerprint in place of a value, and cannot be sent back."""
    pending = [document]
    while pending:
        here = pending.pop()
        if isinstance(here, dict):
            pending.extend(here.values())
            pending.extend(here)
        elif isinstance(here, list):
            pending.extend(here)
        elif isinstance(here, str) and here.startswith(FINGERPRINT):
            return True
    return False


def sends_fingerprints(data: bytes, body: Json) -> bool:
    """Return True if a body holds a fingerprint. The search of its bytes, `data`, is fast and mostly ends it."""
    return _ENCODED in data and holds_fingerprints(body)


def wrapped(envelope: Path, document: Json) -> Json:
    """Put a document where the API wants it."""
    for step in reversed(envelope):
        document = {str(step): document}
    return document


def encoded(document: Json) -> bytes:
    """Return the bytes to send."""
    try:
        return orjson.dumps(document)
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(document, ensure_ascii=False).encode()


def _with_secrets(observed: Json, desired: Json, node: Node) -> Json:
    """Return the observed document with declared values in place of masks and hidden fields."""
    is_mask = observed is ABSENT or (isinstance(observed, str) and comparators.is_masked(observed))
    if desired is not ABSENT and (node.secret or is_mask):
        return desired
    if isinstance(observed, dict):
        wanted = desired if isinstance(desired, dict) else {}
        keys = [*observed, *(key for key in wanted if key not in observed)]
        pairs = ((k, _with_secrets(observed.get(k, ABSENT), wanted.get(k, ABSENT), node.child(k))) for k in keys)
        return {key: value for key, value in pairs if value is not ABSENT}
    if isinstance(observed, list):
        partners = _partners(observed, desired if isinstance(desired, list) else [], node)
        elements = enumerate(zip(observed, partners, strict=True))
        return [_with_secrets(item, partner, node.element(item, index)) for index, (item, partner) in elements]
    return observed


def _partners(observed: list[Json], desired: list[Json], node: Node) -> list[Json]:
    """Return, for each observed element, the declared one it is: by its key, else by its place in a list as long."""
    rule = node.list_rule
    key = rule.key if rule is not None and rule.key else element_identity.natural_key([observed, desired])
    if key and desired:
        declared = {_key_of(element, key): element for element in desired if isinstance(element, dict)}
        return [declared.get(_key_of(item, key), ABSENT) if isinstance(item, dict) else ABSENT for item in observed]
    return list(desired) if len(desired) == len(observed) else [ABSENT] * len(observed)


def _key_of(element: dict[str, Json], key: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(paths.scalar_text(element.get(name)).casefold() for name in key)


def _made_to_differ(known: Json, after: Json, changed: tuple[str, ...]) -> Json:
    """Remove values that are to change and look unchanged, because they were filled in for a mask."""
    hidden = [
        path
        for path in map(paths.parse_path, changed)
        if (value := paths.resolve(after, path)) is not ABSENT and typed_equal(paths.resolve(known, path), value)
    ]
    out = apply_patch.copied(known) if hidden else known
    for path in hidden:
        out = apply_patch.remove(out, path)
    return out


def _without_unsent(document: Json, desired: Json, rules: RuleTree) -> Json:
    """Return the part of a document that is sent: all of it unless a rule keeps something back."""
    if any(rule.cls in _UNSENT for rule in rules.rules):
        return _sendable(document, desired, rules.root)
    return document


def _sendable(document: Json, desired: Json, node: Node) -> Json:
    """Return a document without the fields that must not be sent."""
    if isinstance(document, dict):
        out: dict[str, Json] = {}
        for key, value in document.items():
            below, wanted = node.child(key), desired.get(key, ABSENT) if isinstance(desired, dict) else ABSENT
            undeclared = wanted is ABSENT and below.cls in HIDDEN_UNLESS_DECLARED
            if below.cls is not FieldClass.READ_ONLY and not undeclared:
                out[key] = _sendable(value, wanted, below)
        return out
    if isinstance(document, list):
        same = isinstance(desired, list) and len(desired) == len(document)
        return [
            _sendable(item, desired[index] if same else ABSENT, node.element(item, index))
            for index, item in enumerate(document)
        ]
    return document
