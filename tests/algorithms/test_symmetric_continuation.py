"""Tests of model shrinkage and continued training of symmetric trees."""

import numpy as np
import pandas as pd
import pytest

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor
from algorithms.compat import catboost as ours

rng = np.random.default_rng(0)
X = rng.normal(size=(700, 5)).astype(np.float32)
Y = 2.0 * X[:, 0] + X[:, 1] ** 2 + rng.normal(size=700) + 3.0
CLASSES = {
    "RMSE": Y,
    "MAE": Y,
    "Logloss": (Y > 4.0).astype(int),
    "Poisson": np.floor(Y - Y.min()),
    "MultiClass": np.digitize(Y, [3.0, 5.0]),
}
FIXED = {"iterations": 20, "depth": 4, "learning_rate": 0.2, "thread_count": 1}
FIXED |= {"bootstrap_type": "No", "random_strength": 0, "has_time": True}
QUIET = {"logging_level": "Silent", "allow_writing_files": False}
N = 500
TRAIN, TEST = slice(None, N), slice(N, None)
CONSTANT = {"model_shrink_rate": 0.3}
DECREASING = CONSTANT | {"model_shrink_mode": "Decreasing"}


def estimators(loss, **params):
    """Return our estimator and CatBoost's, and y, for a loss."""
    catboost = pytest.importorskip("catboost")
    kinds = (SymmetricBoostingRegressor, catboost.CatBoostRegressor)
    if loss in ("Logloss", "MultiClass"):
        kinds = (SymmetricBoostingClassifier, catboost.CatBoostClassifier)
    given = FIXED | {"loss_function": loss} | params
    return kinds[0](**given), kinds[1](**given, **QUIET), CLASSES[loss]


def raw(model, rows=X):
    """Return the raw scores of a model, (n_rows,) or (n_rows, n_scores)."""
    if hasattr(model, "_raw"):
        found = model._raw(rows)
        return found[:, 0] if found.shape[1] == 1 else found
    return model.predict(rows, prediction_type="RawFormulaVal")


@pytest.mark.parametrize("boosting_type", ["Plain", "Ordered"])
@pytest.mark.parametrize("shrinkage", [CONSTANT, DECREASING], ids=["constant", "decreasing"])
@pytest.mark.parametrize("loss", ["RMSE", "Logloss", "MultiClass"])
def test_shrunk_models_are_those_of_catboost(loss, shrinkage, boosting_type):
    if loss == "MultiClass" and boosting_type == "Ordered":
        boosting_type = "Plain"  # CatBoost has no ordered boosting of several scores on CPUs
    model, library, y = estimators(loss, boosting_type=boosting_type, **shrinkage)
    wanted = raw(library.fit(X, y))
    error = 5e-3 if loss == "Logloss" else 1e-10  # it shrinks e^F by an approximate logarithm
    np.testing.assert_allclose(raw(model.fit(X, y)), wanted, atol=error)


@pytest.mark.parametrize("loss", ["RMSE", "Logloss", "Poisson"])
@pytest.mark.parametrize("shrinkage", [CONSTANT, DECREASING], ids=["constant", "decreasing"])
def test_evaluation_sets_see_the_shrunk_model(loss, shrinkage):
    model, _, y = estimators(loss, use_best_model=False, **shrinkage)
    model.fit(X[TRAIN], y[TRAIN], eval_set=(X[TEST], y[TEST]))
    values = next(iter(model.evals_result_["validation"].values()))
    for n_trees in (1, 7, 20):
        shorter, _, _ = estimators(loss, iterations=n_trees, use_best_model=False, **shrinkage)
        shorter.fit(X[TRAIN], y[TRAIN], eval_set=(X[TEST], y[TEST]))
        score = raw(shorter, X[TEST])
        own = {
            "RMSE": lambda s: np.sqrt(np.mean((y[TEST] - s) ** 2)),
            "Logloss": lambda s: np.mean(np.logaddexp(0.0, s) - y[TEST] * s),
            "Poisson": lambda s: np.mean(np.exp(s) - y[TEST] * s),
        }[loss]
        np.testing.assert_allclose(values[n_trees - 1], own(score), rtol=1e-5)


def test_best_model_has_the_scores_of_its_last_iteration():
    noise = rng.normal(size=700) + 3.0
    given = {"iterations": 15, "use_best_model": True} | CONSTANT
    best, _, _ = estimators("RMSE", **given)
    best.fit(X[TRAIN], Y[TRAIN], eval_set=(X[TEST], noise[TEST]))
    assert best.tree_count_ < 15
    shorter, _, _ = estimators("RMSE", **given | {"iterations": best.tree_count_})
    shorter.set_params(use_best_model=None)
    np.testing.assert_allclose(raw(best), raw(shorter.fit(X[TRAIN], Y[TRAIN])), rtol=1e-12)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"model_shrink_rate": 5.0}, "model_shrink_rate \\* learning_rate < 1"),
        (DECREASING | {"model_shrink_rate": 1.0}, "model_shrink_rate < 1"),
        (CONSTANT | {"parity": "catboost"}, "parity"),
    ],
)
def test_invalid_shrinkage_raises(params, message):
    with pytest.raises(ValueError, match=message):
        SymmetricBoostingRegressor(**FIXED | params).fit(X, Y)


@pytest.mark.parametrize("boosting_type", ["Plain", "Ordered"])
@pytest.mark.parametrize("loss", ["RMSE", "MAE", "Logloss"])
def test_continued_models_are_those_of_catboost(loss, boosting_type):
    kinds = {"boosting_type": boosting_type, "use_best_model": False}
    model, library, y = estimators(loss, **kinds)
    first = [one.fit(X, y) for one in estimators(loss)[:2]]
    table = X[TEST], y[TEST]
    model.fit(X[TRAIN], y[TRAIN], init_model=first[0], eval_set=table)
    library.fit(X[TRAIN], y[TRAIN], init_model=first[1], eval_set=table)
    assert model.tree_count_ == library.tree_count_ == 40
    scores = [raw(one, X[TRAIN]) for one in (model, library)]  # other rows see ties of borders
    np.testing.assert_allclose(*scores, atol=1e-10)
    values = [next(iter(one.evals_result_["validation"].values())) for one in (model, library)]
    np.testing.assert_allclose(values[0][:2], values[1][:2], atol=1e-6)


def test_continued_multiclass_model_is_that_of_catboost():
    (model, library, y), pair = estimators("MultiClass"), estimators("MultiClass")
    model.fit(X[TRAIN], y[TRAIN], init_model=pair[0].fit(X, y))
    library.fit(X[TRAIN], y[TRAIN], init_model=pair[1].fit(X, y))
    np.testing.assert_allclose(raw(model, X[TRAIN]), raw(library, X[TRAIN]), atol=1e-10)


@pytest.mark.parametrize("loss", ["RMSE", "Logloss", "MultiClass"])
def test_baseline_is_that_of_catboost(loss):
    model, library, y = estimators(loss)
    baseline = rng.normal(size=(700, 3)).astype(np.float32)
    baseline = baseline if loss == "MultiClass" else baseline[:, 0]
    model.fit(X, y, baseline=baseline)
    np.testing.assert_allclose(raw(model), raw(library.fit(X, y, baseline=baseline)), atol=1e-10)


def test_continued_training_repeats_one_training():
    model, _, y = estimators("RMSE", iterations=40)
    first, _, _ = estimators("RMSE")
    second = estimators("RMSE")[0].fit(X, y, init_model=first.fit(X, y))
    np.testing.assert_allclose(raw(second), raw(model.fit(X, y)), atol=1e-10)
    assert second.n_iter_ == 20
    assert second.tree_count_ == 40


def test_model_file_is_continued(tmp_path):
    first, _, y = estimators("Logloss")
    labels = np.where(y > 0, "a", "b")
    first.fit(X, labels)
    wanted = raw(estimators("Logloss")[0].fit(X, labels, init_model=first))
    for name, kind in (("own.json", None), ("library.json", "json")):
        first.save_model(tmp_path / name, format=kind)
        model = estimators("Logloss")[0].fit(X, labels, init_model=tmp_path / name)
        np.testing.assert_array_equal(raw(model), wanted)
        assert list(model.classes_) == ["a", "b"]


def test_rows_without_weight_have_no_baseline():
    model, _, y = estimators("RMSE")
    weight = np.ones(700)
    weight[::3] = 0.0
    kept, baseline = weight > 0, rng.normal(size=700)
    model.fit(X, y, sample_weight=weight, baseline=baseline)
    other = estimators("RMSE")[0].fit(X[kept], y[kept], baseline=baseline[kept])
    np.testing.assert_array_equal(raw(model), raw(other))


@pytest.mark.parametrize(
    ("given", "params", "message"),
    [
        ({"baseline": Y[:-1]}, {}, "baseline has shape"),
        ({"baseline": Y, "eval_set": (X, Y)}, {}, "give eval_baseline"),
        ({"eval_baseline": Y}, {}, "eval_baseline needs"),
        ({"baseline": Y}, {"boost_from_average": True}, "boost_from_average"),
        ({"baseline": Y}, CONSTANT, "model_shrink_rate"),
        ({"baseline": Y}, {"parity": "catboost"}, "parity"),
        ({"baseline": Y, "init_model": "model.json"}, {}, "not both"),
    ],
)
def test_invalid_initial_scores_raise(given, params, message):
    with pytest.raises(ValueError, match=message):
        SymmetricBoostingRegressor(**FIXED | params).fit(X, Y, **given)


def test_other_models_are_refused():
    first = estimators("RMSE")[0].fit(X, Y)
    model = estimators("RMSE")[0]
    with pytest.raises(ValueError, match="5 features, X has 4"):
        model.fit(X[:, :4], Y, init_model=first)
    with pytest.raises(ValueError, match="another objective"):
        estimators("Poisson")[0].fit(X, CLASSES["Poisson"], init_model=first)
    codes = pd.DataFrame(X).assign(code=rng.integers(0, 5, 700)).rename(columns=str)
    with pytest.raises(ValueError, match="categorical columns"):
        model.fit(codes.drop(columns="0"), Y, cat_features=["code"], init_model=first)
    categorical = estimators("RMSE")[0].fit(codes, Y, cat_features=["code"])
    with pytest.raises(ValueError, match="X has 5 features, but column 5 is categorical"):
        model.fit(X, Y, init_model=categorical)


def test_rankers_refuse_baselines():
    queries = np.repeat(np.arange(70), 10)
    pool = ours.Pool(X, Y, group_id=queries, baseline=Y)
    with pytest.raises(ours.CatBoostError, match="baselines"):
        ours.CatBoostRanker(**FIXED).fit(pool)


def test_module_with_catboost_names_continues():
    first = ours.CatBoost({**FIXED, "loss_function": "RMSE"}).fit(X, Y)
    start = first.predict(X)
    own = ours.CatBoostRegressor(**FIXED).fit(ours.Pool(X, Y, baseline=start))
    both = ours.CatBoostRegressor(**FIXED).fit(X, Y, init_model=first)
    np.testing.assert_allclose(both.predict(X), start + own.predict(X), atol=1e-5)
    pool = ours.Pool(X[TEST], Y[TEST], baseline=start[TEST])
    own.fit(X[TRAIN], Y[TRAIN], baseline=start[TRAIN], eval_set=pool)
    pools = ours.Pool(X[TRAIN], Y[TRAIN]), ours.Pool(X[TEST], Y[TEST])
    train = ours.train(pools[0], FIXED, eval_set=pools[1], init_model=first)
    assert train.tree_count_ == 20 + own.tree_count_
    table = ours.cv(ours.Pool(X, Y, baseline=start), FIXED, shuffle=False)
    without = ours.cv(ours.Pool(X, Y), FIXED, shuffle=False)
    assert table["train-RMSE-mean"].iloc[0] < without["train-RMSE-mean"].iloc[0]


def test_init_model_that_reads_an_ignored_column_is_refused():
    X = np.random.default_rng(0).normal(size=(120, 3))
    frame = pd.DataFrame(X, columns=list("abc")).assign(d=np.where(X[:, 1] > 0, "x", "y"))
    for table, column, given in ((X, 0, {}), (frame, "d", {"cat_features": ["d"]})):
        y = X[:, 0] + X[:, 1]
        model = SymmetricBoostingRegressor(iterations=9, thread_count=1, **given).fit(table, y)
        other = SymmetricBoostingRegressor(iterations=2, ignored_features=[column])
        with pytest.raises(ValueError, match="init_model reads column"):
            other.fit(table, y, init_model=model)
        alike = SymmetricBoostingRegressor(iterations=2, ignored_features=[column], thread_count=1)
        first = SymmetricBoostingRegressor(iterations=9, ignored_features=[column], thread_count=1)
        alike.fit(table, y, init_model=first.fit(table, y))
        assert alike.tree_count_ == 11
