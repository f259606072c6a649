"""numba caches that read the package's compiled kernels, and that write them for a package."""

import hashlib
import os
import pickle
import zlib
from functools import cache, cached_property, partial
from types import SimpleNamespace

import llvmlite.binding
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.serialize import dumps

from algorithms.runtime.kernel_cache import KernelCache


class PackageImpl(CompileResultCacheImpl):
    """numba's conversion of compiled code to bytes and back, without a folder for each source.

    LLVM's bitcode, three quarters of the code, is needed only where another kernel is compiled that
    calls this one. So it is compressed, and read only then.
    """

    def __init__(self, function):
        self._lineno = function.__code__.co_firstlineno
        self._locator = SimpleNamespace(_py_file=function.__code__.co_filename)

    def reduce(self, cres):
        """Return the bytes of compiled code, the names of its symbols, its compressed bitcode."""
        (name, kind, (machine_code, bitcode)), *rest = super().reduce(cres)
        module = llvmlite.binding.parse_bitcode(bitcode)
        symbols = [
            each.name
            for each in (*module.functions, *module.global_variables)
            if not each.is_declaration
        ]
        empty = llvmlite.binding.parse_assembly("").as_bitcode()
        return ((name, kind, (machine_code, empty)), *rest), symbols, zlib.compress(bitcode, 9)

    def rebuild(self, target_context, payload):
        """Return compiled code from what `reduce` returned."""
        code, symbols, compressed = payload
        engine = target_context.codegen()._engine  # noqa: SLF001 - it lists symbols by the bitcode
        engine._defined_symbols.update(symbols)  # noqa: SLF001
        result = super().rebuild(target_context, code)
        result.library._get_module_for_linking = partial(parse_bitcode, compressed)  # noqa: SLF001
        return result


@cache
def parse_bitcode(compressed):
    """Return the LLVM module of compressed bitcode."""
    return llvmlite.binding.parse_bitcode(zlib.decompress(compressed))


class PackageCache(KernelCache):
    """Machine code of one kernel in a folder of the package: one file for each signature.

    The folder is chosen for the sources, the versions and the processor of this process, so they
    are not part of the key, and the code may have been compiled for another processor.
    """

    def __init__(self, function, packaged):
        self._name, self._py_func = repr(function), function
        self._impl = PackageImpl(function)
        self._packaged = packaged
        self._base = f"{function.__module__}.{function.__qualname__}".removeprefix("algorithms.")
        self.enable()

    @property
    def cache_path(self):
        """Folder of the package's compiled kernels."""
        return str(self._packaged.folder)

    def flush(self):
        """Do nothing: the files of a package are not changed."""

    def _index_key(self, sig, codegen):
        sig, _, code, checks_indices = super()._index_key(sig, codegen)
        return sig, code, checks_indices

    def _file_name(self, key):
        text = repr((str(key[0]), *key[1:]))
        return f"{self._base}.{hashlib.sha256(text.encode()).hexdigest()[:16]}.bin"

    def _load_overload(self, sig, target_context):
        key = self._index_key(sig, target_context.codegen())
        contents = self._packaged.read(self._file_name(key))
        if contents is None:
            return None
        stored_key, code = pickle.loads(contents)  # noqa: S301 - its checksum was compared
        return self._impl.rebuild(target_context, code) if stored_key == key else None


class PackageWriter(PackageCache):
    """Cache that stores the machine code of one kernel in a folder that becomes a package."""

    def save_overload(self, sig, data):
        """Store the code of a signature; replace the file if another process has written it."""
        if not self._impl.check_cachable(data):
            return
        key = self._index_key(sig, data.codegen)
        path = self._packaged.folder / self._file_name(key)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(dumps((key, self._impl.reduce(data))))
        unfinished.replace(path)


class LayeredCache(NullCache):
    """Machine code of the package first, then that of a folder which new code is stored in.

    Parameters
    ----------
    packaged : PackageCache
    make_stored : function without arguments, returns the cache of the folder; it is called when the
        package lacks a signature, because numba reads files to make such a cache
    """

    def __init__(self, packaged, make_stored):
        self._packaged, self._make_stored = packaged, make_stored

    @cached_property
    def _stored(self):
        return self._make_stored()

    @property
    def cache_path(self):
        """Folder that new code is stored in."""
        return self._stored.cache_path

    def load_overload(self, sig, target_context):
        """Return the code of a signature, or None if neither has it."""
        found = self._packaged.load_overload(sig, target_context)
        return self._stored.load_overload(sig, target_context) if found is None else found

    def save_overload(self, sig, data):
        """Store the code of a signature in the folder."""
        self._stored.save_overload(sig, data)

    def flush(self):
        """Empty the index of the folder."""
        self._stored.flush()
