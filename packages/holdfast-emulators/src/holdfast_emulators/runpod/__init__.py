"""A RunPod of our own: a local server that behaves as the real one was seen, or is documented, to behave.

Belongs here: the platform's rules (`world`, `platform`, `saving`, `restbodies`), the doors to it (`rest`, `graphql`,
`legacy`), and what tests need to disturb it (`faults`, `console`, `controlling`). Must not be here: anything of the
provider, so that the two cannot agree on the same mistake.
"""

from __future__ import annotations

from holdfast.testing.socket_server import running
from holdfast_emulators.runpod.catalog import Catalogue
from holdfast_emulators.runpod.console import Console
from holdfast_emulators.runpod.faults import Fault, Script, Wrong
from holdfast_emulators.runpod.limits import Limits
from holdfast_emulators.runpod.objects import Access, Account
from holdfast_emulators.runpod.server import TOKEN, USER, Entry, RunPodServer
from holdfast_emulators.runpod.service import Habits, World

__all__ = [
    "TOKEN",
    "USER",
    "Access",
    "Account",
    "Catalogue",
    "Console",
    "Entry",
    "Fault",
    "Habits",
    "Limits",
    "RunPodServer",
    "Script",
    "World",
    "Wrong",
    "running",
]
