"""Keeping secrets out of everything that is compared, stored or shown.

A declaration with secrets becomes two documents: the clear one, which only the provider's writer ever sees, and the
redacted one, in which every secret is its keyed fingerprint. Observations are redacted the same way before anything
looks at them, so a secret that comes back in clear is still compared, as a fingerprint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.compare import comparators, glancing, paths
from holdfast.compare.profiles import RuleSet
from holdfast.compare.rules import FieldClass
from holdfast.compare.ruletree import Node, RuleTree
from holdfast.manifests.secrets import Secret
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Path

Fingerprint = Callable[[Json], str]
FINGERPRINT = "hmac-sha256:"


def split(value: Json, fingerprint: Fingerprint) -> tuple[Json, Json, list[Path]]:
    """Return the clear document, the redacted one, and where the secrets stand; without any, the document itself."""
    if glancing.is_plain(value):
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
    """Return a declaration in which what the rules call secret is one, though it was written down in clear.

    A profile knows better than whoever wrote the manifest; what it calls secret must not be kept in clear.
    """
    return _guarded(desired, rules.root)


def has_secrets(rules: RuleTree | RuleSet) -> bool:
    """Tell whether any rule speaks of secrets."""
    return any(rule.cls in (FieldClass.SECRET, FieldClass.WRITE_ONLY) for rule in rules.rules)


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


def secret_profile(secrets: Sequence[Path], observed: Json, own: RuleTree) -> Json:
    """Return a profile, as a document, for the places where the declaration has secrets.

    Where the provider returns something readable there it is compared; where it masks or withholds it, only a change of
    the declaration counts. A secret that the rules of its kind (`own`) call readable and that is absent was removed, so
    it is compared as well. A document, because a decision must be replayable with it.
    """
    rules = []
    for path in secrets:
        seen = paths.resolve(observed, path) if observed is not ABSENT else ABSENT
        is_withheld = comparators.is_masked(seen) and not (seen is ABSENT and _is_readable(own, path))
        cls = FieldClass.WRITE_ONLY if is_withheld else FieldClass.SECRET
        rules.append({"path": paths.format_path(path), "class": cls.value})
    return {"profile": "secret-references", "version": 1, "rules": rules}


def _is_readable(rules: RuleTree, path: Path) -> bool:
    """Return True if the rules call the place a secret that the provider shows."""
    node = rules.root
    for step in path:
        if not isinstance(step, str):
            return False  # which element it is, only the live list could tell
        node = node.child(step)
    return node.cls is FieldClass.SECRET


def redact(observed: Json, rules: RuleTree, fingerprint: Fingerprint, values: Sequence[str] = ()) -> Json:
    """Return the observation with fingerprints for its secrets; masks stay, they say nothing.

    Secret is what the rules call so, and any text in which one of the declaration's own secret `values` turns up.
    """
    if values:
        observed = _scrubbed(observed, values, fingerprint)
    if not has_secrets(rules):
        return observed
    return _redact(observed, rules.root, fingerprint)


def _scrubbed(value: Json, values: Sequence[str], fingerprint: Fingerprint) -> Json:
    if isinstance(value, str):
        return fingerprint(value) if any(secret in value for secret in values) else value
    if isinstance(value, dict):
        return {
            fingerprint(key) if any(secret in key for secret in values) else key: _scrubbed(item, values, fingerprint)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_scrubbed(item, values, fingerprint) for item in value]
    return value


def _redact(value: Json, node: Node, fingerprint: Fingerprint) -> Json:
    if node.secret:
        if isinstance(value, str) and value.startswith(FINGERPRINT):
            return value
        return value if comparators.is_masked(value) else fingerprint(value)
    if isinstance(value, dict):
        return {key: _redact(item, node.child(key), fingerprint) for key, item in value.items()}
    if isinstance(value, list):
        return [_redact(item, node.element(item, index), fingerprint) for index, item in enumerate(value)]
    return value
