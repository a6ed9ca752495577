"""The kit from the command line: `python -m holdfast.testing.conformance my_module:under_test`."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import sys
from pathlib import Path
from typing import cast

import orjson

from holdfast.testing.conformance import runner, scenario_catalogue
from holdfast.testing.conformance.provider_under_test import OpenProvider, ProviderUnderTest
from holdfast.testing.conformance.scorecard import ScoreCard

FAILED, USAGE = 1, 64


def main(arguments: list[str] | None = None) -> int:
    """Run the kit; return 0 if all scenarios passed, 1 if one failed, 64 if the provider could not be loaded."""
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
        description="Run the conformance scenarios on a provider and print its score card.",
        epilog="Example: python -m holdfast.testing.conformance holdfast_emulators.providers_under_test:http",
    )
    parser.add_argument(
        "subject",
        metavar="MODULE:NAME",
        help="a ProviderUnderTest, or a function that opens one (an async context manager)",
    )
    parser.add_argument("-o", "--output", choices=("text", "json", "markdown"), default="text", help="output format")
    names = ", ".join(scenario_catalogue.ALL)
    parser.add_argument(
        "--scenario",
        action="append",
        default=[],
        choices=list(scenario_catalogue.ALL),
        metavar="NAME",
        help=f"run only this scenario (may be repeated): {names}",
    )
    return parser


def _found(text: str) -> ProviderUnderTest | OpenProvider:
    """Import the provider under test; the current folder comes first, as with `python -m`."""
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise ValueError("write it as module:name, such as my_module:under_test")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    found = getattr(importlib.import_module(module), name)
    if not isinstance(found, ProviderUnderTest) and not callable(found):
        raise TypeError(f"{name} is neither a ProviderUnderTest nor a function that opens one")
    return cast("ProviderUnderTest | OpenProvider", found)


def _rendered(card: ScoreCard, output: str) -> str:
    if output == "json":
        return orjson.dumps(card.as_json(), option=orjson.OPT_INDENT_2).decode()
    return card.markdown() if output == "markdown" else card.text()


if __name__ == "__main__":
    sys.exit(main())
