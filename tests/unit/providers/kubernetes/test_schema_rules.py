"""The rules of a kind: what a server respells, drops, fills in and owns, and what is a difference all the same."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from holdfast.compare import profiles
from holdfast.errors import InputError
from holdfast.model.verdict import Status
from holdfast.providers.kubernetes import schema_document, type_facts
from holdfast.providers.kubernetes.group_version_kind import GroupVersionKind
from holdfast.providers.kubernetes.schema_rules import of_facts, of_server, rules_for, rules_without_facts
from tests.unit.providers.kubernetes.documents import adopted, checked, is_adopted, is_unchanged, rules, server

DEPLOYMENT = "apps/v1/Deployment"
SERVICE = "v1/Service"
WIDGET = GroupVersionKind("example.com", "v1", "Widget")
QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+))))?$"


def pod(**fields: Any) -> Any:
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx"}], **fields}}}}


def container(**fields: Any) -> Any:
    return pod(containers=[{"name": "c", **fields}])


def ports(*listed: Any) -> Any:
    return {"spec": {"ports": list(listed)}}


# -- spelling


@pytest.mark.parametrize(
    "declared, live, same",
    [
        ("1000m", "1", True), ("1024Mi", "1Gi", True), (0.5, "500m", True), ("0.1", "100m", True), (2, "2", True),
        ("1Gi", "1G", False), ("1000m", "1001m", False),
    ],
)  # fmt: skip
def test_quantities_are_compared_by_their_amount(declared, live, same):
    desired, observed = (container(resources={"limits": {"cpu": amount}}) for amount in (declared, live))
    assert is_adopted(DEPLOYMENT, desired, observed) is same
    assert is_unchanged(DEPLOYMENT, desired, desired, observed) is same


def test_a_number_equals_its_text_only_where_the_schema_says_int_or_string():
    assert is_adopted(SERVICE, ports({"port": 80, "targetPort": "8080"}), ports({"port": 80, "targetPort": 8080}))
    assert not is_adopted(SERVICE, ports({"port": 80, "nodePort": "30080"}), ports({"port": 80, "nodePort": 30080}))
    assert not is_adopted("v1/ConfigMap", {"data": {"a": "1"}}, {"data": {"a": 1}})


def test_times_and_bytes_are_compared_by_what_they_mean():
    lease = "coordination.k8s.io/v1/Lease"
    given, live = "2020-01-01T01:00:00.000000+01:00", "2020-01-01T00:00:00.000000Z"
    assert is_adopted(lease, {"spec": {"acquireTime": given}}, {"spec": {"acquireTime": live}})
    assert is_adopted("v1/ConfigMap", {"binaryData": {"z": "AAEC\nAw=="}}, {"binaryData": {"z": "AAECAw=="}})
    assert not is_adopted("v1/ConfigMap", {"data": {"z": "AAEC\nAw=="}}, {"data": {"z": "AAECAw=="}})


def test_a_secret_is_compared_by_its_bytes_and_its_clear_text_is_never_returned():
    desired = {"data": {"a": "YWJj"}, "stringData": {"b": "x"}}
    assert is_adopted("v1/Secret", desired, {"data": {"a": "YWJj", "b": "eA=="}})
    (finding,) = adopted("v1/Secret", desired, {"data": {"a": "YWJk"}}).findings
    assert (finding.path, finding.cls.value) == (("data", "a"), "secret")


# -- keys that are filled in


def test_an_element_that_lacks_a_defaulted_key_is_the_one_that_has_the_default():
    desired = ports({"port": 53, "protocol": "UDP", "name": "u"}, {"port": 53, "name": "t"})
    live = ports({"port": 53, "protocol": "TCP", "name": "t"}, {"port": 53, "protocol": "UDP", "name": "u"})
    assert is_adopted(SERVICE, desired, live)
    renamed = ports({"port": 53, "protocol": "TCP", "name": "other"}, live["spec"]["ports"][1])
    (finding,) = adopted(SERVICE, desired, renamed).findings
    assert (finding.desired, finding.observed) == ("t", "other")
    assert not is_adopted(SERVICE, desired, ports(live["spec"]["ports"][1])), "the TCP port is missing"


def test_containers_match_by_name_and_arguments_by_their_place():
    two = [{"name": "a", "args": ["--x", "--y"]}, {"name": "b"}]
    before = pod(containers=two)
    assert is_unchanged(DEPLOYMENT, before, before, pod(containers=two[::-1]))
    swapped = pod(containers=[{"name": "a", "args": ["--y", "--x"]}, {"name": "b"}])
    assert not is_unchanged(DEPLOYMENT, before, before, swapped)
    assert not is_adopted(DEPLOYMENT, before, swapped)


# -- nothing, and zero


def test_zeros_that_the_server_drops_are_no_difference_and_zeros_that_it_keeps_are():
    dropped = pod(hostNetwork=False, hostPID=False, nodeSelector={}, tolerations=[], priorityClassName="")
    assert is_adopted(DEPLOYMENT, dropped, pod())
    for kept in ({"runAsUser": 0}, {"runAsNonRoot": False}):
        assert not is_adopted(DEPLOYMENT, pod(securityContext=kept), pod(securityContext={})), kept
    assert not is_adopted(DEPLOYMENT, pod(hostNetwork=False), pod(hostNetwork=True))
    assert not is_adopted(DEPLOYMENT, pod(hostNetwork=True), pod())


def test_a_kept_zero_that_was_removed_is_drift_after_a_baseline():
    before = container(securityContext={"allowPrivilegeEscalation": False})
    assert not is_unchanged(DEPLOYMENT, before, before, container(securityContext={}))


def test_null_is_absence():
    desired = {"metadata": {"labels": None}, **pod(nodeName=None)}
    desired["spec"]["template"]["metadata"] = {"creationTimestamp": None, "labels": {"a": "b"}}
    live = pod()
    live["spec"]["template"]["metadata"] = {"labels": {"a": "b"}}
    assert is_adopted(DEPLOYMENT, desired, live)


def test_an_empty_selector_says_something_and_an_empty_map_of_labels_does_not():
    policy = "networking.k8s.io/v1/NetworkPolicy"
    peers = [{"podSelector": {"matchLabels": {"a": "b"}}, "namespaceSelector": {}}]
    before = {"spec": {"podSelector": {}, "ingress": [{"from": peers}]}}
    narrowed = {"spec": {"podSelector": {}, "ingress": [{"from": [{"podSelector": {"matchLabels": {"a": "b"}}}]}]}}
    assert not is_unchanged(policy, before, before, narrowed), "all namespaces became its own"
    assert not is_unchanged(policy, narrowed, narrowed, before), "its own namespace became all"
    assert is_unchanged(policy, {"metadata": {"labels": {}}}, {"metadata": {}}, {"metadata": {"labels": {}}})


def test_lists_without_a_key_are_declared_as_a_whole():
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    wider = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    assert not is_adopted("rbac.authorization.k8s.io/v1/Role", {"rules": [rule]}, {"rules": [rule, wider]})
    assert is_adopted(DEPLOYMENT, pod(), pod(volumes=[{"name": "added"}])), "a keyed list may have others' elements"


# -- what the server and its controllers own


def test_what_the_machinery_owns_is_not_compared():
    owned = {
        "uid": "1", "resourceVersion": "2", "generation": 3, "creationTimestamp": "2020-01-01T00:00:00Z",
        "managedFields": [{"manager": "m"}], "owners": {"m": ["/spec"]}, "selfLink": "/x",
        "ownerReferences": [{"uid": "u"}], "finalizers": ["kubernetes.io/pvc-protection"],
        "annotations": {"deployment.kubernetes.io/revision": "4",
                        "kubectl.kubernetes.io/last-applied-configuration": "{}"},
    }  # fmt: skip
    desired = {"metadata": {"name": "n", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{...}",
                                                         "holdfast.dev/on-drift": "report"}}}  # fmt: skip
    before = {"metadata": {"name": "n"}, "status": {"replicas": 1}}
    assert is_unchanged(DEPLOYMENT, desired, before, {"metadata": {"name": "n", **owned}, "status": {"replicas": 2}})


def test_a_label_or_annotation_that_nobody_declared_is_drift_after_a_baseline_and_not_before():
    desired, labelled = {"metadata": {"name": "n"}}, {"metadata": {"name": "n", "labels": {"x": "y"}}}
    assert is_adopted(DEPLOYMENT, desired, labelled)
    assert not is_unchanged(DEPLOYMENT, desired, desired, labelled)
    restarted = pod()
    restarted["spec"]["template"]["metadata"] = {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}
    assert not is_unchanged(DEPLOYMENT, pod(), pod(), restarted)


@pytest.mark.parametrize(
    "kind, path, first, second",
    [
        (SERVICE, ("spec", "clusterIP"), "10.0.0.1", "10.0.0.2"),
        (SERVICE, ("spec", "healthCheckNodePort"), 30001, 30002),
        ("v1/Pod", ("spec", "nodeName"), "node-1", "node-2"),
        ("v1/PersistentVolumeClaim", ("spec", "volumeName"), "pv-1", "pv-2"),
        ("v1/PersistentVolume", ("spec", "claimRef"), {"name": "a"}, {"name": "b"}),
        ("v1/ServiceAccount", ("secrets",), [{"name": "sa-token-1"}], []),
        ("apiregistration.k8s.io/v1/APIService", ("spec", "caBundle"), "QQ==", "Qg=="),
    ],
)
def test_what_a_controller_fills_in_late_is_no_drift_and_a_later_change_is(kind, path, first, second):
    def having(value: Any) -> Any:
        document: Any = value
        for step in reversed(path):
            document = {step: document}
        return document

    nothing: Any = {path[0]: {}} if len(path) > 1 else {}
    assert is_unchanged(kind, {}, nothing, having(first))
    assert not is_unchanged(kind, {}, having(first), having(second))
    assert not is_unchanged(kind, {}, having(first), nothing), "it was removed"


def test_a_controller_finishes_what_was_declared_in_part():
    desired = {"spec": {"claimRef": {"namespace": "n", "name": "c"}}}
    live = {"spec": {"claimRef": {"namespace": "n", "name": "c", "uid": "1", "kind": "PersistentVolumeClaim"}}}
    assert is_unchanged("v1/PersistentVolume", desired, desired, live)
    mine = {"secrets": [{"name": "mine"}]}
    both = {"secrets": [{"name": "mine"}, {"name": "sa-token-1"}]}
    assert is_unchanged("v1/ServiceAccount", mine, mine, both)
    assert not is_unchanged("v1/ServiceAccount", mine, mine, {"secrets": [{"name": "sa-token-1"}]})


def test_a_declared_zero_asks_the_server_to_choose():
    asked, given = ports({"port": 80, "nodePort": 0}), ports({"port": 80, "protocol": "TCP", "nodePort": 30080})
    assert is_adopted(SERVICE, asked, given)
    assert not is_unchanged(SERVICE, asked, given, ports({"port": 80, "protocol": "TCP", "nodePort": 30081}))


def test_an_aggregated_role_has_its_rules_from_others():
    role = "rbac.authorization.k8s.io/v1/ClusterRole"
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    aggregated = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    assert is_unchanged(role, aggregated, aggregated, {**aggregated, "rules": [rule]})
    assert not is_unchanged(role, {}, {}, {"rules": [rule]})


# -- custom resources, and documents of newer servers


def widget_document(**fields: Any) -> Any:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    kinds = [{"group": "example.com", "version": "v1", "kind": "Widget"}]
    return {"components": {"schemas": {"com.example.v1.Widget": {**schema, schema_document.KINDS: kinds}}}}


def widget_rules(**fields: Any) -> profiles.RuleSet:
    return profiles.stack(rules_for(WIDGET, widget_document(**fields)))


def spec(**fields: Any) -> Any:
    return {"spec": fields}


def test_a_custom_resource_is_kept_as_written_so_that_zero_and_empty_differ_from_absence():
    found = widget_rules(enabled={"type": "boolean"}, selector={"type": "object", "properties": {}})
    assert not is_adopted(found, spec(enabled=False), spec())
    assert not is_unchanged(found, spec(selector={}), spec(selector={}), spec())
    assert is_adopted(found, spec(enabled=None), spec())


def test_the_lists_of_a_custom_resource_follow_its_own_schema():
    item = {"type": "object", "properties": {"name": {"type": "string"}, "proto": {"type": "string", "default": "TCP"}}}
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "proto"]}
    found = widget_rules(
        parts={"type": "array", "items": item, **keyed},
        tags={"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        steps={"type": "array", "items": item},
    )
    a, b = {"name": "a"}, {"name": "b", "proto": "UDP"}
    assert is_adopted(found, spec(parts=[a, b]), spec(parts=[b, {"name": "a", "proto": "TCP"}]))
    assert is_adopted(found, spec(tags=["x", "y"]), spec(tags=["y", "x"]))
    assert not is_adopted(found, spec(steps=[a, b]), spec(steps=[b, a]))


def test_a_key_that_is_filled_in_without_a_published_default_is_matched_by_the_rest_of_it():
    """Version 2 of the document does not have the defaults of custom resources."""
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "proto"]}
    item = {"type": "object", "properties": {"name": {"type": "string"}, "proto": {"type": "string"}}}
    found = widget_rules(parts={"type": "array", "items": item, **keyed})
    tcp, udp = {"name": "a", "proto": "TCP"}, {"name": "a", "proto": "UDP"}
    assert is_adopted(found, spec(parts=[{"name": "a", "v": 1}]), spec(parts=[{**tcp, "v": 1}]))
    assert not is_adopted(found, spec(parts=[{"name": "a", "v": 1}]), spec(parts=[{**tcp, "v": 2}]))
    assert is_adopted(found, spec(parts=[{"name": "a"}, udp]), spec(parts=[udp, tcp])), "the other one is taken"
    assert not is_adopted(found, spec(parts=[{"name": "a"}]), spec(parts=[tcp, udp])), "it may be either"
    assert not is_adopted(found, spec(parts=[{"name": "b"}]), spec(parts=[tcp]))
    desired = spec(parts=[{"name": "a", "v": 1}])
    before = spec(parts=[{**tcp, "v": 1}])
    (finding,) = checked(found, desired, before, spec(parts=[{**tcp, "v": 2}])).findings
    assert (finding.desired, finding.observed, finding.cls.value) == (1, 2, "specified")
    assert not is_unchanged(found, desired, before, spec(parts=[{**udp, "v": 1}]))


def test_quantities_and_ports_of_a_custom_resource_are_known_by_their_schema():
    either = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    found = widget_rules(memory={**either, "pattern": QUANTITY}, port=either, text={"type": "string"})
    assert is_adopted(found, spec(memory="1024Mi", port="80"), spec(memory="1Gi", port=80))
    assert not is_adopted(found, spec(text="1024Mi"), spec(text="1Gi"))


def test_a_reference_beside_a_default_is_followed_in_version_3():
    named = {name: schema for name, schema in server()["definitions"].items() if ".core.v1." in name}
    service = "io.k8s.api.core.v1.Service"
    kinds = server()["definitions"][service][schema_document.KINDS]
    properties = {"spec": {"default": {}, "allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.ServiceSpec"}]}}
    schemas = {**named, service: {"type": "object", "properties": properties, schema_document.KINDS: kinds}}
    found = profiles.stack(rules_for(GroupVersionKind("", "v1", "Service"), {"components": {"schemas": schemas}}))
    a, b = {"port": 1, "protocol": "TCP"}, {"port": 2, "protocol": "TCP"}
    assert is_unchanged(found, ports(a, b), ports(a, b), ports(b, a))


def test_a_default_of_the_schema_counts_where_a_value_is_missing():
    found = widget_rules(size={"type": "string", "default": "small"})
    assert is_adopted(found, spec(size="small"), spec())
    assert not is_adopted(found, spec(size="large"), spec())


def test_a_schema_inside_itself_ends():
    crd = "apiextensions.k8s.io/v1/CustomResourceDefinition"
    assert len(rules(crd, from_server=True).rules) < 600


@pytest.mark.parametrize(
    "said",
    [
        None, "x", [], {"properties": {"a": None}}, {"properties": None}, {"$ref": "#/definitions/none"}, {"allOf": []},
        {"type": "array", "items": [{"type": "string"}]}, {"type": "array", "x-kubernetes-list-type": ["a"]},
        {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [1]},
        {"type": "string", "format": 3, "default": []}, {"additionalProperties": True}, {"type": ["string", "null"]},
        {"properties": {"a[b]*/~": {"type": "array", "x-kubernetes-list-type": "set"}, "": {"type": "object"}}},
    ],
)  # fmt: skip
def test_what_is_no_schema_says_nothing(said):
    found = widget_rules(odd=said)
    assert is_adopted(found, spec(odd={"a": 1}), spec(odd={"a": 1}))
    assert not is_adopted(found, spec(odd={"a": 1}), spec(odd={"a": 2}))


@pytest.mark.parametrize("named", [None, {}, {schema_document.KINDS: ["x"]}, {schema_document.KINDS: {"group": 1}}])
def test_a_definition_that_is_none_is_passed_over(named):
    openapi = {"definitions": {"odd": named, **widget_document()["components"]["schemas"]}}
    assert any(profile.is_schema for profile in rules_for(WIDGET, openapi))


@pytest.mark.parametrize("openapi", [{}, {"definitions": None}, {"components": {}}, widget_document()])
def test_a_document_that_does_not_know_a_kind_leaves_the_general_rules(openapi):
    gadget = GroupVersionKind("example.com", "v1", "Gadget")
    assert [profile.name for profile in rules_for(gadget, openapi)] == ["kubernetes/general"]


# -- without a document


def test_the_shipped_facts_say_what_the_servers_own_document_says():
    for kind in schema_document.kinds(server()):
        shipped, said = of_facts(kind), of_server(kind, server())
        if shipped is not None and said is not None:
            assert shipped.rules == said.rules, kind
    assert len(schema_document.kinds(type_facts.openapi())) > 80


def test_a_kind_of_a_newer_server_takes_the_facts_of_an_older_version_of_it():
    for newer in ("batch/v1/CronJob", "policy/v1/PodDisruptionBudget", "autoscaling/v2/HorizontalPodAutoscaler"):
        assert any(profile.is_schema for profile in rules_for(GroupVersionKind.parse(newer), None)), newer
    cron = {"spec": {"jobTemplate": {"spec": pod(hostNetwork=False)["spec"]}}}
    assert is_adopted("batch/v1/CronJob", cron, {"spec": {"jobTemplate": {"spec": pod()["spec"]}}})


def test_without_any_facts_the_lists_of_pods_are_known_by_their_names():
    found = profiles.stack(rules_without_facts(GroupVersionKind.parse(DEPLOYMENT)))
    desired = container(ports=[{"containerPort": 80}], resources={"limits": {"cpu": "1000m"}}, tty=False)
    live = container(ports=[{"containerPort": 80, "protocol": "TCP"}], resources={"limits": {"cpu": "1"}})
    assert is_adopted(found, desired, live)
    assert checked(found, desired, live, container(ports=[])).status is Status.DRIFTED


def test_every_profile_can_be_kept_and_read_again():
    for kind in schema_document.kinds(type_facts.openapi()):
        for profile in rules_for(kind, None):
            assert profiles.build(profile.raw) == profile


def test_nothing_is_unpacked_before_a_kind_is_asked_for():
    code = (
        "import holdfast.cli, sys; from holdfast.providers.kubernetes import schema_rules, type_facts;"
        "print(type_facts.openapi.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


@pytest.mark.parametrize("text", ["Deployment", "a/b/c/d", "/v1/Service", "", "apps//Deployment"])
def test_a_text_that_is_no_kind_is_refused(text):
    with pytest.raises(InputError, match="is not a kind"):
        GroupVersionKind.parse(text)


def test_a_kind_is_written_as_it_is_read():
    for text in ("v1/Service", DEPLOYMENT):
        assert str(GroupVersionKind.parse(text)) == text
    assert GroupVersionKind.parse(DEPLOYMENT).api_version == "apps/v1"
