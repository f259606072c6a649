"""Return of unused memory to the operating system."""

import contextlib
import ctypes

LARGE = 1 << 22  # number of values below which the call is not worthwhile


def give_back(n_values):
    """Return the memory freed while a table of ``n_values`` was read and binned.

    Otherwise the C library keeps it in fragments that may be too small for the arrays of training,
    which increases the peak memory.
    """
    if n_values >= LARGE:
        with contextlib.suppress(OSError, AttributeError):  # the C library has no malloc_trim
            ctypes.CDLL(None).malloc_trim(0)
