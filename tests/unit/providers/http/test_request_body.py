"""Bodies: what the fast ways decide is what the slow ones would have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare.profiles import build, stack
from holdfast.model.json import Json
from holdfast.providers.http import request_body
from tests import strategies

FINGERPRINT = "hmac-sha256:00ff"
texts = st.text(max_size=4) | st.sampled_from([FINGERPRINT, f"x{FINGERPRINT}", f'"{FINGERPRINT}', "hmac-sha256"])
bodies = strategies.documents(strategies.scalars | texts | st.just(2**70))


@given(bodies, st.booleans())
def test_the_bytes_of_a_body_show_every_fingerprint(body: Json, is_key: bool):
    document = {FINGERPRINT: body} if is_key else {"here": body}
    data = request_body.encoded(document)
    assert request_body.sends_fingerprints(data, document) == request_body.holds_fingerprints(document)


@pytest.mark.parametrize("document", [FINGERPRINT, [FINGERPRINT], {"a": {"b": FINGERPRINT}}, {FINGERPRINT: 1}])
def test_a_fingerprint_is_seen_wherever_it_stands(document: Json):
    assert request_body.sends_fingerprints(request_body.encoded(document), document)


@pytest.mark.parametrize(
    "rules, sent",
    [
        ([], {"a": {"b": 1}, "c": [1]}),
        ([{"path": "/a/b", "class": "identity"}], {"a": {"b": 1}, "c": [1]}),
        ([{"path": "/a/b", "class": "read_only"}], {"a": {}, "c": [1]}),
        ([{"path": "/c", "class": "runtime"}], {"a": {"b": 1}, "c": [1]}),
    ],
)
def test_only_fields_that_a_rule_keeps_back_are_left_out_of_a_create(rules: list[Json], sent: Json):
    document = {"a": {"b": 1}, "c": [1]}
    tree = stack([build({"profile": "t", "version": 1, "rules": rules})]).tree()
    assert request_body._without_unsent(document, document, tree) == sent
