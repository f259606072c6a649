"""Tests of the pool of idle workers."""

from dataclasses import replace
from types import SimpleNamespace

import psutil
import pytest

from harness.core.model import DatasetRef, Job, Limits
from harness.execution import pool


class FakeSession:
    alive = True

    def __init__(self, size=2**20):
        self.closed = False
        self.size = size

    def resident_bytes(self):
        return self.size

    def close(self):
        self.closed = True

    stop = close


def job(name):
    return Job(f"algorithm of {name}", name, DatasetRef("d", "0"), ())


@pytest.mark.parametrize(("gib", "kept"), [(0.5, 2), (2.5, 3), (6, 8), (500, 32)])
def test_number_of_idle_workers_is_limited_by_memory(monkeypatch, gib, kept):
    left = SimpleNamespace(available=int(gib * 2**30))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: left)
    assert pool.idle_workers() == kept


def test_worker_of_a_plugin_is_reused_and_the_oldest_ends_first(tmp_path):
    kept = pool.Pool(tmp_path, max_idle=2)
    sessions = {name: FakeSession() for name in "abc"}
    for name, session in sessions.items():
        kept.give_back(job(name), session)
    assert [s.closed for s in sessions.values()] == [True, False, False]
    assert kept.take(job("b")) is sessions["b"]
    assert kept.take(job("c")) is sessions["c"]


def test_worker_with_a_large_table_is_not_kept(tmp_path):
    kept = pool.Pool(tmp_path, max_idle=2)
    small, large = FakeSession(pool.IDLE_BYTES), FakeSession(pool.IDLE_BYTES + 1)
    kept.give_back(job("a"), large)
    kept.give_back(job("a"), small)
    assert (small.closed, large.closed) == (False, True)
    assert kept.take(job("a")) is small


def test_idle_workers_can_be_ended_while_busy_ones_continue(tmp_path):
    kept = pool.Pool(tmp_path, max_idle=2)
    idle, busy = FakeSession(), FakeSession()
    kept.give_back(job("b"), busy)
    assert kept.take(job("b")) is busy
    kept.give_back(job("a"), idle)
    kept.end_idle()
    assert (idle.closed, busy.closed) == (True, False)
    kept.give_back(job("b"), busy)
    assert kept.take(job("b")) is busy


def test_plugins_with_equal_libraries_share_a_worker_except_under_a_memory_cap():
    def kind(plugin, *libraries, memory=0):
        limits = Limits(memory=memory)
        return pool.kind_of(
            Job("a", plugin, DatasetRef("d", "0"), (), libraries=libraries, limits=limits)
        )

    assert kind("pack.one", "numpy") == kind("pack.two", "numpy")
    assert kind("pack.one", "numpy") != kind("pack.two", "numpy", "xgboost")
    assert kind("pack.one", "numpy") != kind("other.one", "numpy")
    assert kind("pack.one") != kind("pack.two")
    assert kind("/home/one.py", "numpy") != kind("/home/two.py", "numpy")
    capped = pool.kind_of(replace(job("a"), limits=Limits(memory=2**30)))
    assert capped != pool.kind_of(
        replace(job("a"), algorithm="another", limits=Limits(memory=2**30))
    )
