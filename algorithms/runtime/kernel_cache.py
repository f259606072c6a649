"""Compiled kernels as they are kept on disk: what cannot be read is compiled anew.

numba's own cache raises where a file of it is damaged, where its index names a tuple of a module
that this process cannot import (another environment shares the folder), and where the disk is full.
A fit must not end for that.
"""

import contextlib

from numba.core.caching import FunctionCache


class KernelCache(FunctionCache):
    """The kept machine code of one kernel."""

    def load_overload(self, sig, target_context):
        """Return what is kept for a signature, or None where there is none that can be read."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 - whatever damaged or foreign bytes make of unpickling
            return None

    def save_overload(self, sig, data):
        """Keep the machine code of a signature, in a new index if the old one cannot be read."""
        try:
            super().save_overload(sig, data)
        except Exception:  # noqa: BLE001 - as above, or a disk that is full
            with contextlib.suppress(Exception):
                self.flush()
                super().save_overload(sig, data)
