"""Compare our estimators with other libraries' on real tables: training and prediction times.

    HARNESS_MIRROR=FOLDER python -m costs.real_tables --output times.jsonl
    HARNESS_MIRROR=FOLDER python -m costs.real_tables --tables farm_ads sonar --threads 1 2
    HARNESS_MIRROR=FOLDER python -m costs.real_tables --families NewtonBoosting RandomForest
    HARNESS_MIRROR=FOLDER python -m costs.real_tables --against CHECKOUT

``FOLDER`` holds the tables and their ``MANIFEST.json``; scikit-learn's tables are added to them.
Every repetition fits our estimator and its rivals one after another, in one process.
HistogramBoosting has three rivals, LightGBM's modes (row-wise, column-wise, quantized); the others
have one each.
A repetition's ratio is the time of the fastest rival over ours; the table shows the median and the
lowest and highest ratio. ``--against`` also fits our estimator of another checkout, in a second
process, in the same repetitions; "old / new" is its time over that of this checkout.

Prediction is timed for all rows at once, and for single rows, the mean of `SINGLE_ROWS`. Numeric
frames are trained on as they are; rows to predict are NumPy arrays. LightGBM's modes predict alike,
so only the first one predicts.

With ``--output`` the times of each table are appended to a file of JSON lines. Tables of the file
are not measured again, so a command that was interrupted can be repeated. Each table has
``--limit`` seconds; there are fewer repetitions if they take longer. A table without a
complete repetition is listed as a failure.

On a busy machine compare CPU ratios with one thread: LightGBM's threads spin while they wait, and
wall times include waiting for the processor.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from statistics import geometric_mean, median

import numpy as np

OURS, OLD = "ours", "old"
LIGHTGBM = "lightgbm", "LGBM"
RIVALS = {  # family → name of a rival → module, name of its estimators without ending, parameters
    "HistogramBoosting": {
        "row-wise": (*LIGHTGBM, {"force_row_wise": True, "verbosity": -1}),
        "column-wise": (*LIGHTGBM, {"force_col_wise": True, "verbosity": -1}),
        "quantized": (*LIGHTGBM, {"use_quantized_grad": True, "verbosity": -1}),
    },
    "NewtonBoosting": {"XGBoost": ("xgboost", "XGB", {"tree_method": "hist"})},
    "RandomForest": {"scikit-learn": ("sklearn.ensemble", "RandomForest", {})},
    "GradientBoosting": {"scikit-learn": ("sklearn.ensemble", "GradientBoosting", {})},
    "SymmetricBoosting": {
        "CatBoost": ("catboost", "CatBoost", {"verbose": False, "allow_writing_files": False})
    },
}
CLOCKS = "wall", "cpu"
SEED = 0
MAX_SHARE = 3.0  # a repetition begins only if this multiple of the last one's time is left
SINGLE_ROWS = 50  # rows that are predicted one by one
NUMERIC = "RandomForest", "GradientBoosting"  # families that train on numbers without gaps


class OutOfTimeError(Exception):
    """A process did not answer in time; it was ended."""


@dataclass
class Problem:
    """A table and the parameters of all estimators."""

    X: object
    y: np.ndarray
    is_classification: bool
    family: str
    settings: dict
    models: dict = field(default_factory=dict)  # fitted, for predictions

    def fit(self, kind):
        """Fit our estimator or a rival; return wall and CPU seconds."""
        model = self._make(kind)
        began = time.perf_counter(), time.process_time()
        model.fit(self.X, self.y)
        return time.perf_counter() - began[0], time.process_time() - began[1]

    def predict(self, kind):
        """Return the wall seconds of a prediction of all rows, and of one row, the mean of some."""
        X = as_array(self.X)
        is_new = kind not in self.models
        if is_new:
            self.models[kind] = self._make(kind).fit(X, self.y)
        model = self.models[kind]
        call = model.predict_proba if self.is_classification else model.predict
        if is_new:  # load what predictions need
            call(X)
            call(take(X, [0]))
        rows = [take(X, [at]) for at in range(min(SINGLE_ROWS, len(self.y)))]
        began = time.perf_counter()
        call(X)
        middle = time.perf_counter()
        for row in rows:
            call(row)
        return middle - began, (time.perf_counter() - middle) / len(rows)

    def _make(self, kind):
        ending = "Classifier" if self.is_classification else "Regressor"
        if kind == OURS:
            return getattr(import_module("algorithms"), self.family + ending)(**self.settings)
        module, stem, given = RIVALS[self.family][kind]
        settings = self.settings | given
        if stem == "GradientBoosting":
            del settings["n_jobs"]  # scikit-learn's has one thread only
        return getattr(import_module(module), stem + ending)(**settings)


def make_settings(family, options, threads):
    """Return the parameters that our estimators and their rivals share."""
    settings = {"n_estimators": options.rounds, "random_state": SEED}
    if family == "SymmetricBoosting":
        return settings | {"thread_count": threads}
    if family == "HistogramBoosting":
        settings["num_leaves"] = options.leaves
    if family == "NewtonBoosting":
        settings["enable_categorical"] = True
    return settings | {"n_jobs": threads}


def read_problem(name, most_rows, family, settings):
    """Return the `Problem` of a table, of at most so many rows drawn at random."""
    from harness.data import resolve
    from harness.data.loading import table_of
    from harness.plugins.registry import load_registry

    table = table_of(resolve(name, load_registry()))
    X, y = table.X, np.asarray(table.y)
    rows = np.sort(np.random.default_rng(SEED).permutation(len(y))[:most_rows])
    X, y = take(X, rows), y[rows]
    if table.classes:
        y = np.unique(y, return_inverse=True)[1]
    if family in NUMERIC:
        X = as_numbers(X)
    if family == "SymmetricBoosting" and hasattr(X, "iloc"):
        X, names = with_texts(X)
        settings = settings | {"cat_features": names}
    return Problem(X, y, bool(table.classes), family, settings)


def take(X, rows):
    """Return some rows of a frame, array or sparse matrix."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def category_columns(frame):
    """Return the names of a frame's columns that are categorical or hold text."""
    kinds = frame.dtypes.items()
    return [n for n, kind in kinds if not isinstance(kind, np.dtype) or kind.kind == "O"]


def as_array(X):
    """Return a numeric frame as an array; other tables unchanged."""
    return X.to_numpy() if hasattr(X, "iloc") and not category_columns(X) else X


def as_numbers(X):
    """Return a frame as an array of codes and numbers; missing values become 0."""
    if not hasattr(X, "iloc"):
        return X
    codes = {name: X[name].cat.codes for name in category_columns(X)}
    return np.nan_to_num(X.assign(**codes).to_numpy(np.float64))


def with_texts(frame):
    """Return a frame with text in place of categories, and the names of these columns."""
    names = category_columns(frame)
    texts = {name: np.array([str(one) for one in frame[name]], object) for name in names}
    return frame.assign(**texts).astype(dict.fromkeys(names, object)), names


def serve():
    """Answer requests on stdin, one JSON value a line: load a table, fit a model, or predict."""
    warnings.simplefilter("ignore")
    problem, answers = None, os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # LightGBM prints to stdout
    for line in sys.stdin:
        request, failure = json.loads(line), ""
        try:
            if "table" in request:
                problem = read_problem(*request["table"])
                answer = problem.X.shape
                problem.fit(OURS)  # loads kernels
            else:
                answer = getattr(problem, request["call"])(request["kind"])
        except Exception as error:  # noqa: BLE001 - the table is listed with the message
            answer, failure = None, f"{type(error).__name__}: {error}"[:200]
        answers.write(json.dumps({"result": answer, "failure": failure}) + "\n")
        answers.flush()


class Fitter:
    """Process that fits models with the sources of one checkout."""

    def __init__(self, folder):
        self._folder, self._process = folder, None

    def ask(self, seconds=None, **request):
        """Send a request; return the answer.

        Raises
        ------
        OutOfTimeError
            If there is no answer after these seconds.
        RuntimeError
            If the process ended, or the request failed.
        """
        if self._process is None:
            self._start()
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            self._process.kill()
            self.close()
            raise OutOfTimeError
        line = self._process.stdout.readline()
        if not line:
            self.close()
            raise RuntimeError(f"a process that fits models ended at {request}")
        answer = json.loads(line)
        if answer["failure"]:
            raise RuntimeError(answer["failure"])
        return answer["result"]

    def _start(self):
        env = {**os.environ, "PYTHONPATH": str(self._folder), "PYTHONSAFEPATH": "1"}
        command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
        pipe = subprocess.PIPE
        pipes = {"stdin": pipe, "stdout": pipe, "text": True}
        self._process = subprocess.Popen(command, env=env, **pipes)  # noqa: S603 - this file

    def close(self):
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


class Clock:
    """Seconds that are left for a table."""

    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    def left(self):
        """Return the seconds that are left, at least 0."""
        return max(self._end - time.monotonic(), 0.0)


def measure(fitters, name, family, options, threads):
    """Return the record of a table: shape, times, or why it failed.

    ``fit`` has a list of (wall, CPU) seconds of each kind of model, one a repetition; ``predict``
    has (seconds of all rows, seconds of one row).
    """
    key = {"table": name, "family": family, "threads": threads}
    key |= {"leaves": options.leaves, "rounds": options.rounds, "rows": options.rows}
    clock = Clock(options.limit)
    request = name, options.rows, family, make_settings(family, options, threads)
    fit, predict = {}, {}
    try:
        for fitter in fitters:
            shape = fitter.ask(clock.left(), table=request)
        kinds = [OURS, OLD][: len(fitters)]
        for call, times, rivals in (("fit", fit, None), ("predict", predict, 1)):
            chosen = [*kinds, *list(RIVALS[family])[:rivals]]
            for pairs in repetitions(fitters, chosen, call, options.repetitions, clock):
                for kind, pair in pairs.items():
                    times.setdefault(kind, []).append(pair)
    except OutOfTimeError:
        if not fit:
            return key | {"failure": f"no complete repetition in {options.limit:.0f} s"}
    except RuntimeError as error:
        return key | {"failure": str(error)}
    return key | {"shape": shape, "fit": fit, "predict": predict}


def repetitions(fitters, kinds, call, count, clock):
    """Yield the times of each repetition of a call, kind → pair, until the time is used up."""
    for repetition in range(count):
        before = clock.left()
        pairs = {}
        for kind in kinds if repetition % 2 else kinds[::-1]:
            fitter = fitters[1 if kind == OLD else 0]
            asked = OURS if kind == OLD else kind
            pairs[kind] = fitter.ask(clock.left(), call=call, kind=asked)
        yield pairs
        if clock.left() < MAX_SHARE * (before - clock.left()):
            return


def ratios_of(times, column, over=None):
    """Return the ratio of each repetition: the fastest rival, or "old", over ours.

    Parameters
    ----------
    times : ``fit`` or ``predict`` of a record of `measure`
    column : 0 or 1, of the pairs
    over : OLD, or None for the fastest rival
    """
    rivals = [over] if over else [kind for kind in times if kind not in (OURS, OLD)]
    fastest = [
        min(pair[column] for pair in run) for run in zip(*map(times.get, rivals), strict=True)
    ]
    return [rival / own[column] for rival, own in zip(fastest, times[OURS], strict=True)]


def ratios_by_head(record, comparisons):
    """Return column head → ratios of a record."""
    found = {}
    for over in comparisons:
        name = over or "rival"
        for column, clock in enumerate(CLOCKS):
            found[f"{name} / ours, {clock}"] = ratios_of(record["fit"], column, over)
        for column, rows in enumerate(("batch", "one row")):
            times = record["predict"]
            found[f"{name} / ours, {rows}"] = ratios_of(times, column, over) if times else []
    return found


def show(ratios):
    """Return the median, lowest and highest ratio as text."""
    if not ratios:
        return "–"
    return f"{median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"


def write(line):
    """Write a line to stdout at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def table_names():
    """Return the names of scikit-learn's tables and of those of the mirror, without ranking."""
    from harness.data.bundled import OPTIONS
    from harness.data.mirror import entries

    return sorted(
        {*OPTIONS, *(e.name for e in entries() if not e.refused and e.facts.task != "ranking")}
    )


class Records:
    """Records of a file of JSON lines, and those that are measured.

    Parameters
    ----------
    path : Path or None, where there is no file
    """

    def __init__(self, path):
        self._path = path
        exists = path is not None and path.exists()
        self._known = [json.loads(line) for line in path.read_text().splitlines()] if exists else []

    def find(self, **key):
        """Return the record of a table, family, threads and parameters; None if there is none."""
        return next((one for one in self._known if key.items() <= one.items()), None)

    def add(self, record):
        """Append a record to the file."""
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps(record) + "\n")


def compare(fitters, family, threads, options, records):
    """Measure all tables with one family; print the ratios as a Markdown table."""
    comparisons = [None, OLD][: len(fitters)]
    medians, is_first = {}, True
    for name in options.tables or table_names():
        key = {"table": name, "family": family, "threads": threads, "leaves": options.leaves}
        record = records.find(**key, rounds=options.rounds, rows=options.rows)
        if record is None:
            record = measure(fitters, name, family, options, threads)
            records.add(record)
        if "failure" in record:
            write(f"| {name} | {record['failure']} |")
            continue
        cells = ratios_by_head(record, comparisons)
        if is_first:
            heads = [f"{family}, {threads} threads", "rows × columns", "ours ms", *cells]
            write(f"\n| {' | '.join(heads)} |")
            write("|---" * len(heads) + "|")
            is_first = False
        for head, ratios in cells.items():
            medians.setdefault(head, []).extend([median(ratios)] if ratios else [])
        own = 1e3 * median(wall for wall, _ in record["fit"][OURS])
        texts = " | ".join(map(show, cells.values()))
        write(f"| {name} | {' × '.join(map(str, record['shape']))} | {own:.0f} | {texts} |")
    means = [f"{geometric_mean(one):.2f}" if one else "–" for one in medians.values()]
    write(f"| geometric mean | | | {' | '.join(means)} |")


def parse_arguments():
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", help="names; by default all tables")
    parser.add_argument("--families", nargs="+", choices=RIVALS, default=["HistogramBoosting"])
    parser.add_argument("--threads", nargs="+", type=int, default=[2])
    parser.add_argument("--leaves", type=int, default=31, help="of HistogramBoosting")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--rows", type=int, default=37500, help="maximum number of rows")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for a table")
    parser.add_argument("--output", type=Path, help="file of JSON lines, continued if it exists")
    parser.add_argument("--against", type=Path, help="another checkout of this project")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    """Measure all tables and print the ratios as Markdown tables."""
    options = parse_arguments()
    if options.serve:
        serve()
        return
    folders = [Path(__file__).resolve().parents[1], *filter(None, [options.against])]
    fitters = [Fitter(folder.resolve()) for folder in folders]
    records = Records(options.output)
    for family in options.families:
        for threads in options.threads:
            compare(fitters, family, threads, options, records)
    for fitter in fitters:
        fitter.close()


if __name__ == "__main__":
    main()
