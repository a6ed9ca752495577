"""The environment of the demo: a shop behind an API, some files, and the declarations of both."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from holdfast.testing.rest_data import Shape

PROJECT = """\
connections:
  shop:
    provider: http
    base_url: {url}
    timeout_seconds: 0.5
    kinds:
      Widget:
        read: {{path: "/widgets/{{id}}"}}
        create: {{method: POST, path: /widgets, id: /id}}
        update: {{method: PATCH, path: "/widgets/{{id}}", body: merge}}
        delete: {{path: "/widgets/{{id}}"}}
        list: {{path: /widgets, items: /items, id: /id, next: {{cursor: {{pointer: /nextCursor, param: cursor}}}}}}
        etag: header
        conditional: true
        attribution: {{who: /updated_by, at: /updated_at}}
        profile:
          rules:
            - {{path: /id, class: identity}}
            - {{path: /revision, class: runtime}}
            - {{path: /createdAt, class: runtime}}
            - {{path: /updated_by, class: runtime}}
            - {{path: /updated_at, class: runtime}}
            - {{path: /state, class: runtime}}
            - {{path: /tags, list: set}}
            - {{path: /region, compare: region}}
  files: {{provider: file, root: live}}
corrections:
  massDrift: {{share: 50%, atLeast: 10}} # so much in an hour is more likely one cause than many
  contention: {{reverts: 2, backoff: 0s}} # reverted twice and changed again: another writer wants another value
"""
FREEZE = """\
  windows:
    - freeze: {from: 2026-01-01, until: 2099-12-31}
      reason: year-end freeze
"""
STRATEGY = """\
apiVersion: holdfast.dev/v1
kind: Strategy
metadata: {name: demo}
spec:
  defaults: {resyncPeriod: 1h}
"""
COLOURS = ("red", "orange", "yellow", "green", "blue", "indigo", "violet", "black", "white", "grey", "pink", "brown")
SHAPES = {
    "widgets": Shape(
        defaults={"size": "medium", "replicas": 1},
        stamps=("id", "createdAt", "revision", "state", "updated_by", "updated_at"),
        sorted_lists=("tags",),
        lowered=("region",),
    )
}


def write(folder: Path, url: str) -> None:
    """Write the project and twenty declarations over both providers."""
    (folder / "infra").mkdir(parents=True)
    (folder / "live").mkdir()
    (folder / "holdfast.yaml").write_text(PROJECT.format(url=url))
    (folder / "infra" / "strategy.yaml").write_text(STRATEGY)
    (folder / "infra" / "widgets.yaml").write_text("---\n".join(widget(colour) for colour in COLOURS))
    (folder / "infra" / "files.yaml").write_text("---\n".join(_files()))


def widget(name: str, resync: str | None = None) -> str:
    """Return the manifest of a widget, with the comments that people write."""
    options = f"  managedOptions: {{resyncPeriod: {resync}}}\n" if resync else ""
    return (
        "apiVersion: http.holdfast.dev/v1\nkind: Widget\n"
        f'metadata: {{name: {name}, labels: {{tier: "1"}}}}\n'
        f"spec:\n  connection: shop\n{options}  resource:\n"
        f"    name: {name}\n    # ask the brand team before you change this\n"
        f"    color: {name} # as in the brand book\n    region: West-EU\n    tags: [{name}, demo, shop]\n"
    )


def _files() -> Iterable[str]:
    for name in ("web", "worker", "mailer", "cron", "cache", "search", "audit"):
        yield (
            "apiVersion: file.holdfast.dev/v1\nkind: Document\n"
            f"metadata: {{name: {name}}}\nspec:\n  connection: files\n  resource:\n"
            f"    path: {name}.yaml\n    content:\n      name: {name}\n      port: 80{len(name)}0\n"
            "      log: {level: info}\n"
        )
    yield (
        "apiVersion: file.holdfast.dev/v1\nkind: Text\nmetadata: {name: motd}\nspec:\n"
        "  connection: files\n  resource:\n    path: motd\n    content: |\n"
        "      The blue widget is ${shop/Widget/blue.color} and has id ${shop/Widget/blue.id}.\n"
    )
