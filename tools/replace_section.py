"""Replace one generated section of a Markdown page by what comes on standard input.

usage: COMMAND | python tools/replace_section.py PAGE NAME

The section stands between `<!-- begin generated: NAME -->` and `<!-- end generated: NAME -->`; the rest of the page is
left alone. Empty input changes nothing and fails, so that a broken generator cannot blank a page.
"""

from __future__ import annotations

import sys
from pathlib import Path


def replace(page: str, name: str, body: str) -> str:
    """Return `page` with the text between the marks of section `name` replaced by `body`."""
    begin, end = f"<!-- begin generated: {name} -->", f"<!-- end generated: {name} -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise SystemExit(f"the page needs exactly one pair of marks {begin} ... {end}")
    head, rest = page.split(begin)
    _, tail = rest.split(end)
    return f"{head}{begin}\n\n{body.strip()}\n\n{end}{tail}"


def main() -> None:
    """Read standard input whole, then write the page in one go."""
    if len(sys.argv) != 3:
        raise SystemExit("usage: COMMAND | python tools/replace_section.py PAGE NAME")
    path, name = Path(sys.argv[1]), sys.argv[2]
    body = sys.stdin.read()
    if not body.strip():
        raise SystemExit(f"nothing came on standard input; {path} is unchanged")
    path.write_text(replace(path.read_text(encoding="utf-8"), name, body), encoding="utf-8")


if __name__ == "__main__":
    main()
