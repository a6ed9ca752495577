"""Fault isolation: an object that causes an exception does not keep the others from being checked.

A provider reads documents of other writers. An object that breaks a reader or a comparison is unknown, with the reason,
and the batch goes on. An error of the store or of the configuration is not about one object, and is raised.
"""

from __future__ import annotations

import logging
from typing import Final

import orjson

from holdfast.errors import HoldfastError, UnhashableError
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.read_result import Found, ReadError, ReadFailure, ReadResult
from holdfast.providers.protocol import Unchanged

_LOG = logging.getLogger(__name__)
MAX_DEPTH: Final = 250  # levels of a live document; each costs a few stack frames wherever it is walked over


def unreadable(error: Exception, address: Address) -> ReadFailure:
    """Return the read failure for an exception about one object. Raise it again if it is not about the object."""
    if isinstance(error, HoldfastError) and not isinstance(error, UnhashableError):
        raise error
    _LOG.debug("%s could not be dealt with", address, exc_info=error)
    if isinstance(error, RecursionError):
        return ReadFailure(ReadError.MALFORMED, "what was read is nested too deep")
    if isinstance(error, UnhashableError):
        return ReadFailure(ReadError.MALFORMED, f"what was read has no canonical form: {error}")
    return ReadFailure(ReadError.OTHER, f"what was read could not be dealt with ({type(error).__name__})")


def shallow(reading: ReadResult | Unchanged) -> ReadResult | Unchanged:
    """Return a reading, or that it is unreadable if its document is nested deeper than can be compared and kept."""
    if isinstance(reading, Found) and _is_deep(reading.document):
        return ReadFailure(ReadError.MALFORMED, f"what was read is nested deeper than {MAX_DEPTH} levels")
    return reading


def _is_deep(document: Json) -> bool:
    try:
        orjson.dumps(document)  # which goes about as deep, and is the quickest way to know
    except (orjson.JSONEncodeError, RecursionError):
        return _is_deeper(document, MAX_DEPTH)
    return False


def _is_deeper(document: Json, levels: int) -> bool:
    layer = [document]
    for _ in range(levels):
        below = [item.values() if isinstance(item, dict) else item for item in layer if isinstance(item, dict | list)]
        layer = [inner for item in below for inner in item]
        if not layer:
            return False
    return True
