"""The OpenAPI document of a real 1.20.2 server, without its descriptions, and verdicts under the rules of a kind."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from holdfast.compare import diff, profiles, verdict_rules
from holdfast.compare.profiles import RuleSet
from holdfast.model.read_result import Found
from holdfast.model.verdict import Status, Verdict
from holdfast.providers.kubernetes.group_version_kind import GroupVersionKind
from holdfast.providers.kubernetes.schema_rules import rules_for

FILE = Path(__file__).with_name("openapi-1.20.2.json.gz")


@cache
def server() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(gzip.decompress(FILE.read_bytes()))
    return document


@cache
def rules(kind: str, *, from_server: bool = False) -> RuleSet:
    return profiles.stack(rules_for(GroupVersionKind.parse(kind), server() if from_server else None))


def adopted(kind: str | RuleSet, desired: Any, observed: Any) -> Verdict:
    """Give the verdict at the first sight of an object."""
    found = rules(kind) if isinstance(kind, str) else kind
    return verdict_rules.judge(Found(observed), desired, found.tree(desired, observed))


def checked(kind: str | RuleSet, desired: Any, before: Any, now: Any) -> Verdict:
    """Give the verdict on an object that was seen before."""
    found = rules(kind) if isinstance(kind, str) else kind
    baseline = diff.Baseline(desired, before)
    tree = found.tree(desired, now)
    return verdict_rules.judge(Found(now), desired, tree, applied=desired, baseline=baseline)


def is_adopted(kind: str | RuleSet, desired: Any, observed: Any) -> bool:
    return adopted(kind, desired, observed).status is Status.IN_SYNC


def is_unchanged(kind: str | RuleSet, desired: Any, before: Any, now: Any) -> bool:
    return checked(kind, desired, before, now).status is Status.IN_SYNC
