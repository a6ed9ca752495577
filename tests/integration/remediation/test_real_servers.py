"""The real Prometheus and Alertmanager: an alert fires, a correction is made, and whether it held and helped is told.

The service under watch uses much memory when its configuration says so, and the configuration is what Holdfast manages.
Everything that takes time is waited for by what shows that it happened; how fast the machine is decides nothing.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from holdfast.policy import durations
from holdfast.reconcile.clock import SystemClock
from holdfast_emulators.local_server import until
from tests.acceptance.inprocess import invoke
from tests.acceptance.test_commands import run
from tests.servers import prometheus
from tests.servers.prometheus import Monitoring

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(1200, func_only=True)]

LONG = 240  # seconds that something is waited for that happens in a moment on a machine at rest
VALIDITY = "20m"
CART = "files/Document/cart"
MANIFEST = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: cart}
spec:
  connection: files
  managedOptions: {resyncPeriod: 1h}
  resource: {path: cart.yaml, content: {cache: small, workers: 4}}
"""
PROJECT = """\
connections:
  files: {{provider: file, root: live}}
assessment:
  prometheus: {{url: "{prometheus}", lookback: 1m, compared: 4s, step: 1s, timeout: 60s}}
  alertmanager: {{url: "{alertmanager}", timeout: 60s}}
  windows: {{stabilisation: {stabilisation}, validity: {validity}, interval: 1s, retry: 500ms}}
  targets:
    - target: files/Document/cart
      alert: {{name: HighMemory, labels: {{service: $name}}}}
      queries: [{{name: memory, query: 'sum(memory_bytes{{service="$name"}})', better: lower}}]
      probes: {probes}
"""


class Place:
    """A project, its service, and the servers that watch it."""

    def __init__(self, folder: Path, monitoring: Monitoring) -> None:
        self.folder = folder
        self.monitoring = monitoring

    def project(self, stabilisation="1s", validity=VALIDITY, *, is_probed=True) -> None:
        urls = {name: front.url for name, front in self.monitoring.fronts.items()}
        probes = f'[{{http: "{self.monitoring.service.url}/healthz"}}]' if is_probed else "[]"
        text = PROJECT.format(**urls, stabilisation=stabilisation, validity=validity, probes=probes)
        (self.folder / "holdfast.yaml").write_text(text)

    def run(self, *words: str, code: int = 0):
        done = run(*words, "-f", "infra", cwd=self.folder)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    @property
    def live(self) -> Path:
        return self.folder / "live/cart.yaml"

    def drift(self, before: str, after: str) -> None:
        self.live.write_text(self.live.read_text().replace(before, after))

    def corrected(self) -> None:
        """Let somebody make the cache big, wait for the alert, and put it back."""
        self.drift("cache: small", "cache: big")
        until(self.monitoring.is_firing, LONG, "the alert does not fire")
        until(lambda: self.monitoring.has_been_at(1000, 5), LONG, "the memory does not stay high")
        self.run("apply", "-y")
        assert "cache: small" in self.live.read_text()
        until(lambda: self.monitoring.has_been_at(400, 6), LONG, "the memory does not come down")
        assert self.monitoring.is_firing(), "it fires on until somebody has asked for it"

    def health_is_known(self) -> bool:
        """Take the assessment further by a pass, and tell whether the probe was made."""
        self.run("remediation", "assess")
        trail = self.run("events", "--type", "effectiveness.health.assessed", "--target", CART, "-o", "json").stdout
        return bool(json.loads(trail))

    def assessed(self):
        (record,) = json.loads(self.run("remediation", "assess", "--wait", "-o", "json").stdout)
        return record["assessment"]


def asked(monitoring: Monitoring) -> bool:
    """Tell whether the assessment has seen the alert: until then it fires."""
    return monitoring.requests()["alertmanager"] > 0


def never(_: Monitoring) -> bool:
    return False


@pytest.fixture
def place(tmp_path, request):
    (tmp_path / "infra").mkdir()
    (tmp_path / "live").mkdir()
    (tmp_path / "infra/cart.yaml").write_text(MANIFEST)
    eases = getattr(request, "param", asked)
    with prometheus.running(tmp_path / "servers", tmp_path / "live/cart.yaml", eases) as monitoring:
        found = Place(tmp_path, monitoring)
        found.project()
        found.run("apply", "-y")
        yield found
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_an_alert_fires_a_correction_is_made_the_alert_decays_and_metrics_improve(place):
    place.corrected()
    found = place.assessed()
    assert (found["phase"], found["reason"]) == ("completed", "full"), found
    components = found["components"]
    assert {name: component["score"] for name, component in components.items()} == {
        "health": 1.0,
        "alerts": 1.0,
        "metrics": 0.6,
    }
    assert components["metrics"]["metric_deltas"] == {"memory_before": 1000.0, "memory_after": 400.0}
    assert found["score"] == pytest.approx(0.40 * 1.0 + 0.35 * 1.0 + 0.25 * 0.6)
    trail = json.loads(place.run("events", "--type", "effectiveness.", "--target", CART, "-o", "json").stdout)
    told = [event["type"].removeprefix("effectiveness.") for event in trail]
    assert told.count("assessment.completed") == 1
    assert "alert_decay.detected" in told, "the alert was still listed when it was first asked for"
    assert place.monitoring.range_queries(), "the real Prometheus was asked"
    assert "good; full, score 0.90" in place.run("remediation", "list", CART).stdout


@pytest.mark.parametrize("place", [never], indirect=True)
def test_a_second_actor_in_the_window_is_spec_drift_and_neither_server_is_asked_afterwards(place):
    place.corrected()
    until_asked = ("remediation", "assess", "--wait", "--timeout", "2s")
    until(
        lambda: place.run(*until_asked) is not None and min(place.monitoring.requests().values()) > 0,
        LONG,
        "until then both are asked: the alert decays",
    )
    place.drift("workers: 4", "workers: 9")
    queries = len(place.monitoring.range_queries())
    asked = place.monitoring.requests()
    found = place.assessed()
    assert (found["reason"], found["score"]) == ("spec_drift", 0.0)
    (integrity,) = [condition for condition in found["conditions"] if condition["type"] == "SpecIntegrity"]
    assert (integrity["status"], integrity["reason"]) == ("False", "SpecDrifted")
    assert place.monitoring.requests() == asked
    assert len(place.monitoring.range_queries()) == queries
    assert "did not hold" in place.run("remediation", "list", CART).stdout


@pytest.mark.parametrize("is_probed, reason, score", [(True, "partial", 1.0), (False, "expired", None)])
def test_with_both_servers_down_there_is_never_a_score_of_theirs(place, monkeypatch, is_probed, reason, score):
    place.project(is_probed=is_probed)
    place.drift("cache: small", "cache: big")
    place.monitoring.stop_servers()
    place.run("apply", "-y")
    if is_probed:
        until(place.health_is_known, LONG, "the probe is not made")
    now = time.time
    monkeypatch.setattr(SystemClock, "now", lambda _clock: now() + 2 * durations.parse(VALIDITY))
    done = invoke("remediation", "assess", "-o", "json", "-f", "infra", cwd=place.folder)
    (record,) = json.loads(done.stdout)
    found = record["assessment"]
    assert (found["reason"], found["score"]) == (reason, score)
    assert [found["components"][name]["score"] for name in ("alerts", "metrics")] == [None, None]
