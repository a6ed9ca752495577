"""Whether a correction held and helped is assessed alike on every provider that ships, under any rules."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from holdfast.compare import paths, profiles
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.resource import Declaration
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.providers import registry
from holdfast.providers.azure import references
from holdfast.providers.http.client import Answer
from holdfast.providers.openstack.cloud import Cloud
from holdfast.providers.protocol import Connection, Provider
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.remediation.core.alerts import Alert, Signal
from holdfast.remediation.core.past_attempts import AttemptLimits
from holdfast.remediation.core.records import RemediationRecord, Undo
from holdfast.remediation.core.rules import CommandProbe
from holdfast.remediation.intake import RemediationRefused
from holdfast_emulators import providers_under_test
from holdfast_emulators.runpod import RunPodServer, World
from tests.unit.remediation.assessment_fixtures import RULES, Ward

Edit = Callable[[Any], Any]


@dataclass
class Place:
    """Something that ships: a thing of it to declare, a field of that, and a stranger who edits it."""

    provider: Provider
    connection: Connection
    kind: str
    desired: Any
    path: str
    values: tuple[Any, Any]  # what two strangers make of the field
    get: Callable[[], Any]  # the value of the field now
    put: Callable[[Any], Any]


Opening = Callable[[pytest.MonkeyPatch], AbstractAsyncContextManager[Place]]


def of_subject(name: str, label: str, path: str, values: tuple[Any, Any]) -> Opening:
    """Take a place from the conformance kit."""

    @asynccontextmanager
    async def opened(_patch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
        async with getattr(providers_under_test, name)() as subject:
            sample = next(item for item in subject.samples if item.label.startswith(label))
            settings = {**subject.connection.settings}
            if "timeout_seconds" in settings:
                settings["timeout_seconds"] = 60.0
            where = paths.parse_path(path)

            async def ident() -> str:
                (found,) = await subject.drift_injector.ids(sample.kind)
                return str(found)

            async def get() -> Any:
                return paths.resolve(await subject.drift_injector.get(sample.kind, await ident()), where)

            async def put(value: Any) -> None:
                await subject.drift_injector.put(sample.kind, await ident(), where, value)

            yield Place(
                subject.provider,
                replace(subject.connection, settings=settings),
                sample.kind,
                sample.full("a"),
                path,
                values,
                get,
                put,
            )

    return opened


@asynccontextmanager
async def runpod(_patch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    async with RunPodServer(World()) as server:
        connection = Connection("prod", "runpod", {"base_url": server.url}, {"api_key": server.token})
        desired = {"imageName": "user/image:1.0", "gpus": ["ADA_24"], "workersMin": 0, "workersMax": 5}

        async def get() -> Any:
            return server.console().named("a").fields["workersMax"]

        async def put(value: Any) -> None:
            server.console("user_alice").edit("a", workersMax=value)

        yield Place(
            registry.get("runpod"), connection, "ServerlessEndpoint", desired, "/workersMax", (50, 40), get, put
        )


@asynccontextmanager
async def openstack(patch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    """Keystone's projects, as far as they are asked for, in place of a session."""
    projects: dict[str, dict[str, Any]] = {}

    async def send(_self: Cloud, _service: str, method: str, path: str, _label: str, **given: Any) -> Answer:
        ident = path.removeprefix("/projects").strip("/")
        body = (given.get("body") or {}).get("project", {})
        if method == "POST":
            projects["p1"] = {"id": "p1", "domain_id": "default", "parent_id": "default", "enabled": True, **body}
            return answered(201, {"project": projects["p1"]}, path)
        if not ident:
            return answered(200, {"projects": list(projects.values())}, path)
        if ident not in projects:
            return answered(404, {"error": {"code": 404, "message": "not found"}}, path)
        projects[ident].update(body)
        return answered(200, {"project": projects[ident]}, path)

    async def nothing(_self: Cloud) -> None:
        return None

    async def own(_self: Cloud) -> str:
        return "own"

    patch.setattr(Cloud, "send", send)
    patch.setattr(Cloud, "described", nothing)
    patch.setattr(Cloud, "project_id", own)

    async def get() -> Any:
        return projects["p1"]["description"]

    async def put(value: Any) -> None:
        projects["p1"]["description"] = value

    auth = {"auth_url": "http://127.0.0.1:9/v3", "username": "u", "project_name": "p"}
    connection = Connection("cloud", "openstack", {"auth": auth}, {"password": "p"})
    desired = {"name": "a", "description": "ours"}
    values = ("a stranger's", "another's")
    yield Place(registry.get("openstack"), connection, "Project", desired, "/description", values, get, put)


def answered(status: int, body: Any, path: str) -> Answer:
    return Answer(status, {}, json.dumps(body).encode(), path)


WHOLE = """\
profile: mine
version: 1
rules:
  - {path: /**, compare: casefold}
"""


@dataclass
class Rounds(Ward):
    """A process that corrects one thing of a place and assesses that."""

    place: Place = field(default=None)  # type: ignore[assignment]
    options: dict[str, Any] = field(default_factory=dict)
    own_profile: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.connection = self.place.connection
        name = self.place.connection.provider
        desired, type_ = self.place.desired, None
        if name == "azure":
            desired, type_ = references.rewritten(self.place.kind, desired)
        address = Address(self.connection.name, self.place.kind, "a")
        options = {"assess": "corrections", **self.options}
        self.declarations = [
            Declaration(address, name, f"{name}.holdfast.dev/v1", desired, options=options, type=type_)
        ]

    def provider(self) -> Provider:
        return self.place.provider

    def fleet(self, declarations: Any) -> Any:
        found = super().fleet(declarations)
        return replace(found, profiles=list(profiles.parse(self.own_profile))) if self.own_profile else found

    def without_help(self) -> None:
        """Let corrections hold and not help: the alert goes on, the metrics stay, and the probe fails."""
        self.servers.firing = [Alert({"alertname": "HighMemory"})]
        self.servers.after = self.servers.before
        (target,) = self.rules.assessment.targets
        self.with_rules(targets=(replace(target, probes=(CommandProbe("well", ("false",), timeout=60.0),)),))

    async def corrected(self, value: Any) -> None:
        """Let a stranger move the field, and put it back."""
        ours = await self.place.get()
        await self.place.put(value)
        self.clock.advance(1200.0)
        self.servers.changed_at = self.clock.now()
        await self.apply(self.declarations)
        assert await self.place.get() == ours


PLACES: dict[str, Opening] = {
    "azure-disk": of_subject("azure", "Disk", "/properties/diskSizeGB", (64, 128)),
    "azure-any": of_subject("azure", "Resource", "/properties/weight", (5, 6)),
    "file": of_subject("file", "Document", "/content/log", ("debug", "trace")),
    "http": of_subject("http", "Widget", "/color", ("green", "blue")),
    "openstack": openstack,
    "runpod": runpod,
}
everywhere = pytest.mark.parametrize("name", PLACES)


def play(name: str, patch: pytest.MonkeyPatch, story: Callable[[Rounds], Any], profile: str = "", **options: Any):
    async def opened() -> None:
        async with PLACES[name](patch) as place:
            limits = AttemptLimits(same_state=99, chained=99, total=99, within=100_000.0)
            rules = PolicyRules(CorrectionRules(mass_drift=None), given_assessment=replace(RULES, refusal=limits))
            rounds = Rounds(place=place, options=options, own_profile=profile, rules=rules)
            await rounds.apply(rounds.declarations)
            await story(rounds)

    asyncio.run(opened())


def test_every_provider_that_ships_is_among_them():
    on_a_server = {"kubernetes"}  # tests/integration/providers/kubernetes/test_assessments.py
    assert {name.partition("-")[0] for name in PLACES} | on_a_server == set(registry.names())


async def second_actor(rounds: Rounds) -> None:
    first, second = rounds.place.values
    await rounds.corrected(first)
    (record,) = await rounds.all()
    assert record.pre is not None
    (written,) = [e for e in await rounds.trail("write.intended") if e.data.get("reason") == "drift"]
    assert written.data["pre_remediation_spec_hash"] == record.pre.hash
    await rounds.place.put(second)
    assert came_of(await rounds.finish()) == ("spec_drift", 0.0)


def came_of(record: RemediationRecord) -> tuple[str, float]:
    """Return why an assessment ended, and its score."""
    found = record.assessment
    assert found is not None
    assert found.reason is not None
    assert found.score is not None
    return found.reason.value, found.score


@everywhere
def test_what_a_second_actor_changes_again_scores_nothing(name, monkeypatch):
    play(name, monkeypatch, second_actor)


@everywhere
def test_what_holds_and_helps_scores_in_full(name, monkeypatch):
    async def story(rounds: Rounds) -> None:
        await rounds.corrected(rounds.place.values[0])
        reason, score = came_of(await rounds.finish())
        assert reason == "full"
        assert score > 0.5

    play(name, monkeypatch, story)


@everywhere
def test_what_does_not_help_is_undone_below_the_threshold(name, monkeypatch):
    async def story(rounds: Rounds) -> None:
        rounds.without_help()
        await rounds.corrected(rounds.place.values[0])
        record = await rounds.finish()
        assert record.undo is Undo.DONE, record.undo_attempts.note
        assert await rounds.place.get() == rounds.place.values[0]

    play(name, monkeypatch, story, undoBelow=0.9)


@everywhere
def test_what_failed_often_enough_on_a_state_is_refused(name, monkeypatch):
    async def story(rounds: Rounds) -> None:
        rounds.without_help()
        for _ in range(2):
            await rounds.corrected(rounds.place.values[0])
            await rounds.finish()
        await rounds.place.put(rounds.place.values[0])
        rounds.clock.advance(1200.0)
        (one,) = (await rounds.apply(rounds.declarations)).checked
        assert (one.decision.action, one.decision.reasons[0].code) == (Action.HOLD, "futile")
        assert await rounds.place.get() == rounds.place.values[0]

    play(name, monkeypatch, story, refuseAfter=2)


@everywhere
def test_an_announced_remediation_is_refused_after_as_many_failures(name, monkeypatch):
    async def story(rounds: Rounds) -> None:
        rounds.without_help()
        for _ in range(2):
            await rounds.start(signal=Signal("HighMemory"))
            await rounds.complete()
            await rounds.finish()
        with pytest.raises(RemediationRefused, match="failed 2 times"):
            await rounds.start(signal=Signal("HighMemory"))

    play(name, monkeypatch, story, refuseAfter=2)


@everywhere
def test_a_rule_of_ones_own_about_everything_takes_nothing_of_that_away(name, monkeypatch):
    play(name, monkeypatch, second_actor, profile=WHOLE)
