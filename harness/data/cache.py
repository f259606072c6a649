"""Disk cache of parsed tables, mapped into memory without copies.

A table is a folder named by its dataset's digest: plain ``.npy`` arrays and a ``meta.json`` with
names, levels and the checksum of every array. A folder is created atomically, and one that does not
match its checksums is ignored. Nothing is pickled. If the cache cannot be written, tables are
parsed each time.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from filelock import FileLock, Timeout

from harness.core.ids import canonical
from harness.core.model import Table
from harness.data.folders import cache_folder
from harness.data.frames import Blocks, assemble, take_apart
from harness.data.writing import sweep

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

FORMAT = 1  # increase when the format of the files changes
_LOCK_TIMEOUT = 600.0  # seconds to wait for another process that parses the same data


def folder_of(digest: str) -> Path:
    """Return the folder of the table of a digest."""
    return cache_folder() / "tables" / digest


def get(digest: str) -> Table | None:
    """Return a stored table whose arrays are mapped copy-on-write, or None.

    The checksum of every array is verified.
    """
    folder = folder_of(digest)
    try:
        content = json.loads((folder / "meta.json").read_text())
        meta = content["meta"]
        if content["sha256"] != _meta_digest(meta) or meta["format"] != FORMAT:
            return None
        arrays = {name: _mapped(folder, name, facts) for name, facts in meta["arrays"].items()}
        return _to_table(meta, arrays)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None


def put(digest: str, table: Table) -> str:
    """Store a table; return "" or the reason why that failed.

    The caller holds the lock of the digest, so unfinished folders of it can be removed.
    """
    final = folder_of(digest)
    temporary = None
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        sweep(final.parent, f".{digest[:16]}.*", older=0)
        sweep(final.parent, ".*")
        meta, arrays = _from_table(table)
        size = sum(array.nbytes for array in arrays.values())
        if (free := shutil.disk_usage(final.parent).free) < 2 * size:
            return f"only {free:,} bytes are free in {final.parent}"
        temporary = Path(tempfile.mkdtemp(dir=final.parent, prefix=f".{digest[:16]}."))
        meta["arrays"] = {k: _write(temporary / f"{k}.npy", v) for k, v in arrays.items()}
        text = json.dumps({"meta": meta, "sha256": _meta_digest(meta)})
        (temporary / "meta.json").write_text(text)
        if final.exists():
            shutil.rmtree(final)
        temporary.rename(final)
    except OSError as error:
        return str(error.strerror or error)
    else:
        temporary = None
        return ""
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold a lock between processes during the body; no lock if the cache is not writable."""
    folder = cache_folder() / "locks"
    lock = None
    with suppress(OSError, Timeout, NotImplementedError):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.lock")
        lock.acquire(timeout=_LOCK_TIMEOUT)
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


# ------------------------------------------------------------------ arrays


def _write(path: Path, array: np.ndarray) -> dict[str, int]:
    # No fsync: after a power cut the checksums show damaged files.
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)
    return {"bytes": path.stat().st_size, "crc32": _checksum(path)}


def _mapped(folder: Path, name: str, facts: dict[str, int]) -> np.ndarray:
    path = folder / f"{name}.npy"
    if not name.isidentifier() or path.stat().st_size != facts["bytes"]:
        raise ValueError(f"{path} has another size")
    if _checksum(path) != facts["crc32"]:
        raise ValueError(f"{path} is damaged")
    return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))


def _checksum(path: Path) -> int:
    """Return the CRC-32 of a file, which detects damage but not manipulation."""
    checksum = 0
    with path.open("rb") as file:
        while chunk := file.read(2**22):
            checksum = zlib.crc32(chunk, checksum)
    return checksum


def _meta_digest(meta: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(meta).encode()).hexdigest()


# ------------------------------------------------------------------ tables


def _from_table(table: Table) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    rows, width = table.X.shape
    meta: dict[str, Any] = {
        "format": FORMAT,
        "rows": int(rows),
        "classes": list(table.classes),
        "notes": list(table.notes),
    }
    arrays = {"y": table.y}
    optional = {"weight": table.weight, "group": table.group, "test_rows": table.test_rows}
    optional["order"] = table.order
    arrays |= {name: array for name, array in optional.items() if array is not None}
    if isinstance(table.X, pd.DataFrame):
        blocks = take_apart(table.X)
        meta |= {"names": blocks.names, "levels": blocks.levels}
        parts = {"numbers": blocks.numbers, "codes": blocks.codes}
        arrays |= {name: part for name, part in parts.items() if part.size}
    else:
        meta["sparse_width"] = int(width)
        arrays |= {"data": table.X.data, "indices": table.X.indices, "indptr": table.X.indptr}
        arrays = {name: array for name, array in arrays.items() if array.size}
    return meta, arrays


def _to_table(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> Table:
    return Table(
        X=_sparse(meta, arrays) if "sparse_width" in meta else _frame(meta, arrays),
        y=arrays["y"],
        classes=tuple(meta["classes"]),
        weight=arrays.get("weight"),
        group=arrays.get("group"),
        order=arrays.get("order"),
        test_rows=arrays.get("test_rows"),
        notes=tuple(meta["notes"]),
    )


def _frame(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> pd.DataFrame:
    none = np.empty((meta["rows"], 0), order="F")
    numbers, codes = arrays.get("numbers", none), arrays.get("codes", none.astype(np.int32))
    return assemble(Blocks(meta["names"], numbers, codes, meta["levels"]))


def _sparse(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> csr_matrix:
    from scipy.sparse import csr_matrix

    data = arrays.get("data", np.empty(0))
    indices = arrays.get("indices", np.empty(0, np.int32))
    shape = (meta["rows"], meta["sparse_width"])
    return csr_matrix((data, indices, arrays["indptr"]), shape=shape, copy=False)
