"""Documents as a check meets them: Deployments of 2, 4 and 10 KB, long lists and deep maps of 100 KB.

Made from fixed seeds, so every run and every machine measures the same documents.
"""

from __future__ import annotations

import json
import random

from holdfast.model.json import Json

WORDS = ("api", "cache", "queue", "worker", "auth", "billing", "search", "index", "mail", "report", "ledger", "audit")


def documents() -> dict[str, Json]:
    """Return all inputs by name."""
    return {
        "2 KB": deployment(1, containers=1, variables=1, mounts=1),
        "4 KB": deployment(2, containers=2, variables=3, mounts=2),
        "10 KB": deployment(3, containers=4, variables=9, mounts=6),
        "100 KB lists": routes(4, rules=216),
        "100 KB maps": schema(5, properties=5),
    }


def compact(document: Json) -> bytes:
    """Return a document as a server would send it."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def deployment(seed: int, containers: int, variables: int, mounts: int) -> Json:
    """Return the spec of a Kubernetes Deployment."""
    rng = random.Random(seed)
    labels = {"app.kubernetes.io/name": "storefront", "app.kubernetes.io/part-of": "shop", "tier": "backend"}
    anti_affinity = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
    pod = {
        "serviceAccountName": "storefront",
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "terminationGracePeriodSeconds": 30,
        "containers": [_container(rng, f"{WORDS[i]}-{i}", variables, mounts) for i in range(containers)],
        "tolerations": [
            {"key": "dedicated", "operator": "Equal", "value": "shop", "effect": "NoSchedule"},
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
        ],
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": anti_affinity}]
            }
        },
        "volumes": [{"name": f"vol-{i}", "configMap": {"name": f"cm-{i}", "defaultMode": 420}} for i in range(mounts)],
    }
    return {
        "replicas": rng.randrange(2, 12),
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
        "selector": {"matchLabels": labels},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
        "template": {
            "metadata": {"labels": labels, "annotations": {"prometheus.io/scrape": "true", "note": "größe ✓"}},
            "spec": pod,
        },
    }


def routes(seed: int, rules: int) -> Json:
    """Return a spec like that of an HTTPRoute: one long list, the worst case where order does not count."""
    rng = random.Random(seed)
    return {
        "parentRefs": [{"name": "edge", "namespace": "infra"}],
        "hostnames": [f"{word}.example.com" for word in WORDS],
        "rules": [_rule(rng, number) for number in range(rules)],
    }


def schema(seed: int, properties: int) -> Json:
    """Return a spec like that of a CustomResourceDefinition: maps within maps, strings with quotes."""
    rng = random.Random(seed)

    def node(depth: int) -> Json:
        if not depth:
            text = f'The {rng.choice(WORDS)} of the {rng.choice(WORDS)} "{rng.randrange(99)}".'
            return {"type": rng.choice(["string", "integer", "boolean"]), "description": text}
        names = [f"{rng.choice(WORDS)}{rng.choice(WORDS).title()}{i}" for i in range(6)]
        return {"type": "object", "required": names[:3], "properties": {name: node(depth - 1) for name in names}}

    root = {"type": "object", "properties": {f"p{i}": node(3) for i in range(properties)}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}]
    return {"group": "shop.example.com", "scope": "Namespaced", "versions": versions}


def _container(rng: random.Random, name: str, variables: int, mounts: int) -> Json:
    return {
        "name": name,
        "image": f"registry.example.com/{rng.choice(WORDS)}/{name}:1.{rng.randrange(40)}.{rng.randrange(20)}",
        "imagePullPolicy": "IfNotPresent",
        "args": [f"--listen=:{rng.randrange(8000, 9000)}", "--log-level=info", f"--shard={rng.randrange(64)}"],
        "ports": [
            {"name": "http", "containerPort": 8080, "protocol": "TCP"},
            {"name": "metrics", "containerPort": 9090, "protocol": "TCP"},
        ],
        "env": [_variable(rng, number) for number in range(variables)],
        "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}},
        "livenessProbe": _probe(rng, "/healthz"),
        "readinessProbe": _probe(rng, "/ready"),
        "volumeMounts": [
            {"name": f"vol-{i}", "mountPath": f"/etc/{rng.choice(WORDS)}/{i}", "readOnly": True} for i in range(mounts)
        ],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
        },
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }


def _variable(rng: random.Random, number: int) -> Json:
    name = f"{rng.choice(WORDS)}_{rng.choice(WORDS)}_{number}".upper()
    kind = rng.random()
    if kind < 0.6:
        return {"name": name, "value": f"{rng.choice(WORDS)}-{rng.randrange(10**6)}.svc.cluster.local:8080"}
    if kind < 0.85:
        reference = {"name": f"{rng.choice(WORDS)}-config", "key": name.lower(), "optional": False}
        return {"name": name, "valueFrom": {"configMapKeyRef": reference}}
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": f"{rng.choice(WORDS)}-secret", "key": "token"}}}


def _probe(rng: random.Random, path: str) -> Json:
    return {
        "httpGet": {"path": path, "port": 8080, "scheme": "HTTP"},
        "initialDelaySeconds": rng.randrange(5, 30),
        "periodSeconds": 10,
        "timeoutSeconds": 1,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


def _rule(rng: random.Random, number: int) -> Json:
    headers = [
        {"name": "x-tenant", "value": f"t{rng.randrange(99)}", "type": "Exact"},
        {"name": "x-region", "value": "eu-west-1", "type": "Exact"},
    ]
    path = {"type": "PathPrefix", "value": f"/v{rng.randrange(4)}/{rng.choice(WORDS)}/{number}"}
    added = {"set": [{"name": "x-route", "value": f"r{number}"}]}
    return {
        "matches": [{"path": path, "headers": headers, "method": rng.choice(["GET", "POST"])}],
        "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": added}],
        "backendRefs": [
            {"name": f"{rng.choice(WORDS)}-{rng.randrange(9)}", "port": 8080, "weight": weight} for weight in (90, 10)
        ],
        "timeouts": {"request": "10s", "backendRequest": "2.5s"},
    }
