"""No secret byte leaves: not into the store, an output, a message or an exception."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from holdfast.cli.render import reports
from holdfast.model.verdict import Status
from holdfast.store.sqlite.store import SqliteStore
from tests.unit.reconcile.fixtures import Bench, declare

SECRETS = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=12, max_size=24).map(lambda text: f"S3cr-{text}")
PLACES = ("top", "nested", "listed", "element", "embedded")


def planted(place: str):
    """Return a declaration with a secret reference at the place."""
    reference = {"secretRef": {"env": "PLANTED"}}
    return {
        "top": {"password": reference, "user": "u"},
        "nested": {"login": {"password": reference}},
        "listed": {"keys": [reference, "plain"]},
        "element": {"users": [{"name": "u", "password": reference}]},
        "embedded": {"password": reference, "copy": {"deep": [{"again": reference}]}},
    }[place]


@settings(max_examples=20, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.sampled_from(PLACES), SECRETS, SECRETS, st.booleans())
def test_a_secret_is_written_to_the_provider_and_nowhere_else(tmp_path_factory, place, secret, rotated, patches):
    folder = tmp_path_factory.mktemp("secrets")

    async def story() -> str:
        store = await SqliteStore.open(folder / "s.db")
        bench = Bench(store=store, patches=patches, environ={"PLANTED": secret})
        fleet = [declare("a", planted(place), resyncPeriod="1h")]
        out = [await bench.apply(fleet)]
        assert secret in json.dumps(list(bench.live.things.values()))
        out.append(await bench.check(fleet))
        assert out[-1].checked[0].verdict.status is Status.IN_SYNC
        bench.environ["PLANTED"] = rotated
        out.append(await bench.check(fleet))
        if rotated != secret:
            assert out[-1].checked[0].verdict.status is not Status.IN_SYNC
        out.append(await bench.apply(fleet))
        assert rotated in json.dumps(list(bench.live.things.values()))
        ident = bench.id_of("a")
        bench.live.things["Thing", ident] = {"name": "a", "password": "leaked " + bench.environ["PLANTED"]}
        out.append(await bench.apply(fleet))
        page = io.StringIO()
        with contextlib.redirect_stdout(page):
            for report in out:
                reports.show_plan(report, everything=True)
                reports.show_check(report, everything=True)
                for acted in report.acted:
                    reports.show_acted(acted)
        events = [event async for event in store.events()]
        shown = [json.dumps(reports.as_json(report)) for report in out] + [repr(out), repr(events), page.getvalue()]
        shown += [repr(await store.findings()), repr([s async for s in store.all_states()])]
        for record in await store.decisions(None, 100):
            shown.append(
                json.dumps(await store.document(record.inputs)) + json.dumps(await store.document(record.output))
            )
        for digest in {
            d
            for s in [x async for x in store.all_states()]
            for d in (s.declared.document, s.applied.document, s.observed.document, s.applied.known_differences)
        }:
            shown.append(json.dumps(await store.document(digest)) if digest else "")
        await store.close()
        return "\n".join(shown)

    said = asyncio.run(story())
    files = b"".join(path.read_bytes() for path in Path(folder).iterdir())
    for value in (secret, rotated):
        assert value.encode() not in files
        assert value not in said


PROFILE = """
profile: test/secrets
version: 1
applies: {provider: memory}
rules:
  - {path: /env/*, class: secret}
  - {path: /token, class: write_only}
"""


def test_what_a_profile_calls_secret_is_one_though_it_was_declared_in_clear(tmp_path):
    """Also what nobody declared: the environment that somebody added at the console."""

    async def story() -> bytes:
        store = await SqliteStore.open(tmp_path / "s.db")
        bench = Bench(store=store, profile=PROFILE)
        fleet = [declare("a", {"env": {"KEY": "plain-secret-1"}, "token": "plain-secret-2", "size": 1})]
        await bench.apply(fleet)
        assert (await bench.check(fleet)).checked[0].verdict.status is Status.IN_SYNC
        bench.live_thing("a")["env"] = {"KEY": "plain-secret-3", "OTHER": "plain-secret-4"}
        (drifted,) = (await bench.check(fleet)).checked
        assert [finding.path[-1] for finding in drifted.verdict.findings] == ["KEY", "OTHER"]
        await bench.apply(fleet)
        assert bench.live_thing("a")["env"]["KEY"] == "plain-secret-1"
        state = await store.state(fleet[0].address)
        assert state is not None
        kept = [
            d
            for d in (
                state.declared.document,
                state.applied.document,
                state.applied.baseline,
                state.observed.document,
                state.applied.known_differences,
            )
            if d
        ]
        documents = [await store.document(digest) for digest in kept]
        ledger = [repr(correction) for correction in await store.corrections()]
        events = [dict(event.event.data) async for event in store.events()]
        await store.close()
        files = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        return files + json.dumps([documents, ledger, events], default=repr).encode()

    assert b"plain-secret" not in asyncio.run(story())
