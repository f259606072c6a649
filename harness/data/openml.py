"""Datasets of OpenML by their number, through scikit-learn's fetcher, kept and pinned here."""

from __future__ import annotations

import hashlib
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.data.loader import Loader
from harness.data.places import cache_folder
from harness.data.reading import Reading
from harness.errors import DataError
from harness.model import Task

if TYPE_CHECKING:
    from harness.data.parsers import Parsed
    from harness.model import Table

_TIMEOUT = 60.0  # seconds without a byte; the fetcher itself knows no limit


@dataclass(frozen=True)
class OpenMLLoader(Loader):
    """Load one OpenML dataset.

    Attributes
    ----------
    number, version
        OpenML's id, which names one version for good, and that version (0: not checked).
    sha256
        Checksum of the unpacked data file, or "" to pin it at the first fetch.
    """

    name: str
    task: Task
    number: int
    version: int
    sha256: str
    reading: Reading

    @property
    def exact(self) -> bool:  # type: ignore[override]  # decided by the card
        """Whether somebody has seen these very bytes and counted."""
        return bool(self.sha256)

    def __call__(self, **_: Any) -> Table:
        """Fetch where needed, verify the bytes, and make the table."""
        from harness.data.cache import locked
        from harness.data.remote import pin
        from harness.data.tables import tabulate

        with locked(f"openml:{self.number}"):
            bunch = self._fetch()
            pin(f"openml:{self.number}", self.content(), self.name, expected=self.sha256)
        found = bunch.details
        if self.version and str(found.get("version")) != str(self.version):
            raise DataError(
                f"{self.name}: OpenML {self.number} is version {found.get('version')} of "
                f"{found.get('name')}, not {self.version}; correct the card"
            )
        return tabulate(_parsed(bunch, self.reading, self.name), self.reading, self.task, self.name)

    def verify(self) -> None:
        """Do nothing: what was fetched lies in the cache, verified."""

    @property
    def folder(self) -> Path:
        """Return the folder that holds what OpenML answered."""
        return cache_folder() / "openml" / str(self.number)

    def files(self) -> list[Path]:
        """Return the data file as it was fetched; none before the first fetch."""
        found = self.folder.rglob("*.gz")
        return sorted(f for f in found if "api" not in f.relative_to(self.folder).parts)

    def content(self) -> str:
        """Return the SHA-256 of the unpacked data file."""
        from harness.data.streams import open_data

        digest = hashlib.sha256()
        for path in self.files():
            with open_data(path) as file:
                while chunk := file.read(2**20):
                    digest.update(chunk)
        return digest.hexdigest()

    def _fetch(self) -> Any:
        from sklearn.datasets import fetch_openml

        from harness.data.remote import check_online, unreachable

        if not self.files():
            check_online(self.name)
        try:
            with _time_limit(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about retries and inactive versions
                return fetch_openml(
                    data_id=self.number,
                    data_home=self.folder,
                    target_column=self.reading.target,
                    n_retries=1,
                )
        except OSError as error:
            raise DataError(unreachable(self.name, error)) from None
        except Exception as error:  # noqa: BLE001 - whatever a broken answer makes of the fetcher
            reason = " ".join(str(error).split())[:300]
            raise DataError(
                f"{self.name} (OpenML {self.number}) cannot be read: {reason}; "
                f"delete {self.folder} and fetch it again"
            ) from None


def _parsed(bunch: Any, reading: Reading, name: str) -> Parsed:
    import pandas as pd

    from harness.data.parsers import Parsed

    if not isinstance(bunch.data, pd.DataFrame):
        # scikit-learn 1.9 leaves the labels that sparse ARFF does not write out uninitialised.
        raise DataError(
            f"{name} is a sparse set of OpenML, whose targets scikit-learn does not read "
            "reliably; fetch it as svmlight and add it with `harness data add`"
        )
    frame = bunch.data.copy(deep=False)
    frame[reading.target] = bunch.target
    frame.columns = pd.Index([str(column) for column in frame.columns], dtype=object)
    return Parsed(frame)


@contextmanager
def _time_limit() -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_TIMEOUT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
