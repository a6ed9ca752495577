"""Answers of an API server: each Status has one meaning, and no value that was sent is repeated."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.model.read_result import ReadError
from holdfast.model.write_result import WriteError
from holdfast.providers.http.client import Answer, Lost
from holdfast.providers.kubernetes import errors


def answer(code: int, message: str = "", *, headers: dict[str, str] | None = None, **details: Any) -> Answer:
    body = {"kind": "Status", "message": message, "details": details}
    return Answer(code, headers or {}, json.dumps(body).encode(), "")


@pytest.mark.parametrize(
    "given, error, words",
    [
        (
            answer(500, "failed to create typed patch object: .spec.replicas: expected numeric"),
            "terminal",
            ".spec.replicas",
        ),
        (answer(500, "etcdserver: leader changed"), "retryable", "leader"),
        (answer(422, "x", causes=[{"field": "spec.a", "reason": "Required"}]), "terminal", "at spec.a"),
        (answer(400, "strict decoding error: unknown field"), "terminal", "correct the manifest"),
        (answer(403, "forbidden"), "denied", "grant the verb"),
        (answer(403, "exceeded quota: q"), "denied", "ResourceQuota"),
        (answer(409, "the object has been modified"), "moved", ""),
        (answer(409, "x", causes=[{"field": ".a", "message": 'conflict with "gitops"'}]), "terminal", "gitops applies"),
        (answer(409, "object is being deleted"), "retryable", ""),
        (answer(429, "slow", retryAfterSeconds=7), "throttled", ""),
        (answer(404, 'namespaces "x" not found'), "retryable", "create its namespace"),
        (answer(413, "too large"), "terminal", "make it smaller"),
        (answer(500, "rpc error: etcdserver: request is too large"), "terminal", "make it smaller"),
        (answer(500, 'failed calling webhook "w"'), "retryable", "does not answer"),
        (answer(400, 'admission webhook "w.example" denied the request: no'), "terminal", "w.example denies"),
        (answer(422, "the server rejected our request due to an error in our request"), "moved", ""),
        (answer(401, "Unauthorized"), "denied", "sign in"),
        (Answer(502, {}, b"<html>", ""), "retryable", "502"),
    ],
)
def test_a_refusal_has_a_meaning_and_advice(given: Answer, error: str, words: str):
    failure = errors.refused(given, "patch deployments web")
    assert failure.refusal is WriteError(error)
    assert words in failure.message


def test_retry_after_is_taken_from_the_status_or_the_header():
    assert errors.refused(answer(429, retryAfterSeconds=7), "x").retry_after_seconds == 7.0
    assert errors.refused(answer(429, headers={"Retry-After": "3"}), "x").retry_after_seconds == 3.0


def test_a_sent_value_is_not_repeated():
    failure = errors.refused(answer(422, "data: Invalid value: hunter22"), "patch", {"data": {"a": "hunter22"}})
    assert "hunter22" not in failure.message


def test_a_forbidden_read_names_verb_kind_and_namespace():
    failure = errors.unreadable(answer(403, "no"), "get services web in namespace shop")
    assert failure.trouble is ReadError.UNAUTHORISED
    assert failure.detail.startswith("get services web in namespace shop is forbidden")


def test_a_lost_answer_leaves_a_write_unsure():
    assert errors.refused(Lost(ReadError.UNREACHABLE, "lost"), "x").is_unsure
    assert not errors.refused(Lost(ReadError.UNREACHABLE, "lost", is_unsent=True), "x").is_unsure
