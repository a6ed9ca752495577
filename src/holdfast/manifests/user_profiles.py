"""The user's own profiles, from the folders and files that the project file names, and the code they may name."""

from __future__ import annotations

from holdfast.compare import comparators
from holdfast.compare.profile import Profile
from holdfast.errors import InputError
from holdfast.manifests.project import ProjectFile


def load(project: ProjectFile) -> list[Profile]:
    """Read them, in the order of the project file; raise InputError for the first that cannot be read.

    From here on rules may name the code that the project allows, whether they are read here or come from the store.
    """
    comparators.allow_code(project.allowed_code)
    if not project.profiles:
        return []
    from holdfast.compare import profiles  # noqa: PLC0415

    found: list[Profile] = []
    for folder in project.profiles:
        files = sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]) if folder.is_dir() else [folder]
        for file in files:
            try:
                found += profiles.parse(file.read_bytes(), str(file))
            except OSError as error:
                message = f"the profile {file} cannot be read: {error.strerror or error}"
                raise InputError(message) from None
    return found
