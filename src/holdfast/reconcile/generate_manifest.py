"""Generating a declaration of a live resource, such that declaring it changes nothing. Pure.

Fields that are not configuration by the rules of the kind are left out (read-only fields, runtime values, defaults),
and so are values that must not be in a manifest: secrets, and texts that a manifest would read as something else.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import field
from typing import Final

from holdfast.compare import apply_patch, comparators, diff, paths
from holdfast.compare.comparators import typed_equal
from holdfast.compare.rule_tree import Node, RuleTree
from holdfast.compare.rules import FieldClass
from holdfast.manifests import resources, secrets
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.model.record import dataclass
from holdfast.model.resource import ManagementPolicy
from holdfast.policy import references
from holdfast.reconcile.known_secrets import KnownSecrets
from holdfast.schema.fields import LONGEST_NAME, name_problem

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._@+=-]+")
# Where no rule says what a field is, its name or its look decides: to leave out too much does no harm.
_TELLING: Final = re.compile(
    r"(.*_)?(password|passwd|passphrase|secret|token|api_?key|access_?key|secret_?key|private_?key|credentials?)"
)
_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----")


@dataclass(frozen=True, slots=True)
class ManifestDraft:
    """The declarable fields of a live resource, and the omitted ones with reasons."""

    resource: Json
    left_out: tuple[tuple[str, str], ...] = ()


class CannotDraft(Exception):  # noqa: N818 - an outcome, not a mistake
    """A live thing that cannot be declared as it is; the text says why."""


def draft(document: Json, rules: RuleTree, known: KnownSecrets | None = None) -> ManifestDraft:
    """Return the fields to declare, without any text that contains a known secret."""
    work = _Work(known or KnownSecrets())
    try:
        resource = work.value(document, rules.root, ())
        if not isinstance(resource, dict):
            raise CannotDraft("nothing of it can be declared")
        work.leave_out_references(resource)
        differing = diff.findings(_as_read(resource), document, rules)
    except RecursionError:
        raise CannotDraft("it is nested too deep to be written down") from None
    if differing:
        where = ", ".join(paths.format_path(finding.path) for finding in differing[:3])
        raise CannotDraft(f"a declaration of it would differ from it, at {where}")
    return ManifestDraft(resource, tuple(work.left_out))


@dataclass(slots=True)
class _Work:
    known: KnownSecrets
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def value(self, value: Json, node: Node, pointer: Pointer) -> Json:
        """Return the declarable part of a value, or ABSENT."""
        if node.hidden or node.hidden_unless_declared:
            return ABSENT
        if node.default is not ABSENT and typed_equal(value, node.default):
            return ABSENT
        if node.secret or (isinstance(value, str) and value and comparators.is_masked(value)):
            return self._out(pointer, "a secret")
        if isinstance(value, dict):
            return self._map(value, node, pointer)
        if isinstance(value, list):
            return self._list(value, node, pointer)
        if isinstance(value, str):
            why = self._doubt(value, node, pointer)
            return self._out(pointer, why) if why else references.escape(value)
        return value

    def _doubt(self, text: str, node: Node, pointer: Pointer) -> str:
        """Return the reason why a text may be a secret. A rule that compares the field outweighs its name."""
        if self.known.is_in(text):
            return "it holds a secret"
        if _PRIVATE_KEY.search(text):
            return "it holds a private key"
        name = next((step for step in reversed(pointer) if isinstance(step, str)), "")
        is_told = node.cls is not FieldClass.COMPARED and text and _TELLING.fullmatch(_snake(name))
        return "a secret, by its name" if is_told else ""

    def _map(self, value: dict[str, Json], node: Node, pointer: Pointer) -> Json:
        if any(map(self.known.is_in, value)):
            return self._out(pointer, "a key of it holds a secret")
        pairs = {key: self.value(item, node.child(key), (*pointer, key)) for key, item in value.items()}
        return {key: item for key, item in pairs.items() if item is not ABSENT}

    def _list(self, value: list[Json], node: Node, pointer: Pointer) -> Json:
        """Draft a list whole or not at all: without one of its elements it would be another list."""
        before = len(self.left_out)
        items = [self.value(item, node.element(item, place), (*pointer, place)) for place, item in enumerate(value)]
        if any(item is ABSENT for item in items):
            why = self.left_out[-1][1] if len(self.left_out) > before else "an element of it is not configuration"
            del self.left_out[before:]
            return self._out(pointer, why)
        return items

    def leave_out_references(self, resource: Json) -> None:
        """Remove values with the shape of a reference to a secret, because reading them would fetch one."""
        for pointer, _ in list(secrets.find(resource)):
            whole = next((pointer[:depth] for depth, step in enumerate(pointer) if isinstance(step, int)), pointer)
            apply_patch.remove(resource, whole)
            self._out(whole, "it would be read as a reference to a secret")

    def _out(self, pointer: Pointer, why: str) -> Json:
        self.left_out.append((paths.format_path(pointer), why))
        return ABSENT


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-.]", "_", name).lower()


def _as_read(value: Json) -> Json:
    """Return a drafted value as it will be declared, its escapes undone."""
    if isinstance(value, dict):
        return {key: _as_read(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_read(item) for item in value]
    return value.replace("$${", "${") if isinstance(value, str) else value


# --- names and documents ----------------------------------------------------------------------------------------------


def name_for(ident: str, document: Json, taken: Container[str]) -> str:
    """Return an unused name for a live resource: its own, else its id, as far as a name may hold them.

    Only the end of an id that is a path counts, because the part before it is a location and not a name.
    """
    own = document.get("name") if isinstance(document, dict) else None
    last = ident.rstrip("/").rpartition("/")[2] if ident.startswith("/") else ident
    stem = _safe(own if isinstance(own, str) else last) or _safe(last) or _safe(ident) or "unnamed"
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    return name


def _safe(text: str) -> str:
    name = _UNSAFE.sub("-", text).strip("-.")[: LONGEST_NAME // 2]
    return name if name and not name_problem(name) else ""


def manifest(address: Address, provider: str, ident: str, found: ManifestDraft, policy: ManagementPolicy) -> Json:
    """Return the document that imports a live thing under an address."""
    return {
        "apiVersion": f"{provider}.{resources.GROUP}/{resources.VERSION}",
        "kind": address.kind,
        "metadata": {"name": address.name},
        "spec": {
            "connection": address.connection,
            "managementPolicy": policy.value,
            "import": {"id": ident},
            "resource": found.resource,
        },
    }
