"""Interrupt flag with which a long-running kernel detects Ctrl-C and returns early.

Python runs its own handler of a signal only when a kernel has returned. The flag is an array of
bytes to which Python's C handler writes the number of each signal as it comes; see
`algorithms.runtime.interrupt_flag`. A kernel that sees the flag leaves its result unfinished: its
caller must raise KeyboardInterrupt.
"""

import signal

import numpy as np

from algorithms.runtime.intrinsics import load_atomic
from algorithms.runtime.jit import inner_kernel

INTERRUPT = np.int64(signal.SIGINT)
NEVER = np.zeros(1, np.int64)  # the flag of threads that no signal interrupts


@inner_kernel
def is_interrupted(flag):
    """Return whether one of the first eight signals that came was SIGINT.

    Parameters
    ----------
    flag : int64 (n,), n > 0; each byte of the first entry is a signal number, or 0
    """
    signals = load_atomic(flag, 0)
    while signals != 0:
        if signals & 127 == INTERRUPT:
            return True
        signals = (signals >> 8) & 0x00FFFFFFFFFFFFFF
    return False
