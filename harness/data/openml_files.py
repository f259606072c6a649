"""Downloads of OpenML's answers about a dataset, with a size limit and written atomically.

scikit-learn's fetcher keeps answers in a folder, but it has no size limit, leaves partial files if
it is killed, and parses before the checksum is verified. So the folder is filled here in the
fetcher's layout.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast
from urllib.error import HTTPError
from urllib.parse import urlsplit

from harness.core.errors import DataError
from harness.core.model import JSON
from harness.data.streams import open_data
from harness.data.writing import sweep

API = "https://www.openml.org/api/v1/json/data"
_PART = ".part-"  # prefix of unfinished downloads
_UNKNOWN = (404, 412)  # OpenML replies 412 for an unknown id
_LONGEST_PATH = 500


@dataclass(frozen=True)
class OpenMLFiles:
    """Answers about one dataset, in a separate folder."""

    folder: Path
    number: int  # OpenML's id
    name: str  # of the dataset, for messages

    @property
    def description(self) -> JSON:
        """Return OpenML's description of the dataset: version, format, address, MD5."""
        return self._answer(f"{API}/{self.number}", "data_set_description")

    @property
    def sparse(self) -> bool:
        """Return whether the data file is sparse."""
        return str(self.description.get("format")).lower() == "sparse_arff"

    @property
    def columns(self) -> list[JSON]:
        """Return OpenML's description of each column: name, kind, whether it identifies rows."""
        url = f"{API}/features/{self.number}"
        features = self._answer(url, "data_features").get("feature")
        if not isinstance(features, list) or not all(map(_is_named, features)):
            raise self._unreadable(url)
        return features

    @property
    def data(self) -> Path:
        """Return the path of the downloaded data file."""
        return self._place(self._address())

    def is_here(self) -> bool:
        """Return whether the data file has been downloaded."""
        with suppress(DataError, OSError):
            return self.data.is_file()
        return False

    def fetch_descriptions(self) -> None:
        """Download the descriptions if they are not cached; the caller holds the lock."""
        self._sweep()
        self._fetch(f"{API}/{self.number}")
        self._fetch(f"{API}/features/{self.number}")
        if not self.sparse:
            self._fetch(f"{API}/qualities/{self.number}")

    def fetch_data(self) -> bool:
        """Download the data file if it is not cached; return whether that was needed.

        Raises
        ------
        DataError
            If it cannot be downloaded, is too large, or does not match OpenML's checksum.
        """
        if not self._fetch(self._address()):
            return False
        expected = str(self.description.get("md5_checksum", ""))
        md5 = self._digest(hashlib.md5(usedforsecurity=False))
        if md5 != expected:
            self.data.unlink()
            raise DataError(
                f"{self.name}: the data of OpenML {self.number} has MD5 {md5}, not {expected} "
                "as OpenML states; it was deleted: fetch it again"
            )
        return True

    def content(self) -> str:
        """Return the SHA-256 of the unpacked data file."""
        try:
            return self._digest(hashlib.sha256())
        except DataError as error:
            raise DataError(f"{error}; delete {self.folder} and fetch it again") from None

    def _digest(self, digest: Any) -> str:
        with open_data(self.data) as file:
            while chunk := file.read(2**20):
                digest.update(chunk)
        return str(digest.hexdigest())

    def _address(self) -> str:
        """Return the https address of the data."""
        parts = urlsplit(str(self.description.get("url", "")))
        return parts._replace(scheme="https").geturl()

    def _place(self, url: str) -> Path:
        """Return the path where scikit-learn expects the answer of an address."""
        path = PurePosixPath(urlsplit(url).path.lstrip("/"))
        invalid = ".." in path.parts or "\0" in str(path) or len(str(path)) > _LONGEST_PATH
        if invalid or not path.parts:
            raise DataError(
                f"{self.name}: OpenML returns an invalid address for its data: {url[:80]!r}"
            )
        return self.folder / "openml" / "openml.org" / f"{path}.gz"

    def _answer(self, url: str, key: str) -> JSON:
        try:
            with open_data(self._place(url)) as file:
                content = json.load(file)[key]
        except (DataError, ValueError, KeyError, TypeError, RecursionError, OSError):
            content = None
        if not isinstance(content, dict):
            raise self._unreadable(url)
        return content

    def _unreadable(self, url: str) -> DataError:
        return DataError(
            f"{self.name}: the answer of OpenML in {self._place(url)} cannot be read; "
            f"delete {self.folder} and fetch it again"
        )

    def _fetch(self, url: str) -> bool:
        """Download the answer of an address if not cached; return whether that was needed."""
        from harness.data.remote import check_online, fetch_https, unreachable

        place = self._place(url)
        if place.is_file():
            return False
        check_online(self.name, url)
        part = place.with_name(f"{_PART}{uuid.uuid4().hex}")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with part.open("xb") as raw:
                with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6) as packed:
                    fetch_https(url, cast("IO[bytes]", packed))
                raw.flush()
                os.fsync(raw.fileno())
            part.replace(place)
        except OSError as error:
            if isinstance(error, HTTPError) and error.code in _UNKNOWN:
                reason = f"OpenML has no dataset {self.number}: {error.reason}"
                raise DataError(f"{self.name}: {reason}; correct the card") from None
            raise unreachable(self.name, url, error) from None
        finally:
            part.unlink(missing_ok=True)
        return True

    def _sweep(self) -> None:
        """Remove unfinished downloads of killed processes."""
        for pattern in ("**/tmp*", f"**/{_PART}*"):  # the first by scikit-learn itself
            sweep(self.folder, pattern, older=0)


def _is_named(column: object) -> bool:
    return isinstance(column, dict) and isinstance(column.get("name"), str)
