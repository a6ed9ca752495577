"""The section `notify`: whom to tell; every mistake is named with its line and field."""

from __future__ import annotations

import pytest

from holdfast.errors import InputError
from holdfast.manifests import project
from holdfast.manifests.notify_spec import GROUP_FROM, NEVER, SinkSpec, ToCommand, ToFile, Topic, ToWebhook
from holdfast.manifests.secrets import FromEnvironment, FromFile
from holdfast.schema.document import InputErrors

FULL = """\
notify:
  - {file: events.jsonl}
  - {command: [./page, --quiet], on: [drifted, missing]}
  - {webhook: https://hooks.example.org/drift/t0ken, secret: {env: HOOK_SECRET}, group: 1, remind: 24h}
  - {name: pager, webhook: {file: hook-url}, on: contention}
"""


def load(tmp_path, text):
    (tmp_path / "holdfast.yaml").write_text(text)
    return project.load(None, tmp_path)


def test_every_kind_of_sink_is_read(tmp_path):
    file, command, hook, pager = load(tmp_path, FULL).notify
    everything = frozenset(Topic)
    assert file == SinkSpec("file events.jsonl", ToFile(tmp_path / "events.jsonl"), everything, NEVER)
    assert command == SinkSpec(
        "command page",
        ToCommand(("./page", "--quiet"), tmp_path),
        frozenset({Topic.DRIFTED, Topic.MISSING}),
        GROUP_FROM,
    )
    assert hook.target == ToWebhook("https://hooks.example.org/drift/t0ken", FromEnvironment("HOOK_SECRET"))
    assert (hook.on, hook.group, hook.remind) == (everything, 1, 86_400.0)
    assert pager == SinkSpec("pager", ToWebhook(FromFile("hook-url", str(tmp_path))), frozenset({Topic.CONTENTION}))


def test_the_name_of_a_webhook_does_not_show_its_address(tmp_path):
    hook = load(tmp_path, FULL).notify[2]
    assert hook.name.startswith("webhook hooks.example.org (")
    assert "t0ken" not in repr(hook)


def test_without_the_section_nobody_is_told(tmp_path):
    assert load(tmp_path, "").notify == ()
    assert load(tmp_path, "notify:\n").notify == ()
    assert load(tmp_path, "notify: []\n").notify == ()


TOPICS = ", ".join(Topic)
WHERE = "{env: NAME} or {file: path} or {command: [program, argument]}"


@pytest.mark.parametrize(
    "text, field, message",
    [
        ("notify: {file: x}", "/notify", "expected a list, got a mapping"),
        ("notify: [x]", "/notify/0", "expected a mapping, got a string"),
        ("notify: [{}]", "/notify/0", "expected one target: file, command or webhook"),
        ("notify: [{on: drifted}]", "/notify/0", "expected one target: file, command or webhook"),
        ("notify: [{fil: x}]", "/notify/0/fil", "unknown field `fil`; did you mean `file`?"),
        ("notify: [{file: x, command: [y]}]", "/notify/0", "expected one target: file, command or webhook"),
        ("notify: [{file: 5}]", "/notify/0/file", "expected a string, got a number; write it in quotes: file: '5'"),
        ("notify: [{file: x, secret: {env: A}}]", "/notify/0/secret", "only a webhook has a secret to sign with"),
        (
            "notify: [{command: ./page}]",
            "/notify/0/command",
            "expected a list of words: [program, argument, ...]; there is no shell",
        ),
        (
            "notify: [{webhook: 5}]",
            "/notify/0/webhook",
            "expected a string, got a number; write it in quotes: webhook: '5'",
        ),
        (
            "notify: [{webhook: hooks.example}]",
            "/notify/0/webhook",
            "the address is not a URL; write https://host/path",
        ),
        (
            "notify: [{webhook: 'https://[x/'}]",
            "/notify/0/webhook",
            "the address is not a URL; write https://host/path",
        ),
        (
            "notify: [{webhook: 'https://u:p@host/'}]",
            "/notify/0/webhook",
            "the address has a user or password in clear; write {env: NAME} and keep the whole address there",
        ),
        (
            "notify: [{webhook: 'https://host/', secret: s3cret}]",
            "/notify/0/secret",
            f"a secret is never written here, only where to find it: {WHERE}",
        ),
        (
            "notify: [{file: x, on: [drift]}]",
            "/notify/0/on/0",
            f"expected one of {TOPICS}, got 'drift'; did you mean drifted?",
        ),
        ("notify: [{file: x, on: 5}]", "/notify/0/on", f"expected one of {TOPICS}, got a number"),
        (
            "notify: [{file: x, on: []}]",
            "/notify/0/on",
            "expected a list that is not empty; leave the field out for the default",
        ),
        (
            "notify: [{file: x, group: 0}]",
            "/notify/0/group",
            "expected a whole number >= 1",
        ),
        ("notify: [{file: x, remind: 24}]", "/notify/0/remind", "24 has no unit; write 24s, 24m or 24h"),
        (
            "notify: [{file: a/x}, {file: b/x}]",
            "/notify/1",
            "two sinks are called 'file x'; give this one another name: ...",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path, text, field, message):
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    error = caught.value
    assert not isinstance(error, InputErrors), error
    assert (error.location.file, error.location.line, error.location.field) == ("holdfast.yaml", 1, field)
    assert error.message == message


def test_two_sinks_to_files_of_one_name_may_be_told_apart(tmp_path):
    found = load(tmp_path, "notify: [{file: a/x}, {file: b/x, name: other}]").notify
    assert [item.name for item in found] == ["file x", "other"]
