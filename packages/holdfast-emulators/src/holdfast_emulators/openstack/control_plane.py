"""A control plane: a folder with services that any process may use, as long as one of its owners lives."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Final

from holdfast_emulators.openstack import databases, install, processes
from holdfast_emulators.openstack.configuration import REGION, SERVICES, Layout
from holdfast_emulators.openstack.fault_injection import Disturber
from holdfast_emulators.openstack.install import Say

NETWORKING: Final = ("keystone", "neutron", "glance")
ALL: Final = SERVICES
_LAYOUT: Final = "layout.json"
_NEEDS: Final = {"nova": ("placement", "nova")}  # nova-compute talks to placement while it starts


class ControlPlane:
    """Services in a folder. Several processes may open the same folder, and the first one prepares it."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.disturber = Disturber(layout.folder)

    @classmethod
    def open(
        cls,
        folder: Path,
        services: tuple[str, ...] = NETWORKING,
        *,
        keep: bool = False,
        say: Say = install.silent,
    ) -> ControlPlane:
        """Start the services that are not up yet, and own them. With `keep` they stay up after the last owner ends.

        `say` gets a message about each slow step. Raises Unavailable if the services cannot be installed.
        """
        folder = folder.resolve()
        python = install.environment(say)
        with install.locked(folder / "control.lock"):
            plane = cls(_layout(folder, python, say))
            if keep:
                (folder / "kept").touch()
            (folder / "owners").mkdir(exist_ok=True)
            (folder / "owners" / str(os.getpid())).touch()
        plane.need(*services)
        return plane

    @classmethod
    def at(cls, folder: Path) -> ControlPlane:
        """Return the control plane of a folder as it is."""
        about = json.loads((folder.resolve() / _LAYOUT).read_text())
        return cls(Layout(folder.resolve(), Path(about["python"]), int(about["base_port"])))

    def need(self, *services: str) -> None:
        """Start those services that are not up, with what they need; raise Unavailable if one does not come up."""
        wanted = list(dict.fromkeys(item for name in services for item in _NEEDS.get(name, (name,))))
        with install.locked(self.layout.folder / "control.lock"):
            first = [name for name in wanted if name not in ("nova", "cinder") and not self.is_up(name)]
            processes.spawn(self.layout, first)
            processes.spawn(self.layout, [name for name in wanted if name not in first and not self.is_up(name)])

    def is_up(self, service: str) -> bool:
        """Return True if a service runs."""
        return processes.is_up(self.layout, service)

    def halt(self, *services: str) -> None:
        """Stop services; `need` starts them again, with all their data (but for Nova's hypervisor, which forgets)."""
        processes.stop(self.layout, services)

    def close(self) -> None:
        """Own it no more; the last owner stops everything and removes the folder's state."""
        folder = self.layout.folder
        with install.locked(folder / "control.lock"):
            (folder / "owners" / str(os.getpid())).unlink(missing_ok=True)
            others = [file for file in (folder / "owners").glob("[0-9]*") if processes.is_alive(int(file.name))]
            if not others and not (folder / "kept").exists():
                processes.stop(self.layout)

    def down(self) -> None:
        """Stop everything and remove the folder, even if another process owns it."""
        processes.stop(self.layout)
        shutil.rmtree(self.layout.folder, ignore_errors=True)

    def database(self, name: str) -> Path:
        """Return a database file, for tests that go behind a service's back."""
        return self.layout.var / f"{name}.sqlite"

    def url(self, service: str) -> str:
        """Return the address of a service."""
        return self.layout.url(service)

    def admin(self) -> dict[str, str]:
        """Return how the administrator signs in."""
        return databases.admin(self.layout)


def _layout(folder: Path, python: Path, say: Say) -> Layout:
    """Return the layout of a folder, prepared first if it is empty."""
    file = folder / _LAYOUT
    if file.exists():
        about = json.loads(file.read_text())
        return Layout(folder, Path(about["python"]), int(about["base_port"]))
    layout = Layout(folder, python, processes.free_ports(len(SERVICES)))
    databases.prepare(layout, say)
    clouds = {"clouds": {"local": {"auth": databases.admin(layout), "region_name": REGION}}}
    (folder / "clouds.yaml").write_text(json.dumps(clouds, indent=1))  # JSON is YAML
    file.write_text(json.dumps({"python": str(python), "base_port": layout.base_port}))
    return layout
