"""The decorators through which every kernel is compiled, and the folder it is kept in.

numba decides by the source of one file whether a compiled kernel is still good, although it has
compiled into it what it calls in other files. So the folder is named by the digest of all kernel
files, in every process: an edited kernel finds an empty folder, and an old one is never run.

There is no ``fastmath``: results must not depend on how a compiler reorders sums. A `kernel`
counts no references, so it allocates nothing and gets its scratch space from its caller: counting
is atomic, and took half the time of growing a tree. An `inner_kernel` is put in place of its
calls: passing it the tuples of arrays that kernels share took a third of what was left. It is not
compiled on its own, see `linking`: that took two fifths of the time to compile the exact grower.
Nor is it compiled apart for each literal that it is given. A `linked_kernel` is the same, but stays
a call where it is too large to be put in place.
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import platformdirs
from numba import config, njit

from algorithms.runtime.kernel_cache import KernelCache, private_folder, remove_old_folders
from algorithms.runtime.linking import LinkedDispatcher
from algorithms.runtime.type_lookups import KernelCompiler

FOLDER = Path(__file__).resolve().parents[1]
TEMPORARY_NAME = "tree-harness-kernels"  # with the number of the user behind it
OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}


def kernel_sources(folder: Path = FOLDER) -> list[Path]:
    """Return the files that hold kernels, and those that decide how kernels are compiled."""
    return [*(folder / "runtime").glob("*.py"), *folder.glob("*/kernels/*.py")]


def digest_sources(folder: Path, paths: Iterable[Path]) -> str:
    """Return 16 hex digits that identify the contents of some files under a folder."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        text = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]


KERNEL_DIGEST = digest_sources(FOLDER, kernel_sources())


def cache_folder() -> Path | None:
    """Return the folder of the compiled kernels, made where it was missing.

    It lies under ``HARNESS_KERNEL_CACHE``, else ``NUMBA_CACHE_DIR``, else the platform's cache
    folder. Where that cannot be written to, it lies in a folder of this user in the temporary
    directory. Where that cannot be used either, it is None: each process compiles for itself.
    """
    named = os.environ.get("HARNESS_KERNEL_CACHE") or os.environ.get("NUMBA_CACHE_DIR")
    base = Path(named) if named else platformdirs.user_cache_path("tree-harness") / "kernels"
    with contextlib.suppress(OSError):
        return usable_folder(base)
    with contextlib.suppress(OSError):
        return usable_folder(private_folder(Path(tempfile.gettempdir()), TEMPORARY_NAME))
    return None


def usable_folder(base: Path) -> Path:
    """Return the folder of these kernels under another; raise OSError where it cannot be used.

    Its time of change says when it was last used. A new folder is the occasion to remove old ones.
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


def _cache_of(function: Callable) -> KernelCache:
    before = config.CACHE_DIR
    config.CACHE_DIR = str(CACHE_FOLDER)  # read while a cache is made, and not later
    try:
        return KernelCache(function)
    finally:
        config.CACHE_DIR = before


def kernel(function: Callable) -> Callable:
    """Compile a function of arrays and numbers; it runs without the GIL, and allocates nothing."""
    compiled = njit(function, pipeline_class=KernelCompiler, **OPTIONS)
    if not config.DISABLE_JIT and CACHE_FOLDER is not None:
        compiled._cache = _cache_of(function)  # noqa: SLF001 - numba takes no other cache
    return compiled


def inner_kernel(function: Callable) -> Callable:
    """Compile a function that only kernels call, into each of them; Python cannot call it."""
    return _linked(function, forceinline=True)


def linked_kernel(function: Callable) -> Callable:
    """Compile a large function that only kernels call, beside them; Python cannot call it.

    LLVM decides by its size whether it is put in place of a call.
    """
    return _linked(function)


def _linked(function: Callable, **options) -> Callable:
    if config.DISABLE_JIT:
        return function
    options |= OPTIONS | {"nopython": True, "no_cpython_wrapper": True}
    return LinkedDispatcher(function, targetoptions=options)
