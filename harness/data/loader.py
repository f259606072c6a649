"""Loaders of the built-in datasets; this module does not import pandas, to be fast."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.model import Table, Task
from harness.data.reading import Reading


class Loader(ABC):
    """Loader of a dataset whose digest determines the table, so that the table may be cached.

    A third-party ``load`` may be any callable. It is called each time, because its digest may not
    change with its code.
    """

    exact = True  # whether the declared numbers of rows and columns are verified

    @abstractmethod
    def __call__(self, **options: Any) -> Table:
        """Return the table, verified against the digest."""

    @abstractmethod
    def verify(self) -> None:
        """Raise DataError if data outside the cache no longer matches the digest."""

    def pins(self) -> dict[str, str]:
        """Return address → SHA-256 of downloads without a declared one; "" before the download."""
        return {}


@dataclass(frozen=True)
class File:
    """File on disk or at an https address, and its SHA-256 ("": pinned at the first download)."""

    place: str
    sha256: str

    @property
    def is_remote(self) -> bool:
        """Whether the file must be fetched."""
        return self.place.startswith("https://")


@dataclass(frozen=True)
class FilesLoader(Loader):
    """Loader of a dataset from files, which are concatenated."""

    name: str
    task: Task
    files: tuple[File, ...]
    reading: Reading

    @property
    def exact(self) -> bool:  # type: ignore[override]  # decided by the files
        """Return whether all checksums are declared, so that the declared counts are verified."""
        return all(file.sha256 for file in self.files)

    def __call__(self, **_: Any) -> Table:
        """Download if needed, verify and parse the files; return the table."""
        from harness.data.parsers import parse
        from harness.data.tables import tabulate

        self.verify()
        return tabulate(parse(self.paths(), self.reading), self.reading, self.task, self.name)

    def paths(self) -> list[Path]:
        """Return the paths of the files; download missing ones."""
        from harness.data.remote import download

        return [
            download(file.place, file.sha256, self.name) if file.is_remote else Path(file.place)
            for file in self.files
        ]

    def pins(self) -> dict[str, str]:
        """Return the pinned checksum of each file without a declared one."""
        from harness.data.remote import pin_of

        return {file.place: pin_of(file.place) for file in self.files if not file.sha256}

    def verify(self) -> None:
        """Verify the checksum of every local file outside the cache."""
        from harness.data.streams import check_sha256

        for file in self.files:
            if not file.is_remote:
                check_sha256(Path(file.place), file.sha256)
