"""Boosting of symmetric trees: scikit-learn's checks, parameters, stopping, files, edge cases."""

import json
import pickle

import catboost
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_friedman1
from sklearn.utils.estimator_checks import parametrize_with_checks

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor
from algorithms.symmetric.early_stopping import IncToDec
from algorithms.symmetric.fitted_model import SymmetricModel
from algorithms.symmetric.kernels.row_sampling import BLOCK, draw_by_gradients
from algorithms.symmetric.model import trees_from

BOTH = (SymmetricBoostingClassifier, SymmetricBoostingRegressor)
SMALL = {"iterations": 5, "thread_count": 1}
WEIGHTS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
UNWEIGHTED = "borders and l2_leaf_reg depend on the number of rows, as in CatBoost"


@parametrize_with_checks(
    [kind(**SMALL) for kind in BOTH],
    expected_failed_checks=lambda _: dict.fromkeys(WEIGHTS, UNWEIGHTED),
)
@pytest.mark.filterwarnings("ignore")  # the checks provoke warnings and count them themselves
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def quiet(**params):
    """Return CatBoost's parameters that keep it silent, and others."""
    return {"logging_level": "Silent", "allow_writing_files": False, "thread_count": 1, **params}


@pytest.mark.parametrize("load", [load_diabetes, load_breast_cancer, load_iris])
@pytest.mark.parametrize("has_eval_set", [False, True])
def test_the_learning_rate_is_catboosts(load, has_eval_set):
    X, y = load(return_X_y=True)
    fit = {"eval_set": [(X, y)]} if has_eval_set else {}
    classifies = load is not load_diabetes
    ours = BOTH[not classifies](iterations=7, depth=1, thread_count=1).fit(X, y, **fit)
    theirs = (catboost.CatBoostRegressor, catboost.CatBoostClassifier)[classifies]
    theirs = theirs(iterations=7, depth=1, **quiet()).fit(X, y, **fit)
    assert ours.learning_rate_ == pytest.approx(theirs.get_all_params()["learning_rate"], rel=1e-6)


def test_importances_are_catboosts():
    X, y = make_friedman1(300, random_state=0)
    fixed = {"iterations": 20, "bootstrap_type": "No", "random_strength": 0, "learning_rate": 0.1}
    ours = SymmetricBoostingRegressor(parity="catboost", **fixed, thread_count=1).fit(X, y)
    theirs = catboost.CatBoostRegressor(**fixed, **quiet()).fit(X, y)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-9)
    shap = ours.predict_contributions(X).sum(axis=1)
    np.testing.assert_allclose(shap, theirs.predict(X), rtol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    np.testing.assert_allclose(
        list(ours.staged_predict(X))[4], list(theirs.staged_predict(X))[4], rtol=1e-12
    )


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"bootstrap_type": "Bayesian"},
        {"bootstrap_type": "Bernoulli", "rsm": 0.5},
        {"score_function": "L2", "leaf_estimation_iterations": 4},
    ],
)
@pytest.mark.parametrize("labels", [2, 3])
def test_the_model_does_not_depend_on_threads(params, labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20000, 7))
    y = np.digitize(X[:, 0] + rng.normal(size=len(X)), [0.0, 1.0][: labels - 1])
    weight = rng.uniform(0.5, 2.0, len(X))
    models = [
        SymmetricBoostingClassifier(iterations=3, thread_count=n, **params).fit(X, y, weight)
        for n in (1, 3)
    ]
    raw = [model.predict_proba(X) for model in models]
    np.testing.assert_array_equal(*raw)
    assert raw[0].std() > 0.01


def test_synonyms_mean_the_same():
    X, y = make_friedman1(100, random_state=0)
    first = SymmetricBoostingRegressor(
        iterations=4, depth=3, eta=0.2, l2_leaf_reg=2.0, border_count=9, random_seed=3, rsm=0.8,
        loss_function="MAE", thread_count=1,
    ).fit(X, y)  # fmt: skip
    second = SymmetricBoostingRegressor(
        num_trees=4, max_depth=3, learning_rate=0.2, reg_lambda=2.0, max_bin=9, random_state=3,
        colsample_bylevel=0.8, objective="MAE", n_jobs=1,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    assert clone(second).get_params()["num_trees"] == 4
    assert second.set_params(num_trees=2).fit(X, y).tree_count_ == 2


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"grow_policy": "Region"}, "grow_policy"),
        (
            {"max_leaves": 8, "grow_policy": "Depthwise"},
            "max_leaves is for grow_policy='Lossguide'",
        ),
        ({"min_data_in_leaf": 5}, "min_data_in_leaf does not apply to symmetric trees"),
        (
            {"grow_policy": "Depthwise", "boosting_type": "Ordered"},
            "'Ordered' does not support grow",
        ),
        ({"cat_features": [0]}, "X is an array of real numbers"),
        ({"per_feature_ctr": "0:Counter"}, "all columns have the statistics of simple_ctr"),
        ({"simple_ctr": "FeatureFreq"}, "the kind of statistic must be one of"),
        ({"simple_ctr": "Borders:Prior=1/2"}, "its denominator must be 1"),
        ({"simple_ctr": "Counter:TargetBorderCount=2"}, "is not supported"),
        ({"text_features": [0]}, "TfidfVectorizer"),
        ({"loss_function": "LogCosh"}, "'LogCosh' is not supported for regression"),
        ({"eval_metric": "NDCG"}, "the metric 'NDCG' is not supported"),
        ({"leaf_estimation_method": "Exact"}, "is for MAE, Quantile and MultiQuantile"),
        ({"depth": 17}, "depth"),
        ({"use_best_model": True}, "use_best_model needs an eval_set"),
        ({"early_stopping_rounds": 3}, "needs an eval_set"),
        ({"bootstrap_type": "Bayesian", "subsample": 0.5}, "subsample does not apply"),
        ({"scale_pos_weight": 2.0}, "scale_pos_weight is for classifiers"),
    ],
)
def test_what_is_not_supported_is_named(params, match):
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20.0)
    with pytest.raises(ValueError, match=match):
        SymmetricBoostingRegressor(**{**SMALL, **params}).fit(X, y)


def test_unknown_names_get_a_hint():
    with pytest.raises(TypeError, match="did you mean 'depth'"):
        SymmetricBoostingRegressor(depht=3)


def test_training_ends_at_the_best_iteration():
    X, y = load_diabetes(return_X_y=True)
    fixed = {
        "iterations": 60, "learning_rate": 0.4, "bootstrap_type": "No", "random_strength": 0,
        "od_type": "Iter", "od_wait": 5,
    }  # fmt: skip
    data = {"X": X[::2], "y": y[::2], "eval_set": [(X[1::2], y[1::2])]}
    ours = SymmetricBoostingRegressor(parity="catboost", thread_count=1, **fixed).fit(**data)
    theirs = catboost.CatBoostRegressor(**fixed, **quiet()).fit(**data)
    assert ours.best_iteration_ == theirs.best_iteration_
    assert ours.tree_count_ == theirs.tree_count_
    np.testing.assert_allclose(
        ours.evals_result_["validation"]["RMSE"],
        theirs.evals_result_["validation"]["RMSE"],
        rtol=1e-5,
    )
    whole = SymmetricBoostingRegressor(parity="catboost", thread_count=1, **fixed)
    assert whole.fit(**data, use_best_model=False).tree_count_ == whole.n_iter_ > ours.tree_count_


def test_the_detector_stops_where_catboosts_does():
    X, y = load_diabetes(return_X_y=True)
    fixed = {
        "iterations": 150, "learning_rate": 0.4, "bootstrap_type": "No", "random_strength": 0,
        "od_pval": 0.3, "od_wait": 5,
    }  # fmt: skip
    data = {"X": X[::2], "y": y[::2], "eval_set": (X[1::2], y[1::2]), "use_best_model": False}
    ours = SymmetricBoostingRegressor(parity="catboost", thread_count=1, **fixed).fit(**data)
    theirs = catboost.CatBoostRegressor(**fixed, **quiet()).fit(**data)
    assert ours.tree_count_ == theirs.tree_count_ < 150


def test_the_detector_goes_on_while_the_metric_falls():
    detector = IncToDec(0.99, 2)
    assert not any(detector.stops(value) for value in np.linspace(1.0, 0.0, 50))


@pytest.mark.parametrize("metric", ["Accuracy", "AUC", "Logloss"])
def test_metrics_of_classifiers(metric):
    X, y = load_breast_cancer(return_X_y=True)
    model = SymmetricBoostingClassifier(iterations=8, eval_metric=metric, thread_count=1)
    model.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])])
    values = model.get_evals_result()["validation"][metric]
    assert model.get_best_iteration() == int(
        np.argmin(values) if metric == "Logloss" else np.argmax(values)
    )


def test_class_weights_are_sample_weights():
    X, y = load_iris(return_X_y=True)
    y = y[:120]
    X = X[:120]
    params = {**SMALL, "loss_function": "MultiClass"}
    balanced = SymmetricBoostingClassifier(auto_class_weights="Balanced", **params).fit(X, y)
    by_hand = SymmetricBoostingClassifier(class_weights={2: 2.5}, **params).fit(X, y)
    by_row = SymmetricBoostingClassifier(**params).fit(X, y, np.where(y == 2, 2.5, 1.0))
    expected = by_row.predict_proba(X)
    np.testing.assert_array_equal(balanced.predict_proba(X), expected)
    np.testing.assert_array_equal(by_hand.predict_proba(X), expected)
    with pytest.raises(ValueError, match="give one of class_weights, auto_class_weights"):
        balanced.set_params(class_weights=[1, 1, 1]).fit(X, y)
    with pytest.raises(ValueError, match="labels that y does not have"):
        by_hand.set_params(class_weights={7: 1.0}).fit(X, y)


def test_scale_pos_weight_weighs_the_second_class():
    X, y = load_breast_cancer(return_X_y=True)
    first = SymmetricBoostingClassifier(scale_pos_weight=3.0, **SMALL).fit(X, y)
    second = SymmetricBoostingClassifier(**SMALL).fit(X, y, np.where(y == 1, 3.0, 1.0))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


def test_rows_without_weight_are_left_out():
    X, y = make_friedman1(120, random_state=0)
    weight = np.where(np.arange(120) % 3, 1.0, 0.0)
    first = SymmetricBoostingRegressor(**SMALL).fit(X, y, weight)
    second = SymmetricBoostingRegressor(**SMALL).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


@pytest.mark.parametrize("kind", BOTH)
def test_files_keep_the_model(kind, tmp_path):
    X, y = load_iris(return_X_y=True)
    X[::7, 0] = np.nan
    names = kind is SymmetricBoostingClassifier
    labels = np.array(["red", "green", "blue"])[y] if names else y.astype(float)
    model = kind(**SMALL).fit(X, labels, eval_set=[(X, labels)])
    model.save_model(tmp_path / "model.json")
    loaded = kind().load_model(tmp_path / "model.json")
    for one in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(one.predict(X), model.predict(X))
        np.testing.assert_array_equal(one.feature_importances_, model.feature_importances_)
        assert one.evals_result_ == model.evals_result_
    assert loaded.get_params() == model.get_params()
    assert json.loads((tmp_path / "model.json").read_text())


def test_only_symmetric_trees_are_read():
    model = SymmetricBoostingRegressor(**SMALL).fit(*make_friedman1(100, random_state=0))
    trees = trees_from(model.ensemble_)
    for ours, again in zip(model._trees, trees, strict=True):
        np.testing.assert_array_equal(ours.values, again.values)
        np.testing.assert_array_equal(ours.borders, again.borders)


@pytest.mark.parametrize("nan_mode", ["Min", "Max"])
def test_missing_values_lie_at_one_end(nan_mode):
    X = np.array([[np.nan], [0.0], [1.0], [2.0]] * 10)
    y = np.array([5.0, 0.0, 0.0, 9.0] * 10)
    model = SymmetricBoostingRegressor(
        iterations=60, learning_rate=0.5, depth=2, nan_mode=nan_mode, l2_leaf_reg=0.0
    ).fit(X, y)
    np.testing.assert_allclose(model.predict(X[:4]), y[:4], atol=0.1)
    lowest = model.ensemble_.threshold[model.ensemble_.left >= 0].min()
    assert (lowest == np.finfo(np.float32).min) == (nan_mode == "Min")
    with pytest.raises(ValueError, match="nan_mode is 'Forbidden'"):
        SymmetricBoostingRegressor(nan_mode="Forbidden").fit(X, y)


@pytest.mark.parametrize("loss", ["RMSE", "MAE", "Quantile:alpha=0.9", "Poisson", "CrossEntropy"])
def test_constant_targets_are_predicted(loss):
    X = np.arange(30.0).reshape(15, 2)
    y = np.full(15, 0.25)
    model = SymmetricBoostingRegressor(iterations=200, learning_rate=0.5, loss_function=loss)
    np.testing.assert_allclose(model.fit(X, y).predict(X), y, atol=1e-2)


@pytest.mark.parametrize("X", [np.ones((20, 3)), np.full((20, 2), np.nan)])
def test_without_a_usable_column_the_constant_is_fitted(X):
    y = np.arange(20.0)
    model = SymmetricBoostingRegressor(**SMALL).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean())
    assert not model.feature_importances_.any()
    labels = np.arange(20) % 4 == 0
    proba = SymmetricBoostingClassifier(iterations=300, learning_rate=0.3).fit(X, labels)
    np.testing.assert_allclose(proba.predict_proba(X)[:, 1], 0.25, atol=1e-2)


def test_one_row():
    model = SymmetricBoostingRegressor(**SMALL).fit([[1.0, 2.0]], [3.0])
    assert model.predict([[1.0, 2.0], [0.0, np.nan]]).tolist() == [3.0, 3.0]


def test_sparse_rows_are_dense_ones():
    X = sparse.random(200, 6, 0.3, format="csr", random_state=0)
    y = X.toarray().sum(axis=1)
    first = SymmetricBoostingRegressor(**SMALL).fit(X, y)
    second = SymmetricBoostingRegressor(**SMALL).fit(X.toarray(), y)
    np.testing.assert_array_equal(first.predict(X), second.predict(X.toarray()))


def test_sampling_by_gradients_keeps_the_wanted_share_without_bias():
    rng = np.random.default_rng(0)
    g = rng.exponential(size=(1, 5 * BLOCK // 2))
    total, share = [], []
    for seed in range(40):
        weight = np.empty(g.shape[1], np.float32)
        draw_by_gradients(g, 0.3, 0.1, np.uint32(seed), np.empty((2, BLOCK)), weight, 0, 3)
        total.append((g[0] * weight).sum() / g.sum())
        share.append((weight > 0.0).mean())
    assert np.mean(share) == pytest.approx(0.3, abs=0.003)
    assert np.mean(total) == pytest.approx(1.0, abs=0.003)


def test_a_class_without_a_partner_is_refused():
    with pytest.raises(ValueError, match="only one class"):
        SymmetricBoostingClassifier(**SMALL).fit([[1.0], [2.0]], [1, 1])


@pytest.mark.parametrize("loss", ["Logloss", "MultiClass"])
def test_backtracking_never_raises_the_loss(loss):
    X, y = load_breast_cancer(return_X_y=True)
    model = SymmetricBoostingClassifier(
        iterations=6, learning_rate=1.0, leaf_estimation_iterations=3, loss_function=loss,
        bootstrap_type="No",
    ).fit(X, y)  # fmt: skip
    losses = [-np.log(p[np.arange(len(y)), y]).mean() for p in model.staged_predict_proba(X)]
    assert (np.diff(losses) < 0.0).all()


@pytest.mark.parametrize(
    ("nan_mode", "dtype", "depth", "borders"),
    [
        ("Min", np.float32, 7, [0.0]),
        ("Max", np.float64, 10, [-1.0, 1.0]),
        ("Max", np.float32, 9, [0.0]),
    ],
)
def test_bits_predict_what_the_trees_do(nan_mode, dtype, depth, borders):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 6)).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.digitize(np.nansum(X[:, :3], axis=1), borders)
    model = SymmetricBoostingClassifier(
        iterations=12, depth=depth, nan_mode=nan_mode, thread_count=2, bootstrap_type="No"
    ).fit(X[:2000], y[:2000])
    assert model._bits.is_faster(len(X), slice(None))
    np.testing.assert_array_equal(model._raw(X), model.ensemble_.raw(X))
    np.testing.assert_array_equal(model._raw(X, 3, 9), model._walker.raw(X, 1, slice(3, 9)))
    frame = pd.DataFrame(X)
    named = SymmetricBoostingClassifier(iterations=20, depth=2).fit(frame[:500], y[:500])
    np.testing.assert_array_equal(named.predict(frame), named.predict(frame.iloc[:, :]))
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :5])


def test_an_evaluation_set_is_read_with_one_target():
    X = np.arange(40.0).reshape(20, 2)
    model = SymmetricBoostingRegressor(iterations=2).fit(X, X[:, 0], eval_set=[(X, X[:, 0])])
    assert [len(one) for one in model.evals_result_.values()]
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, X[:, 0], eval_set=[(X, X[:5, 0])])


@pytest.mark.parametrize("nan_mode", ["Min", "Max"])
def test_float64_table_is_read_as_the_nearest_float32(nan_mode):
    """A column without borders is left out; some values are missing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    X[:, 3] = 1.0
    X[rng.random(X.shape) < [0.0, 0.0, 0.1, 0.0, 0.0]] = np.nan
    y = np.nan_to_num(X[:, 0] + X[:, 2] * X[:, 4]) + rng.normal(size=3000)
    models = [
        SymmetricBoostingRegressor(n_estimators=15, nan_mode=nan_mode).fit(X.astype(dtype), y)
        for dtype in (np.float64, np.float32)
    ]
    trees, expected = (model.ensemble_.to_arrays() for model in models)
    for name, values in expected.items():
        np.testing.assert_array_equal(trees[name], values)


@pytest.mark.parametrize("source", ["trained", "read from a file", "pickled by an earlier version"])
def test_pickles_hold_the_trees_once(source, tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 4))
    model = SymmetricBoostingRegressor(iterations=20, thread_count=1).fit(X, X[:, 0] * X[:, 1])
    expected, trees = model.predict(X), model.ensemble_
    if source == "trained":
        assert len(pickle.dumps(model)) < 0.4 * len(pickle.dumps(trees))
    elif source == "read from a file":
        model.save_model(tmp_path / "model.json", format="harness")
        model = SymmetricBoostingRegressor().load_model(tmp_path / "model.json")
        trees = model.ensemble_
    else:
        with monkeypatch.context() as patch:
            patch.delattr(SymmetricModel, "__getstate__")
            del model._read_ensemble
            pickled = pickle.dumps(model)
        assert b"ensemble_" in pickled
        model = pickle.loads(pickled)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(X), expected)
    for name, values in vars(trees).items():
        np.testing.assert_array_equal(getattr(loaded.ensemble_, name), values)


def test_fitted_models_are_trained_again_on_other_columns_and_classes():
    X = np.random.default_rng(0).normal(size=(120, 4))
    for columns, n_classes in ((4, 3), (2, 2), (3, 4), (4, 1)):
        y = np.digitize(X[:, 0], np.linspace(-1, 1, n_classes - 1)) if n_classes > 1 else X[:, 0]
        kind = SymmetricBoostingClassifier if n_classes > 1 else SymmetricBoostingRegressor
        model = kind(**SMALL).fit(X, X[:, 3] > 0)
        again = model.fit(X[:, :columns], y).predict(X[:, :columns])
        np.testing.assert_array_equal(
            again, kind(**SMALL).fit(X[:, :columns], y).predict(X[:, :columns])
        )
