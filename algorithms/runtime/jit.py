"""Decorators that compile all kernels, and the folder of their cache.

numba checks only the source file of a compiled kernel, not the other files whose functions are
inlined into it. So the cache folder is named by the digest of all kernel files: after an edit the
folder is empty, and an outdated kernel is never run.

``fastmath`` is off: results must not depend on how a compiler reorders sums. A `kernel` has no
reference counting, so it allocates nothing and its caller provides scratch space: atomic counting
took half the time of growing a tree. An `inner_kernel` is inlined: passing the tuples of arrays
took a third of the remaining time. It is not compiled separately (see `linking`), which took two
fifths of the compile time of the exact grower, nor once per literal argument. A `linked_kernel` is
the same, but remains a call if it is too large to inline.
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import platformdirs
from numba import config, njit
from numba.core.caching import NullCache

from algorithms.runtime.kernel_cache import KernelCache, private_folder, remove_old_folders
from algorithms.runtime.linking import LinkedDispatcher
from algorithms.runtime.package_cache import LayeredCache, PackageCache, PackageWriter
from algorithms.runtime.packaged_kernels import FOLDER as PACKAGE_FOLDER
from algorithms.runtime.packaged_kernels import open_package
from algorithms.runtime.type_lookups import KernelCompiler

FOLDER = Path(__file__).resolve().parents[1]
TEMPORARY_NAME = "tree-harness-kernels"  # the user id is appended
OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}


def kernel_sources(folder: Path = FOLDER) -> list[Path]:
    """Return the source files of kernels, and of the code that compiles them."""
    return [*(folder / "runtime").glob("*.py"), *folder.glob("*/kernels/*.py")]


def digest_sources(folder: Path, paths: Iterable[Path]) -> str:
    """Return a digest of the contents of files in a folder, 16 hex digits."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        text = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]


KERNEL_DIGEST = digest_sources(FOLDER, kernel_sources())


def cache_folder() -> Path | None:
    """Return the folder of the compiled kernels; create it if it is missing.

    It is inside ``HARNESS_KERNEL_CACHE``, else ``NUMBA_CACHE_DIR``, else the platform's cache
    folder. If that is not writable, it is in a private folder of the temporary directory. If that
    fails too, the result is None, and each process compiles for itself.
    """
    named = os.environ.get("HARNESS_KERNEL_CACHE") or os.environ.get("NUMBA_CACHE_DIR")
    base = Path(named) if named else platformdirs.user_cache_path("tree-harness") / "kernels"
    with contextlib.suppress(OSError):
        return usable_folder(base)
    with contextlib.suppress(OSError):
        return usable_folder(private_folder(Path(tempfile.gettempdir()), TEMPORARY_NAME))
    return None


def usable_folder(base: Path) -> Path:
    """Return the folder of these kernels in ``base``; raise OSError if it cannot be used.

    Its modification time is the time of last use. When a folder is created, old ones are removed.
    """
    folder = base / KERNEL_DIGEST
    is_new = not folder.is_dir()
    folder.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()
    os.utime(folder)
    if is_new:
        remove_old_folders(base, folder)
    return folder


CACHE_FOLDER = cache_folder()
PACKAGED = open_package(PACKAGE_FOLDER, KERNEL_DIGEST)


def _cache_of(function: Callable) -> NullCache | KernelCache | PackageCache | LayeredCache:
    """Return where machine code of a kernel is read from and stored."""
    is_packaged = PACKAGED.folder is not None and function.__module__.startswith("algorithms.")
    if is_packaged and PACKAGED.is_written:
        return PackageWriter(function, PACKAGED)
    make_stored = NullCache if CACHE_FOLDER is None else partial(_stored_cache, function)
    if is_packaged:
        return LayeredCache(PackageCache(function, PACKAGED), make_stored)
    return make_stored()


def _stored_cache(function: Callable) -> KernelCache:
    before = config.CACHE_DIR
    config.CACHE_DIR = str(CACHE_FOLDER)  # read only when a cache is created
    try:
        return KernelCache(function)
    finally:
        config.CACHE_DIR = before


def kernel(function: Callable) -> Callable:
    """Compile a function of arrays and numbers that runs without the GIL and allocates nothing."""
    compiled = njit(function, pipeline_class=KernelCompiler, **OPTIONS)
    if not config.DISABLE_JIT:
        compiled._cache = _cache_of(function)  # noqa: SLF001 - numba takes no other cache
    return compiled


def inner_kernel(function: Callable) -> Callable:
    """Compile a function that is inlined into the kernels that call it; Python cannot call it."""
    return _linked(function, forceinline=True)


def linked_kernel(function: Callable) -> Callable:
    """Compile a large function that only kernels call; Python cannot call it.

    LLVM decides by its size whether it is inlined.
    """
    return _linked(function)


def _linked(function: Callable, **options) -> Callable:
    if config.DISABLE_JIT:
        return function
    options |= OPTIONS | {"nopython": True, "no_cpython_wrapper": True}
    return LinkedDispatcher(function, targetoptions=options)
