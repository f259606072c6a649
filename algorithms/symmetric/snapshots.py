"""Snapshots of a training: a continued model is bitwise identical to an uninterrupted one.

A snapshot has the trees, the scores of the training rows and of the evaluation sets, the metrics,
the derived columns, and which target statistics are in use. The file also describes the parameters
and the data, from which everything else follows. It is a numpy archive without pickled objects.
"""

import hashlib
import json
import os
import zipfile
from pathlib import Path
from time import monotonic
from types import SimpleNamespace

import numpy as np

from algorithms.estimator.deferred_imports import is_frame
from algorithms.symmetric.derived_columns import Indicator
from algorithms.symmetric.derived_files import describe_parts, read_parts
from algorithms.symmetric.model import read_tree
from algorithms.symmetric.target_statistics import Statistic

VERSION = 1  # of the file's layout
FOLDER, FILE = "catboost_info", "experiment.cbsnapshot"  # CatBoost's defaults
NODES = ("feature", "threshold", "default_left", "left", "right", "value", "cover", "offsets")
MAY_DIFFER = {  # parameters that may differ between a training and its continuation
    *("iterations", "thread_count", "verbose", "metric_period"),
    *("save_snapshot", "snapshot_file", "snapshot_interval"),
}
STATE = "state"  # key of the JSON values


def find_path(params):
    """Return the path of the snapshot file, or None if there are to be no snapshots.

    A relative ``snapshot_file`` is in ``train_dir``, as in CatBoost.

    Raises
    ------
    ValueError
        If the parameters do not fit together.
    """
    if not params.save_snapshot:
        if params.snapshot_file is not None and params.save_snapshot is None:
            raise ValueError("snapshot_file needs save_snapshot=True")
        return None
    if params.parity is not None:
        raise ValueError("save_snapshot is not supported with parity='catboost'")
    return Path(getattr(params, "train_dir", None) or FOLDER) / (params.snapshot_file or FILE)


class Snapshot:
    """Snapshot file of a training.

    Parameters
    ----------
    path : Path
    model : the estimator in training
    params : the estimator with resolved parameters
    booster : Booster
    stopping : SymmetricEarlyStopping
    history : IterationHistory
    """

    def __init__(self, path, model, params, booster, stopping, history):
        self.path, self.model, self.booster, self.stopping = path, model, booster, stopping
        self.history = history
        self.interval, self.saved_at = params.snapshot_interval, monotonic()
        self.params = describe_params(params)
        self.data = digest_of(booster, stopping, model)

    def restore(self):
        """Continue from the file if it exists; return whether that training has ended early.

        Raises
        ------
        ValueError
            If the file is not a snapshot, or that of another training.
        """
        if not self.path.exists():
            return False
        arrays, state = read_archive(self.path)
        self._check(state)
        try:
            self._set_state(arrays, state)
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise ValueError(f"{self.path} is not a complete snapshot: delete it") from error
        return state["has_stopped_early"]

    def _check(self, state):
        """Raise ValueError if the file belongs to another training."""
        advice = "continue with the same parameters and data, or delete the file"
        if state.get("version") != VERSION:
            raise ValueError(f"{self.path} is a snapshot of another version: delete it")
        saved = state["params"]
        for name in sorted({*saved, *self.params}):
            if saved.get(name) != self.params.get(name):
                raise ValueError(
                    f"{self.path} is the snapshot of a training with {name}={saved.get(name)}, not "
                    f"{self.params.get(name)}: {advice}"
                )
        if state["data"] != self.data:
            raise ValueError(f"{self.path} is the snapshot of a training on other data: {advice}")
        n_trees, wanted = state["n_trees"], self.model.iterations
        if n_trees > wanted:
            raise ValueError(
                f"{self.path} has {n_trees} trees, more than iterations={wanted}: {advice}"
            )

    def _set_state(self, arrays, state):
        """Set the state of the booster and of the metrics."""
        nodes = SimpleNamespace(**{name: arrays[f"tree_{name}"] for name in NODES})
        spans = zip(nodes.offsets[:-1], nodes.offsets[1:], strict=True)
        table = self.booster.table
        if table.derived is not None:
            for one in state["derived"]:
                table.derived.number(read_feature(one, table))
        self.booster.done[:] = [read_tree(nodes, *span) for span in spans]
        self.booster.set_state(arrays)
        self.booster.grower.set_state(arrays, state)
        self.stopping.set_state(arrays, state["metrics"])
        self.history.values = state["training_metrics"]

    def save_if_due(self):
        """Write the file if ``snapshot_interval`` seconds have passed since the last time."""
        if monotonic() - self.saved_at >= self.interval:
            self.save()

    def save(self, *, has_stopped_early=False):
        """Write the file atomically.

        Parameters
        ----------
        has_stopped_early : bool, whether the training has ended before its last iteration
        """
        booster, derived = self.booster, self.booster.table.derived
        ensemble = self.model._join(booster.done, first=False)  # noqa: SLF001 - same package
        arrays = {f"tree_{name}": getattr(ensemble, name) for name in NODES}
        stopped, metrics = self.stopping.get_state()
        grown, state = booster.grower.get_state()
        arrays |= booster.get_state() | stopped | grown
        features = [] if derived is None else derived.features
        state |= {
            "version": VERSION,
            "params": self.params,
            "data": self.data,
            "n_trees": len(booster.done),
            "has_stopped_early": has_stopped_early,
            "metrics": metrics,
            "training_metrics": self.history.values,
            "derived": [describe_feature(feature, booster.table) for feature in features],
        }
        arrays[STATE] = np.frombuffer(json.dumps(state).encode(), np.uint8)
        write_archive(self.path, arrays)
        self.saved_at = monotonic()


def read_archive(path):
    """Return the arrays and the JSON values of a file; raise ValueError if it is none."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        return arrays, json.loads(arrays[STATE].tobytes())
    except (KeyError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a complete snapshot: delete it") from error


def write_archive(path, arrays):
    """Write arrays to a temporary file, and rename it to ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def describe_params(params):
    """Return the texts of the resolved parameters on which the trees depend, dict."""
    names = set(params.get_params(deep=False)) - MAY_DIFFER
    names &= {*params._parameter_constraints}  # noqa: SLF001 - scikit-learn's convention
    return {name: text_of(getattr(params, name)) for name in sorted(names)}


def text_of(value, *, with_attributes=True):
    """Return a text that is equal for equal values of a parameter.

    Parameters
    ----------
    value : object
    with_attributes : bool
        Whether an object, such as a loss, is described by its class and its attributes, or by its
        class alone.
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(text_of(one, with_attributes=with_attributes) for one in value)}]"
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if callable(value) or type(value).__repr__ is object.__repr__:
        attributes = getattr(value, "__dict__", {}) if with_attributes else {}
        pairs = sorted(attributes.items())
        texts = [f"{name}={text_of(one, with_attributes=False)}" for name, one in pairs]
        return f"{text_of(type(value))}({', '.join(texts)})"
    if is_frame(value) or hasattr(value, "tolist"):
        return repr(np.asarray(value).tolist())
    return repr(value)


def digest_of(booster, stopping, model):
    """Return a hash of the training rows and of the evaluation sets, str.

    Parameters
    ----------
    booster, stopping, model : as in `Snapshot`, before the first tree
    """
    table, derived = booster.table, booster.table.derived
    numeric = table if derived is None else table.table
    parts = [numeric.features, *numeric.borders, numeric.nan_right, numeric.columns]
    parts += [booster.y, booster.weight, booster.score]
    if derived is not None:
        parts += [*table.codes_of.values(), *(own.to_numpy() for own in derived.categories.levels)]
    queries = model._queries  # noqa: SLF001 - same package
    if queries is not None:
        parts += [queries.bounds, *(() if queries.pairs is None else vars(queries.pairs).values())]
    for one in stopping.eval_sets:
        labels = vars(one.y).values() if hasattr(one.y, "bounds") else (one.y,)
        parts += [one.X, one.score, *labels]
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        add_to_digest(found, part)
    return found.hexdigest()


def add_to_digest(found, part):
    """Add an array, or a CSR matrix, to a hash."""
    if hasattr(part, "indptr"):
        for one in (part.data, part.indices, part.indptr):
            add_to_digest(found, one)
        return
    array = np.asarray(part)
    found.update(f"{array.dtype}{array.shape}".encode())
    is_object = array.dtype == object
    found.update(repr(array.tolist()).encode() if is_object else np.ascontiguousarray(array))


def describe_feature(feature, table):
    """Return the JSON values of a derived column of a `CategoricalTable`."""
    if isinstance(feature, Indicator):
        return [feature.column, feature.level]
    number = table.ctrs(feature.projection).index(feature.options)
    return [describe_parts(feature.projection), number, feature.target, feature.prior]


def read_feature(saved, table):
    """Return the derived column of JSON values.

    Parameters
    ----------
    saved : list, as `describe_feature` returns it
    table : CategoricalTable
    """
    if len(saved) == 2:
        return Indicator(*saved)
    projection, (number, target, prior) = read_parts(saved[0]), saved[1:]
    return Statistic(projection, table.ctrs(projection)[number], target, prior)
