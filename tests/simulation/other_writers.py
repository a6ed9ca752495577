"""Other controllers, which put a field back to what they want."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.simulation.world import Sent, Thing, World, nobody


@dataclass
class Rival:
    """Another controller: puts a field back to its own value some time after each write of ours."""

    world: World
    thing: Thing
    path: str
    values: Iterator[Any]
    delay: float
    times: int = 10**9
    who: str = "otherWriter"

    def noticed(self, sent: Sent) -> None:
        """Hear of a write."""
        if sent.thing is self.thing and self.times > 0:
            self.world.kernel.loop.call_later(self.delay, self.act, context=nobody())

    def act(self) -> None:
        if self.times > 0 and self.thing.deleted is None and self in self.world.other_writers:
            self.times -= 1
            self.world.stranger_edits(self.thing, self.path, next(self.values), self.who)
