"""Comparators of numbers and truth values, exact whatever the size: no value passes through a float on its way."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from holdfast.compare.comparators import base
from holdfast.model.json import Json

_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,9}))?")
_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]{1,100}(?:\.[0-9]{0,100})?|\.[0-9]{1,100}))(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?[0-9]{1,3}))?"
)
_SCALES = {
    **{suffix: Fraction(1, 1000) ** power for power, suffix in enumerate("mun", 1)},
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,99}")
_WORDS = {"true": True, "false": False}
_DIGITS = {"1": True, "0": False}
_LARGEST_BITS = 2048


def bool_str(*, loose: bool = False) -> base.Comparator:
    """Take "true" and "False", in any case, as booleans; with `loose` also 1, 0, "1" and "0"."""

    def parse(value: Json) -> base.Key:
        if isinstance(value, str):
            word = value.lower()
            return _WORDS.get(word, _DIGITS.get(word) if loose else None)
        if isinstance(value, bool):
            return value
        return bool(value) if loose and isinstance(value, (int, float)) and value in (0, 1) else None

    return base.Parsed(base.label("bool_str", loose=loose), "bool", parse)


def number() -> base.Comparator:
    """Compare by numeric value; a string that spells a number is that number: 90, 90.0 and "9e1"."""
    return base.Parsed("number", "number", _number)


def _number(value: Json) -> base.Key:
    if isinstance(value, str):
        return _decimal(value)
    fraction = of_json(value)
    if fraction is None:
        return None
    # A JSON integer, also one written 1e20, counts to the last digit; a fraction by its shortest decimal spelling.
    return _decimal(str(fraction.numerator) if fraction.denominator == 1 else repr(value))


@base.remembered
def _decimal(text: str) -> str | None:
    """Return digits and exponent without superfluous zeros; the number is never expanded, so 1e999999 is cheap."""
    match = _NUMBER.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return None
    sign, whole, part, exponent = match.groups(default="")
    digits = (whole + part).lstrip("0")
    significant = digits.rstrip("0")
    if not significant:
        return "0"
    power = int(exponent or 0) - len(part) + len(digits) - len(significant)
    return f"{'-' if sign == '-' else ''}{significant}e{power}"


def quantity() -> base.Comparator:
    """Compare Kubernetes quantities: "1.0Gi" is "1024Mi", 0.5 is "500m"."""
    return base.Parsed("quantity", "quantity", _quantity)


def _quantity(value: Json) -> base.Key:
    if isinstance(value, str):
        return _quantity_text(value)
    fraction = of_json(value)
    return None if fraction is None else str(fraction)


@base.remembered
def _quantity_text(text: str) -> str | None:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    amount, suffix, exponent = match.groups()
    return str(Fraction(amount) * (_SCALES[suffix] if suffix else Fraction(10) ** int(exponent or 0)))


def int_or_string() -> base.Comparator:
    """Compare Kubernetes' int-or-string: 80 is "80"; other strings are themselves."""
    return base.Parsed("int_or_string", "int_or_string", _int_or_string)


def _int_or_string(value: Json) -> base.Key:
    if isinstance(value, str):
        return value if _INTEGER.fullmatch(value) else None
    fraction = of_json(value)
    return str(fraction) if fraction is not None and fraction.denominator == 1 else None


def of_json(value: Json) -> Fraction | None:
    """Return the exact value of a JSON number; None for everything else, and for what is too large to write out."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Fraction(value) if value.bit_length() <= _LARGEST_BITS else None
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(value) if value.is_integer() else Fraction(repr(value))
    return None
