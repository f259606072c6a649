"""Tests that importing and training an estimator import neither pandas nor scipy.stats."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.stats  # noqa: F401 - looked up in sys.modules

from algorithms.estimator.deferred_imports import (
    UNUSED,
    DeferredModule,
    import_sklearn,
    is_frame,
    is_of_pandas,
)

STEMS = (  # not HistGradientBoosting: sklearn.preprocessing, which it needs, imports scipy.stats
    "HistogramBoosting",
    "NewtonBoosting",
    "SymmetricBoosting",
    "GradientBoosting",
    "AdaBoost",
    "RandomForest",
    "DecisionTree",
    "Bagging",
    "Boosting",
)
SCRIPT = """
import sys
import algorithms
import numpy as np
stems, unused = sys.argv[1].split(), sys.argv[2].split()
X = np.random.default_rng(0).normal(size=(40, 3))
for stem in stems:
    for kind, y in (("Classifier", X[:, 0] > 0.0), ("Regressor", X[:, 0])):
        estimator = getattr(algorithms, stem + kind)()
        assert not set(unused) & set(sys.modules), (stem, "import")
        rounds = {"iterations", "n_estimators", "max_iter"} & set(estimator.get_params())
        estimator.set_params(**dict.fromkeys(rounds, 2)).fit(X, y).predict(X)
        assert not set(unused) & set(sys.modules), (stem, "fit")
import pandas, scipy.stats
assert pandas.DataFrame({"a": [1]}).shape == (1, 1)
assert scipy.stats.mode([1, 1, 2]).mode == 1
"""


def test_training_on_arrays_imports_neither_pandas_nor_scipy_stats():
    command = [sys.executable, "-c", SCRIPT, " ".join(STEMS), " ".join(UNUSED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]


@pytest.mark.parametrize("name", UNUSED)
def test_a_placeholder_gives_way_to_the_real_module(name, monkeypatch):
    real = sys.modules[name]
    placeholder = DeferredModule(name)
    monkeypatch.setitem(sys.modules, name, placeholder)
    monkeypatch.setattr("importlib.import_module", {name: real}.__getitem__)
    assert placeholder.__doc__ is None
    assert placeholder.__file__ == real.__file__
    assert name not in sys.modules


def test_imported_modules_are_not_replaced():
    before = {name: sys.modules[name] for name in UNUSED}
    import_sklearn()
    assert {name: sys.modules[name] for name in UNUSED} == before


def test_pandas_objects_are_recognized(monkeypatch):
    frame = pd.DataFrame({"a": [1.0]})
    assert is_frame(frame)
    assert is_of_pandas(frame["a"], "Series")
    assert not is_frame(np.ones((1, 1)))
    monkeypatch.delitem(sys.modules, "pandas")
    assert not is_frame(np.ones((1, 1)))
    assert "pandas" not in sys.modules
