"""The kit from the command line: `python -m holdfast.testing.conformance my_package.subject:subject`."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import sys
from pathlib import Path
from typing import cast

import orjson

from holdfast.testing.conformance import runner, scenario_catalogue
from holdfast.testing.conformance.provider_under_test import Opening, Subject
from holdfast.testing.conformance.scorecard import ScoreCard

FAILED, USAGE = 1, 64


def main(arguments: list[str] | None = None) -> int:
    """Examine a subject; 0 if everything that was asked passed, 1 if not, 64 if nothing could be asked."""
    options = _parser().parse_args(arguments)
    try:
        subject = _found(options.subject)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        sys.stderr.write(f"{options.subject}: {error}\n")
        return USAGE
    card = asyncio.run(runner.run(subject, options.scenario))
    sys.stdout.write(_rendered(card, options.output) + "\n")
    return 0 if card.is_clean else FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m holdfast.testing.conformance",
        description="Ask of a provider what every provider must do, and print its score card.",
        epilog="Example: python -m holdfast.testing.conformance holdfast_emulators.providers_under_test:http",
    )
    parser.add_argument(
        "subject", metavar="MODULE:NAME", help="a Subject, or what opens one (an async context manager)"
    )
    parser.add_argument("-o", "--output", choices=("text", "json", "markdown"), default="text", help="output format")
    names = ", ".join(scenario_catalogue.ALL)
    parser.add_argument(
        "--scenario",
        action="append",
        default=[],
        choices=list(scenario_catalogue.ALL),
        metavar="NAME",
        help=f"only this one (may be repeated): {names}",
    )
    return parser


def _found(text: str) -> Subject | Opening:
    """Import the subject; the current folder comes first, as with `python -m`."""
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise ValueError("write it as module:name, such as my_package.subject:subject")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    found = getattr(importlib.import_module(module), name)
    if not isinstance(found, Subject) and not callable(found):
        raise TypeError(f"{name} is neither a Subject nor something that opens one")
    return cast("Subject | Opening", found)


def _rendered(card: ScoreCard, output: str) -> str:
    if output == "json":
        return orjson.dumps(card.as_json(), option=orjson.OPT_INDENT_2).decode()
    return card.markdown() if output == "markdown" else card.text()


if __name__ == "__main__":
    sys.exit(main())
