"""Forced splits of the histogram booster: LightGBM's ``forcedsplits_filename``."""

import json

import numpy as np
import pytest
from parity_lightgbm import CLASSES, difference, fit_both
from scipy.sparse import csr_matrix

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 4))
X[:, 3] = RNG.integers(0, 6, N)
X[RNG.random((N, 4)) < [0.0, 0.2, 0.0, 0.0]] = np.nan
Y = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2]) + np.isin(X[:, 3], (1, 4)) + RNG.normal(size=N) * 0.2
DEEP = {
    "feature": 2,
    "threshold": 0.3,
    "left": {"feature": 1, "threshold": -0.2, "right": {"feature": 0, "threshold": 0.1}},
    "right": {"feature": 1, "threshold": 0.4},
}
CATEGORY = {"feature": 3, "threshold": 4, "right": {"feature": 3, "threshold": 1}}
USELESS = {"feature": 0, "threshold": 99.0, "left": {"feature": 1, "threshold": 0.0}}


def write(folder, splits):
    """Return the path of a file of forced splits."""
    path = folder / "forced.json"
    path.write_text(splits if isinstance(splits, str) else json.dumps(splits))
    return str(path)


@pytest.mark.parametrize(
    ("objective", "splits", "params"),
    [
        ("regression", DEEP, {"num_leaves": 8}),
        ("regression", DEEP, {"num_leaves": 12, "path_smooth": 2.0, "reg_lambda": 1.0}),
        ("binary", DEEP, {"num_leaves": 8, "max_delta_step": 0.3}),
        ("multiclass", {**DEEP, "right": {}}, {"num_leaves": 6}),
        ("regression", CATEGORY, {"num_leaves": 7, "categorical_feature": [3]}),
        ("regression", {**DEEP, "left": USELESS}, {"num_leaves": 6}),
    ],
)
def test_trees_in_parity_mode_are_lightgbms(tmp_path, objective, splits, params):
    y = np.digitize(Y, [-0.5, 0.8] if objective == "multiclass" else [0.2])
    y = y if objective in CLASSES else Y
    path = write(tmp_path, splits)
    ours, theirs = fit_both(objective, X, y, forcedsplits_filename=path, **params)
    assert difference(ours, theirs) == ""
    free, _ = fit_both(objective, X, y, **params)
    assert not np.array_equal(ours.predict(X), free.predict(X))


def top_of(tree, node, splits, model):
    """Check that the top of a tree has the forced splits, with bins that hold their thresholds."""
    trees = model.ensemble_
    assert trees.feature[node] == splits["feature"]
    if trees.categories[node] < 0:
        column = np.sort(np.unique(X[:, splits["feature"]]))
        between = column[(column > splits["threshold"]) & (column <= trees.threshold[node])]
        assert trees.threshold[node] >= splits["threshold"]
        assert len(between) <= 4  # a bin holds at least three rows
    else:
        assert model.ensemble_.categories[node] >= 0
    for side in ("left", "right"):
        if splits.get(side):
            top_of(tree, getattr(trees, side)[node], splits[side], model)


@pytest.mark.parametrize("splits", [DEEP, CATEGORY], ids=["numeric", "categorical"])
def test_the_tops_of_all_trees_are_forced(tmp_path, splits):
    params = {"num_leaves": 8, "n_estimators": 4, "categorical_feature": [3], "random_state": 0}
    params["forced_splits"] = write(tmp_path, splits)
    model = HistogramBoostingRegressor(**params, n_jobs=1).fit(X, Y)
    for tree in range(4):
        top_of(tree, model.ensemble_.offsets[tree], splits, model)
        assert np.count_nonzero(model.ensemble_.tree(tree).left < 0) == 8
    threads = HistogramBoostingRegressor(**params, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(threads.predict(X), model.predict(X))
    sampled = HistogramBoostingRegressor(**params, colsample_bytree=0.3, extra_trees=True)
    sampled.fit(X, Y)
    top_of(0, sampled.ensemble_.offsets[0], splits, sampled)


def test_sparse_rows_and_bundles_have_the_same_trees(tmp_path):
    rows = np.where(RNG.random((N, 6)) < 0.06, RNG.normal(size=(N, 6)), 0.0)
    y = rows @ np.arange(6.0) + RNG.normal(size=N) * 0.1
    path = write(tmp_path, {"feature": 2, "threshold": 0.0, "left": {"feature": 4, "threshold": 0}})
    params = {"n_estimators": 3, "num_leaves": 5, "min_child_samples": 3}
    params |= {"forcedsplits_filename": path, "random_state": 0}
    model = HistogramBoostingRegressor(**params).fit(rows, y)
    for other in (
        HistogramBoostingRegressor(**params, enable_bundle=False, is_enable_sparse=False),
        HistogramBoostingRegressor(**params, is_enable_sparse=False),
    ):
        np.testing.assert_array_equal(other.fit(rows, y).predict(rows), model.predict(rows))
    sparse = HistogramBoostingRegressor(**params).fit(csr_matrix(rows), y)
    np.testing.assert_allclose(sparse.predict(rows), model.predict(rows), rtol=1e-9)
    assert model.ensemble_.feature[0] == 2


def test_a_forced_split_without_gain_changes_nothing(tmp_path):
    free = HistogramBoostingRegressor(n_estimators=3, random_state=0).fit(X, Y)
    for splits in (USELESS, {"feature": 3, "threshold": 17}):
        path = write(tmp_path, splits)
        params = {"n_estimators": 3, "random_state": 0, "fs": path}
        if splits is not USELESS:
            params["categorical_feature"] = [3]
            free = HistogramBoostingRegressor(
                n_estimators=3, random_state=0, categorical_feature=[3]
            ).fit(X, Y)
        model = HistogramBoostingRegressor(**params).fit(X, Y)
        np.testing.assert_array_equal(model.predict(X), free.predict(X))


def test_columns_of_a_frame_may_be_named(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcd"))
    path = write(tmp_path, {"feature": "c", "threshold": 0.3})
    by_name = HistogramBoostingClassifier(n_estimators=2, forced_splits_file=path)
    by_name.fit(frame, Y > 0)
    path = write(tmp_path, {"feature": 2, "threshold": 0.3})
    by_number = HistogramBoostingClassifier(n_estimators=2, forced_splits_file=path)
    by_number.fit(X, Y > 0)
    np.testing.assert_array_equal(by_name.predict_proba(frame), by_number.predict_proba(X))
    assert by_name.ensemble_.feature[0] == 2


@pytest.mark.parametrize(
    ("splits", "words"),
    [
        (None, r"absent.json' cannot be read: No such file"),
        ("{'feature'", r"forced.json' is not a JSON file"),
        ("[]", r"has \[\] where a split is expected"),
        ({"feature": 0, "threshold": 0, "left": [1]}, r"has \[1\] where a split is expected"),
        ({"threshold": 0}, r"the feature None; features are numbers from 0 to 3"),
        ({"feature": 4, "threshold": 0}, r"includes feature index 4, .* is 3 \(forced"),
        ({"feature": "age", "threshold": 0}, r"the feature 'age'"),
        ({"feature": 1}, r"the threshold None for the feature 1"),
        ({"feature": 1, "threshold": "0"}, r"the threshold '0' for the feature 1"),
    ],
)
def test_invalid_files_are_refused(tmp_path, splits, words):
    path = str(tmp_path / "absent.json") if splits is None else write(tmp_path, splits)
    with pytest.raises(ValueError, match=words):
        HistogramBoostingRegressor(forcedsplits_filename=path).fit(X, Y)


def test_parity_with_scikit_learn_does_not_force_splits(tmp_path):
    path = write(tmp_path, DEEP)
    with pytest.raises(ValueError, match=r"forcedsplits_filename=.* is not supported with parity"):
        HistogramBoostingRegressor(parity="scikit-learn", forcedsplits_filename=path).fit(X, Y)
