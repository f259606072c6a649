"""Datasets of OpenML by id: downloaded, verified, then parsed.

scikit-learn's fetcher parses dense datasets. Sparse ones are read by our own parser, because
scikit-learn 1.9 leaves omitted labels of a sparse file uninitialized.
"""

from __future__ import annotations

import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.core.errors import DataError
from harness.core.model import Table, Task
from harness.data.folders import cache_folder
from harness.data.loader import Loader
from harness.data.openml_files import OpenMLFiles
from harness.data.reading import Reading

if TYPE_CHECKING:
    from harness.data.parsers import Parsed


@dataclass(frozen=True)
class OpenMLLoader(Loader):
    """Loader of one OpenML dataset.

    Attributes
    ----------
    number, version
        OpenML's id, which identifies one version, and that version (0: not checked).
    sha256
        Checksum of the unpacked data file, or "" to pin it at the first download.
    """

    name: str
    task: Task
    number: int
    version: int
    sha256: str
    reading: Reading

    @property
    def exact(self) -> bool:  # type: ignore[override]  # decided by the card
        """Return whether the checksum is declared, so that the declared counts are verified."""
        return bool(self.sha256)

    @property
    def files(self) -> OpenMLFiles:
        """Return the cached answers of OpenML."""
        folder = cache_folder() / "openml" / str(self.number)
        return OpenMLFiles(folder, self.number, self.name)

    def __call__(self, **_: Any) -> Table:
        """Download if needed, verify the bytes, and return the table."""
        from harness.data.cache import locked
        from harness.data.tables import tabulate

        files = self.files
        with locked(f"openml:{self.number}"):
            files.fetch_descriptions()
            self._check_version(files)
            self._fetch_verified(files)
            parsed = self._sparse(files) if files.sparse else self._dense(files)
        return tabulate(parsed, self.reading, self.task, self.name)

    def pins(self) -> dict[str, str]:
        """Return the pinned checksum of the data file if the card has none."""
        from harness.data.remote import pin_of

        return {} if self.sha256 else {self._key: pin_of(self._key)}

    def verify(self) -> None:
        """Do nothing: downloads in the cache are verified."""

    @property
    def _key(self) -> str:
        return f"openml:{self.number}"

    def _check_version(self, files: OpenMLFiles) -> None:
        description = files.description
        if self.version and str(description.get("version")) != str(self.version):
            raise DataError(
                f"{self.name}: OpenML {self.number} is version {description.get('version')} of "
                f"{description.get('name')}, not {self.version}; correct the card"
            )

    def _fetch_verified(self, files: OpenMLFiles) -> None:
        """Download the data file if needed and verify its checksum; delete a wrong new file."""
        from harness.data.remote import pin

        fetched = files.fetch_data()
        try:
            pin(self._key, files.content(), self.name, expected=self.sha256)
        except DataError:
            if fetched:
                files.data.unlink(missing_ok=True)
            raise

    def _dense(self, files: OpenMLFiles) -> Parsed:
        import pandas as pd
        from sklearn.datasets import fetch_openml

        from harness.data.parsers import Parsed

        try:
            with _no_network(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about retries and inactive versions
                bunch = fetch_openml(
                    data_id=self.number,
                    data_home=files.folder,
                    target_column=self.reading.target,
                    as_frame=True,
                    n_retries=1,
                    delay=1e-3,
                )
        except Exception as error:  # noqa: BLE001 - a broken answer may raise anything
            # The fetcher deletes files that it cannot read and tries to download them again.
            first = error.__context__ if isinstance(error, OSError) else None
            reason = " ".join(str(first or error).split())[:300]
            raise DataError(
                f"{self.name} (OpenML {self.number}) cannot be read: {reason}; "
                f"delete {files.folder} and fetch it again"
            ) from None
        frame = bunch.data.copy(deep=False)
        frame[self.reading.target] = bunch.target
        frame.columns = pd.Index([str(column) for column in frame.columns], dtype=object)
        return Parsed(frame)

    def _sparse(self, files: OpenMLFiles) -> Parsed:
        from harness.data.parsers import parse

        idle = tuple(
            str(column["name"])
            for column in files.columns
            if "true" in (column.get("is_ignore"), column.get("is_row_identifier"))
            and column.get("name") != self.reading.target
        )
        options = {"format": "sparse_arff", "drop": (*self.reading.drop, *idle)}
        return parse([files.data], self.reading.model_copy(update=options))


@contextmanager
def _no_network() -> Iterator[None]:
    """Disable the network for ``urllib`` during the body: scikit-learn downloads without a limit.

    ``urllib`` has one global opener per process; it is replaced by one that opens no address.
    """
    before = urllib.request._opener  # type: ignore[attr-defined] # noqa: SLF001 - to restore it
    closed = urllib.request.OpenerDirector()
    closed.add_handler(urllib.request.UnknownHandler())
    urllib.request.install_opener(closed)
    try:
        yield
    finally:
        urllib.request.install_opener(before)
