"""The section `assessment` of the project file: what it says, and what is wrong with it, with line and field."""

from __future__ import annotations

import pytest

from holdfast.errors import InputError
from holdfast.manifests import project
from holdfast.manifests.secrets import FromEnvironment, Resolver
from holdfast.model.address import Address
from holdfast.policy.settings import Assess
from holdfast.remediation.core.alerts import Signal
from holdfast.remediation.core.past_attempts import AttemptLimits
from holdfast.remediation.core.rules import CommandProbe, HttpProbe, TcpProbe
from holdfast.remediation.core.timing import Windows

CART = Address("shop", "Service", "cart")
WHOLE = """\
assessment:
  prometheus: {url: "http://prom:9090", token: {env: TOKEN}, timeout: 3s, lookback: 10m, compared: 1m, step: 5s}
  alertmanager: {url: {env: ALERTS_URL}}
  windows: {stabilisation: 30s, validity: 10m, propagation: 1m, alertDelay: 2m, interval: 10s, retry: 2s}
  patience: 2h
  refuse: {sameState: 4, chained: 3, chainedWithin: 30m, total: 6, within: 1h}
  targets:
    - target: shop/Service/cart
      windows: {stabilisation: 1s}
      alert: {name: HighMemory, labels: {service: $name}}
      queries:
        - {name: memory, query: 'sum(memory_bytes{service="$name",kind="$kind"})'}
        - {name: hits, query: 'sum(rate(hits_total[1m]))', better: higher}
      probes:
        - {http: "http://$name/healthz", status: 204, timeout: 1s}
        - {name: database, tcp: "db:5432"}
        - {command: [./well, $name]}
    - target: Service/*
      alert: Anything
      queries: {workload: {namespace: shop}}
"""


def read(text, tmp_path):
    return project.parse(text.encode(), tmp_path / "holdfast.yaml", "holdfast.yaml")


def test_the_whole_section_is_read(tmp_path):
    found = read(WHOLE, tmp_path).assessment
    rules = found.rules
    assert rules.windows == Windows(30.0, 600.0, 60.0, 120.0, 10.0, 2.0)
    assert rules.windows_for(CART) == Windows(1.0, 600.0, 60.0, 120.0, 10.0, 2.0)
    assert (rules.lookback, rules.compared, rules.step, rules.patience) == (600.0, 60.0, 5.0, 7200.0)
    assert rules.refusal == AttemptLimits(4, 3, 1800.0, 6, 3600.0)
    assert (rules.has_prometheus, rules.has_alertmanager) == (True, True)
    assert (found.prometheus.url, found.prometheus.token, found.prometheus.timeout) == (
        "http://prom:9090",
        FromEnvironment("TOKEN"),
        3.0,
    )
    resolver = Resolver({"TOKEN": "t", "ALERTS_URL": "http://alerts:9093"})
    assert found.prometheus.fetched(resolver) == ("http://prom:9090", "t")
    assert found.alertmanager.fetched(resolver) == ("http://alerts:9093", None)


def test_names_of_the_target_are_filled_in_and_can_never_become_syntax(tmp_path):
    rules = read(WHOLE, tmp_path).assessment.rules
    assert rules.alert_for(CART) == Signal("HighMemory", {"service": "cart"})
    memory, hits = rules.queries_for(CART)
    assert memory.expression == 'sum(memory_bytes{service="cart",kind="Service"})'
    assert (memory.lower_is_better, hits.lower_is_better) == (True, False)
    assert rules.probes_for(CART) == (
        HttpProbe("http", "http://cart/healthz", 204, 1.0),
        TcpProbe("database", "db", 5432),
        CommandProbe("command", ("./well", "cart"), str(tmp_path)),
    )
    sly = read(WHOLE.replace("shop/Service/cart", "shop/Service/*"), tmp_path).assessment.rules
    (query, _) = sly.queries_for(Address("shop", "Service", 'a"} or up{x="'))
    assert 'service="a\\"} or up{x=\\"' in query.expression


def test_the_first_rule_that_says_something_is_heard(tmp_path):
    rules = read(WHOLE, tmp_path).assessment.rules
    other = Address("shop", "Service", "billing")
    assert rules.alert_for(other) == Signal("Anything")
    assert len(rules.queries_for(other)) == 5
    assert rules.probes_for(other) == ()
    nobody = Address("shop", "Network", "core")
    assert (rules.alert_for(nobody), rules.queries_for(nobody)) == (Signal(""), ())


def test_whoever_writes_the_section_has_corrections_assessed_unless_they_say_not(tmp_path):
    given = read("assessment: {}\n", tmp_path).defaults["assess"]
    assert (given.value, "holdfast.yaml:1" in given.source) == (Assess.CORRECTIONS, True)
    said = read("assessment: {}\ndefaults: {assess: off}\n".replace("off", "'off'"), tmp_path)
    assert said.defaults["assess"].value is Assess.OFF
    assert "assess" not in read("store: a.db\n", tmp_path).defaults


def test_presets_for_nodes_and_volumes(tmp_path):
    text = (
        "assessment: {targets: [{target: 'Node/*', queries: {node: $name}}, {target: 'V/*', queries: {volume: $name}}]}"
    )
    rules = read(text, tmp_path).assessment.rules
    assert 'node="n1"' in rules.queries_for(Address("k", "Node", "n1"))[0].expression
    assert 'persistentvolume="v1"' in rules.queries_for(Address("k", "V", "v1"))[0].expression


@pytest.mark.parametrize(
    "section, field, message",
    [
        ("{prometeus: {}}", "/assessment/prometeus", "did you mean prometheus?"),
        ("{prometheus: {}}", "/assessment/prometheus", "url is missing"),
        ("{prometheus: http://x}", "/assessment/prometheus", "a mapping is needed here"),
        ("{prometheus: {url: x}}", "/assessment/prometheus/url", "is not a URL"),
        ("{prometheus: {url: 'http://a:b@x'}}", "/assessment/prometheus/url", "password in clear"),
        ("{alertmanager: {url: 'http://x', token: abc}}", "/assessment/alertmanager/token", "never written here"),
        ("{windows: {validity: 0}}", "/assessment/windows", "must be longer than 0"),
        ("{windows: {stabilisation: 5}}", "/assessment/windows/stabilisation", "has no unit"),
        ("{refuse: {total: 0}}", "/assessment/refuse/total", "from 1 up"),
        ("{targets: [{}]}", "/assessment/targets/0", "target is missing"),
        ("{targets: [{target: '!x'}]}", "/assessment/targets/0/target", "leaves nothing out"),
        ("{targets: [{target: 'a//b'}]}", "/assessment/targets/0/target", "is not a target"),
        ("{targets: [{target: x, alert: {}}]}", "/assessment/targets/0/alert", "name is missing"),
        ("{targets: [{target: x, alert: {name: A, labels: {a-b: c}}}]}", "/assessment/targets/0/alert/labels", "label"),
        ("{targets: [{target: x, queries: [{name: a}]}]}", "/assessment/targets/0/queries/0", "query is missing"),
        ("{targets: [{target: x, queries: [{name: a, query: b, better: up}]}]}", "better", "lower or higher"),
        ("{targets: [{target: x, queries: {}}]}", "/assessment/targets/0/queries", "a list of queries, or one of"),
        ("{targets: [{target: x, probes: [{}]}]}", "/assessment/targets/0/probes/0", "a probe is one of"),
        ("{targets: [{target: x, probes: [{tcp: db}]}]}", "/assessment/targets/0/probes/0/tcp", "a host and a port"),
        ("{targets: [{target: x, probes: [{http: x}]}]}", "/assessment/targets/0/probes/0/http", "is not a URL"),
        ("{targets: [{target: x, probes: [{http: 'http://x', status: 9}]}]}", "status", "a number such as 200"),
        ("{targets: [{target: x, probes: [{tcp: 'a:1', status: 200}]}]}", "status", "only an http probe"),
        ("{targets: [{target: x, probes: [{command: ls}]}]}", "command", "there is no shell"),
        ("{targets: [{target: x, probes: [{tcp: 'a:1'}, {tcp: 'a:2'}]}]}", "probes", "two probes are called tcp"),
    ],
)
def test_a_mistake_is_told_with_file_line_and_field(section, field, message, tmp_path):
    with pytest.raises(InputError) as caught:
        read(f"store: a.db\nassessment: {section}\n", tmp_path)
    text = str(caught.value)
    assert message in text
    assert "holdfast.yaml:2" in text
    assert field in text
