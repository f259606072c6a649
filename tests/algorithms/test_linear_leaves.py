"""Tests of ``linear_tree``: training, parity with LightGBM, prediction, files and refusals."""

import pickle

import lightgbm
import numpy as np
import pytest
from parity_lightgbm import SETTINGS, fit_both
from scipy import sparse

import algorithms.compat.lightgbm as lgb
from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor, read_model, serve
from algorithms.gbdt.cross_fitting import CrossFitTrainer, StoppingRule, stratified_folds
from algorithms.reference.trees_of import trees_of
from harness import HarnessError, TreeEnsemble
from harness.trees.ensemble import LinearLeaves

PARAMS = {"linear_tree": True, "n_estimators": 6, "num_leaves": 8, "min_child_samples": 10}


def table(seed, n=400, *, missing=True, categorical=True):
    """Return X with missing values and codes of categories, and a target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0]
    if categorical:
        X[:, 3] = rng.integers(0, 6, n)
    y = 2.0 * X[:, 0] + np.abs(X[:, 1]) / 5.0 + np.sin(X[:, 3]) + 0.1 * rng.normal(size=n)
    if missing:
        X[rng.random(n) < 0.1, 0] = np.nan
        X[rng.random(n) < 0.02, 2] = np.nan
    return X, y


def fitted(seed=0, model=HistogramBoostingRegressor, **params):
    X, y = table(seed)
    y = y if model is HistogramBoostingRegressor else (y > 0).astype(int)
    settings = {**PARAMS, "categorical_feature": [3], **params}
    return model(**settings).fit(X, y), X, y


def test_linear_target_is_learned_better_than_by_constant_leaves():
    X, y = table(1, missing=False, categorical=False)
    linear, plain = (
        HistogramBoostingRegressor(n_estimators=30, linear_tree=flag).fit(X[:300], y[:300])
        for flag in (True, False)
    )
    loss = [np.mean((m.predict(X[300:]) - y[300:]) ** 2) for m in (linear, plain)]
    assert loss[0] < 0.5 * loss[1]
    assert linear.ensemble_.linear is not None
    assert plain.ensemble_.linear is None


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_model_is_the_same_for_any_number_of_threads(n_jobs):
    one, X, _ = fitted(n_jobs=1)
    several, _, _ = fitted(n_jobs=n_jobs)
    for name, values in one.ensemble_.to_arrays().items():
        assert np.array_equal(
            values, several.ensemble_.to_arrays()[name], equal_nan=values.dtype.kind == "f"
        )
    assert np.array_equal(one.predict(X), several.predict(X))


@pytest.mark.parametrize("objective", ["regression", "binary", "multiclass"])
@pytest.mark.parametrize("seed", range(4))
def test_parity_with_lightgbm(seed, objective):
    X, y = table(seed, missing=seed % 2 == 1, categorical=seed != 2)
    if objective != "regression":
        k = 2 if objective == "binary" else 3
        y = np.digitize(y, np.quantile(y, np.arange(1, k) / k))
    columns = [3] if seed != 2 else []
    params = {"linear_tree": True, "linear_lambda": [0.0, 0.3, 0.0, 10.0][seed], "num_leaves": 7}
    ours, theirs = fit_both(objective, X, y, categorical_feature=columns, **params)
    a, b = ours.ensemble_, trees_of(theirs)
    assert a.n_nodes == b.n_nodes
    for t in range(a.n_trees):
        compare_leaves(a.tree(t), b.tree(t))
    rows = np.vstack([X, np.where(np.random.default_rng(seed).random(X.shape) < 0.2, np.nan, X)])
    expected = theirs.predict(rows, raw_score=True)
    scale = np.abs(expected).max()
    raw = ours._raw(rows).reshape(expected.shape)
    np.testing.assert_allclose(raw, expected, rtol=1e-6, atol=1e-6 * scale)


def compare_leaves(a, b):
    """Compare two trees: splits, leaf values and linear models, which may be in another order."""
    todo = [(0, 0)]
    while todo:
        x, y = todo.pop()
        assert a.feature[x] == b.feature[y]
        if a.left[x] >= 0:
            todo += [(a.left[x], b.left[y]), (a.right[x], b.right[y])]
            continue
        np.testing.assert_allclose(a.value[x], b.value[y], rtol=1e-9)
        one, other = (slopes(e.linear, leaf) for e, leaf in ((a, x), (b, y)))
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12)  # rounding may leave 1e-17


def slopes(linear, leaf):
    """Return the coefficients of all features in a leaf, and the constant."""
    terms = slice(linear.start[leaf], linear.start[leaf + 1])
    found = np.zeros(6)
    found[linear.feature[terms]] = linear.coefficient[terms]
    found[5] = linear.constant[leaf]
    return found


@pytest.mark.parametrize("model", [HistogramBoostingRegressor, HistogramBoostingClassifier])
def test_all_predictors_agree(model):
    fit, X, _ = fitted(2, model)
    trees = fit.ensemble_
    raw = trees.raw(X)
    X32 = X.astype(np.float32)
    assert np.array_equal(fit._raw(X), raw)
    assert np.array_equal(np.vstack([fit._raw(row[None]) for row in X[:20]]), raw[:20])
    assert np.array_equal(fit._raw(X32), trees.raw(X32))
    assert np.array_equal(serve(trees).raw(X), raw)
    filled = np.nan_to_num(X)
    sparse_rows = sparse.csr_matrix(filled)
    assert np.array_equal(fit._raw(sparse_rows), trees.raw(filled))
    *_, last = fit._staged_raw(X)
    assert np.array_equal(last, raw)


def test_missing_value_of_a_leaf_gives_its_constant_value():
    fit, X, _ = fitted(3)
    linear, trees = fit.ensemble_.linear, fit.ensemble_
    leaves = trees.leaves(X)
    node = leaves[:, 2]
    used = [linear.feature[linear.start[n] : linear.start[n + 1]] for n in node]
    misses = np.array([np.isnan(X[i, f]).any() for i, f in enumerate(used)])
    assert 0 < misses.sum() < len(X)
    outputs = linear.outputs(trees.value[:, 0], node, X)
    assert np.array_equal(outputs[misses], trees.value[node[misses], 0])
    assert not np.isclose(outputs[~misses], trees.value[node[~misses], 0]).all()


def test_sparse_training_rows_give_the_same_model():
    X, y = table(4, missing=False, categorical=False)
    X[np.random.default_rng(0).random(X.shape) < 0.7] = 0.0
    dense = HistogramBoostingRegressor(**PARAMS).fit(X, y)
    assert np.array_equal(
        HistogramBoostingRegressor(**PARAMS).fit(sparse.csr_matrix(X), y).predict(X),
        dense.predict(X),
    )


@pytest.mark.parametrize(
    "params",
    [
        {"boosting_type": "dart", "drop_rate": 0.5, "skip_drop": 0.0},
        {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
        {"data_sample_strategy": "goss"},
        {"subsample": 0.5, "subsample_freq": 1, "colsample_bytree": 0.8},
        {"objective": "quantile"},
        {"objective": "poisson"},
    ],
    ids=str,
)
def test_scores_of_training_are_those_of_the_model(params):
    X, y = table(5)
    y = np.abs(y)
    model = HistogramBoostingRegressor(**PARAMS, categorical_feature=[3], random_state=1, **params)
    model.fit(X, y, eval_set=[(X, y)], eval_metric="l2")
    assert model.ensemble_.linear is not None
    loss = np.mean((model.predict(X) - y) ** 2)
    (results,) = model.evals_result_.values()
    assert results["l2"][-1] == pytest.approx(loss, rel=1e-6)


def test_cross_fitted_members_have_linear_leaves():
    X, y = table(14, missing=False, categorical=False)
    fold = stratified_folds(y, 3, 0, is_classifier=False)
    losses = []
    for flag in (False, True):
        rows = HistogramBoostingRegressor(linear_tree=flag)._read_and_bin(X, y)
        result = CrossFitTrainer(
            rows, fold, StoppingRule(3, 20, 5), 1, np.ones(X.shape[1], bool)
        ).train()
        assert (rows.model.ensemble_.linear is not None) == flag
        losses.append(result.loss)
    assert losses[1] < 0.8 * losses[0]


def test_weights_multiply_the_penalty():
    X, y = table(6)
    models = [
        HistogramBoostingRegressor(**PARAMS, linear_lambda=3.0 * w).fit(X, y, np.full(len(y), w))
        for w in (1.0, 4.0)
    ]
    np.testing.assert_allclose(models[1].predict(X), models[0].predict(X), rtol=1e-6)


def test_continued_training_has_linear_leaves_from_its_first_round():
    first, X, y = fitted(7)
    more = HistogramBoostingRegressor(**PARAMS, categorical_feature=[3]).fit(X, y, init_model=first)
    e = more.ensemble_
    assert e.n_trees == 12
    sizes = [len(e.tree(t).linear.feature) for t in range(e.n_trees)]
    assert sizes[0] == 0
    assert min(sizes[1:]) > 0
    assert np.mean((more.predict(X) - y) ** 2) < np.mean((first.predict(X) - y) ** 2)


@pytest.mark.parametrize("model", [HistogramBoostingRegressor, HistogramBoostingClassifier])
@pytest.mark.parametrize("kind", ["lightgbm", "json", "pickle", "arrays"])
def test_saved_model_predicts_the_same(model, kind, tmp_path):
    fit, X, _ = fitted(8, model)
    raw = fit.ensemble_.raw(X)
    if kind == "pickle":
        again = pickle.loads(pickle.dumps(fit))._raw(X)
    elif kind == "arrays":
        again = TreeEnsemble.from_arrays(fit.ensemble_.to_arrays()).raw(X)
    else:
        path = tmp_path / f"model.{'txt' if kind == 'lightgbm' else 'json'}"
        fit.save_model(path, format=None if kind == "json" else kind)
        again = read_model(path).raw(X)
    np.testing.assert_allclose(again, raw, rtol=1e-12, atol=1e-12)


def test_lightgbm_reads_our_file_and_we_read_its_file(tmp_path):
    fit, X, y = fitted(9)
    fit.save_model(tmp_path / "ours.txt", format="lightgbm")
    theirs = lightgbm.Booster(model_file=tmp_path / "ours.txt")
    np.testing.assert_allclose(theirs.predict(X), fit.predict(X), rtol=1e-12, atol=1e-12)
    rows = lightgbm.Dataset(X, y, categorical_feature=[3])
    booster = lightgbm.train({"linear_tree": True, **SETTINGS}, rows, 6)
    booster.save_model(tmp_path / "theirs.txt")
    assert np.array_equal(read_model(tmp_path / "theirs.txt").predict(X), booster.predict(X))


def test_dumped_model_has_the_linear_models_of_lightgbm():
    X, y = table(10)
    params = {"linear_trees": True, **SETTINGS}
    ours = lgb.train(params, lgb.Dataset(X, y), 3)
    again = lightgbm.Booster(model_str=ours.model_to_string())
    pairs = zip(leaves_of(ours), leaves_of(again), strict=True)
    for one, other in pairs:
        assert one["leaf_features"] == other["leaf_features"]
        assert one["leaf_coeff"] == pytest.approx(other["leaf_coeff"])
        assert one["leaf_const"] == pytest.approx(other["leaf_const"])


def leaves_of(booster):
    """Return the leaves of a dumped model, from left to right."""
    found = []

    def visit(node):
        if "left_child" in node:
            visit(node["left_child"])
            visit(node["right_child"])
        else:
            found.append(node)

    for tree in booster.dump_model()["tree_info"]:
        visit(tree["tree_structure"])
    return found


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": "regression_l1"}, "Cannot use regression_l1 objective when fitting linear"),
        ({"zero_as_missing": True}, "zero_as_missing must be false when fitting linear trees"),
        ({"monotone_constraints": [1, 0, 0, 0, 0]}, "monotone_constraints is not supported with"),
        ({"parity": "scikit-learn"}, "linear_tree=True is not supported with parity"),
        ({"parity": "lightgbm", "objective": "quantile"}, "linear_tree=True is not supported with"),
        ({"linear_lambda": -1.0}, "linear_lambda"),
    ],
    ids=str,
)
def test_impossible_combination_is_refused(params, message):
    X, y = table(11)
    with pytest.raises(ValueError, match=message):
        HistogramBoostingRegressor(**PARAMS, **params).fit(X, y)


@pytest.mark.parametrize("kind", ["xgboost", "catboost"])
def test_other_formats_refuse_linear_leaves(kind, tmp_path):
    fit, X, _ = fitted(12)
    with pytest.raises(ValueError, match="not implemented for linear trees"):
        fit.predict_contributions(X)
    with pytest.raises((ValueError, HarnessError), match="linear leaves"):
        fit.save_model(tmp_path / "model.json", format=kind)
    with pytest.raises(HarnessError, match="linear leaves"):
        fit.ensemble_.combine(fit.ensemble_.leaves(X))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"feature": np.array([9])}, "unknown feature"),
        ({"coefficient": np.array([np.nan])}, "not finite"),
        ({"start": np.array([0, 1, 1, 1])}, "inner node"),
        ({"start": np.array([0, 0, 2, 1])}, "start decreases"),
        ({"constant": np.zeros(2)}, "start has not"),
    ],
)
def test_malformed_linear_leaves_are_refused(changes, message):
    X, y = table(13, missing=False, categorical=False)
    trees = HistogramBoostingRegressor(n_estimators=1, num_leaves=2).fit(X, y).ensemble_
    arrays = trees.to_arrays()
    leaves = {"constant": np.zeros(3), "start": np.array([0, 0, 1, 1])}
    leaves |= {"feature": np.array([0]), "coefficient": np.array([1.0])}
    for name, values in (leaves | changes).items():
        arrays[f"linear_{name}"] = values
    with pytest.raises(HarnessError, match=message):
        TreeEnsemble.from_arrays(arrays)
    assert LinearLeaves(**leaves).part(1, 3).start.tolist() == [0, 1, 1]
