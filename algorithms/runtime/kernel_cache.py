"""Cache of compiled kernels on disk; damaged files are detected and compiled again.

numba's own cache runs whatever machine code it reads: one flipped bit ends the process, or changes
results. It raises where a file is cut, where its index names a type that this process cannot
import (another environment shares the folder), and where the disk is full. Two processes that
write at once can leave an index that names another kernel's machine code. So each file here begins
with the checksum of its contents, and machine code is stored with the key that it was compiled
for. What does not match is compiled again.
"""

import contextlib
import hashlib
import os
import pickle
import re
import shutil
import stat
import time
from pathlib import Path

from numba import config
from numba.core.caching import FunctionCache, IndexDataCacheFile

CHECKSUM_BYTES = hashlib.sha256().digest_size
DIGEST_NAME = re.compile(r"[0-9a-f]{16}")
KEPT_FOLDERS = 8  # folders of other versions of the sources that are kept
SECONDS_UNUSED = 86_400.0  # time without use after which such a folder may be removed


class DamagedFileError(Exception):
    """A cache file whose contents do not have the checksum they were written with."""


def add_checksum(contents: bytes) -> bytes:
    """Return contents preceded by their checksum."""
    return hashlib.sha256(contents).digest() + contents


def remove_checksum(stored: bytes) -> bytes:
    """Return the contents without checksum; raise DamagedFileError if it does not match."""
    contents = stored[CHECKSUM_BYTES:]
    if hashlib.sha256(contents).digest() != stored[:CHECKSUM_BYTES]:
        raise DamagedFileError
    return contents


class CheckedCacheFile(IndexDataCacheFile):
    """Index and data files of one kernel, each with a checksum."""

    def save(self, key, data):
        """Save a compiled signature together with its key."""
        super().save(key, (key, data))

    def load(self, key):
        """Return the compiled signature of a key, or None if there is none."""
        found = super().load(key)
        if found is None or found[0] != key:
            return None
        return found[1]

    def _load_index(self):
        try:
            stored = Path(self._index_path).read_bytes()
        except FileNotFoundError:
            return {}
        version, index = pickle.loads(remove_checksum(stored))  # noqa: S301 - our own file
        if version != self._version:
            return {}
        stamp, overloads = pickle.loads(index)  # noqa: S301 - as above
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads):
        index = self._dump((self._source_stamp, overloads))
        with self._open_for_write(self._index_path) as file:
            file.write(add_checksum(pickle.dumps((self._version, index))))

    def _load_data(self, name):
        stored = Path(self._data_path(name)).read_bytes()
        return pickle.loads(remove_checksum(stored))  # noqa: S301 - as above

    def _save_data(self, name, data):
        with self._open_for_write(self._data_path(name)) as file:
            file.write(add_checksum(self._dump(data)))


class KernelCache(FunctionCache):
    """Stored machine code of one kernel."""

    def __init__(self, function):
        super().__init__(function)
        self._cache_file = CheckedCacheFile(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, sig, target_context):
        """Return the stored code of a signature, or None if it cannot be read."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 - whatever damaged or foreign bytes make of unpickling
            return None

    def save_overload(self, sig, data):
        """Store the code of a signature, in a new index if the old one cannot be read."""
        try:
            super().save_overload(sig, data)
        except Exception:  # noqa: BLE001 - as above, or a disk that is full
            with contextlib.suppress(Exception):
                self.flush()
                super().save_overload(sig, data)

    def _index_key(self, sig, codegen):
        """Return numba's key, and whether indices are checked, which changes the code."""
        return (*super()._index_key(sig, codegen), bool(config.BOUNDSCHECK))


def private_folder(parent: Path, name: str) -> Path:
    """Return a private folder of this user; create it if it is missing.

    The parent may be writable by all, as the temporary directory is. Machine code is run from this
    folder, so no other user may own it or write to it.

    Raises
    ------
    OSError
        If it cannot be created, or is not private.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = parent / f"{name}-{user}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    is_private = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) & 0o077 == 0
    if hasattr(os, "getuid") and not (is_private and found.st_uid == user):
        raise PermissionError(f"{folder} is not a folder of this user alone")
    return folder


def remove_old_folders(base: Path, current: Path) -> None:
    """Remove kernel folders of other versions, except the newest and those used today.

    Parameters
    ----------
    base : folder that contains them; other files are not removed
    current : folder of this version, which is not removed
    """
    with contextlib.suppress(OSError):
        found = [
            (folder.stat().st_mtime, folder)
            for folder in base.iterdir()
            if DIGEST_NAME.fullmatch(folder.name) and folder != current
        ]
        for used, folder in sorted(found, reverse=True)[KEPT_FOLDERS:]:
            if time.time() - used > SECONDS_UNUSED:
                shutil.rmtree(folder, ignore_errors=True)
