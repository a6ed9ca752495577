"""Runs inside the services' environment: several sub-commands of one tool, which is imported but once.

forked.py MODULE '[["tool", "sub-command", ...], ...]'
"""

from __future__ import annotations

import importlib
import json
import os
import sys

main = importlib.import_module(sys.argv[1]).main
for arguments in json.loads(sys.argv[2]):
    child = os.fork()
    if not child:
        sys.argv = arguments
        sys.exit(main())
    if os.waitpid(child, 0)[1]:
        sys.exit(f"failed: {arguments}")
