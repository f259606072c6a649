"""What every dataset of ours is loaded by; light, so that declaring a dataset imports no pandas."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.model import Task
from harness.data.reading import Reading

if TYPE_CHECKING:
    from harness.core.model import Table


class Loader(ABC):
    """How one of our datasets is loaded; its digest determines the table, so it may be cached.

    A stranger's ``load`` is any callable. It is called anew each time, because nothing says that
    its digest changes with its code.
    """

    exact = True  # whether the declared rows and columns were counted, not taken on trust

    @abstractmethod
    def __call__(self, **options: Any) -> Table:
        """Return the table, verified against what the digest was made of."""

    @abstractmethod
    def verify(self) -> None:
        """Raise where data outside the cache is no longer what the digest was made of."""

    def pins(self) -> dict[str, str]:
        """Return the SHA-256 of what the digest only names: by address, "" until it is fetched."""
        return {}


@dataclass(frozen=True)
class File:
    """A file on disk or at an https address, and its SHA-256 ("" at an address: pinned later)."""

    place: str
    sha256: str

    @property
    def is_remote(self) -> bool:
        """Whether the file must be fetched."""
        return self.place.startswith("https://")


@dataclass(frozen=True)
class FilesLoader(Loader):
    """Load a dataset from files, one below the other."""

    name: str
    task: Task
    files: tuple[File, ...]
    reading: Reading

    @property
    def exact(self) -> bool:  # type: ignore[override]  # decided by the files
        """Whether somebody has seen these very bytes and counted."""
        return all(file.sha256 for file in self.files)

    def __call__(self, **_: Any) -> Table:
        """Fetch where needed, verify, parse and make the table."""
        from harness.data.parsers import parse
        from harness.data.tables import tabulate

        self.verify()
        return tabulate(parse(self.paths(), self.reading), self.reading, self.task, self.name)

    def paths(self) -> list[Path]:
        """Return the files on disk, fetching those that are not there yet."""
        from harness.data.remote import download

        return [
            download(file.place, file.sha256, self.name) if file.is_remote else Path(file.place)
            for file in self.files
        ]

    def pins(self) -> dict[str, str]:
        """Return the pin of each file whose card has no checksum of it."""
        from harness.data.remote import pin_of

        return {file.place: pin_of(file.place) for file in self.files if not file.sha256}

    def verify(self) -> None:
        """Hold every file that is not in our own cache against its checksum."""
        from harness.data.streams import check_sha256

        for file in self.files:
            if not file.is_remote:
                check_sha256(Path(file.place), file.sha256)
