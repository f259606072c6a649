"""Folders and limits of the data layer, each with its environment variable.

``HARNESS_CACHE`` is the folder for downloads and parsed tables, ``HARNESS_DATASETS`` the list of
the user's card folders, ``HARNESS_MIRROR`` a folder with a ``MANIFEST.json``, ``HARNESS_MAX_BYTES``
the maximum size of unpacked data, and ``HARNESS_OFFLINE=1`` disables the network.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from harness.core.units import parse_size

APPLICATION = "tree-harness"
MAX_BYTES = 8 * 2**30  # default maximum of an unpacked dataset (HARNESS_MAX_BYTES)
MAX_RATIO = 250  # unpacked ÷ packed; text rarely exceeds 50, a decompression bomb has 1000
ALWAYS_ALLOWED = 256 * 2**20  # unpacked bytes allowed for any ratio


def cache_folder() -> Path:
    """Return the folder for downloads and parsed tables; it may not exist yet."""
    named = os.environ.get("HARNESS_CACHE", "")
    return Path(named) if named else platformdirs.user_cache_path(APPLICATION)


def own_card_folders() -> list[Path]:
    """Return the user's card folders; ``data add`` writes to the first, which may not exist."""
    named = [Path(p) for p in os.environ.get("HARNESS_DATASETS", "").split(os.pathsep) if p]
    return named or [platformdirs.user_config_path(APPLICATION) / "datasets"]


def card_folders() -> list[Path]:
    """Return the folders that cards are read from: the project's own first, then the user's."""
    package = Path(__file__).resolve().parent.parent
    checkout = package.parent / "datasets"
    is_checkout = checkout.is_dir() and (package.parent / "pyproject.toml").is_file()
    folders = [checkout if is_checkout else package / "_cards", *own_card_folders()]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def mirror_folder() -> Path | None:
    """Return the folder named by ``HARNESS_MIRROR``, or None."""
    named = os.environ.get("HARNESS_MIRROR", "")
    return Path(named) if named else None


def max_bytes(packed: int | None = None) -> int:
    """Return the maximum size of unpacked data in bytes.

    Parameters
    ----------
    packed
        Size of the compressed file, if there is one: a file that unpacks to more than
        ``MAX_RATIO`` times its size is treated as a bomb, unless the user sets the limit.
    """
    named = os.environ.get("HARNESS_MAX_BYTES", "")
    if named:
        return parse_size(named)
    if packed is None:
        return MAX_BYTES
    return min(MAX_BYTES, max(ALWAYS_ALLOWED, MAX_RATIO * packed))


def offline() -> bool:
    """Return whether the network is disabled."""
    return os.environ.get("HARNESS_OFFLINE", "") not in ("", "0")
