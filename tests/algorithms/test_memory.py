"""Tests that freed memory is returned to the system after large tables."""

import ctypes

import numpy as np
import psutil
import pytest

from algorithms.runtime.memory import LARGE, give_back

MIB = 1 << 20


def resident():
    return psutil.Process().memory_info().rss


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="another C library")
def test_freed_memory_is_returned_after_large_tables_only():
    pieces = [np.ones(1 << 13) for _ in range(1 << 10)]  # 64 MiB, too small to be mapped alone
    kept = pieces[::64]  # so that freed pieces lie between used ones
    full = resident()
    del pieces
    give_back(LARGE - 1)
    assert resident() > full - 32 * MIB
    give_back(LARGE)
    assert resident() < full - 32 * MIB
    assert all((piece == 1.0).all() for piece in kept)


def test_other_c_libraries_are_supported(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    give_back(LARGE)
