"""Measure the peak memory of training above the input, ours and other libraries'.

    python -m costs.peak_memory
    python -m costs.peak_memory --workloads 1e7x28 onehot --libraries HistogramBoosting LightGBM
    python -m costs.peak_memory --workloads 2e5x28 --libraries SymmetricBoosting CatBoost

Each figure is of a fresh process: it makes the table, fits a part of it to load the library, and
returns free memory to the system. The peak of the second fit, read from ``VmHWM``, minus the
resident size before it is printed. A library's own form of the table is made in the fit, too.
LightGBM is column-wise. A workload is ``onehot``, ``categorical``, or rows x columns of normally
distributed values with two classes; its values are float64, or float32 after ``--float32``.
"""

import argparse
import subprocess
import sys

import numpy as np

import algorithms
from costs.hist_limit import make_table, print_line
from harness.core.phase_timer import Meter
from harness.data.generation import categorical_high, onehot_sparse

MIB = 1 << 20
WORKLOADS = "1e6x28", "1e7x28", "5e4x2000", "onehot", "categorical"
LIBRARIES = "HistogramBoosting", "LightGBM"
ROWS = 500_000  # of the one-hot and of the categorical table
WARM_ROWS = 160_000  # from about 150 000 rows on, tables of 28 columns are trained in another way
WARM_VALUES = 1 << 23


def make_workload(name, dtype):
    """Return X and y, integers 0 and 1, of a workload."""
    if name == "onehot":
        table = onehot_sparse(ROWS, 0, 3330)
        return table.X.astype(dtype, copy=False), table.y
    if name == "categorical":
        table = categorical_high(ROWS, 0, 2000)
        return table.X, table.y
    rows, columns = (int(float(size)) for size in name.split("x"))
    X, y = make_table(rows, columns)
    return X.astype(dtype, copy=False), y.astype(np.int64)


def fit(library, X, y, threads, rounds):
    """Train a model of a library."""
    own = {"n_estimators": rounds, "random_state": 0}
    if library == "HistogramBoosting":
        algorithms.HistogramBoostingClassifier(**own, n_jobs=threads).fit(X, y)
    elif library == "NewtonBoosting":
        has_categories = hasattr(X, "iloc")
        algorithms.NewtonBoostingClassifier(
            **own, n_jobs=threads, tree_method="hist", enable_categorical=has_categories
        ).fit(X, y)
    elif library == "SymmetricBoosting":
        algorithms.SymmetricBoostingClassifier(
            **own, thread_count=threads, cat_features=categorical_columns(X)
        ).fit(X, y)
    elif library == "LightGBM":
        import lightgbm

        settings = {"objective": "binary", "num_threads": threads, "force_col_wise": True}
        lightgbm.train(settings | {"verbosity": -1}, lightgbm.Dataset(X, y), rounds)
    elif library == "XGBoost":
        import xgboost

        settings = {"objective": "binary:logistic", "nthread": threads, "tree_method": "hist"}
        data = xgboost.QuantileDMatrix(X, y, enable_categorical=hasattr(X, "iloc"), nthread=threads)
        xgboost.train(settings, data, rounds)
    else:
        import catboost

        options = {"verbose": False, "allow_writing_files": False, "thread_count": threads}
        catboost.CatBoostClassifier(**own, **options, cat_features=categorical_columns(X)).fit(X, y)


def categorical_columns(X):
    """Return the names of a frame's categorical columns, or None."""
    return X.select_dtypes("category").columns.tolist() if hasattr(X, "iloc") else None


def measure(name, library, dtype, threads, rounds):
    """Return the peak of a fit above the resident size before it, in bytes."""
    X, y = make_workload(name, dtype)
    few = min(max(2000, min(WARM_ROWS, WARM_VALUES // X.shape[1])), len(y) // 2)
    part = X.iloc[:few] if hasattr(X, "iloc") else X[:few]
    fit(library, part.copy(), y[:few], threads, rounds)
    del part
    meter = Meter()
    return meter.take("fit", lambda: fit(library, X, y, threads, rounds)).peak


def main(given=None):
    """Measure each library on each workload, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m costs.peak_memory", description=__doc__)
    parser.add_argument("--workloads", nargs="+", default=WORKLOADS)
    parser.add_argument("--libraries", nargs="+", default=LIBRARIES)
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--in-process", action="store_true", help="measure in this process")
    options = parser.parse_args(given)
    dtype = np.float32 if options.float32 else np.float64
    rest = ["--threads", str(options.threads), "--rounds", str(options.rounds), "--in-process"]
    rest += ["--float32"] if options.float32 else []
    for name in options.workloads:
        for library in options.libraries:
            if options.in_process:
                peak = measure(name, library, dtype, options.threads, options.rounds)
                print_line(f"{name:<12} {np.dtype(dtype).name} {library:<18} {peak / MIB:8.1f} MiB")
                continue
            command = [sys.executable, "-m", "costs.peak_memory", "--workloads", name]
            subprocess.run([*command, "--libraries", library, *rest], check=True)  # noqa: S603 - this file


if __name__ == "__main__":
    main()
