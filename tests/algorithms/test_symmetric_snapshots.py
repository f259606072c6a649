"""Snapshots: an interrupted training continues with the bits of an uninterrupted one."""

import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from algorithms import (
    SymmetricBoostingClassifier,
    SymmetricBoostingRanker,
    SymmetricBoostingRegressor,
)
from algorithms.compat import catboost as ours
from algorithms.symmetric.snapshots import Snapshot

rng = np.random.default_rng(0)
N = 300
X = rng.normal(size=(N, 4)).astype(np.float32)
X[::9, 1] = np.nan
Y = X[:, 0] + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(size=N)
FRAME = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
FRAME["city"] = rng.integers(0, 20, N).astype(str)
FRAME["kind"] = rng.integers(0, 6, N).astype(str)
FRAME["flag"] = rng.integers(0, 2, N).astype(str)
CATEGORIES = {"cat_features": ["city", "kind", "flag"]}
COMBINED = CATEGORIES | {"max_ctr_complexity": 3, "learning_rate": 0.3}
QUERIES = np.repeat(np.arange(N // 6), 6)
GRADES = np.clip(np.round(Y) + 1.0, 0.0, 4.0)
FIXED = {"iterations": 24, "depth": 3, "thread_count": 1, "random_seed": 3}
LANGEVIN = {"langevin": True, "diffusion_temperature": 50}


class Furthest:
    """A metric of the user: the largest error."""

    def evaluate(self, approxes, target, weight):
        return max(abs(a - b) for a, b in zip(approxes[0], target, strict=True)), 1.0

    def is_max_optimal(self):
        return False

    def get_final_error(self, error, weight):
        return error


CASES = {  # class, X, y, parameters, number of evaluation sets
    "batches": (SymmetricBoostingRegressor, X, Y, {}, 0),
    "langevin": (SymmetricBoostingRegressor, X, Y, LANGEVIN, 0),
    "ordered langevin": (
        SymmetricBoostingRegressor,
        X,
        Y,
        LANGEVIN | {"boosting_type": "Ordered"},
        1,
    ),
    "newton": (SymmetricBoostingRegressor, X, Y, {"score_function": "NewtonL2"}, 0),
    "bayesian": (SymmetricBoostingRegressor, X, Y, {"bootstrap_type": "Bayesian"}, 1),
    "shrunk": (SymmetricBoostingRegressor, X, Y, {"model_shrink_rate": 0.2}, 2),
    "threads": (SymmetricBoostingRegressor, X, Y, {"thread_count": 2, "rsm": 0.6}, 1),
    "classes": (SymmetricBoostingClassifier, X, np.digitize(Y, [0.0, 2.0]), {}, 1),
    "quantiles": (
        SymmetricBoostingRegressor,
        X,
        Y,
        {"loss_function": "MultiQuantile:alpha=0.2,0.8"},
        1,
    ),
    "ordered": (
        SymmetricBoostingClassifier,
        X,
        (Y > 1).astype(int),
        {"boosting_type": "Ordered"},
        1,
    ),
    "ordered categories": (
        SymmetricBoostingRegressor,
        FRAME,
        Y,
        COMBINED | {"boosting_type": "Ordered"},
        1,
    ),
    "combinations": (SymmetricBoostingRegressor, FRAME, Y, COMBINED, 0),
    "combinations, evaluated": (
        SymmetricBoostingClassifier,
        FRAME,
        (Y > 1).astype(int),
        COMBINED,
        1,
    ),
    "penalties": (
        SymmetricBoostingRegressor,
        FRAME,
        Y,
        COMBINED | {"first_feature_use_penalties": {"a": 3.0, "city": 2.0}},
        1,
    ),
    "numeric penalties": (
        SymmetricBoostingRegressor,
        X,
        Y,
        {"first_feature_use_penalties": [1.0, 2.0, 0.0, 5.0]},
        0,
    ),
    "drop-in": (ours.CatBoostRegressor, X, Y, {"custom_metric": ["MAE", Furthest()]}, 1),
    "depthwise": (
        SymmetricBoostingRegressor,
        FRAME,
        Y,
        CATEGORIES | {"grow_policy": "Depthwise"},
        1,
    ),
    "lossguide": (
        SymmetricBoostingRegressor,
        X,
        Y,
        {"grow_policy": "Lossguide", "max_leaves": 6},
        1,
    ),
    "detector": (
        SymmetricBoostingRegressor,
        X,
        Y,
        {"od_pval": 0.5, "od_wait": 3, "learning_rate": 0.9},
        1,
    ),
    "patience": (
        SymmetricBoostingRegressor,
        X,
        Y,
        {"od_type": "Iter", "od_wait": 5, "learning_rate": 0.9},
        1,
    ),
    "yetirank": (SymmetricBoostingRanker, X, GRADES, {}, 1),
    "pairlogit": (
        SymmetricBoostingRanker,
        FRAME,
        GRADES,
        COMBINED | {"loss_function": "PairLogit"},
        0,
    ),
}


def train(case, **params):
    """Return a trained model of a case."""
    kind, rows, y, own, n_tables = CASES[case]
    half = slice(None, N // 2)
    given = {
        "eval_set": [(rows[half], y[half] + (0 if kind is SymmetricBoostingClassifier else 1))]
        * n_tables
    }
    if kind is SymmetricBoostingRanker:
        given |= {"group_id": QUERIES, "eval_group_id": [QUERIES[half]] * n_tables}
    return kind(**FIXED | own | params).fit(
        rows, y, **given if n_tables else {k: v for k, v in given.items() if k == "group_id"}
    )


def check_equal(model, other):
    """Check that two models have the same bits and metrics."""
    for name in ("feature", "threshold", "value", "cover", "offsets", "base"):
        np.testing.assert_array_equal(
            getattr(model.ensemble_, name), getattr(other.ensemble_, name)
        )
    assert model.evals_result_ == other.evals_result_
    assert model.n_iter_ == other.n_iter_
    assert model.get_best_iteration() == other.get_best_iteration()


@pytest.fixture
def interrupt(monkeypatch):
    """Return a function that makes the n-th due snapshot the last act of a training."""

    def arrange(count):
        calls = []

        def save_if_due(snapshot):
            calls.append(1)
            if len(calls) >= count:
                snapshot.save()
                raise KeyboardInterrupt

        monkeypatch.setattr(Snapshot, "save_if_due", save_if_due)

    return arrange


@pytest.mark.parametrize("case", CASES)
def test_interrupted_training_continues(case, interrupt, monkeypatch, tmp_path):
    given = {"save_snapshot": True, "snapshot_file": tmp_path / "snapshot"}
    whole = train(case)
    for count in (2, 3):
        interrupt(count)
        with pytest.raises(KeyboardInterrupt):
            train(case, **given)
    monkeypatch.undo()
    check_equal(train(case, **given), whole)
    check_equal(train(case, **given), whole)  # from the snapshot of the finished training
    assert [one.name for one in tmp_path.iterdir()] == ["snapshot"]


SCRIPT = """
import sys
import numpy as np
from algorithms import SymmetricBoostingRegressor
rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 5))
given = {"iterations": int(sys.argv[2]), "learning_rate": 0.1, "thread_count": 1}
if sys.argv[1]:
    given |= {"save_snapshot": True, "snapshot_file": sys.argv[1], "snapshot_interval": 0}
model = SymmetricBoostingRegressor(**given).fit(X, X[:, 0] + X[:, 1] * X[:, 2])
print(model.ensemble_.value[~np.isnan(model.ensemble_.value)].tobytes().hex()[-4000:])
"""


def test_killed_training_continues(tmp_path):
    path = tmp_path / "snapshot"
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen([*command, str(path), "20000"], stdout=subprocess.DEVNULL) as process:
        while not path.exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    n_trees = int(np.load(path)["tree_offsets"].size) - 1
    shown = [
        subprocess.run(
            [*command, name, str(n_trees + 200)], capture_output=True, text=True, check=True
        ).stdout
        for name in (str(path), "")
    ]
    assert shown[0] == shown[1]


def test_more_iterations_continue_a_finished_training(tmp_path):
    given = {"save_snapshot": True, "snapshot_file": tmp_path / "snapshot", "learning_rate": 0.2}
    train("batches", **given, iterations=10)
    check_equal(train("batches", **given), train("batches", learning_rate=0.2))
    with pytest.raises(ValueError, match="24 trees, more than iterations=10"):
        train("batches", **given, iterations=10)


def test_snapshots_of_other_trainings_raise(tmp_path):
    given = {"save_snapshot": True, "snapshot_file": tmp_path / "snapshot"}
    train("patience", **given)
    with pytest.raises(ValueError, match="depth=3, not 4: continue with the same"):
        train("patience", **given, depth=4)
    with pytest.raises(ValueError, match="training with random_seed="):
        train("patience", **given, random_seed=4)
    model = SymmetricBoostingRegressor(**FIXED | CASES["patience"][3] | given)
    table, other_table = ((X[: N // 2], Y[: N // 2] + shift) for shift in (1, 2))
    for *rows, evaluated in (
        (X[::-1], Y, table),
        (X, Y + 1.0, table),
        (X[:-1], Y[:-1], table),
        (X, Y, other_table),
    ):
        with pytest.raises(ValueError, match="on other data"):
            model.fit(*rows, eval_set=evaluated)
    (tmp_path / "snapshot").write_bytes((tmp_path / "snapshot").read_bytes()[:-100])
    with pytest.raises(ValueError, match="not a complete snapshot: delete it"):
        train("patience", **given)


class Scaled:
    """A loss of the user with a setting."""

    def __init__(self, scale):
        self.scale = scale

    def calc_ders_range(self, approxes, targets, weights):
        return np.column_stack([self.scale * (targets - approxes), -np.ones(len(targets))])


def test_attributes_of_a_loss_belong_to_the_training(tmp_path):
    given = {"save_snapshot": True, "snapshot_file": tmp_path / "snapshot"}
    model = train("batches", **given, loss_function=Scaled(0.5))
    check_equal(train("batches", **given, loss_function=Scaled(0.5)), model)
    with pytest.raises(ValueError, match=r"Scaled\(.*0\.5.*\), not .*Scaled\(.*0\.7"):
        train("batches", **given, loss_function=Scaled(0.7))


def test_invalid_snapshot_parameters_raise(tmp_path):
    with pytest.raises(ValueError, match="save_snapshot=True"):
        train("batches", snapshot_file=tmp_path / "snapshot")
    with pytest.raises(ValueError, match="parity"):
        train("batches", save_snapshot=True, parity="catboost")
    with pytest.raises(ValueError, match="snapshot_interval"):
        train("batches", save_snapshot=True, snapshot_interval=-1)


def test_default_file_and_arguments_of_fit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train("batches", save_snapshot=True)
    assert (tmp_path / "catboost_info" / "experiment.cbsnapshot").exists()
    model = ours.CatBoostRegressor(**FIXED, train_dir="runs")
    model.fit(X, Y, save_snapshot=True, snapshot_file="own", snapshot_interval=1)
    assert (tmp_path / "runs" / "own").exists()
    check_equal(model, ours.CatBoostRegressor(**FIXED).fit(X, Y))
    np.testing.assert_array_equal(model.predict(X), train("batches").predict(X))
    trained = ours.train(ours.Pool(X, Y), FIXED, save_snapshot=True, snapshot_file="other")
    assert (tmp_path / "catboost_info" / "other").exists()
    np.testing.assert_array_equal(trained.predict(X), model.predict(X))
