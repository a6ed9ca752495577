"""Replace Prometheus and Alertmanager: the memory of the service depends on its configuration, live/cart.yaml.

python monitoring.py PORT
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

CONFIGURATION = Path(__file__).parent / "live/cart.yaml"
LAG = 3.0  # seconds for which an alert still fires after its cause has ended
samples: list[tuple[float, int]] = []


def scrape() -> None:
    """Take samples for ever, as Prometheus does."""
    while True:
        big = CONFIGURATION.exists() and "cache: big" in CONFIGURATION.read_text()
        samples.append((time.time(), 1000 if big else 400))
        time.sleep(0.2)


def memory(at: float) -> int:
    """Return the last sample before the given time."""
    return next((value for taken, value in reversed(samples) if taken <= at), 400)


class Monitoring(BaseHTTPRequestHandler):
    """Answer the requests to both servers."""

    def do_GET(self) -> None:
        """Answer a query for samples, for alerts, or for readiness."""
        url = urlsplit(self.path)
        asked = {key: values[0] for key, values in parse_qs(url.query).items()}
        if url.path == "/api/v1/query_range":
            start, end, step = (float(asked[key]) for key in ("start", "end", "step"))
            times = [start + number * step for number in range(int((end - start) / step) + 1)]
            series = {"metric": {}, "values": [[at, str(memory(at))] for at in times if at >= samples[0][0]]}
            body = {"status": "success", "data": {"resultType": "matrix", "result": [series]}}
        elif url.path == "/api/v2/alerts":
            is_high = any(value > 900 for taken, value in samples if taken >= time.time() - LAG)
            labels = {"alertname": "HighMemory", "service": "cart"}
            body = [{"labels": labels, "status": {"state": "active"}}] if is_high else []
        else:  # /-/ready, and /healthz of the service
            body = "ok"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""


threading.Thread(target=scrape, daemon=True).start()
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Monitoring).serve_forever()
