"""What the fake APIs can do with each kind of thing, and how holdfast.yaml describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.documents import Document


@dataclass(frozen=True)
class KindSpec:
    """What an API can do with one kind of thing."""

    name: str
    by_name: bool = False  # PUT to a name makes it; else POST makes it and the id is in the answer
    key: bool = False  # takes an idempotency key
    lists: bool = True
    finds: bool = True
    etag: bool = False
    patches: bool = True
    defaults: Mapping[str, Any] = field(default_factory=dict)
    late: Mapping[str, tuple[float, Any]] = field(default_factory=dict)  # field -> (seconds, value)
    hidden: tuple[str, ...] = ()  # taken, never shown
    fixed: tuple[str, ...] = ()  # only at birth
    attribution: bool = False

    def described(self) -> Document:
        """Return what holdfast.yaml says about it."""
        path = f"/{self.name}"
        one = path + ("/{name}" if self.by_name else "/{id}")
        rules: list[Document] = [{"path": "/rev", "class": "runtime"}]
        if self.attribution:
            rules.append({"path": "/updated_by", "class": "read_only"})
        rules += [{"path": f"/{item}", "class": "write_only"} for item in self.hidden]
        rules += [{"path": f"/{item}", "class": "create_only"} for item in self.fixed]
        out: Document = {
            "read": {"path": one},
            "create": {"method": "PUT", "path": one} if self.by_name else {"method": "POST", "path": path, "id": "/id"},
            "update": {"method": "PATCH", "path": one, "body": "merge"}
            if self.patches
            else {"method": "PUT", "path": one},
            "delete": {"path": one},
            "profile": {"rules": [*rules, {"path": "/id", "class": "read_only"}]},
        }
        if self.lists:
            out["list"] = {"path": path, "items": "/items", "id": "/name" if self.by_name else "/id"}
            if self.finds and not self.by_name:
                out["find"] = {"by": ["/name"]}
        if self.key:
            out["idempotency_header"] = "Idempotency-Key"
        if self.etag:
            out |= {"etag": "header", "conditional": True}
        if self.attribution:
            out["attribution"] = {"who": "/updated_by"}
        return out


KINDS = {
    item.name: item
    for item in (
        KindSpec("Document"),
        KindSpec("Plain", defaults={"tier": "std"}),
        KindSpec("Keyed", key=True, defaults={"tier": "std", "zone": "a"}),
        KindSpec("Named", by_name=True, etag=True, patches=False, defaults={"tier": "std"}),
        KindSpec("Blind", lists=False, finds=False),
        KindSpec("Late", key=True, late={"endpoint": (60.0, "x.sim")}),
        KindSpec("Hidden", key=True, hidden=("password",), defaults={"tier": "std"}),
        KindSpec("Signed", key=True, attribution=True),
        KindSpec("Fixed", key=True, fixed=("zone",)),
    )
}
