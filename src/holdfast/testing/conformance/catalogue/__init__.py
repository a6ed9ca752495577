"""What is asked of every provider: one function a scenario, which returns what was done or raises what was wrong.

Belongs here: scenarios, in the order of the card. Must not be here: anything about one provider.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from holdfast.testing.conformance.catalogue import (
    crashing,
    importing,
    living,
    mutating,
    repeating,
    secrecy,
    troubling,
)
from holdfast.testing.conformance.trial import Trial

Scenario = Callable[[Trial], Awaitable[str]]

ALL: Final[Mapping[str, Scenario]] = {
    "create": living.create,
    "second-check-clean": living.second_check_clean,
    "mutate-every-field": mutating.mutate_every_field,
    "external-delete": living.external_delete,
    "list": living.list_everything,
    "import-by-id": importing.by_id,
    "import-by-filter": importing.by_filter,
    "unreadable": troubling.unreadable,
    "not-the-thing": troubling.not_the_thing,
    "throttle": troubling.throttle,
    "crash": crashing.crash,
    "secret": secrecy.secret,
    "repeat-create": repeating.create,
    "repeat-update": repeating.update,
    "repeat-delete": repeating.delete,
    "precondition": repeating.precondition,
}
