"""Scenario 38 of research/aso.md, section 5: on recorded traffic every PUT that would be sent is one we can explain.

Recorded answers are played to the whole stack (pipeline, conversion, profile pack, engine, store), without a schema, as
a user has it. What the comparison alone comes to is in docs/accuracy.md, and tests/acceptance/test_accuracy.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

import orjson
import pytest

from holdfast.compare import paths, profiles
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from holdfast.providers import builtin_profiles
from holdfast.providers.azure.provider import AzureProvider
from holdfast.testing import corpus, corpus_views
from holdfast.testing.corpus import CorpusCase
from holdfast_emulators.azure.messages import Headers, Response
from holdfast_emulators.azure.transport import ArmTransport, InProcessResponse
from tests.integration.providers.azure.estate import ASKED, GROUP, Estate, declare, run

CORPUS = Path(__file__).resolve().parents[5] / "shared" / "corpus" / "azure_public.jsonl.gz"

if not CORPUS.is_file():
    pytest.skip(f"no corpus at {CORPUS}", allow_module_level=True)


@pytest.fixture(scope="module")
def cases():
    return list(corpus.read(CORPUS))


class Played(ArmTransport):
    """Answers as recorded: a PUT is done at once, a GET shows what it is told to show."""

    def __init__(self, world, shown: dict[str, Json], settled: dict[str, Json], puts: list[str]) -> None:
        super().__init__(world)
        self.shown, self.settled, self.puts = shown, settled, puts

    async def send(self, request, **_options):
        at = unquote(request.url.partition("?")[0]).casefold()
        name = at.rpartition("/")[2]
        if request.method == "PUT":
            self.puts.append(name)
        if request.method == "GET" and name not in self.shown:
            body: Json = {"error": {"code": "ResourceNotFound", "message": "not there yet"}}
            return _response(request, 404, body)
        if request.method == "PUT":
            self.shown.setdefault(name, self.settled[name])
        return _response(request, 200, {**self.shown[name], "name": name})  # recorded under another name


def _response(request, status: int, body: Json) -> InProcessResponse:
    return InProcessResponse(
        request, Response(status, Headers({"Content-Type": "application/json"}), orjson.dumps(body))
    )


class Archive(Estate):
    """An estate whose Azure is the recordings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shows: dict[str, Json] = {}
        self.settles: dict[str, Json] = {}
        self.sent: list[str] = []
        self._azure = AzureProvider(lambda: Played(self.arm, self.shows, self.settles, self.sent))

    def hold(self, cases: Iterable[CorpusCase]) -> dict[str, Declaration]:
        """Take up cases; return what is declared, by name."""
        out = {}
        for number, case in enumerate(cases):
            name = f"case{number:04}"
            self.settles[name] = case.settled
            owner = f"/subscriptions/{self.arm.subscription}/resourceGroups/{GROUP}"
            above = [f"parent{depth}" for depth in range(case.kind.count("/") - 1)]
            placed = {"owner": {"armId": owner}, "azureName": "/".join([*above, name])}
            if case.kind.casefold().endswith("/resourcegroups"):
                placed = {"azureName": name}
            body = {key: value for key, value in case.desired.items() if key not in ("type", "apiVersion", "owner")}
            out[name] = declare(name, {"type": case.kind, "apiVersion": case.version or "2024-01-01", **body, **placed})
        return out

    def puts(self, path: str = "*") -> int:
        ASKED.add("puts")
        return sum(1 for name in self.sent if path in ("*", name))


def recorded(case: CorpusCase) -> list[corpus.LabelledRead]:
    """Return the later reads of a case that nobody but the service had a hand in."""
    return [
        observation
        for observation in case.observations
        if observation.cls == "recorded" and observation.baseline == "settled"
    ]


def test_38_no_recorded_read_leads_to_a_put(cases):
    chosen = [case for case in cases if case.settled is not None and recorded(case)]
    archive = Archive()

    async def scenario():
        things = archive.hold(chosen)
        await archive.apply(list(things.values()))
        assert archive.puts() == len(chosen)
        looks = max(len(recorded(case)) for case in chosen)
        for look in range(looks):
            again = []
            for name, case in zip(things, chosen, strict=True):
                if look < len(recorded(case)):
                    archive.shows[name] = recorded(case)[look].observed
                    again.append(things[name])
            await archive.sync(*again)
        extra = [(chosen[int(name[4:])].kind, name) for name in archive.sent[len(chosen) :]]
        assert extra == []
        assert set(await archive.caused()) == {("create", ())}

    assert sum(len(recorded(case)) for case in chosen) >= 600
    run(scenario())


def fields(path) -> tuple[str, ...]:
    """Return a path as far as it goes through fields: elements have other names in a label."""
    return tuple(itertools.takewhile(lambda step: isinstance(step, str), path))


@pytest.mark.parametrize("cls", ["declared_change", "defaulted_change", "element_add", "undeclared_add"])
def test_38_each_third_partys_edit_leads_to_one_put_that_names_its_place(cases, cls):
    chosen = [case for case in cases if case.settled is not None and any(o.cls == cls for o in case.observations)][:25]
    archive = Archive()

    async def scenario():
        things = archive.hold(chosen)
        await archive.apply(list(things.values()))
        expected = {}
        for name, case in zip(things, chosen, strict=True):
            edit = next(observation for observation in case.observations if observation.cls == cls)
            archive.shows[name], expected[name] = edit.observed, edit.path
        await archive.sync(*things.values())
        assert archive.puts() == 2 * len(chosen)
        caused = (await archive.caused())[len(chosen) :]
        assert {reason for reason, _ in caused} == {"drift"}
        for name, declaration in things.items():
            intended = [e for e in await archive.events("write.intended") if e.subject == str(declaration.address)]
            label = tuple(map(str, paths.parse_path(expected[name])))
            found = [fields(paths.parse_path(path)) for path in intended[-1].data["paths"]]
            assert any(paths.overlaps(item, label) for item in found), (name, label, found)

    run(scenario())


def test_no_recorded_read_is_flagged(cases):
    report = corpus.score(cases, builtin_profiles.shipped(), lenses=corpus_views.shipped())
    assert report.false_positives == ()


def test_through_the_provider_the_rates_are_no_worse_than_on_raw_answers(cases):
    raw = corpus.score(cases, builtin_profiles.shipped())
    seen = corpus.score(cases, builtin_profiles.shipped(), lenses=corpus_views.shipped())
    was = {(row.cls, row.expect, row.baseline): row for row in raw.rows}
    for row in seen.rows:
        assert row.wrong <= was[row.cls, row.expect, row.baseline].wrong, row
        assert row.misplaced <= was[row.cls, row.expect, row.baseline].misplaced, row


def test_a_second_sync_of_what_was_just_captured_is_silent(cases):
    """The acceptance test that users of What-If ask for: deploy, look again, expect nothing."""
    lens = corpus_views.shipped()["azure"]
    for case in map(lens.seen, cases):
        if case.settled is not None:
            rules = profiles.stack(lens.profiles(case.kind, case.version), corpus.rules_of_schema(case.schema))
            known = corpus.remembered(case, "settled")
            assert corpus.judge(case, case.settled, known, rules).status is Status.IN_SYNC, case.id
