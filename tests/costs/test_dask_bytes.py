"""Tests of the byte counts of two ranks, ours and both libraries."""

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
with mock.patch.dict(os.environ), mock.patch.object(sys, "path", [str(ROOT), *sys.path]):
    counting = import_module("costs.dask_bytes")
    cost = import_module("costs.dask_cost")
    wire = import_module("costs.wire")

SMALL = "--rows 2e3 --columns 6 --bins 15 --leaves 7"


def test_only_bytes_of_the_loopback_device_are_read(tmp_path):
    counters = tmp_path / "dev"
    counters.write_text(
        "Inter-|   Receive                  |  Transmit\n"
        " face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs\n"
        "  eth0: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n"
        "    lo: 10 2 0 0 0 0 0 0 77 4 0 0 0 0 0 0\n"
    )
    assert wire.bytes_sent(counters) == 77


def test_ranks_share_all_rows_of_the_given_shape():
    shape = cost.Shape(101, 3, 15, 7, 2)
    halves = [counting.rows_of_rank(shape, rank) for rank in range(2)]
    X, y = cost.table_of(101, 3)
    np.testing.assert_array_equal(np.concatenate([X for X, _ in halves]), X)
    np.testing.assert_array_equal(np.concatenate([y for _, y in halves]), y)


def test_tree_is_the_difference_of_a_longer_and_a_shorter_training(monkeypatch):
    sent = [0]
    monkeypatch.setattr(counting, "bytes_sent", lambda: sent[0])

    def train(trees):
        sent[0] += 1_000 + 7 * trees

    assert counting.bytes_of(train) == 7


@pytest.mark.slow
def test_all_three_libraries_are_counted_in_a_network_namespace():
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare is not installed, so there is no network of its own")
    command = [unshare, "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"']
    tried = subprocess.run([*command, "sh", "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no network of its own may be made here: {tried.stderr.strip()}")
    requested = [sys.executable, "-m", "costs.dask_bytes", *SMALL.split()]
    completed = subprocess.run(
        [*command, "sh", *requested], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert completed.returncode == 0, completed.stderr
    first, *lines = completed.stdout.splitlines()
    assert first.startswith("Shape(rows=2000, columns=6, bins=15, leaves=7, ranks=2)")
    sent = {words[0]: float(words[1]) for words in map(str.split, lines)}
    assert list(sent) == ["ours", "lightgbm", "xgboost"]
    sums = 6 * 6 * 15 / 1e3  # kB, were a bin's sums one byte
    assert sums < sent["ours"] < 40 * sums
    assert sent["ours"] < min(sent["lightgbm"], sent["xgboost"])
