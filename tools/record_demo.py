"""Record the demo as a picture for the README.

usage: python tools/record_demo.py docs/demo.svg
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 118


def main() -> None:
    """Run the demo in colour and draw what it printed."""
    run = subprocess.run(
        [sys.executable, "-m", "holdfast", "demo"],
        env={**os.environ, "FORCE_COLOR": "1", "NO_COLOR": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi("$ holdfast demo\n" + run.stdout))
    picture = console.export_svg(title="holdfast demo")
    picture = re.sub(r"@font-face\s*\{.*?\}\s*", "", picture, flags=re.DOTALL)  # nothing is fetched from elsewhere
    Path(sys.argv[1]).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
