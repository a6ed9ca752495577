"""A small shop as plain manifests."""

from __future__ import annotations

from typing import Any


def config_map(namespace: str, name: str = "settings", **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data or {"color": "blue", "level": "3"},
    }


def deployment(namespace: str, name: str = "web", **annotations: str) -> dict[str, Any]:
    container = {
        "name": "app",
        "image": "shop/web:1.0",
        "args": ["--port", "80"],
        "env": [{"name": "MODE", "value": "fast"}, {"name": "LEVEL", "value": "1"}],
        "ports": [{"containerPort": 80}],
        "resources": {"requests": {"cpu": "500m", "memory": "1024Mi"}},
    }
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "labels": {"app": name, "tier": "front"}}
    if annotations:
        metadata["annotations"] = {f"holdfast.dev/{key}": value for key, value in annotations.items()}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }


def service(namespace: str, name: str = "web") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]},
    }


def autoscaler(namespace: str, name: str = "web") -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 9},
    }


def definition(group: str, kind: str, scope: str = "Namespaced") -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "size": {"type": "integer", "minimum": 1},
                                        "color": {"type": "string", "default": "grey"},
                                    },
                                }
                            },
                        }
                    },
                }
            ],
        },
    }
