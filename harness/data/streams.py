"""Open files that may be compressed, hostile or broken, and compute their checksums."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import re
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from harness.core.errors import DataError
from harness.data.fact_cache import recall, remember
from harness.data.folders import max_bytes
from harness.data.reading import Strict
from harness.data.safe_names import shown

_CHUNK = 2**20
_REMEMBERED = 16 * 2**20  # bytes; smaller files are hashed each time
_SETTLED = 2.0  # minimum age of a file in seconds before its stamp is trusted
_MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"PAR1", "parquet"),
    (b"\x89HDF", "hdf5"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_OPENERS: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
COMPRESSIONS = (*_OPENERS, "zip")


def magic(path: Path) -> str:
    """Return the kind of a file by its first bytes: a compression, ``pickle``, … or ``""``."""
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    # Pickle protocols 2 to 5 open with 0x80 and their number; no text encoding has that start.
    if len(head) > 1 and head[0] == 0x80 and 2 <= head[1] <= 5:
        return "pickle"
    return next((kind for start, kind in _MAGIC if head.startswith(start)), "")


def check_path(path: Path) -> None:
    """Raise DataError for a path that is not UTF-8, because it cannot be stored."""
    whole = str(path.absolute())
    try:
        whole.encode()
    except UnicodeEncodeError:
        raise DataError(
            f"the path {os.fsencode(whole)!r} is not UTF-8; rename the file or its folder"
        ) from None


def check_readable(path: Path) -> None:
    """Raise DataError, with advice, if a path is not a non-empty regular file."""
    try:
        if path.is_dir():
            raise DataError(f"{path} is a folder; name the data file in it")
        if not path.exists():
            is_address = re.match(r"https?:/", str(path)) is not None  # Path drops a slash
            wanted = "download the file and pass its path" if is_address else "check the path"
            raise DataError(f"no file {path}; {wanted}")
        if not path.is_file():
            raise DataError(f"{path} is not a regular file")
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty (0 bytes)")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{str(path)[:200]!r} cannot be read: {reason}") from None


def packed_size(path: Path) -> int | None:
    """Return the size of a compressed file, None for other files."""
    return path.stat().st_size if magic(path) in COMPRESSIONS else None


class _Capped(io.RawIOBase):
    """Reader that raises DataError if a file is corrupt or unpacks to too much.

    Parsers may convert the error; ``fault`` keeps the original one.
    """

    def __init__(self, inner: IO[bytes], path: Path, limit: int) -> None:
        self._inner = inner
        self._path = path
        self._limit = limit
        self._left = limit
        self.fault: DataError | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._inner.read(len(buffer))
        except Exception as error:
            # zlib.error, EOFError, LZMAError, OSError
            self.fault = DataError(f"{self._path} is corrupt or cut short: {error}")
            raise self.fault from error
        self._left -= len(data)
        if self._left < 0:
            self.fault = DataError(
                f"{self._path} unpacks to more than {self._limit:,} bytes, which may be a "
                "decompression bomb; set HARNESS_MAX_BYTES=20GiB (or so) if it is not"
            )
            raise self.fault
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._inner.close()
        super().close()


@contextmanager
def open_data(path: Path, member: str = "") -> Iterator[IO[bytes]]:
    """Open a file for reading, unpacked if it is gzip, bzip2, xz or zip, with a size limit.

    Parameters
    ----------
    member
        The file to read inside a zip archive; it is not extracted to disk.

    Raises
    ------
    DataError
        If the stream is corrupt or too large, even if the parser raised another error.
    """
    kind = magic(path)
    with path.open("rb") as raw:
        inner = _unpacked(raw, kind, path, member)
        packed = None if inner is raw else path.stat().st_size
        capped = _Capped(inner, path, max_bytes(packed))
        try:
            with io.BufferedReader(capped, _CHUNK) as stream:
                yield stream
        except Exception:
            if capped.fault is not None:
                raise capped.fault from None
            raise


def _unpacked(raw: IO[bytes], kind: str, path: Path, member: str) -> IO[bytes]:
    if kind in _OPENERS:
        unpacked: IO[bytes] = _OPENERS[kind](raw, "rb")
        return unpacked
    if kind != "zip":
        return raw
    if not member:
        raise DataError(f"{path} is a zip archive; unpack it and name the data file in it")
    try:
        return zipfile.ZipFile(raw).open(member)
    except (KeyError, RuntimeError, NotImplementedError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: {shown(member)} cannot be read: {error}") from None


class _Stamp(Strict):
    """File status that changes with the content; programs cannot set ``ctime`` back."""

    device: int
    inode: int
    size: int
    mtime: int  # nanoseconds
    ctime: int


class _Hashed(Strict):
    stamp: _Stamp
    sha256: str


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, 64 hex digits.

    A large file with an unchanged stamp is not read again, as in git's index. A stamp younger than
    two seconds is not trusted.
    """
    check_readable(path)
    stamp = _stamp(path)
    key = f"sha256 of {path.resolve()}"
    remembers = stamp.size >= _REMEMBERED
    known = recall(key, _Hashed) if remembers else None
    if known is not None and known.stamp == stamp:
        return known.sha256
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    if _stamp(path) != stamp:
        raise DataError(f"{path} changed while it was read; try again when it is complete")
    if remembers and time.time() - max(stamp.mtime, stamp.ctime) / 1e9 > _SETTLED:
        remember(key, _Hashed(stamp=stamp, sha256=digest))
    return digest


def _stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    return _Stamp(
        device=status.st_dev,
        inode=status.st_ino,
        size=status.st_size,
        mtime=status.st_mtime_ns,
        ctime=status.st_ctime_ns,
    )


def check_sha256(path: Path, expected: str) -> None:
    """Raise DataError, with both checksums, if a file does not have the expected one."""
    actual = sha256_of(path)
    if actual != expected:
        raise DataError(
            f"{path} has SHA-256 {actual[:16]}…, not the expected {expected[:16]}…; "
            "the file was changed or is damaged: get it again"
        )
