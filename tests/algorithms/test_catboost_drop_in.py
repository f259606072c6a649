"""A program written for CatBoost runs with one changed import."""

import catboost
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import algorithms.compat.catboost as ours

LIBRARIES = (catboost, ours)
SILENT = {"logging_level": "Silent", "allow_writing_files": False}
FIXED = {**SILENT, "bootstrap_type": "No", "random_strength": 0, "depth": 3}


@pytest.fixture(autouse=True)
def _files_of_catboost(tmp_path, monkeypatch):
    """Let CatBoost's `cv` write its folder elsewhere."""
    monkeypatch.chdir(tmp_path)


def tables():
    """Return rows, classes and numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    return X, (X[:, 0] + X[:, 1] ** 2 > 1).astype(int), X[:, 0] * 2 + rng.normal(size=300)


def queries():
    """Return the query of each row."""
    return np.repeat(np.arange(60), 5)


def rank(library):
    """Return names, shapes and predictions of a program that trains rankers."""
    X, _, s = tables()
    y, group = np.digitize(s, [-1, 1, 2]), queries()
    pool = library.Pool(X[:200], y[:200], group_id=group[:200])
    valid = library.Pool(X[200:], y[200:], group_id=group[200:])
    params = {"iterations": 20, "learning_rate": 0.2, **FIXED}
    model = library.CatBoostRanker(loss_function="PairLogit", **params)
    model.fit(pool, eval_set=valid, use_best_model=False)
    arrays = library.CatBoostRanker(loss_function="PairLogit", **params)
    arrays.fit(X[:200], y[:200], group_id=group[:200], group_weight=np.ones(200))
    booster = library.train(pool, {"loss_function": "YetiRank", **params})
    return (
        model.predict(valid).round(8).tolist(),
        arrays.predict(X[200:]).round(8).tolist(),
        round(model.score(valid), 8),
        round(model.score(X[200:], y[200:], group[200:], top=3, type="Exp"), 8),
        list(model.get_best_score()["validation"]),
        booster.predict(valid).shape,
        library.CatBoostRanker(iterations=30, **SILENT).fit(pool).score(pool) > 0.9,
        pool.slice(list(range(5, 15))).shape,
    )


def classify(library):
    """Return names, shapes and predictions of a program that trains a classifier."""
    X, y, _ = tables()
    names = list("abcde")
    pool = library.Pool(X[:200], label=y[:200], weight=np.ones(200), feature_names=names)
    valid = library.Pool(X[200:], y[200:], feature_names=names)
    model = library.CatBoostClassifier(iterations=40, learning_rate=0.1, depth=4, **SILENT)
    model.fit(pool, eval_set=valid, early_stopping_rounds=5, verbose=False)
    log = model.predict_log_proba(valid)
    assert np.allclose(np.exp(log), model.predict_proba(valid))
    assert list(model.get_best_score()["validation"]) == ["Logloss"]
    return (
        model.predict(valid).shape,
        model.predict_proba(valid).shape,
        model.predict(valid, prediction_type="RawFormulaVal").shape,
        model.score(valid) > 0.8,
        model.feature_names_,
        model.get_feature_importance(prettified=True).columns.tolist(),
        model.get_feature_importance(valid, type="ShapValues").shape,
        model.get_best_iteration() == model.best_iteration_,
        list(model.classes_),
        model.is_fitted(),
        model.get_param("depth"),
        pool.slice([1, 2]).shape,
        pool.get_feature_names(),
        len(pool.get_weight()),
    )


def regress(library):
    """Return the results of a program with a regressor, `train` and `cv`."""
    X, y, s = tables()
    model = library.CatBoostRegressor(20, 0.1, 4, **SILENT).fit(X, s)
    params = {"loss_function": "Logloss", "max_depth": 3, **SILENT}
    booster = library.train(library.Pool(X, y), params, num_boost_round=10)
    folds = [(np.arange(150), np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]
    params = {**FIXED, "loss_function": "RMSE"}
    table = library.cv(library.Pool(X, s), params, iterations=6, folds=folds)
    return (
        model.predict(X).shape,
        model.score(X, s) > 0.5,
        booster.predict(X).shape,
        booster.predict(X, "Class").shape,
        booster.tree_count_,
        table.columns.tolist(),
        table.shape,
    )


@pytest.mark.parametrize("program", [classify, regress, rank])
def test_a_program_sees_the_same(program):
    assert program(ours) == program(catboost)


def test_cross_validation_is_near_catboosts():
    X, _, s = tables()
    folds = [(np.arange(150), np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]
    params = {**FIXED, "loss_function": "RMSE"}
    theirs, mine = (
        library.cv(library.Pool(X, s), params, iterations=6, folds=folds) for library in LIBRARIES
    )
    np.testing.assert_allclose(mine["test-RMSE-mean"], theirs["test-RMSE-mean"], rtol=0.01)
    as_dict, models = ours.cv(
        ours.Pool(X, s), FIXED | {"loss_function": "RMSE", "eta": 0.9}, iterations=40, seed=1,
        as_pandas=False, return_models=True, early_stopping_rounds=3,
    )  # fmt: skip
    mean = as_dict["test-RMSE-mean"]
    assert len(models) == 3
    assert len(mean) == int(np.argmin(mean)) + 4 < 40


def test_cross_validation_keeps_the_rows_of_a_query_together():
    X, _, s = tables()
    y = np.digitize(s, [-1, 1, 2])
    params = {"loss_function": "YetiRank", **FIXED}
    table, models = ours.cv(
        ours.Pool(X, y, group_id=queries()), params, iterations=20, seed=1, return_models=True
    )
    mean = table["test-NDCG:type=Base-mean"]
    assert len(table) == 20
    assert mean.iloc[-1] > mean.iloc[0]
    assert all(model.tree_count_ == 20 for model in models)


@pytest.mark.parametrize("labels", [list("abc"), [3, 5, 9]])
def test_predictions_of_several_classes_are_a_column(labels):
    X, _, s = tables()
    y = np.array(labels)[np.digitize(s, [-1, 1])]
    shapes = []
    for library in LIBRARIES:
        model = library.CatBoostClassifier(iterations=3, **SILENT).fit(X, y)
        shapes.append((model.predict(X).shape, model.predict_proba(X).shape))
        assert set(model.predict(X).ravel()) <= set(labels)
    assert shapes[0] == shapes[1]


def test_synonyms_and_clones():
    X, y, _ = tables()
    first = ours.CatBoostClassifier(
        num_trees=5, max_depth=3, eta=0.2, reg_lambda=2.0, max_bin=9, random_state=3,
        objective="Logloss", **SILENT,
    ).fit(X, y)  # fmt: skip
    second = ours.CatBoostClassifier(
        iterations=5, depth=3, learning_rate=0.2, l2_leaf_reg=2.0, border_count=9, random_seed=3,
        loss_function="Logloss",
    ).fit(ours.Pool(X, y))  # fmt: skip
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    again = clone(first).fit(X, y)
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))


def test_files_are_catboosts(tmp_path):
    X, y, s = tables()
    path = str(tmp_path / "model.json")
    model = ours.CatBoostClassifier(iterations=5).fit(X, y)
    model.save_model(path, format="json")
    theirs = catboost.CatBoostClassifier().load_model(path, format="json")
    np.testing.assert_allclose(theirs.predict_proba(X), model.predict_proba(X), rtol=1e-13)
    for data, loss in ((y, "Logloss"), (s, "RMSE")):
        params = {"iterations": 4, "loss_function": loss, **SILENT}
        library = catboost.CatBoost(params).fit(X, data)
        library.save_model(path, format="json")
        loaded = ours.CatBoost().load_model(path)
        np.testing.assert_array_equal(loaded.predict(X), library.predict(X))
    with pytest.raises(ValueError, match="binary format"):
        model.save_model(tmp_path / "model.cbm")


def test_pools_of_frames_sparse_rows_and_pools():
    X, y, _ = tables()
    frame = pd.DataFrame(X, columns=list("abcde"))
    for data in (frame, sparse.csr_matrix(X), X.tolist(), ours.Pool(X, y)):
        pool = ours.Pool(data, y)
        assert (pool.num_row(), pool.num_col()) == (300, 5)
        model = ours.CatBoostClassifier(iterations=2).fit(pool)
        assert model.predict(pool.slice(np.arange(7))).shape == (7,)
    assert ours.Pool(X, y).set_weight(np.ones(300)).weight is not None


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda X, y: ours.CatBoostRegressor(depht=3), TypeError, "did you mean 'depth'"),
        (lambda X, y: ours.CatBoostRegressor(task_type="GPU").fit(X, y), ValueError, "no GPU"),
        (lambda X, y: ours.CatBoostRegressor().fit(X), ours.CatBoostError, "y is missing"),
        (lambda X, y: ours.CatBoostRegressor().fit(ours.Pool(X, y), y), ValueError, "X is a Pool"),
        (
            lambda X, y: ours.CatBoostRegressor().fit(ours.Pool(X, y), baseline=y),
            ValueError,
            "baseline",
        ),
        (lambda X, y: ours.CatBoostRegressor().fit(X, y, nothing=1), TypeError, "'nothing'"),
        (lambda X, y: ours.Pool(X, y, group_id=y[1:]), ours.CatBoostError, "group_id has 299"),
        (lambda X, y: ours.Pool(X, y, subgroup_id=y), ours.CatBoostError, "subgroup_id"),
        (
            lambda X, y: ours.Pool(X, y, pairs=[[0, 1]]).slice([0, 1]),
            ours.CatBoostError,
            "has no slices",
        ),
        (
            lambda X, y: ours.CatBoostRanker().fit(X, y, queries(), eval_set=(X, y)),
            ours.CatBoostError,
            "must be a Pool with group_id",
        ),
        (
            lambda X, y: ours.CatBoostRanker().fit(ours.Pool(X, y), group_id=queries()),
            ours.CatBoostError,
            "X is a Pool: group_id",
        ),
        (
            lambda X, y: ours.CatBoostRanker().fit(
                ours.Pool(X, y, weight=np.ones(300), group_weight=np.ones(300), group_id=queries())
            ),
            ours.CatBoostError,
            "one of sample_weight and group_weight",
        ),
        (
            lambda X, y: ours.cv(ours.Pool(X, y), {"loss_function": "YetiRank"}),
            ours.CatBoostError,
            "has no group_id",
        ),
        (
            lambda X, y: (
                ours.CatBoost({"loss_function": "YetiRank", "iterations": 1})
                .fit(ours.Pool(X, y, group_id=queries()))
                .predict(X, "Class")
            ),
            ours.CatBoostError,
            "prediction_type 'Class'",
        ),
        (lambda X, y: ours.Pool(X, y, nothing=1), TypeError, "'nothing'"),
        (lambda X, y: ours.Pool(X, y[:3]), ours.CatBoostError, "label has 3 entries"),
        (lambda X, y: ours.Pool("train.tsv"), ours.CatBoostError, "does not read files"),
        (lambda X, y: ours.Pool(X, feature_names=["a"]), ours.CatBoostError, "1 entries for 5"),
        (lambda X, y: ours.cv(ours.Pool(X), {}), ours.CatBoostError, "has no label"),
        (lambda X, y: ours.train(params={}), ours.CatBoostError, "one of pool and dtrain"),
        (
            lambda X, y: ours.CatBoostRegressor(iterations=1).fit(X, y).predict(X, "Class"),
            ours.CatBoostError,
            "prediction_type 'Class'",
        ),
    ],
)
def test_what_is_not_supported_is_named(call, error, match):
    X, _, s = tables()
    with pytest.raises(error, match=match):
        call(X, s)
