"""Measure the cost of distributed training, fit a cost model and project it.

    python -m costs.dask_cost
    python -m costs.dask_cost --wide
    python -m costs.dask_cost --rows 1e10 --columns 100 --workers 1000 --bandwidth 1.25e9

Ranks are processes with sockets between them. The bytes and messages of the links and the processor
time of each rank are counted per tree: a busy machine changes neither by much.
For n rows, F columns of B bins, L leaves and R ranks, S = L − 1 splits and depth D = log₂ L:

    time     = k₁ S + k₂ n F (1 + D/2) / R + k₃ n (1 + D) / R + k₄ S F B (1 + 2/R) + k₅ messages
    bytes    = S F B w (R − 1) / R + S m ⌈log₂ R⌉                     sent by each rank
    messages = 2 S ⌈log₂ R⌉

w is the number of bytes of a bin's sums, m that of a best split. The projected wall time is time +
messages × latency + bytes / bandwidth: nothing overlaps.
"""

import argparse
import math
import multiprocessing
import sys
import time
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import nnls

from algorithms import HistogramBoostingRegressor
from algorithms.distributed import sockets
from algorithms.distributed.boosting import Table, Training, train
from algorithms.distributed.collective import join
from algorithms.distributed.rows import Rows

TREES = 10  # between the two fits whose difference is measured
TIMES = 3  # that each fit is made; the fastest counts
GRID = [  # rows, columns, bins, leaves, ranks
    (20_000, 10, 255, 31, 1),
    (400_000, 10, 255, 31, 1),
    (400_000, 40, 255, 31, 1),
    (400_000, 40, 31, 31, 1),
    (100_000, 40, 255, 127, 1),
    (20_000, 40, 255, 63, 2),
    (400_000, 10, 255, 31, 2),
    (400_000, 40, 255, 15, 2),
    (1_000_000, 28, 255, 31, 2),
    (20_000, 10, 255, 31, 4),
    (400_000, 28, 255, 31, 4),
    (100_000, 10, 31, 127, 4),
]
NAMES = ("a split", "an update of a bin", "a row and level", "a bin and split", "a message")


@dataclass(frozen=True)
class Shape:
    """Size of a training: rows, columns, bins, leaves, ranks."""

    rows: float
    columns: int
    bins: int
    leaves: int
    ranks: int

    @property
    def terms(self):
        """Return the factor of each k of the cost model, float64 (5,)."""
        n, splits, depth = self.rows, self.leaves - 1, math.log2(self.leaves)
        cells = splits * self.columns * self.bins
        updates = n * self.columns * (1.0 + depth / 2.0) / self.ranks
        levels, scans = n * (1.0 + depth) / self.ranks, cells * (1.0 + 2.0 / self.ranks)
        return np.array([splits, updates, levels, scans, self.sent(0.0, 0.0)[1]])

    def sent(self, width, of_split):
        """Return the bytes and messages that each rank sends per tree."""
        splits, steps = self.leaves - 1, math.ceil(math.log2(self.ranks))
        sums = splits * self.columns * self.bins * width * (self.ranks - 1) / self.ranks
        return sums + splits * of_split * steps, 2 * splits * steps


@dataclass(frozen=True)
class Measured:
    """Measured cost of a shape per tree and rank."""

    shape: Shape
    seconds: float
    bytes: dict  # what for → bytes
    messages: dict


@lru_cache(maxsize=1)
def table_of(rows, columns):
    """Return X and y."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(int(rows), columns)).astype(np.float32)
    return X, X[:, 0] * X[:, 1] + rng.normal(size=len(X)) * 0.1


def run_rank(pipe):
    """Train repeatedly as one rank, as requested through a pipe."""
    while (requested := pipe.recv()) is not None:
        with sockets.listen("127.0.0.1") as listener:
            pipe.send(listener.getsockname())
            pipe.send(train_rank(*requested, pipe.recv(), listener))


def train_rank(rank, shape, trees, learner, reach, listener):
    """Return (processor seconds, bytes, messages) of a rank."""
    X, y = table_of(shape.rows, shape.columns)
    model = HistogramBoostingRegressor(
        n_estimators=trees, num_leaves=shape.leaves, max_bin=shape.bins, min_child_samples=1
    )
    model.set_params(n_jobs=1).n_features_in_ = shape.columns
    categorical = np.zeros(shape.columns, bool)
    model._is_categorical = categorical  # noqa: SLF001 - as a client of the ranks does
    model._objective = model._find_objective()  # noqa: SLF001 - as a client of the ranks does
    lengths = np.diff(len(y) * np.arange(shape.ranks + 1) // shape.ranks).tolist()
    rows = Rows.of_parts(lengths, [rank])
    own = slice(rows.number[0], rows.number[0] + len(rows))
    message = Training(model, categorical, 0, learner)
    with join(rank, reach, listener, b"of this measurement") as ranks:
        began = time.thread_time()
        train(ranks, message, Table(X[own], y[own], None, rows))
        return time.thread_time() - began, dict(ranks.sent), dict(ranks.calls)


class RankProcesses:
    """Processes that train together and end with the ``with`` block."""

    def __init__(self, size):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([run_rank.__module__])
        pairs = [context.Pipe() for _ in range(size)]
        self.pipes = [own for own, _ in pairs]
        self.processes = [
            context.Process(target=run_rank, args=(other,), daemon=True) for _, other in pairs
        ]

    def __enter__(self):
        for process in self.processes:
            process.start()
        return self

    def __exit__(self, *_):
        for pipe in self.pipes:
            pipe.send(None)
        for process in self.processes:
            process.join()

    def train(self, shape, trees, learner="data"):
        """Return (processor seconds, bytes, messages) of the slowest rank."""
        pipes = self.pipes[: shape.ranks]
        for rank, pipe in enumerate(pipes):
            pipe.send((rank, shape, trees, learner))
        reach = [pipe.recv() for pipe in pipes]
        for pipe in pipes:
            pipe.send(reach)
        return max((pipe.recv() for pipe in pipes), key=lambda found: found[0])


def measure(processes, shape):
    """Return the cost of a tree of a shape: the difference of a longer and a shorter fit."""
    processes.train(shape, 1)  # loads kernels
    short, long = (
        min((processes.train(shape, trees) for _ in range(TIMES)), key=lambda found: found[0])
        for trees in (1, 1 + TREES)
    )
    per_tree = [
        {what: (long[i][what] - short[i][what]) / TREES for what in long[i]} for i in (1, 2)
    ]
    return Measured(shape, (long[0] - short[0]) / TREES, *per_tree)


def fit(result):
    """Return the k of the cost model, its largest relative error, and w and m of the links."""
    terms = np.array([one.shape.terms for one in result])
    seconds = np.array([one.seconds for one in result])
    k, _ = nnls(terms / seconds[:, None], np.ones(len(result)))
    error = np.abs(terms @ k / seconds - 1.0).max()
    linked = [one for one in result if one.shape.ranks > 1]
    width = max(one.bytes["histograms"] / one.shape.sent(1.0, 0.0)[0] for one in linked)
    of_split = max(one.bytes["splits"] / one.shape.sent(0.0, 1.0)[0] for one in linked)
    return k, error, width, of_split


def print_line(text):
    """Print a line."""
    sys.stdout.write(text + "\n")


def print_measured(result):
    """Print the measured costs."""
    print_line(
        "rows     columns bins leaves ranks   CPU ms  kB sums  kB splits  messages   a tree, a rank"
    )
    for one in result:
        s, sent = one.shape, {"histograms": 0.0, "splits": 0.0, **one.bytes}
        print_line(
            f"{s.rows:<8} {s.columns:<7} {s.bins:<4} {s.leaves:<6} {s.ranks:<5} "
            f"{one.seconds * 1e3:8.1f} {sent['histograms'] / 1e3:8.1f} "
            f"{sent['splits'] / 1e3:10.2f} {sum(one.messages.values()):9.0f}"
        )


def print_projected(shape, fitted, latency, bandwidth):
    """Print the projected cost of a tree of another shape."""
    k, _, width, of_split = fitted
    parts = shape.terms * k
    sent, messages = shape.sent(width, of_split)
    wall = parts.sum() + messages * latency + sent / bandwidth
    print_line(
        f"{shape.rows:.3g} rows × {shape.columns} columns, {shape.ranks} ranks of one thread: "
        f"{wall:.3g} s a tree: {parts.sum():.3g} s of work, {messages * latency:.3g} s of latency, "
        f"{sent / bandwidth:.3g} s for {sent / 1e6:.3g} MB a rank"
    )


def print_wide(processes, shape):
    """Print the bytes per tree of all ranks for each tree learner on a wide table."""
    for learner in ("data", "voting", "feature"):
        ends = [processes.train(shape, trees, learner)[1] for trees in (1, 1 + TREES)]
        each = {what: (ends[1][what] - ends[0][what]) / TREES for what in ends[1]}
        parts = ", ".join(f"{what} {count / 1e3:.1f}" for what, count in each.items() if count)
        total = sum(each.values()) * shape.ranks
        print_line(
            f"{learner:8} {total / 1e3:10.1f} kB a tree, {shape.ranks} ranks; of one: {parts}"
        )


def main(words=None):
    """Measure, fit and project; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=float, default=1e10)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--bins", type=int, default=255)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=1e-4, help="seconds of a message")
    parser.add_argument("--bandwidth", type=float, default=1.25e9, help="bytes a second")
    parser.add_argument("--few", action="store_true", help="measure few and small shapes")
    parser.add_argument("--wide", action="store_true", help="bytes by each tree_learner, only")
    requested = parser.parse_args(words)
    if requested.wide:
        shape = Shape(*((1_000, 80, 31, 7, 2) if requested.few else (20_000, 500, 255, 31, 4)))
        with RankProcesses(shape.ranks) as workers:
            print_wide(workers, shape)
        return
    grid = [(2_000, c, b, 7, r) for c, b, r in ((3, 31, 1), (6, 15, 2), (3, 15, 3), (6, 31, 2))]
    shapes = [Shape(*shape) for shape in (grid if requested.few else GRID)]
    with RankProcesses(max(shape.ranks for shape in shapes)) as workers:
        results = [measure(workers, shape) for shape in shapes]
    print_measured(results)
    fitted = fit(results)
    k, error, width, of_split = fitted
    print_line("ns of " + ", ".join(f"{n}: {v * 1e9:.3g}" for n, v in zip(NAMES, k, strict=True)))
    print_line(
        f"largest error of the fit {error:.0%}; {width:.1f} bytes a bin, {of_split:.0f} a split"
    )
    for ranks in (1, 10, 100, requested.workers):
        shape = Shape(requested.rows, requested.columns, requested.bins, requested.leaves, ranks)
        print_projected(shape, fitted, requested.latency, requested.bandwidth)


if __name__ == "__main__":
    main()
