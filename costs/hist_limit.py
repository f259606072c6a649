"""Compare the training time of the histogram booster with that of its histograms only.

    python -m costs.hist_limit
    python -m costs.hist_limit --rows 1e6 1e7 --leaves 255 --threads 1 2

A tree on n rows and F columns needs F (n + Σ n_small) updates of a bin: the root has all rows, and
of the two sides of each split the smaller one is summed, the other one subtracted. The bare kernel
gives the time of an update, with the same number of threads, on rows in order. The product is a
lower limit of the training time with these updates; gradients, partitions, scans and scores come
on top. A tree's time is the difference of a longer and a shorter fit, so that binning and the start
do not count.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from statistics import median

import numpy as np

from algorithms import HistogramBoostingClassifier
from algorithms.gbdt.kernels.booster_arrays import HALF, TILE
from algorithms.gbdt.kernels.histogram import FULL, build_narrow
from algorithms.runtime.threads import Workers

RECORD = (1 << HALF) + 1  # g and h of one step each


@dataclass(frozen=True)
class Measurement:
    """Measurements of one table with one number of threads."""

    rows: int
    threads: int
    kernel: float  # seconds an update of a bin, all threads together
    updates: float  # of a tree
    tree: float  # seconds of a tree

    @property
    def limit(self):
        """Seconds that the bare kernel needs for the updates of a tree."""
        return self.kernel * self.updates


def make_table(rows, columns):
    """Return X, float32, and y with two classes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    signal = X[:, 0] * X[:, 1 % columns] + X[:, 2 % columns]
    return X, signal + rng.standard_normal(rows, dtype=np.float32) > 0.0


def count_updates(ensemble):
    """Return the number of histogram updates per tree of an ensemble."""
    inner = np.flatnonzero(ensemble.left >= 0)
    sides = ensemble.cover[ensemble.left[inner]], ensemble.cover[ensemble.right[inner]]
    roots = ensemble.cover[ensemble.offsets[:-1]].sum()
    return ensemble.n_features * (roots + np.minimum(*sides).sum()) / ensemble.n_trees


class Kernel:
    """The bare histogram kernel on a table of bins, with a given number of threads."""

    def __init__(self, rows, columns, threads):
        rng = np.random.default_rng(1)
        self.bins = rng.integers(0, 255, (rows, columns), np.uint8)
        self.records = np.full(rows, RECORD)
        self.rows, self.features = np.arange(rows, dtype=np.uint32), np.arange(columns)
        self.threads = threads

    def seconds(self):
        """Return the seconds of one histogram over all rows."""
        n, columns, size = len(self.rows), len(self.features), self.threads
        cells = np.zeros((size, columns * FULL), np.int64)
        where = self.bins, self.records, self.rows

        def add(first, last):
            for member in range(first, last):
                begin, end = n * member // size, n * (member + 1) // size
                for low in range(0, columns, TILE):
                    high = min(low + TILE, columns)
                    build_narrow(*where, begin, end, self.features, low, high, FULL, cells[member])

        with Workers(size) as workers:
            workers.share(add, size)  # wakes the threads, and loads the histogram
            began = time.perf_counter()
            workers.share(add, size)
            return time.perf_counter() - began


def seconds_of_fit(X, y, message, trees):
    """Return the seconds of a fit, and its model."""
    model = HistogramBoostingClassifier(
        n_estimators=trees, num_leaves=message.leaves, reg_lambda=1.0, n_jobs=message.threads
    )
    began = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - began, model


def measure(X, y, message):
    """Return the `Measurement` of a table: medians over rounds of kernel, short and long fit."""
    rows, columns = X.shape
    kernel = Kernel(rows, columns, message.threads)
    rounds = []
    for _ in range(message.rounds):
        short, _ = seconds_of_fit(X, y, message, 1)
        long, model = seconds_of_fit(X, y, message, 1 + message.trees)
        rounds.append((kernel.seconds() / (rows * columns), (long - short) / message.trees))
    update, tree = map(median, zip(*rounds, strict=True))
    return Measurement(rows, message.threads, update, count_updates(model.ensemble_), tree)


def print_line(text):
    """Print a line."""
    sys.stdout.write(text + "\n")


def print_table(result):
    """Print the table, and its changes with threads and rows."""
    print_line(
        "rows       threads  kernel ns  M updates   limit ms    tree ms  distance  ns an update"
    )
    for one in result:
        print_line(
            f"{one.rows:<10} {one.threads:<7} {one.kernel * 1e9:10.3f} {one.updates / 1e6:10.1f} "
            f"{one.limit * 1e3:10.2f} {one.tree * 1e3:10.2f} {one.tree / one.limit:9.2f} "
            f"{one.tree / one.updates * 1e9:13.3f}"
        )
    for one in result:
        for other in result:
            if one.rows == other.rows and one.threads < other.threads:
                of_kernel, of_tree = one.kernel / other.kernel, one.tree / other.tree
                print_line(
                    f"{one.rows} rows, {one.threads} to {other.threads} threads: "
                    f"training {of_tree:.2f} times as fast, the bare kernel {of_kernel:.2f}"
                )
            if one.threads == other.threads and one.rows < other.rows:
                slower = (other.tree / other.updates) / (one.tree / one.updates)
                print_line(
                    f"{one.threads} threads, {one.rows} to {other.rows} rows: "
                    f"an update takes {slower:.2f} times as long"
                )


def main(given=None):
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m costs.hist_limit", description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6])
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--trees", type=int, default=20, help="between the two fits")
    parser.add_argument("--rounds", type=int, default=5, help="whose median counts")
    message = parser.parse_args(given)
    results = []
    for rows in message.rows:
        X, y = make_table(int(rows), message.columns)
        for threads in message.threads:
            one = argparse.Namespace(**{**vars(message), "threads": threads})
            results.append(measure(X, y, one))
    print_table(results)


if __name__ == "__main__":
    main()
