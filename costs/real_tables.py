"""Compare training times of the histogram booster and of LightGBM on real tables.

    HARNESS_MIRROR=FOLDER python -m costs.real_tables
    HARNESS_MIRROR=FOLDER python -m costs.real_tables --tables farm_ads sonar --threads 1 2
    HARNESS_MIRROR=FOLDER python -m costs.real_tables --against CHECKOUT

``FOLDER`` holds the tables and their ``MANIFEST.json``. Every repetition fits our booster and
LightGBM's three modes (row-wise, column-wise, quantised) one after another, in one process. A
repetition's ratio is the time of the fastest mode over ours; the table shows the median and the
lowest and highest ratio. ``--against`` also fits our booster of another checkout, in a second
process, in the same repetitions; "old / new" is its time over that of this checkout.

On a busy machine compare CPU ratios with one thread: LightGBM's threads spin while they wait, and
wall times include waiting for the processor.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median

import numpy as np

OURS = "ours"
MODES = {
    "row-wise": {"force_row_wise": True},
    "column-wise": {"force_col_wise": True},
    "quantised": {"use_quantized_grad": True},
}
CLOCKS = "wall", "cpu"
SEED = 0


@dataclass(frozen=True)
class Problem:
    """A table and the settings of both libraries."""

    X: object
    y: np.ndarray
    is_classification: bool
    settings: dict

    def fit(self, kind):
        """Fit our booster or a mode of LightGBM; return wall and CPU seconds."""
        model = self._make(kind)
        began = time.perf_counter(), time.process_time()
        model.fit(self.X, self.y)
        return time.perf_counter() - began[0], time.process_time() - began[1]

    def _make(self, kind):
        if kind == OURS:
            from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor

            kinds = HistogramBoostingClassifier, HistogramBoostingRegressor
            return kinds[0 if self.is_classification else 1](**self.settings)
        import lightgbm

        kinds = lightgbm.LGBMClassifier, lightgbm.LGBMRegressor
        settings = {**self.settings, **MODES[kind], "verbosity": -1}
        return kinds[0 if self.is_classification else 1](**settings)


def read_problem(name, most_rows, settings):
    """Return the `Problem` of a table, of at most so many rows drawn at random."""
    from harness.data import resolve
    from harness.data.loading import table_of
    from harness.plugins.registry import load_registry

    table = table_of(resolve(name, load_registry()))
    X, y = table.X, np.asarray(table.y)
    rows = np.sort(np.random.default_rng(SEED).permutation(len(y))[:most_rows])
    X, y = X.iloc[rows] if hasattr(X, "iloc") else X[rows], y[rows]
    if table.classes:
        y = np.unique(y, return_inverse=True)[1]
    return Problem(X, y, bool(table.classes), settings)


def serve():
    """Answer requests on stdin, one JSON value a line: load a table, or fit a model on it."""
    warnings.simplefilter("ignore")
    problem, answers = None, os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # LightGBM prints to stdout
    for line in sys.stdin:
        request = json.loads(line)
        if "fit" in request:
            answer = problem.fit(request["fit"])
        else:
            problem = read_problem(request["table"], request["rows"], request["settings"])
            answer = problem.X.shape
            problem.fit(OURS)  # compiles kernels
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


class Fitter:
    """Process that fits models with the sources of one checkout."""

    def __init__(self, folder):
        env = {**os.environ, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
        command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
        pipe = subprocess.PIPE
        pipes = {"stdin": pipe, "stdout": pipe, "text": True}
        self._process = subprocess.Popen(command, env=env, **pipes)  # noqa: S603 - this file

    def ask(self, **request):
        """Send a request; return the answer."""
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a process that fits models ended at {request}")
        return json.loads(line)

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


def measure(fitters, name, options, threads):
    """Return shape and seconds of a table: {(side, kind): [(wall, CPU) of each repetition]}."""
    settings = {
        "n_jobs": threads,
        "num_leaves": options.leaves,
        "n_estimators": options.rounds,
        "random_state": SEED,
    }
    for fitter in fitters:
        shape = fitter.ask(table=name, rows=options.rows, settings=settings)
    asked = [(side, OURS) for side in range(len(fitters))] + [(0, mode) for mode in MODES]
    seconds = {one: [] for one in asked}
    for repetition in range(options.repetitions):
        for side, kind in asked if repetition % 2 else asked[::-1]:
            seconds[side, kind].append(fitters[side].ask(fit=kind))
    return shape, seconds


def ratios_of(seconds, clock, over):
    """Return the ratio of each repetition: LightGBM's fastest mode, or the other side, over ours.

    Parameters
    ----------
    seconds : from `measure`
    clock : 0 for wall time, 1 for CPU time
    over : "LightGBM" or "old"
    """
    ours = [one[clock] for one in seconds[0, OURS]]
    if over == "old":
        others = [one[clock] for one in seconds[1, OURS]]
    else:
        modes = zip(*(seconds[0, mode] for mode in MODES), strict=True)
        others = [min(one[clock] for one in run) for run in modes]
    return [other / own for other, own in zip(others, ours, strict=True)]


def show(ratios):
    """Return the median, lowest and highest ratio as text."""
    return f"{median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"


def write(line):
    """Write a line to stdout at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def table_names():
    """Return the names of the tables of the mirror, without ranking."""
    from harness.data.mirror import entries

    return sorted(e.name for e in entries() if not e.refused and e.facts.task != "ranking")


def parse_arguments():
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", help="names; by default all tables of the mirror")
    parser.add_argument("--threads", nargs="+", type=int, default=[2])
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--rows", type=int, default=37500, help="maximum number of rows")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--against", type=Path, help="another checkout of this project")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    """Measure all tables and print the ratios as a Markdown table."""
    options = parse_arguments()
    if options.serve:
        serve()
        return
    folders = [Path(__file__).resolve().parents[1], *filter(None, [options.against])]
    fitters = [Fitter(folder.resolve()) for folder in folders]
    comparisons = ["LightGBM", "old"][: len(folders)]
    heads = [f"{over} / ours, {clock}" for over in comparisons for clock in CLOCKS]
    for threads in options.threads:
        write(f"\n| table, {threads} threads | rows × columns | ours ms | {' | '.join(heads)} |")
        write("|---" * (3 + len(heads)) + "|")
        medians = [[] for _ in heads]
        for name in options.tables or table_names():
            shape, seconds = measure(fitters, name, options, threads)
            cells = [ratios_of(seconds, i, over) for over in comparisons for i in range(2)]
            for all_of_head, ratios in zip(medians, cells, strict=True):
                all_of_head.append(median(ratios))
            own = 1e3 * median(one[0] for one in seconds[0, OURS])
            texts = " | ".join(map(show, cells))
            write(f"| {name} | {shape[0]} × {shape[1]} | {own:.0f} | {texts} |")
        means = " | ".join(f"{geometric_mean(one):.2f}" for one in medians)
        write(f"| geometric mean | | | {means} |")
    for fitter in fitters:
        fitter.close()


if __name__ == "__main__":
    main()
