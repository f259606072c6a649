"""Fit every estimator at its defaults on several tables; say what was compiled for that.

    python -m costs.first_fits [NAME...]           JSON: what was compiled, hashes of predictions
    python -m costs.first_fits --table [NAME...]   the most expensive kernels as a Markdown table

``NAME`` is an estimator without its ending, such as ``HistogramBoosting``, or the form of a table,
such as ``csr``; by default all are fitted. Voting and Stacking have no kernels. To compile all
kernels, set ``HARNESS_PACKAGED_KERNELS=0``, and ``HARNESS_KERNEL_CACHE`` to an empty folder.
"""

import hashlib
import json
import sys
import time
from collections import defaultdict
from itertools import chain

import numpy as np
import pandas as pd
from numba.core import event
from scipy import sparse

import algorithms

ROWS = 600
FORMS = {
    "HistogramBoosting": ("float64", "float32", "missing", "frame", "categorical", "csr"),
    "NewtonBoosting": ("float64", "float32", "missing", "frame", "categorical", "csr"),
    "RandomForest": ("float64", "float32", "missing", "frame", "csr"),
    "DecisionTree": ("float64", "float32", "missing", "frame", "categorical", "csr"),
    "Bagging": ("float64", "float32", "missing", "frame"),
    "AdaBoost": ("float64", "float32", "frame", "csr"),
    "GradientBoosting": ("float64", "float32", "frame", "csr"),
    "SymmetricBoosting": ("float64", "float32", "missing", "frame", "categorical", "csr"),
    "HistGradientBoosting": ("float64", "float32", "missing", "frame", "categorical"),
    "Boosting": ("float64", "float32", "missing", "frame", "categorical", "csr"),
}
MORE = {
    ("HistogramBoosting", "categorical"): {},
    ("NewtonBoosting", "categorical"): {"enable_categorical": True},
    ("DecisionTree", "categorical"): {"categorical_features": "from_dtype"},
}
TASKS = ("binary", "multiclass", "regression")
FEW_ROUNDS = {"SymmetricBoosting": {"iterations": 20}}  # the default, 1000, takes seconds
ROWS_OF_QUERY = 20
QUERIES = {"HistogramBoosting": "group", "NewtonBoosting": "qid", "SymmetricBoosting": "group_id"}


class CompileTimes(event.Listener):
    """Numbers of specializations and processor seconds of the kernels that numba compiles.

    Attributes
    ----------
    counts : dict, name of each function that is compiled → number of types it is compiled for
    seconds : dict, name of each kernel that Python calls → seconds, with all that it calls
    """

    def __init__(self):
        self.counts, self.seconds = defaultdict(int), defaultdict(float)
        self._running = []  # name and start of the compilations under way, the outermost first

    def on_start(self, event):
        """Note the start of a compilation."""
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__qualname__}".removeprefix("algorithms.")
        self.counts[name] += 1
        self._running.append((name, time.process_time()))

    def on_end(self, event):  # noqa: ARG002 - numba's signature
        """Note the end of a compilation."""
        name, began = self._running.pop()
        if not self._running:
            self.seconds[name] += time.process_time() - began


def table(form, rng):
    """Return a table of one form."""
    X = rng.normal(size=(ROWS, 6))
    if form == "missing":
        X[::7, 0] = np.nan
    if form == "csr":
        return sparse.csr_matrix(np.where(X > 0.5, X, 0.0))
    if form in ("frame", "categorical"):
        X = pd.DataFrame(X).add_prefix("x")
    if form == "categorical":
        X["few"] = pd.Categorical(np.array(list("abcdefg"))[rng.integers(0, 7, ROWS)])
        X["many"] = pd.Categorical(rng.integers(0, 40, ROWS))
    return X.astype(np.float32) if form == "float32" else X


def make_estimator(stem, form, task):
    """Return an estimator with its default parameters, but for few rounds and a seed."""
    kind = {"regression": "Regressor", "ranking": "Ranker"}.get(task, "Classifier")
    given = MORE.get((stem, form), {}) | FEW_ROUNDS.get(stem, {})
    estimator = getattr(algorithms, stem + kind)(**given)
    seeded = {"random_state": 0} if "random_state" in estimator.get_params() else {}
    return estimator.set_params(**seeded)


def fit_and_predict(stem, form, task):
    """Return the hash of the predictions of one estimator that was fitted to one table."""
    rng = np.random.default_rng(0)
    X = table(form, rng)
    values = rng.normal(size=ROWS)
    y = {"binary": values > 0, "multiclass": np.digitize(values, (-0.5, 0.5))}.get(task, values)
    estimator = make_estimator(stem, form, task)
    more = {}
    if task == "ranking":
        y = np.digitize(values, (-0.5, 0.5))
        queries = np.repeat(np.arange(ROWS // ROWS_OF_QUERY), ROWS_OF_QUERY)
        more = {QUERIES[stem]: np.bincount(queries) if QUERIES[stem] == "group" else queries}
    model = estimator.fit(X, y, **more)
    predictions = [model.predict(X), getattr(model, "predict_proba", model.predict)(X)]
    contents = b"".join(np.ascontiguousarray(each).tobytes() for each in predictions)
    return hashlib.sha256(contents).hexdigest()


def as_table(times, shown=25):
    """Return the kernels that take longest to compile, as lines of Markdown."""
    lines = ["| kernel | types | CPU seconds |", "|---|---|---|"]
    ranked = sorted(times.seconds.items(), key=lambda item: -item[1])
    lines += [f"| `{name}` | {times.counts[name]} | {t:.1f} |" for name, t in ranked[:shown]]
    rest = ranked[shown:]
    if rest:
        counted = sum(times.counts[name] for name, _ in rest)
        lines.append(f"| {len(rest)} others | {counted} | {sum(t for _, t in rest):.1f} |")
    inner = {name: n for name, n in times.counts.items() if name not in times.seconds}
    lines.append(
        f"| {len(inner)} functions that only kernels call | {sum(inner.values())} | above |"
    )
    total, counted = sum(times.seconds.values()), sum(times.counts.values())
    return [*lines, f"| all {len(times.counts)} | {counted} | {total:.1f} |"]


def main(arguments):
    """Fit all, and print what was found."""
    stems = [stem for stem in FORMS if stem in arguments] or list(FORMS)
    all_forms = dict.fromkeys(chain.from_iterable(FORMS.values()))
    forms = [form for form in all_forms if form in arguments] or list(all_forms)
    times = CompileTimes()
    event.register("numba:compile", times)
    hashes = {
        f"{stem} {form} {task}": fit_and_predict(stem, form, task)
        for stem in stems
        for form in FORMS[stem]
        if form in forms
        for task in (*TASKS, *(["ranking"] if stem in QUERIES else []))
    }
    if "--table" in arguments:
        sys.stdout.write("\n".join([*as_table(times), ""]))
    else:
        sys.stdout.write(json.dumps({"compiled": times.counts, "hashes": hashes}))


if __name__ == "__main__":
    main(sys.argv[1:])
