"""Tests of boosting that continues from an init model or from init scores."""

import dataclasses

import lightgbm
import numpy as np
import pytest

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor, write_model

ROUNDED = 2e-5  # rounds of other numbers round gradients otherwise


def table(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=n)


def labels(y, n_classes):
    return np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))


def regressor(rounds, **params):
    return HistogramBoostingRegressor(n_estimators=rounds, random_state=0, **params)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_continued_model_equals_boosting_from_its_scores(n_classes):
    X, y = table()
    kind = HistogramBoostingClassifier if n_classes else HistogramBoostingRegressor
    y = labels(y, n_classes) if n_classes else y
    first = kind(n_estimators=5, random_state=0).fit(X, y)
    raw = first.ensemble_.raw(X)
    longer = kind(n_estimators=4, random_state=1).fit(X, y, init_model=first)
    beside = kind(n_estimators=4, random_state=1).fit(X, y, init_score=raw)
    result = longer.ensemble_.raw(X) - raw
    np.testing.assert_allclose(result, beside.ensemble_.raw(X), atol=ROUNDED)
    assert longer.n_estimators_ == longer.n_iter_ == 9
    assert longer.ensemble_.n_trees == 9 * max(1, n_classes if n_classes > 2 else 1)
    staged = list(getattr(longer, "staged_predict_proba", longer.staged_predict)(X))
    answer = getattr(longer, "predict_proba", longer.predict)(X)
    assert len(staged) == 9
    assert np.array_equal(staged[-1], answer)
    assert first.ensemble_.n_trees == 5 * max(1, n_classes if n_classes > 2 else 1)


def test_continued_training_lowers_the_loss():
    X, y = table()
    half = regressor(20).fit(X, y)
    whole = regressor(20).fit(X, y, init_model=half)
    errors = [np.mean((m.predict(X) - y) ** 2) for m in (half, whole, regressor(40).fit(X, y))]
    assert errors[1] < 0.8 * errors[0]
    assert errors[1] == pytest.approx(errors[2], rel=0.1)


DRAWN = {  # what goes by the number of a round
    "rounding": {},
    "bags": {"subsample": 0.5, "subsample_freq": 3},
    "one side": {"data_sample_strategy": "goss", "learning_rate": 0.4},
    "columns": {"colsample_bytree": 0.4},
    "thresholds": {"extra_trees": True},
}


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("params", DRAWN.values(), ids=DRAWN)
def test_continued_training_equals_one_longer_training(params, n_classes):
    X, y = table()
    kind = HistogramBoostingClassifier if n_classes else HistogramBoostingRegressor
    y = labels(y, n_classes) if n_classes else y
    half = kind(n_estimators=4, random_state=0, **params).fit(X, y)
    whole = kind(n_estimators=5, random_state=0, **params).fit(X, y, init_model=half)
    beside = kind(n_estimators=9, random_state=0, **params).fit(X, y)
    assert np.array_equal(whole.ensemble_.value, beside.ensemble_.value)
    assert np.array_equal(whole.ensemble_.threshold, beside.ensemble_.threshold)


def test_training_continues_from_lightgbm_files_and_models(tmp_path):
    X, y = table()
    booster = lightgbm.train({"verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, y), 5)
    booster.save_model(tmp_path / "model.txt")
    model = regressor(5).fit(X, y, init_model=tmp_path / "model.txt")
    beside = regressor(5).fit(X, y, init_score=booster.predict(X))
    result = model.predict(X) - booster.predict(X)
    np.testing.assert_allclose(result, beside.predict(X), atol=ROUNDED)
    write_model(model.ensemble_, tmp_path / "longer.txt")
    again = lightgbm.Booster(model_file=tmp_path / "longer.txt")
    assert np.array_equal(again.predict(X), model.predict(X))


def test_evaluation_sets_start_from_the_init_model():
    X, y = table()
    X2, y2 = table(seed=1)
    first = regressor(5).fit(X, y)
    model = regressor(30, early_stopping_round=3)
    model.fit(X, y, init_model=first, eval_set=[(X2, y2)])
    error = np.mean((model.predict(X2) - y2) ** 2)
    assert min(model.evals_result_["valid_0"]["l2"]) == pytest.approx(error, rel=1e-12)
    assert model.n_estimators_ == model.best_iteration_
    scores = first.predict(X), [first.predict(X2)]
    beside = regressor(30, early_stopping_round=3)
    beside.fit(X, y, init_score=scores[0], eval_set=[(X2, y2)], eval_init_score=scores[1])
    np.testing.assert_allclose(
        beside.evals_result_["valid_0"]["l2"], model.evals_result_["valid_0"]["l2"], rtol=ROUNDED
    )
    from_zero = regressor(2).fit(X, y, init_score=scores[0], eval_set=[(X2, y2)])
    error = np.mean((from_zero.predict(X2) - y2) ** 2)
    assert from_zero.evals_result_["valid_0"]["l2"][-1] == pytest.approx(error)


def test_result_is_bitwise_equal_for_any_number_of_threads():
    X, y = table(20_000)
    first = regressor(3).fit(X, y)
    results = [regressor(3, n_jobs=n).fit(X, y, init_model=first).predict(X) for n in (1, 3)]
    assert np.array_equal(*results)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"init_model": "model", "init_score": "scores"}, "give init_model or init_score"),
        ({"eval_init_score": []}, "needs an init_score"),
        ({"init_score": np.zeros(3)}, r"shape \(3,\), not \(1500, 1\)"),
        ({"init_score": np.full(1500, np.nan)}, "holds NaN"),
        ({"init_model": "poisson"}, "another objective"),
        ({"init_model": "narrow"}, "has 4 features, X has 5"),
        ({"init_model": "single"}, "cannot continue a model with input_dtype"),
    ],
)
def test_mismatched_init_models_are_reported(given, message):
    X, y = table()
    model = regressor(2).fit(X, y)
    known = {
        "model": model,
        "scores": np.zeros(len(y)),
        "poisson": regressor(2, objective="poisson").fit(X, np.exp(y)),
        "narrow": regressor(2).fit(X[:, :4], y),
        "single": dataclasses.replace(model.ensemble_, input_dtype="float32"),
    }
    given = {k: known[v] if isinstance(v, str) else v for k, v in given.items()}
    with pytest.raises(ValueError, match=message):
        regressor(2).fit(X, y, **given)


def test_parity_starts_from_the_library_constant():
    X, y = table()
    with pytest.raises(ValueError, match="starts from the library's own constant"):
        regressor(2, parity="lightgbm").fit(X, y, init_score=y)
