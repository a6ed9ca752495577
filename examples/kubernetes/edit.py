"""Edits as kubectl makes them, each under the manager of kubectl: set image, scale, label, edit, delete."""

from __future__ import annotations

import json
import ssl
import urllib.request
from pathlib import Path
from typing import Any

Json = Any

CONFIG = json.loads(Path(".cluster/kubeconfig").read_text())
CLUSTER = CONFIG["clusters"][0]["cluster"]
TLS = ssl.create_default_context(cafile=CLUSTER["certificate-authority"])


def send(method: str, path: str, body: Json = None, patch: str = "merge", manager: str = "kubectl-edit") -> None:
    """Send one request to the API server."""
    headers = {
        "Authorization": f"Bearer {CONFIG['users'][0]['user']['token']}",
        "Content-Type": f"application/{patch}-patch+json",
    }
    url = f"{CLUSTER['server']}{path}?fieldManager={manager}"
    data = None if body is None else json.dumps(body).encode()
    urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), context=TLS).close()


WEB = "/apis/apps/v1/namespaces/shop/deployments/web"
CONTAINER = {"containers": [{"name": "web", "image": "shop/web:hotfix"}]}

send("PATCH", WEB, {"spec": {"template": {"spec": CONTAINER}}}, "strategic-merge", "kubectl-set")
send("PATCH", f"{WEB}/scale", {"spec": {"replicas": 5}}, manager="kubectl-scale")
send("PATCH", WEB, {"metadata": {"labels": {"owner": "red-team"}}}, manager="kubectl-label")
send("PATCH", "/api/v1/namespaces/shop/configmaps/settings", {"data": {"currency": "USD", "debug": "on"}})
send("DELETE", "/api/v1/namespaces/shop/services/web")
