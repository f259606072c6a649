"""Tests of trees whose leaves hold one value for each output (``multi_output_tree``)."""

import json
import pickle

import numpy as np
import pytest
import xgboost
from scipy import sparse

from algorithms import NewtonBoostingClassifier, NewtonBoostingRegressor
from algorithms.compat import xgboost as native
from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.model_files import read_model
from algorithms.newton import vector_grower
from algorithms.newton.params import Limits
from algorithms.newton.sampling import Columns
from algorithms.newton.vector_grower import VectorGrower
from algorithms.runtime.threads import Workers

VECTORS = {"multi_strategy": "multi_output_tree"}
TIE = 2.0**-24


def table(n_rows=160, n_outputs=3, *, missing=True, seed=0):
    """Return X with few distinct values in each column, so that all of them are bins, and y."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (n_rows, 5)).astype(np.float32)
    weights = rng.normal(size=(5, n_outputs))
    y = np.sin(X @ weights / 4.0) + rng.normal(size=(n_rows, n_outputs)) / 5.0
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


def classes(n_rows=400, n_classes=4, seed=1):
    """Return X and class labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6))
    scores = X @ rng.normal(size=(6, n_classes)) + rng.gumbel(size=(n_rows, n_classes)) / 2.0
    return X, np.array(["a", "b", "c", "d", "e", "f", "g"])[scores.argmax(axis=1)]


# ---------------------------------------------------------------- the kernel


def score(g, h, limits):
    """Return the score of sums of all outputs, one output after another."""
    total = 0.0
    for one_g, one_h in zip(g, h, strict=True):
        if one_h >= max(limits.min_child_weight, 1e-16):
            value = -np.sign(one_g) * max(abs(one_g) - limits.reg_alpha, 0.0)
            value /= one_h + limits.reg_lambda
            if limits.max_delta_step:
                value = np.clip(value, -limits.max_delta_step, limits.max_delta_step)
            total -= 2.0 * (one_g * value + limits.reg_alpha * abs(value))
            total -= (one_h + limits.reg_lambda) * value * value
    return total


def candidates(X, rows, features):
    """Yield (feature, threshold, whether missing values go left, rows that go left)."""
    for f in features:
        x = X[rows, f]
        has_missing = np.isnan(x).any()
        values = np.unique(X[:, f][~np.isnan(X[:, f])])
        thresholds = [*values[1:], np.inf] if has_missing else values[1:]
        for threshold in thresholds:
            yield f, threshold, False, x < threshold
        for threshold in values[:0:-1] if has_missing else ():
            yield f, threshold, True, (x < threshold) | np.isnan(x)


def grow_by_numpy(X, g, h, rows, depth, limits, features=range(5)):
    """Return a tree as (gain, feature, left, right), or the values of a leaf, from its formulas."""
    all_g, all_h = g[:, rows].sum(axis=1), h[:, rows].sum(axis=1)
    parent, best = score(all_g, all_h, limits), (0.0, None, None)
    for f, _, _, goes_left in candidates(X, rows, features) if depth else ():
        left_g, left_h = g[:, rows[goes_left]].sum(axis=1), h[:, rows[goes_left]].sum(axis=1)
        if 0 < goes_left.sum() < len(rows):
            gain = score(left_g, left_h, limits) - parent
            gain += score(all_g - left_g, all_h - left_h, limits)
            if gain > best[0] * (1.0 + TIE) + 1e-12:
                best = gain, f, goes_left
    if best[1] is None or best[0] < limits.least_gain:
        values = np.where(all_h >= limits.min_child_weight, limits.weigh(all_g, all_h), 0.0)
        return (rows, values)
    sides = (rows[best[2]], rows[~best[2]])
    below = [grow_by_numpy(X, g, h, own, depth - 1, limits, features) for own in sides]
    return (best[0], best[1], *below)


def compare_with_numpy(expected, grown, at=0):
    """Compare a tree with that of `grow_by_numpy`; return the number of its leaves."""
    node = grown.nodes[at]
    if len(expected) == 2:
        assert node["left"] == -1
        rows, values = expected
        np.testing.assert_allclose(grown.values[at], values, rtol=1e-5, atol=1e-7)
        assert (grown.at[rows] == at).all()
        return 1
    gain, feature, left, right = expected
    assert node["feature"] == feature
    np.testing.assert_allclose(node["gain"], gain, rtol=1e-5)
    below = (compare_with_numpy(left, grown, node["left"]),
             compare_with_numpy(right, grown, node["right"]))  # fmt: skip
    return sum(below)


def make_limits(n_features, **given):
    """Return `Limits` with XGBoost's defaults."""
    usual = {
        "max_depth": 4,
        "min_child_weight": 1.0,
        "reg_lambda": 1.0,
        "reg_alpha": 0.0,
        "max_delta_step": 0.0,
        "least_gain": 1e-6,
        "monotone": np.zeros(n_features, np.int64),
        "groups": np.empty((n_features, 0), np.uint64),
    }
    return Limits(**{**usual, **given})


def grower_of(X, limits, n_outputs, threads=None, **params):
    """Return a `VectorGrower` and the drawn columns of a tree."""
    params = NewtonBoostingRegressor(**params)
    workers = Workers(1) if threads is None else threads
    grower = VectorGrower(X, limits, params, workers, None, n_outputs)
    return grower, Columns(params, X.shape[1], 5)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"reg_alpha": 0.7, "reg_lambda": 0.0, "max_depth": 3},
        {"max_delta_step": 0.2},
        {"min_child_weight": 6.0, "least_gain": 0.5},
    ],
    ids=str,
)
@pytest.mark.parametrize("shares_h", [True, False])
@pytest.mark.parametrize("n_outputs", [3, 9])
def test_tree_equals_that_of_numpy(given, shares_h, n_outputs):
    X, y = table(n_outputs=n_outputs)
    rng = np.random.default_rng(2)
    h = np.ones_like(y.T) if shares_h else rng.uniform(0.2, 2.0, y.T.shape)
    g, h = (-y.T * h).astype(np.float32), h.astype(np.float32)
    used = rng.random(len(X)) < 0.7 if given else None
    limits = make_limits(5, **given)
    grower, draws = grower_of(X, limits, n_outputs)
    grown = grower.grow(g, h, used, draws)
    rows = np.arange(len(X)) if used is None else np.flatnonzero(used)
    exact = g.astype(np.float64), h.astype(np.float64)
    expected = grow_by_numpy(X, *exact, rows, limits.max_depth, limits)
    assert compare_with_numpy(expected, grown) > 4
    assert grown.nodes["cover"][0] == pytest.approx(exact[1][:, rows].sum(), rel=1e-6)


def test_bundled_columns_give_the_trees_of_numpy():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 12, 300)
    X = (codes[:, None] == np.arange(10)).astype(np.float32) * rng.integers(1, 4, (300, 10))
    X = np.column_stack([X, rng.integers(0, 9, 300)]).astype(np.float32)
    y = np.column_stack([np.sin(codes), X[:, -1] / 9.0 + codes % 3])
    limits, features = make_limits(11), range(11)
    grower, draws = grower_of(X, limits, 2)
    assert len(grower.bins.layout.length) < 11  # some columns are bundles
    g, h = -y.T.astype(np.float32), np.ones_like(y.T, np.float32)
    grown = grower.grow(g, h, None, draws)
    exact = g.astype(np.float64), h.astype(np.float64)
    expected = grow_by_numpy(X, *exact, np.arange(300), 4, limits, features)
    assert compare_with_numpy(expected, grown) > 4


@pytest.mark.parametrize("params", [{}, {"max_leaves": 9, "grow_policy": "lossguide"}])
def test_threads_and_memory_do_not_change_the_tree(params, monkeypatch):
    X, y = table(300)
    g, h = -y.T.astype(np.float32), np.ones_like(y.T, np.float32)
    limits = make_limits(5, max_depth=0)
    one, draws = grower_of(X, limits, 3, **params)
    expected = one.grow(g, h, None, draws)
    monkeypatch.setattr(vector_grower, "SMALL", 0)
    with Workers(3) as workers:
        many, draws = grower_of(X, limits, 3, threads=workers, **params)
        assert many.size == 3
        check_same_trees(many.grow(g, h, None, draws), expected)
    monkeypatch.setattr(vector_grower, "MAX_BYTES", 0)  # one histogram, and two temporary ones
    few, draws = grower_of(X, limits, 3, **params)
    check_same_trees(few.grow(g, h, None, draws), expected)


def check_same_trees(found, expected):
    """Compare the structure and the values of two `Grown` trees."""
    for name in ("feature", "left", "right", "threshold", "missing_left"):
        np.testing.assert_array_equal(found.nodes[name], expected.nodes[name])
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.at, expected.at)


# ---------------------------------------------------------------- equal to XGBoost's


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"max_depth": 3, "reg_lambda": 0.1, "gamma": 0.4},
        {"min_child_weight": 5.0, "reg_alpha": 0.3},
        {"max_leaves": 7, "max_depth": 0, "grow_policy": "lossguide"},
        {"max_leaves": 7, "max_depth": 0},
        {"num_parallel_tree": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("missing", [True, False])
def test_squared_error_equals_xgboost(params, missing):
    X, y = table(missing=missing)
    params = {"n_estimators": 6, "tree_method": "hist", **VECTORS, **params}
    ours = NewtonBoostingRegressor(**params, random_state=0).fit(X, y)
    theirs = xgboost.XGBRegressor(**params, n_jobs=1).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5, atol=1e-5)
    assert ours.ensemble_.value.shape[1] == 3
    assert ours.ensemble_.n_trees == 6 * params.get("num_parallel_tree", 1)


def test_weights_equal_xgboost():
    X, y = table()
    weight = np.random.default_rng(4).uniform(0.3, 3.0, len(X))
    params = {"n_estimators": 5, "tree_method": "hist", **VECTORS}
    ours = NewtonBoostingRegressor(**params).fit(X, y, sample_weight=weight)
    theirs = xgboost.XGBRegressor(**params, n_jobs=1).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-4, atol=1e-4)


def test_classes_equal_xgboost():
    X, codes = table(300)[0], np.random.default_rng(6).integers(0, 4, 300)
    codes = np.where(np.nan_to_num(X[:, 0]) > 4, codes, codes // 2)
    params = {"n_estimators": 4, "max_depth": 4, **VECTORS}
    ours = NewtonBoostingClassifier(**params).fit(X, codes)
    theirs = xgboost.XGBClassifier(**params, n_jobs=1, tree_method="hist").fit(X, codes)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


# ---------------------------------------------------------------- estimators


def test_classifier_with_early_stopping_and_pickle():
    X, y = classes()
    model = NewtonBoostingClassifier(**VECTORS, n_estimators=60, early_stopping_rounds=3)
    model.fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])])
    history = model.evals_result()["validation_0"]["mlogloss"]
    assert model.best_iteration == int(np.argmin(history)) < len(history) - 1 < 59
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), proba)
    staged = list(model.staged_predict_proba(X))
    assert len(staged) == model.best_iteration + 1 == model.ensemble_.n_trees
    np.testing.assert_allclose(staged[-1], proba, rtol=1e-6)
    np.testing.assert_allclose(staged[1], model.predict_proba(X, iteration_range=(0, 2)), rtol=1e-6)
    assert model.apply(X).shape == (len(X), model.best_iteration + 1)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_contributions_sum_to_the_raw_scores():
    X, y = table()
    model = NewtonBoostingRegressor(**VECTORS, n_estimators=4).fit(X, y)
    found = model.predict_contributions(X)
    assert found.shape == (len(X), 3, 6)
    np.testing.assert_allclose(found.sum(axis=2), model.predict(X), atol=1e-5)


def test_training_continues_and_warm_start_adds_rounds():
    X, y = table()
    whole = NewtonBoostingRegressor(**VECTORS, n_estimators=6).fit(X, y)
    first = NewtonBoostingRegressor(**VECTORS, n_estimators=2, warm_start=True).fit(X, y)
    rest = NewtonBoostingRegressor(**VECTORS, n_estimators=4).fit(X, y, xgb_model=first)
    first.set_params(n_estimators=6).fit(X, y)
    for model in (rest, first):
        assert model.n_iter_ == 6
        np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-4, atol=1e-5)


def test_other_leaves_cannot_be_continued():
    X, y = table()
    scalar = NewtonBoostingRegressor(n_estimators=2).fit(X, y)
    vector = NewtonBoostingRegressor(**VECTORS, n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="whose leaves hold one value"):
        NewtonBoostingRegressor(**VECTORS).fit(X, y, xgb_model=scalar)
    with pytest.raises(ValueError, match="set multi_strategy='multi_output_tree'"):
        NewtonBoostingRegressor().fit(X, y, xgb_model=vector)


def test_several_quantiles():
    X, y = table(600, 1, seed=7)
    levels = [0.1, 0.5, 0.9]
    params = {"objective": "reg:quantileerror", "quantile_alpha": levels, "n_estimators": 30}
    model = NewtonBoostingRegressor(**VECTORS, **params, min_child_weight=20).fit(X, y[:, 0])
    assert model.ensemble_.n_trees == 30
    below = (y <= model.predict(X)).mean(axis=0)
    np.testing.assert_allclose(below, levels, atol=0.06)


def test_labels_and_custom_objective():
    X, y = table()
    labels = (y > 0).astype(int)
    model = NewtonBoostingClassifier(**VECTORS, n_estimators=20).fit(X, labels)
    assert model.predict_proba(X).shape == labels.shape
    assert (model.predict(X) == labels).mean() > 0.9
    own = NewtonBoostingRegressor(
        **VECTORS, n_estimators=5, base_score=0.0, objective=lambda y, f: (f - y, np.ones_like(f))
    )
    usual = NewtonBoostingRegressor(**VECTORS, n_estimators=5, base_score=0.0)
    np.testing.assert_allclose(own.fit(X, y).predict(X), usual.fit(X, y).predict(X), atol=1e-5)


@pytest.mark.parametrize(("number", "which"), [(0, "gradients"), (1, "hessians")])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_derivatives_must_be_finite(number, which, bad):
    X, y = table()[0], np.zeros((160, 3))

    def objective(y, scores):
        derivatives = scores - 1.0, np.ones_like(scores)
        derivatives[number][7, 1] = bad
        return derivatives

    model = NewtonBoostingRegressor(multi_strategy="multi_output_tree", objective=objective)
    with pytest.raises(ValueError, match=f"{which} of the loss are not finite: the objective"):
        model.fit(X, y)


def test_one_score_has_usual_trees():
    X, y = table()
    model = NewtonBoostingRegressor(n_estimators=3).fit(X, y[:, 0])
    same = NewtonBoostingRegressor(**VECTORS, n_estimators=3).fit(X, y[:, 0])
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


def test_columns_are_drawn_for_trees_levels_and_nodes():
    X, y = table(400, missing=False)

    def used(**params):
        model = NewtonBoostingRegressor(**VECTORS, n_estimators=1, max_depth=5, **params).fit(X, y)
        tree = model.ensemble_.tree(0)
        depth = np.zeros(len(tree.feature), int)
        for node in np.flatnonzero(tree.left >= 0):
            depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
        inner = tree.left >= 0
        by_level = [set(tree.feature[inner & (depth == d)]) for d in range(depth.max())]
        return set(tree.feature[inner]), by_level

    assert len(used(colsample_bytree=0.2)[0]) == 1
    features, by_level = used(colsample_bylevel=0.2)
    assert {len(level) for level in by_level} == {1}
    assert len(features) > 1
    assert max(len(level) for level in used(colsample_bynode=0.2)[1]) > 1
    only = [0.0, 1.0, 0.0, 0.0, 0.0]
    assert used(colsample_bytree=0.2, feature_weights=only)[0] == {1}


def test_columns_of_a_path_may_interact():
    X, y = table(400)
    groups = [[0, 1, 2], [2, 3, 4]]
    model = NewtonBoostingRegressor(**VECTORS, n_estimators=3, interaction_constraints=groups)
    e = model.fit(X, y).ensemble_
    paths = {}
    for t, node in enumerate(e.offsets[:-1]):
        waiting = [(node, frozenset())]
        while waiting:
            at, path = waiting.pop()
            if e.left[at] < 0:
                paths.setdefault(path, t)
            else:
                path |= {int(e.feature[at])}
                waiting += [(e.left[at], path), (e.right[at], path)]
    assert all(any(path <= set(group) for group in groups) for path in paths)
    assert max(map(len, paths)) == 3


def test_rows_are_sampled():
    X, y = table(400)
    model = NewtonBoostingRegressor(**VECTORS, n_estimators=30, subsample=0.5).fit(X, y)
    assert np.mean((model.predict(X) - y) ** 2) < 0.1 * np.var(y)


def test_sparse_rows_equal_dense_rows_with_missing_values():
    X, y = table()
    X[X == 0.0] = np.nan
    csr = sparse.csr_array(np.nan_to_num(X))
    model = NewtonBoostingRegressor(**VECTORS, n_estimators=4)
    expected = model.fit(X, y).predict(X)
    np.testing.assert_allclose(model.fit(csr, y).predict(csr), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"monotone_constraints": [1, 0, 0, 0, 0]}, "monotone_constraints"),
        ({"booster": "dart"}, "booster='dart'"),
        ({"booster": "gblinear"}, "booster='gblinear'"),
        ({"tree_method": "exact"}, "tree_method='exact'"),
        ({"tree_method": "approx"}, "tree_method='approx'"),
        ({"parity": "xgboost"}, "several targets"),
    ],
    ids=str,
)
def test_unsupported_parameters_are_refused(params, message):
    X, y = table()
    with pytest.raises(ValueError, match=f"not support {message}"):
        NewtonBoostingRegressor(**VECTORS, **params).fit(X, y)


def test_categorical_columns_are_refused():
    pd = pytest.importorskip("pandas")
    X, y = table()
    frame = pd.DataFrame({"c": pd.Categorical(np.nan_to_num(X[:, 0]))})
    with pytest.raises(ValueError, match="multi_output_tree' does not support categorical columns"):
        NewtonBoostingRegressor(**VECTORS).fit(frame, y)


# ---------------------------------------------------------------- files and the native interface


@pytest.mark.parametrize("suffix", ["json", "ubj"])
def test_files_are_read_by_xgboost_and_by_us(suffix, tmp_path):
    X, y = classes()
    path = tmp_path / f"model.{suffix}"
    model = NewtonBoostingClassifier(**VECTORS, n_estimators=5).fit(X, y)
    model.save_model(path)
    booster = xgboost.Booster(model_file=path)
    np.testing.assert_allclose(
        booster.predict(xgboost.DMatrix(X)), model.predict_proba(X), rtol=1e-5, atol=1e-6
    )
    again = NewtonBoostingClassifier().load_model(path)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.n_iter_ == 5


def test_leaf_without_a_vector_is_refused(tmp_path):
    X, y = classes()
    path = tmp_path / "model.json"
    NewtonBoostingClassifier(**VECTORS, n_estimators=1).fit(X, y).save_model(path)
    saved = json.loads(path.read_text())
    tree = saved["learner"]["gradient_booster"]["model"]["trees"][0]
    leaf = tree["left_children"].index(-1)
    tree["right_children"][leaf] = -1
    path.write_text(json.dumps(saved))
    with pytest.raises(ModelFileError, match="no vector in leaf_weights"):
        NewtonBoostingClassifier().load_model(path)


@pytest.mark.parametrize("suffix", ["json", "ubj"])
def test_files_of_xgboost_are_read(suffix, tmp_path):
    X, y = table()
    path = tmp_path / f"model.{suffix}"
    theirs = xgboost.XGBRegressor(**VECTORS, n_estimators=5, n_jobs=1).fit(X, y)
    theirs.save_model(path)
    ours = NewtonBoostingRegressor().load_model(path)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(read_model(path).leaves(X).shape, (len(X), 5))
    booster = native.Booster(model_file=path)
    np.testing.assert_allclose(
        booster.predict(native.DMatrix(X)), theirs.predict(X), rtol=1e-6, atol=1e-6
    )


def test_other_formats_refuse_vector_leaves(tmp_path):
    X, y = table()
    model = NewtonBoostingRegressor(**VECTORS, n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="one value per leaf"):
        model.save_model(tmp_path / "model.txt")


def test_native_train(tmp_path):
    X, y = table()
    params = {**VECTORS, "tree_method": "hist", "max_depth": 4}
    ours, theirs = {}, {}
    found = native.train(
        params, native.DMatrix(X, y), 8, evals=[(native.DMatrix(X, y), "train")],
        evals_result=ours, verbose_eval=False,
    )  # fmt: skip
    other = xgboost.train(
        {**params, "nthread": 1}, xgboost.DMatrix(X, y), 8,
        evals=[(xgboost.DMatrix(X, y), "train")], evals_result=theirs, verbose_eval=False,
    )  # fmt: skip
    np.testing.assert_allclose(ours["train"]["rmse"], theirs["train"]["rmse"], rtol=1e-5)
    rows = native.DMatrix(X)
    np.testing.assert_allclose(
        found.predict(rows), other.predict(xgboost.DMatrix(X)), rtol=1e-5, atol=1e-5
    )
    leaves = found.predict(rows, pred_leaf=True)
    assert leaves.shape == other.predict(xgboost.DMatrix(X), pred_leaf=True).shape
    strict = found.predict(rows, pred_leaf=True, strict_shape=True)
    assert strict.shape == (len(X), 8, 1, 1)
    contributions = found.predict(rows, pred_contribs=True)
    np.testing.assert_allclose(contributions.sum(axis=2), found.predict(rows), atol=1e-4)
    assert "leaf=[" in found.get_dump()[0]
    with pytest.raises(ValueError, match="several values"):
        found.trees_to_dataframe()
    path = tmp_path / "model.ubj"
    found.save_model(path)
    again = native.Booster(model_file=path)
    np.testing.assert_array_equal(again.predict(rows), found.predict(rows))
    more = native.train(params, native.DMatrix(X, y), 2, xgb_model=again, verbose_eval=False)
    assert more.num_boosted_rounds() == 10


def test_forest_of_vector_leaves():
    X, y = table()
    model = native.XGBRFRegressor(**VECTORS, n_estimators=10).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert np.mean((model.predict(X) - y) ** 2) < 0.6 * np.var(y)
