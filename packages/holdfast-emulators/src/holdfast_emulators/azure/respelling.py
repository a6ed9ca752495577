"""The ways in which services spell a value differently from how it was sent, each under a name for packs to use.

A way takes the value and its argument, and returns the value as it will be shown; ABSENT takes the field out. What a
way does not understand it leaves as it is.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast_emulators.azure import pointers
from holdfast_emulators.azure.type_behaviour import Habits, Rewrite

Way = Callable[[Json, Json], Json]

_DISPLAY_NAMES = (
    "Australia Central,Australia East,Australia Southeast,Brazil South,Canada Central,Canada East,Central India,"
    "Central US,East Asia,East US,East US 2,France Central,Germany West Central,Israel Central,Italy North,Japan East,"
    "Japan West,Korea Central,Mexico Central,North Central US,North Europe,Norway East,Poland Central,Qatar Central,"
    "South Africa North,South Central US,South India,Southeast Asia,Spain Central,Sweden Central,Switzerland North,"
    "UAE North,UK South,UK West,West Central US,West Europe,West India,West US,West US 2,West US 3"
)
REGIONS: Mapping[str, str] = {name.replace(" ", "").lower(): name for name in _DISPLAY_NAMES.split(",")}
_GROUP = re.compile(r"(?i)(/resourceGroups/)([^/]+)")


def region_code(text: str) -> str:
    """Return the short name of a region, however it is written."""
    return text.replace(" ", "").lower()


def _text(change: Callable[[str], str]) -> Way:
    return lambda value, _by: change(value) if isinstance(value, str) else value


def _mapped(value: Json, by: Json) -> Json:
    return by.get(value, value) if isinstance(value, str) and isinstance(by, Mapping) else value


def _replaced(value: Json, by: Json) -> Json:
    for old, new in by.items() if isinstance(value, str) else ():
        value = re.sub(re.escape(old), str(new), value, flags=re.IGNORECASE)
    return value


def _ending(value: Json, by: Json) -> Json:
    return value if not isinstance(value, str) or value.endswith(str(by)) else f"{value}{by}"


def _beginning(value: Json, by: Json) -> Json:
    return value if not isinstance(value, str) or value.startswith(str(by)) else f"{by}{value}"


def _address(value: Json, _by: Json) -> Json:
    """Write an address range as the storage service does: a range of one is an address."""
    if not isinstance(value, str):
        return value
    try:
        network = ipaddress.ip_network(value, strict=False)
    except ValueError:
        return value
    return str(network.network_address) if network.num_addresses == 1 else str(network)


def _tokens(value: Json, by: Json) -> Json:
    separator = str(by or ",")
    if not isinstance(value, str):
        return value
    return f"{separator} ".join(sorted(part.strip() for part in value.split(separator.strip())))


def _pretty_xml(value: Json, _by: Json) -> Json:
    if not isinstance(value, str):
        return value
    lines, depth = [], 0
    for tag in re.findall(r"<[^>]+>|[^<]+", value):
        if not tag.strip():
            continue
        depth -= tag.startswith("</")
        lines.append("\t" * depth + tag.strip())
        depth += tag.startswith("<") and not tag.startswith(("</", "<?", "<!")) and not tag.endswith("/>")
    return "\r\n".join(lines)


def _number(value: Json, _by: Json) -> Json:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


WAYS: Mapping[str, Way] = {
    "region_display": _text(lambda text: REGIONS.get(region_code(text), text)),
    "region_code": _text(region_code),
    "lower": _text(str.lower),
    "upper": _text(str.upper),
    "capital": _text(lambda text: text[:1].upper() + text[1:]),
    "bool_title": _text(lambda text: text.title() if text.lower() in ("true", "false") else text),
    "lower_groups": _text(lambda text: _GROUP.sub(lambda found: f"/resourcegroups/{found[2]}", text)),
    "upper_group": _text(lambda text: _GROUP.sub(lambda found: found[1] + found[2].upper(), text)),
    "strip_slash": _text(lambda text: text.strip("/")),
    "float": _number,
    "text": lambda value, _by: value if isinstance(value, bool | str) or value is None else str(value),
    "map": _mapped,
    "replace": _replaced,
    "suffix": _ending,
    "prefix": _beginning,
    "address": _address,
    "tokens": _tokens,
    "xml": _pretty_xml,
    "constant": lambda _value, by: by,
    "dropped": lambda _value, _by: ABSENT,
    "empty_to_absent": lambda value, _by: ABSENT if value in (None, "", [], {}) else value,
    "null_to": lambda value, by: by if value is None else value,
    "empty_to": lambda value, by: by if value in (None, "", [], {}) else value,
}


def rewrite(document: dict[str, Json], habits: Habits, expand: Callable[[Json], Json]) -> None:
    """Spell a document as its type does; `expand` replaces the variables in what a rule goes by."""
    for rule in habits.rewrites:
        for spot in reversed(list(pointers.spots(document, rule.at))):
            if spot.value() is not ABSENT and pointers.holds(document, rule.when, spot.holder):
                _apply(rule, spot, expand(rule.by))


def _apply(rule: Rewrite, spot: pointers.Spot, by: Json) -> None:
    value = spot.value()
    if rule.how == "renamed":
        spot.put(ABSENT)
        spot.holder[by] = value
    elif not rule.keys:
        spot.put(WAYS[rule.how](value, by))
    elif isinstance(value, dict):
        spot.put({WAYS[rule.how](key, by): item for key, item in value.items()})
