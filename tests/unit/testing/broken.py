"""Providers that are wrong in one way each, for the kit to find out. All are a sound one with one thing changed."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, ClassVar

from holdfast.model.read_result import Found, NotFound, ReadFailure
from holdfast.model.write_result import Done, WriteError, WriteFailure
from holdfast.providers.protocol import ChangeSignal, Connection, Provider, ReadFailed
from holdfast.testing.conformance import ProviderUnderTest
from holdfast.testing.memory import MemoryService
from holdfast_emulators import providers_under_test

Make = Callable[[Any, MemoryService], Any]


class Half:
    """One half of a provider; what a subclass does not say stays as it is."""

    def __init__(self, sound: Any, world: MemoryService) -> None:
        self.sound = sound
        self.world = world

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sound, name)


class Altered:
    """A sound provider with another reader or writer before it."""

    def __init__(self, provider: Provider, world: MemoryService, reader: Make, writer: Make) -> None:
        self.name = provider.name
        self.kinds = provider.kinds
        self._parts = (provider, world, reader, writer)

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[Any]:
        provider, world, reader, _ = self._parts
        async with provider.reader(connection) as sound:
            yield reader(sound, world)

    @asynccontextmanager
    async def writer(self, connection: Connection) -> AsyncIterator[Any]:
        provider, world, _, writer = self._parts
        async with provider.writer(connection) as sound:
            yield writer(sound, world)


def on_memory(reader: Make = Half, writer: Make = Half, **fields: Any):
    """Return what opens the world in memory, its patched kind only, behind an altered provider."""

    @asynccontextmanager
    async def opening() -> AsyncIterator[ProviderUnderTest]:
        async with providers_under_test.memory() as sound:
            world = sound.drift_injector._world  # type: ignore[attr-defined]
            provider = Altered(sound.provider, world, reader, writer)
            samples = tuple(sample for sample in sound.samples if sample.kind == "Patched")
            yield replace(sound, provider=provider, samples=samples, **fields)

    return opening


def on_files(writer: Make):
    """Return what opens the file provider, texts only, with an altered writer."""

    @asynccontextmanager
    async def opening() -> AsyncIterator[ProviderUnderTest]:
        async with providers_under_test.file() as sound:
            provider = Altered(sound.provider, MemoryService(), Half, writer)
            yield replace(sound, provider=provider, samples=sound.samples[-1:])

    return opening


def on_rest(reader: Make):
    """Return what opens the http provider, its widgets only, with an altered reader."""

    @asynccontextmanager
    async def opening() -> AsyncIterator[ProviderUnderTest]:
        async with providers_under_test.http() as sound:
            provider = Altered(sound.provider, MemoryService(), reader, Half)
            yield replace(sound, provider=provider, samples=sound.samples[:1])

    return opening


# --- readers ----------------------------------------------------------------------------------------------------------


class CallsFailuresGone(Half):
    async def read(self, target, hint=None):
        reading = await self.sound.read(target, hint)
        return NotFound() if isinstance(reading, ReadFailure) else reading


class BelievesAnything(Half):
    async def read(self, target, hint=None):
        reading = await self.sound.read(target, hint)
        is_other = isinstance(reading, ReadFailure) and "asked for" in reading.detail
        return Found({"name": target.name}, None, "sha256:0", target.name) if is_other else reading


class ReadsPart(Half):
    async def read(self, target, hint=None):
        reading = await self.sound.read(target, hint)
        if not isinstance(reading, Found):
            return reading
        return replace(reading, document={k: v for k, v in reading.document.items() if k != "color"})

    def parse(self, kind, raw):
        return {k: v for k, v in self.sound.parse(kind, raw).items() if k != "color"}


class IgnoresHints(Half):
    async def read(self, target, hint=None):
        return await self.sound.read(target)


class SignalsAnotherVersion(Half):
    async def watch(self, kind, position):
        async for event in self.sound.watch(kind, position):
            yield replace(event, version="another") if isinstance(event, ChangeSignal) else event


class ForgetsTheLast(Half):
    async def list(self, kind):
        items = [item async for item in self.sound.list(kind)]
        for item in items[:-1]:
            yield item


class ListsHalf(Half):
    async def list(self, kind):
        try:
            async for item in self.sound.list(kind):
                yield item
        except ReadFailed:
            return


class FindsTheFirst(Half):
    async def find(self, kind, criteria):
        return list(await self.sound.find(kind, criteria))[:1]


class FindsNothingWhenItFails(Half):
    async def find(self, kind, criteria):
        try:
            return await self.sound.find(kind, criteria)
        except ReadFailed:
            return []


class FindsOnlyById(Half):
    async def read(self, target, hint=None):
        return NotFound() if target.id is None else await self.sound.read(target, hint)


class ShowsTheDead(Half):
    seen: ClassVar[dict[str, Any]] = {}

    async def read(self, target, hint=None):
        reading = await self.sound.read(target, hint)
        if isinstance(reading, Found) and target.id is not None:
            self.seen[target.id] = reading
        return self.seen.get(target.id, reading) if isinstance(reading, NotFound) else reading


class BlowsUp(Half):
    async def read(self, target, hint=None):
        raise RuntimeError("boom")


class Hangs(Half):
    async def read(self, target, hint=None):
        import asyncio

        await asyncio.Event().wait()


# --- writers ----------------------------------------------------------------------------------------------------------


class IgnoresKeys(Half):
    async def create(self, target, key):
        return await self.sound.create(target, f"{key}-{len(self.world.writes)}")


class WritesPart(Half):
    async def create(self, target, key):
        return await self.sound.create(replace(target, desired=_without(target.desired, "weight")), key)


class NamesAnother(Half):
    async def create(self, target, key):
        self.world.polls = 0
        answer = await self.sound.create(target, key)
        return Done("id-0") if isinstance(answer, Done) else answer


class WritesOverEverything(Half):
    async def update(self, target, change, key):
        """Put the declaration in the place of all there is, as if nobody else had fields there."""
        answer = await self.sound.update(target, change, key)
        body = self.world.things[target.kind, target.id]
        self.world.things[target.kind, target.id] = {"name": body["name"], **change.desired}
        return answer


class CountsUpdates(Half):
    async def update(self, target, change, key):
        answer = await self.sound.update(target, change, key)
        body = self.world.things[target.kind, target.id]
        if key.startswith("repeat"):
            body["updates"] = body.get("updates", 0) + 1
        return answer


class TouchesNeighbours(Half):
    async def update(self, target, change, key):
        for (kind, ident), body in self.world.things.items():
            if kind == target.kind and ident != target.id:
                body["color"] = "touched"
        return await self.sound.update(target, change, key)


class DoesNotWrite(Half):
    async def update(self, target, change, key):
        return Done(target.id)


class Talks(Half):
    async def create(self, target, key):
        logging.getLogger("talks").debug("creating %s", dict(target.desired))
        return await self.sound.create(target, key)


class TalksInRefusals(Half):
    async def create(self, target, key):
        answer = await self.sound.create(target, key)
        return replace(answer, message=f"refused: {target.desired}") if isinstance(answer, WriteFailure) else answer


class RefusesToDeleteTwice(Half):
    async def delete(self, target, key, etag=None):
        if (target.kind, target.id) not in self.world.things:
            return WriteFailure(WriteError.TERMINAL, "there is no such thing")
        return await self.sound.delete(target, key)


class GivesUpWhenThrottled(Half):
    async def create(self, target, key):
        answer = await self.sound.create(target, key)
        throttled = isinstance(answer, WriteFailure) and answer.refusal is WriteError.THROTTLED
        return WriteFailure(WriteError.TERMINAL, "too many requests") if throttled else answer


class IgnoresEtags(Half):
    async def update(self, target, change, key):
        return await self.sound.update(target, replace(change, etag=None), key)


class DeletesWhateverItIs(Half):
    async def delete(self, target, key, etag=None):
        return await self.sound.delete(target, key)


def _without(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != key}
