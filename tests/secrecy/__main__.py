"""Run the secrecy trial; see `trial`."""

from __future__ import annotations

import sys

from tests.secrecy.trial import main

if __name__ == "__main__":
    sys.exit(main())
