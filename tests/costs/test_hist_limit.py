"""Tests of the comparison with the histogram limit: counted updates and the printed table."""

import os
import re
import sys
from importlib import import_module
from pathlib import Path
from unittest import mock

import numpy as np

from algorithms import HistogramBoostingClassifier

ROOT = Path(__file__).resolve().parents[2]
with mock.patch.dict(os.environ), mock.patch.object(sys, "path", [str(ROOT), *sys.path]):
    hist_limit = import_module("costs.hist_limit")


def test_updates_cover_the_root_and_the_smaller_side_of_each_split():
    X, y = hist_limit.make_table(500, 3)
    model = HistogramBoostingClassifier(n_estimators=2, num_leaves=7).fit(X, y)
    expected = 0
    for t in range(2):
        tree = model.ensemble_.tree(t)
        rows = {0: np.arange(500)}
        expected += 500
        for at in np.flatnonzero(tree.left >= 0):  # parents come before their children
            own = rows.pop(at)
            left = X[own, tree.feature[at]] <= tree.threshold[at]
            rows[tree.left[at]], rows[tree.right[at]] = own[left], own[~left]
            expected += min(left.sum(), (~left).sum())
    assert hist_limit.count_updates(model.ensemble_) == 3 * expected / 2


def test_kernel_sums_every_row():
    kernel = hist_limit.Kernel(1000, 70, 2)  # more columns than a tile
    assert kernel.seconds() > 0.0


def test_table_and_partition_costs_are_printed(capsys):
    small = ["--trees", "3", "--rounds", "1", "--leaves", "5", "--columns", "4"]
    hist_limit.main(["--rows", "3000", "6000", *small])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 4 + 2 + 2
    rows = [line.split() for line in lines[1:5]]
    assert [(int(r[0]), int(r[1])) for r in rows] == [(3000, 1), (3000, 2), (6000, 1), (6000, 2)]
    for row in rows:
        assert float(row[3]) * 1e6 < int(row[0]) * 4 * 5
    message = "\n".join(lines[5:])
    assert len(re.findall(r"^\d+ rows, 1 to 2 threads: training", message, re.MULTILINE)) == 2
    assert (
        len(re.findall(r"^[12] threads, 3000 to 6000 rows: an update", message, re.MULTILINE)) == 2
    )
