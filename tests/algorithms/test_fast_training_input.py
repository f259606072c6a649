"""Tests that the fast validation of training tables equals the full one."""

import warnings

import numpy as np
import pandas as pd
import pytest

from algorithms import DecisionTreeClassifier, HistogramBoostingRegressor
from algorithms.gbdt import input_table
from algorithms.gbdt.input_table import read_table
from algorithms.gbdt.sampling import seed_of, seeds_of
from algorithms.model_io.init_model import code_labels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
X[::5, 1] = np.nan
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
CODED = FRAME.assign(c=pd.Categorical(RNG.choice(list("xyz"), 40)))
Y = RNG.integers(0, 3, 40)
FAST = {
    "float64": X,
    "float32": X.astype(np.float32),
    "Fortran order": np.asfortranarray(X),
    "frame": FRAME,
    "float32 frame": FRAME.astype(np.float32),
    "whole numbers": FRAME.fillna(0.0).astype(np.int64),
    "numbered columns": pd.DataFrame(X),
    "categories": CODED,
}
FULL = {
    "list": X.tolist(),
    "bool column": FRAME.assign(c=Y > 0),
    "object column": FRAME.assign(c=FRAME.c.astype(object)),
    "text column": FRAME.assign(c="x"),
    "mixed names": FRAME.rename(columns={"c": 3}),
    "repeated names": FRAME.set_axis(["a", "a", "b"], axis=1),
    "infinity": np.where(X > 1.0, np.inf, X),
    "infinite frame": FRAME.replace(FRAME.a[0], np.inf),
    "no columns": X[:, :0],
    "one dimension": X[:, 0],
    "fewer rows": X[:9],
}
TARGETS = {
    "int": Y,
    "bool": Y > 0,
    "float": X[:, 0],
    "series": pd.Series(Y),
    "list": Y.tolist(),
    "object": Y.astype(object),
    "text": np.array(list("xyz"))[Y],
    "column": Y[:, None],
    "nullable": pd.Series(Y, dtype="Int64"),
    "NaN": X[:, 1],
    "complex": Y + 1j,
    "None": None,
}


def outcome(table, y):
    """Return what `read_table` returns, sets and warns of, or its error."""
    estimator = HistogramBoostingRegressor()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = read_table(estimator, table, y=y, reset=True, y_numeric=True)
        except (TypeError, ValueError) as error:
            return type(error), str(error)
    arrays = [(a.dtype, a.shape, a.tobytes()) for a in result]
    names = getattr(estimator, "feature_names_in_", np.empty(0)).tolist()
    messages = [str(one.message) for one in caught]
    return arrays, estimator.n_features_in_, names, messages


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", [*FAST, *FULL])
def test_training_tables_are_read_like_by_the_full_validation(form, target, monkeypatch):
    table, y = {**FAST, **FULL}[form], TARGETS[target]
    fast = outcome(table, y)
    monkeypatch.setattr(input_table, "plain_training_rows", lambda *_, **__: None)
    assert fast == outcome(table, y)


@pytest.mark.parametrize("form", FAST)
def test_common_tables_skip_the_full_validation(form, monkeypatch):
    monkeypatch.setattr(input_table, "validate_data", None)
    values, y = read_table(HistogramBoostingRegressor(), FAST[form], y=Y, reset=True)
    assert values.flags.c_contiguous
    assert values.flags.writeable
    assert np.shares_memory(values, X) == (form == "float64")
    assert np.array_equal(y, Y)


def test_labels_that_are_mostly_distinct_still_give_a_warning():
    with pytest.warns(UserWarning, match="unique classes"):
        code_labels(np.arange(40), None)


def test_seeds_of_arrays_equal_single_seeds():
    numbers, k = np.arange(5)[:, None], np.arange(3)
    for seed in (0, 1, 2**31, 2**32 - 1):
        expected = [[seed_of(seed_of(seed, n, i), 2) for i in range(3)] for n in range(5)]
        assert seeds_of(seeds_of(seed, numbers, k), np.array(2)).tolist() == expected


def test_invalid_values_of_changed_parameters_are_refused():
    with pytest.raises(ValueError, match="'num_leaves' parameter"):
        HistogramBoostingRegressor(num_leaves=0).fit(X, Y)
    with pytest.raises(ValueError, match="'max_bin' parameter"):
        HistogramBoostingRegressor().set_params(max_bin="many").fit(X, Y)


@pytest.mark.parametrize("rows", [3, 40])
def test_label_of_a_tree_is_the_first_largest_share_of_its_leaf(rows):
    model = DecisionTreeClassifier(max_depth=2).fit(np.nan_to_num(X), Y)
    given = np.nan_to_num(X)[:rows]
    expected = model.classes_[model.predict_proba(given).argmax(axis=1)]
    assert np.array_equal(model.predict(given), expected)
