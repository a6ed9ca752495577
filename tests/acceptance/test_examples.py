"""The examples for CI, and the commands on the page about outputs, are ones that our command line takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from holdfast.cli.command_group import cli
from holdfast.compare import yaml_reader
from holdfast.manifests import project
from holdfast.manifests.notify_spec import Topic
from holdfast.model.json import Json
from holdfast.notify import webhook

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples/ci").glob("*.yml"))
PAGE = ROOT / "docs/outputs.md"


def texts(value: Json) -> Iterator[str]:
    """Go through every text in a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for item in value.values() for text in texts(item))
    elif isinstance(value, list):
        yield from (text for item in value for text in texts(item))


def commands(text: str) -> list[list[str]]:
    """Return the holdfast commands of a script as words."""
    joined = re.sub(r"\\\n\s*", " ", text)
    lines = (line.strip() for line in joined.splitlines())
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("holdfast ")]


def accept(words: list[str]) -> dict[str, Json]:
    """Parse the words of a command as the command line does, without running it; return the options."""
    name, *arguments = words
    command = cli.get_command(click.Context(cli), name)
    assert command is not None, f"there is no command {name}"
    return command.make_context(name, arguments).params


def of_example(file: Path) -> list[list[str]]:
    (document,) = yaml_reader.documents(file.read_bytes(), str(file))
    return [words for text in texts(document.value) for words in commands(text)]


def test_there_are_examples_for_both():
    assert [file.name for file in EXAMPLES] == ["github-actions.yml", "gitlab-ci.yml"]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_the_commands_of_an_example_exist_with_their_options(file):
    found = of_example(file)
    assert {words[0] for words in found} == {"check", "plan"}
    for words in found:
        options = accept(words)
        assert options["files"] == ("infra/",)
        assert {name for name, _ in options["output_files"]} >= {"junit"}


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_every_file_that_an_example_uses_is_one_that_a_command_writes(file):
    written = {str(path) for words in of_example(file) for _, path in accept(words)["output_files"]}
    named = set(re.findall(r"\bholdfast\.(?:sarif|xml|md|html)\b", file.read_text(encoding="utf-8")))
    assert named == written


def test_a_command_that_does_not_exist_would_be_noticed():
    with pytest.raises(click.UsageError):
        accept(["check", "--output-fil", "sarif=x"])
    with pytest.raises(AssertionError):
        accept(["chek"])


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_the_commands_on_the_page_exist_with_their_options():
    found = [words for block in blocks("") for words in commands(block)]
    assert len(found) >= 4
    for words in found:
        accept(words)


def test_the_configuration_on_the_page_is_a_project_file(tmp_path):
    sections = [block for block in blocks("yaml") if block.startswith(("# holdfast.yaml", "notify:"))]
    assert sections
    for block in sections:
        (tmp_path / "holdfast.yaml").write_text(block, encoding="utf-8")
        assert project.load(None, tmp_path).notify


def test_the_page_names_every_topic():
    page = PAGE.read_text(encoding="utf-8")
    assert [topic for topic in Topic if f"`{topic.value}`" not in page] == []


def test_the_page_verifies_what_we_sign():
    (program,) = blocks("python")
    space: dict[str, Json] = {}
    exec(program, space)
    body, key = b'{"id": "1"}', b"key"
    headers = {"webhook-id": "1", "webhook-timestamp": "2", "webhook-signature": webhook.sign(key, "1", "2", body)}
    assert space["is_genuine"](key, headers, body)
    assert not space["is_genuine"](b"other", headers, body)
