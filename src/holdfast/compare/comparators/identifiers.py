"""Comparators of names that clouds give to things: GUIDs, versions, Azure, Google and Amazon resource references."""

from __future__ import annotations

import math
import re

from holdfast.compare.comparators import base, percent
from holdfast.errors import ProfileError
from holdfast.model.json import Json

_GUID = re.compile(r"(?:urn:uuid:)?([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})|[0-9a-f]{32}")
_ARM_ROOTS = ("/subscriptions/", "/providers/")
_GOOGLE = re.compile(
    r"(?:(?:https?:)?//(?:[A-Za-z0-9-]+\.)+googleapis\.com/(?:[a-z]+/)?(?:(?:v[0-9][a-z0-9]*|alpha|beta)/)?|/)?"
    r"((?:projects|folders|organizations|billingAccounts)/.+)",
    re.DOTALL,
)
_GOOGLE_ROOTS = ("projects/", "folders/", "organizations/", "billingAccounts/")


def guid() -> base.Comparator:
    """Ignore case, surrounding braces or parentheses, and whether dashes are written."""
    return base.Parsed("guid", "guid", _guid)


def _guid(value: Json) -> base.Key:
    if not isinstance(value, str):
        return None
    text = value.lower()
    if text[:1] + text[-1:] in ("{}", "()"):
        text = text[1:-1]
    match = _GUID.fullmatch(text)
    if match is None:
        return None
    return "".join(match.groups()) if match[1] else text


def version_prefix(*, separators: str = ".") -> base.Comparator:
    """Take a version as equal to its own refinements: "6" and "6.0", "1.33" and "1.33.5", never "1.3" and "1.33".

    Not transitive. A leading v is ignored. `separators` are the characters between components; with ".-" "1.33.5" also
    matches "1.33.5-gke.1", which by default is another version.
    """
    if not separators or any(character.isalnum() for character in separators):
        raise ProfileError('version_prefix: option "separators" holds the marks between components, such as ".-"')
    split = re.compile(f"[{re.escape(separators)}]")

    def parse(value: Json) -> base.Key:
        components = split.split(_version_text(value).casefold().removeprefix("v"))
        is_version = components[0].isascii() and components[0].isdigit() and all(components)
        return tuple(components) if is_version else None

    name = base.label("version_prefix", separators=separators if separators != "." else None)
    return base.Overlapping(name, base.Parsed("version_prefix", "version", parse), _is_version_prefix)


def _version_text(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return f"{int(value)}.0" if value.is_integer() else repr(value)
    is_plain = isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= base.PRINTABLE_BITS
    return str(value) if is_plain else ""


def _is_version_prefix(short: base.Key, long: base.Key) -> bool:
    match short, long:
        case ("version", tuple(few)), ("version", tuple(many)):
            return many[: len(few)] == few
        case _:
            return False


def arm_id(*, scope_relative: bool = False) -> base.Comparator:
    """Ignore case, a trailing slash and percent-encoding of an Azure resource id.

    With `scope_relative` an id written without its scope matches the full one that ends with it, as "/providers/X"
    matches "/subscriptions/S/providers/X"; that form is not transitive.
    """
    strict = base.Parsed("arm_id", "arm_id", _arm_id)
    if not scope_relative:
        return strict
    return base.Overlapping(base.label("arm_id", scope_relative=True), strict, _is_arm_tail)


def _arm_id(value: Json) -> base.Key:
    return _arm_text(value) if isinstance(value, str) else None


@base.remembered
def _arm_text(text: str) -> str | None:
    folded = percent.normalise(text, percent.SEGMENT).casefold()
    if not folded.startswith("/"):
        folded = f"/{folded}"
        if not folded.startswith(_ARM_ROOTS):
            return None
    return folded.rstrip("/") or "/"


def _is_arm_tail(short: base.Key, long: base.Key) -> bool:
    match short, long:
        case ("arm_id", str(tail)), ("arm_id", str(full)):
            is_relative = tail != "/" and not tail.startswith("/subscriptions/")
            return is_relative and full.startswith(_ARM_ROOTS) and full.endswith(tail)
        case _:
            return False


def resource_id(*, short: bool = False) -> base.Comparator:
    """Ignore the host, service and API version before a Google resource name; other references compare as they are.

    With `short` a reference matches a longer one that ends with it at a segment boundary ("n" matches
    "projects/p/global/networks/n", "NAME" matches "arn:aws:lambda:us-east-1:1:function:NAME"); that is not transitive.
    """
    strict = base.Rewritten("resource_id", _google_name)
    if not short:
        return strict
    return base.Overlapping(base.label("resource_id", short=True), strict, _is_reference_tail)


def _google_name(text: str) -> str:
    match = _GOOGLE.fullmatch(text)
    return text if match is None else match[1].rstrip("/")


def _is_reference_tail(short: base.Key, long: base.Key) -> bool:
    if not isinstance(short, str) or not isinstance(long, str) or not short.strip("/:"):
        return False
    if short.startswith(("arn:", *_GOOGLE_ROOTS)) or not long.endswith(short):
        return False
    head = long[: -len(short)]
    boundaries = ("/", ":") if long.startswith("arn:") else ("/",)
    return head.endswith(boundaries) or (bool(head) and short.startswith("/"))
