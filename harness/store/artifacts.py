"""Arrays beside the database: ``artifacts/ab/cdef….npz``, each named by the SHA-256 of its bytes.

A file is complete on disk before the row that names it is committed, so a row never names a
partial file. Files are verified when they are read: first the hash, then the declared size of every
array. Pickles are never read, and names from outside never become part of a path.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import re
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from harness.core.errors import StoreError
from harness.store.faults import faults, one_line

if TYPE_CHECKING:
    import numpy as np

MAX_FILE = 4 * 2**30  # bytes of one artifact, packed and unpacked
MAX_ARRAYS = 1024  # arrays in one artifact
_CHUNK = 2**20
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PART = ".part-"


class Stored(NamedTuple):
    """Hash and size of a stored file."""

    sha256: str
    bytes: int


class Artifacts:
    """Folder of content-addressed array files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, sha256: str) -> Path:
        """Return the path of the artifact with this hash."""
        if not _SHA256.fullmatch(sha256):
            raise StoreError(f"{sha256[:80]!r} is not a SHA-256, so it does not name an artifact")
        return self.folder / sha256[:2] / f"{sha256[2:]}.npz"

    def add_files(self, sources: Mapping[str, Path]) -> dict[str, Stored]:
        """Copy files into the store under their hashes, safe against power loss; sources stay."""
        with faults(self.folder), ExitStack() as stack:
            self.folder.mkdir(exist_ok=True)
            copies = {name: self._copy(source, stack) for name, source in sources.items()}
            self._keep({part: s for part, s in copies.values() if not self.holds(s)})
        return {name: stored for name, (_, stored) in copies.items()}

    def _copy(self, source: Path, stack: ExitStack) -> tuple[Path, Stored]:
        """Copy a file under a temporary name, which is removed when the stack is unwound."""
        number, name = tempfile.mkstemp(prefix=_PART, dir=self.folder)
        stack.callback(Path(name).unlink, missing_ok=True)
        with os.fdopen(number, "wb") as target, _open_plain(source) as content:
            stored = _copy(content, target, source)
            if not self.holds(stored):
                target.flush()
                os.fsync(target.fileno())
        return Path(name), stored

    def _keep(self, parts: Mapping[Path, Stored]) -> None:
        """Rename temporary files to their final names, durably."""
        folders = set()
        for part, stored in parts.items():
            path = self.path(stored.sha256)
            if not path.parent.is_dir():
                path.parent.mkdir()
                folders.add(self.folder)
            part.replace(path)
            folders.add(path.parent)
        for folder in folders:
            _sync_folder(folder)

    def holds(self, stored: Stored) -> bool:
        """Return whether an artifact exists and its bytes match its hash."""
        path = self.path(stored.sha256)
        try:
            if path.stat().st_size != stored.bytes:
                return False
            with path.open("rb") as content:
                return hashlib.file_digest(content, "sha256").hexdigest() == stored.sha256
        except FileNotFoundError:
            return False

    def load(self, sha256: str) -> dict[str, np.ndarray]:
        """Return the arrays of an artifact.

        Raises
        ------
        StoreError
            If the file is missing, does not match its hash, or holds anything but arrays.
        """
        path = self.path(sha256)
        advice = "run the experiment again"
        try:
            with faults(path), _open_plain(path) as content:
                content_bytes = content.read(MAX_FILE + 1)
        except StoreError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise StoreError(f"the arrays {path} are missing; {advice}") from error
            raise
        if hashlib.sha256(content_bytes).hexdigest() != sha256:
            raise StoreError(f"the arrays {path} were changed since; remove the file and {advice}")
        return _arrays(content_bytes, path)

    def remove_parts(self) -> None:
        """Remove unfinished copies of a killed writer; no other writer may be running."""
        for part in self.folder.glob(f"{_PART}*"):
            part.unlink()

    def files(self) -> Iterator[Path]:
        """Yield every file in the folder, also unfinished ones, without following links."""
        with faults(self.folder):
            for folder, _, names in os.walk(self.folder):
                yield from (Path(folder, name) for name in names)

    def hash_of(self, path: Path) -> str:
        """Return the hash in the name of a file; empty if the file is not in its place."""
        sha256 = path.parent.name + path.stem
        return sha256 if _SHA256.fullmatch(sha256) and self.path(sha256) == path else ""


def _open_plain(path: Path) -> BinaryIO:
    """Open a regular file of at most ``MAX_FILE`` bytes; links, pipes and devices are refused."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    status = os.fstat(number)
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE:
        os.close(number)
        raise StoreError(f"{path} is not a regular file of at most {MAX_FILE} bytes")
    return os.fdopen(number, "rb")


def _copy(content: BinaryIO, target: BinaryIO, source: Path) -> Stored:
    sha256, size = hashlib.sha256(), 0
    while chunk := content.read(_CHUNK):
        sha256.update(chunk)
        target.write(chunk)
        size += len(chunk)
    if size > MAX_FILE:
        raise StoreError(f"{source} grew beyond {MAX_FILE} bytes while it was read")
    return Stored(sha256.hexdigest(), size)


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _arrays(content: bytes, path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an ``.npz`` file after a check of their declared sizes."""
    import numpy as np

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if len(members) > MAX_ARRAYS or sum(m.file_size for m in members) > MAX_FILE:
                raise StoreError(f"{path} unpacks to more than {MAX_FILE} bytes; it is not ours")
            for member in members:
                _check_size(archive, member)
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, TypeError, LookupError, OSError, EOFError, SyntaxError) as error:
        raise StoreError(f"{path} does not contain plain arrays: {one_line(error)}") from error
    except (zipfile.BadZipFile, zlib.error, RuntimeError, MemoryError) as error:
        raise StoreError(f"{path} cannot be unpacked: {one_line(error)}") from error


def _check_size(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Raise ValueError if an array's header declares another size than its data has."""
    from numpy.lib import format as npy

    with archive.open(member) as content:
        major, _ = npy.read_magic(content)
        read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
        shape, _, dtype = read(content)
        if math.prod(shape) * dtype.itemsize != member.file_size - content.tell():
            raise ValueError(f"{member.filename} is not as long as its header says")
