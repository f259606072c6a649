"""Hand memory that is not in use back to the system."""

import contextlib
import ctypes

LARGE = 1 << 22  # values of a table, below which what is freed is not worth a call


def give_back(n_values):
    """Hand back what was freed while a table of so many values was read and brought into bins.

    The C library keeps it otherwise, in holes that the arrays of training may not fit: one peak
    then stands on top of the other.
    """
    if n_values >= LARGE:
        with contextlib.suppress(OSError, AttributeError):  # a C library that has no such call
            ctypes.CDLL(None).malloc_trim(0)
