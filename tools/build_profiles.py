"""Write `profiles.json` of every provider from the YAML files in its folder `profiles`.

usage: python tools/build_profiles.py

A test compares the two, so that an edit of a profile without this step is seen.
"""

from __future__ import annotations

from pathlib import Path

import orjson

from holdfast.compare import profiles
from holdfast.providers import builtin_profiles


def build(folder: Path) -> bytes:
    """Return the profiles of a provider's folder as JSON; raise InputError for a mistake in one of them."""
    found = [
        profile
        for file in sorted(folder.joinpath("profiles").glob("*.yaml"))
        for profile in profiles.parse(file.read_bytes(), str(file))
    ]
    return orjson.dumps([profile.raw for profile in found], option=orjson.OPT_INDENT_2) + b"\n"


def main() -> None:
    """Write the file of each provider that has profiles."""
    for folder in sorted(Path(builtin_profiles.__file__).parent.iterdir()):
        if folder.joinpath("profiles").is_dir():
            folder.joinpath(builtin_profiles.FILE).write_bytes(build(folder))


if __name__ == "__main__":
    main()
