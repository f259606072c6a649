"""Tests that binning and training in two steps grow the trees of `fit`, also repeatedly."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from algorithms.gbdt.binned import Rows, adapter
from algorithms.histogram_boosting import build
from harness import Spec, Task
from harness.core.ids import digest

RNG = np.random.default_rng(7)
N = 400
X = RNG.normal(size=(N, 6))
Y = X[:, 0] + np.abs(X[:, 1]) + RNG.normal(size=N) * 0.3
CLASSES = np.digitize(Y, [0.0, 1.0]).astype(np.int64)
WEIGHT = RNG.uniform(0.2, 3.0, N)
LETTERS = pd.Categorical.from_codes(RNG.integers(0, 5, N), list("abcde"))
FRAME = pd.DataFrame(X).assign(letter=LETTERS).set_axis([f"c{j}" for j in range(7)], axis=1)
MANY = FRAME.assign(letter=pd.Categorical(RNG.integers(0, 40, N).astype(str)))
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
SPARSE = sparse.csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0))

CASES = {
    "plain": (X, Y, None, {}),
    "weights and gaps": (GAPS, Y, WEIGHT, {}),
    "classes": (X, CLASSES, WEIGHT, {}),
    "two classes": (X, np.minimum(CLASSES, 1), None, {}),
    "categories": (FRAME, Y, None, {}),
    "more categories than bins": (MANY, Y, None, {"max_bin": 15, "min_data_per_group": 5}),
    "sparse": (SPARSE, Y, None, {}),
    "dart": (X, Y, None, {"boosting_type": "dart", "skip_drop": 0.0}),
    "goss": (X, Y, None, {"data_sample_strategy": "goss"}),
}


def spec_of(y, params):
    n_classes = 0 if y.dtype == np.float64 else int(y.max()) + 1
    task = {0: Task.REGRESSION, 2: Task.BINARY}.get(n_classes, Task.MULTICLASS)
    return Spec(task=task, params={"n_estimators": 12, **params}, seed=3, n_classes=n_classes)


def trees(model):
    return digest({name: np.asarray(value).tolist() for name, value in arrays_of(model).items()})


def arrays_of(model):
    ensemble = model.ensemble_
    names = ("feature", "threshold", "left", "right", "default_left", "base")
    results = {name: getattr(ensemble, name) for name in names}
    return {**results, "value": np.nan_to_num(ensemble.value)}


@pytest.mark.parametrize("case", CASES)
def test_bin_then_fit_equals_fit_also_when_repeated(case):
    rows, y, weight, params = CASES[case]
    spec = spec_of(y, params)
    whole = build(spec).fit(rows, y, sample_weight=weight)
    driven = adapter(build)(spec)
    native = driven.prepare(rows, y, weight)
    assert isinstance(native, Rows)
    assert (native.X is None) == (case != "dart")  # its bins are enough for all others
    for _ in range(2):  # repeated fits from one binning
        driven.fit(native)
        assert trees(driven.model) == trees(whole)
        assert driven.model is not native.model
        message = whole.predict_proba(rows) if spec.n_classes else whole.predict(rows)
        assert np.array_equal(driven.predict(rows), message)
    assert not hasattr(native.model, "ensemble_")


def test_parity_bins_in_fit_and_invalid_parameters_fail_at_once():
    spec = spec_of(Y, {"parity": "lightgbm"})
    driven = adapter(build)(spec)
    native = driven.prepare(X, Y, None)
    assert not isinstance(native, Rows)
    driven.fit(native)
    assert trees(driven.model) == trees(build(spec).fit(X, Y))
    with pytest.raises(ValueError, match="num_leaves"):
        adapter(build)(spec_of(Y, {"num_leaves": 0})).prepare(X, Y, None)
