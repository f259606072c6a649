"""What trial ids need to know of the machine and its installed libraries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version


@dataclass(frozen=True)
class Surroundings:
    """What ids need to know of the machine, given from outside so that planning stays pure."""

    machine: str = ""
    version_of: Callable[[str], str] = lambda _: ""


def installed_version(distribution: str) -> str:
    """Return the version of an installed distribution, or "absent"."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "absent"
