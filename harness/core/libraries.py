"""Machine id and library versions for trial ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version


@dataclass(frozen=True)
class Surroundings:
    """Machine id and version lookup for trial ids; passed in, so that planning stays pure."""

    machine: str = ""
    version_of: Callable[[str], str] = lambda _: ""


def installed_version(distribution: str) -> str:
    """Return the version of an installed distribution, or "absent"."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "absent"
