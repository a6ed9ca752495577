"""`holdfast demo`: a tour that needs nothing but this package."""

from __future__ import annotations

import click

from holdfast import canonical_spec_hash
from holdfast.cli import findings, output
from holdfast.compare import diff, profiles, verdicts
from holdfast.model.json import Json
from holdfast.model.reading import Found, Trouble, Unreadable

_PROFILE = """
profile: demo/vault
version: 1
rules:
  - {path: /location, compare: region, why: the service answers West US 2 to westus2}
  - {path: /etag, class: runtime}
  - {path: /accessPolicies, list: {keyed: [objectId]}}
  - {path: /accessPolicies/*/permissions, list: set}
"""
_DECLARED: Json = {
    "location": "westus2",
    "sku": "standard",
    "accessPolicies": [{"objectId": "ops", "permissions": ["get", "list", "set"]}],
}
_SETTLED: Json = {
    "location": "West US 2",
    "sku": "standard",
    "softDelete": True,
    "retentionDays": 90,
    "accessPolicies": [{"objectId": "ops", "permissions": ["list", "get", "set"]}],
    "etag": "W/1",
}


@click.command("demo")
def demo_command() -> None:
    """Take a self-contained tour: a declaration, what a service made of it, and who moved what since."""
    rules = profiles.stack(profiles.parse(_PROFILE)).tree()
    baseline = diff.Baseline(_DECLARED, _SETTLED)
    _say("A vault was declared, and this is its canonical hash, whatever the order of its keys:")
    output.line(f"  {canonical_spec_hash(_DECLARED)}")
    for title, desired, observed in _scenes():
        _say(title)
        findings.show_verdict(verdicts.judge(Found(observed), desired, rules, applied=_DECLARED, baseline=baseline))
    _say("The service does not answer. What cannot be read is neither missing nor drifted:")
    unread = Unreadable(Trouble.TIMEOUT, "no answer within 10 s")
    findings.show_verdict(verdicts.judge(unread, _DECLARED, rules, applied=_DECLARED, baseline=baseline))


def _scenes() -> list[tuple[str, Json, Json]]:
    noise = {**_SETTLED, "location": "westus2", "etag": "W/2"}
    noise["accessPolicies"] = [{"objectId": "ops", "permissions": ["set", "get", "list"]}]
    edited = {**_SETTLED, "sku": "premium", "retentionDays": 7}
    intruder = {
        **_SETTLED,
        "accessPolicies": [*_SETTLED["accessPolicies"], {"objectId": "eve", "permissions": ["get"]}],
    }
    return [
        ("The service respelt, reordered and stamped things. Nobody changed anything:", _DECLARED, noise),
        ("Someone edited a declared field, and a default that nobody declared:", _DECLARED, edited),
        ("Someone gave themselves access:", _DECLARED, intruder),
        ("You now declare the retention yourself:", {**_DECLARED, "retentionDays": 30}, _SETTLED),
    ]


def _say(text: str) -> None:
    output.line()
    output.line(text, bold=True)
