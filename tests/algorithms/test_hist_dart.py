"""Tests of DART: dropped rounds and the weights of rounds."""

import lightgbm
import numpy as np
import pytest
from sklearn.metrics import log_loss

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.gbdt.dart import Dart

ALWAYS = {"drop_rate": 1.0, "max_drop": 0, "skip_drop": 0.0, "uniform_drop": True}


def table(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * rng.normal(size=n)


def dart(rounds=10, **params):
    return HistogramBoostingRegressor(
        n_estimators=rounds, boosting_type="dart", random_state=0, **params
    )


def dart_oracle(X, y, rounds, rate, *, by_rate):
    """Return the predictions if every round drops all earlier ones, from single-tree models."""
    base = y.mean()
    kept = []
    for k in range(rounds):
        one = HistogramBoostingRegressor(n_estimators=1, learning_rate=1.0, random_state=0)
        tree = one.fit(X, y, init_score=np.full(len(y), base)).predict(X)
        more = rate if by_rate and k else 1.0
        kept = [weight * k / (k + more) for weight in kept] + [rate / (k + more)]
    return base + sum(kept) * tree, kept


@pytest.mark.parametrize("by_rate", [False, True])
def test_dropping_all_trees_repeats_the_first_round(by_rate):
    X, y = table()
    model = dart(6, learning_rate=0.3, xgboost_dart_mode=by_rate, **ALWAYS).fit(X, y)
    expected, weights = dart_oracle(X, y, 6, 0.3, by_rate=by_rate)
    np.testing.assert_allclose(
        model.predict(X), expected, atol=2e-3
    )  # rounding uses another random draw
    trees = [model.ensemble_.tree(t) for t in range(6)]
    sizes = np.array([np.abs(t.value[t.left < 0]).max() for t in trees])
    np.testing.assert_allclose(sizes / sizes[0], np.array(weights) / weights[0], rtol=2e-2)


def test_no_dropout_equals_plain_boosting():
    X, y = table()
    plain = HistogramBoostingRegressor(n_estimators=10, random_state=0).fit(X, y)
    for params in ({"skip_drop": 1.0}, {"drop_rate": 0.0, "skip_drop": 0.0}):
        assert np.array_equal(dart(**params).fit(X, y).predict(X), plain.predict(X))


def test_training_scores_equal_model_scores():
    X, y = table()
    model = dart(25, drop_rate=0.3, skip_drop=0.2).fit(X, y, eval_set=[(X, y)])
    error = np.mean((model.predict(X) - y) ** 2)
    assert model.evals_result_["training"]["l2"][-1] == pytest.approx(error, rel=1e-12)


def test_drop_rate_is_respected():
    class Params:
        drop_rate, max_drop, skip_drop, uniform_drop = 0.2, 0, 0.3, True

    class Booster:
        params, seed, first = Params, 0, 0

    counts = []
    for seed in range(400):
        Booster.seed = seed
        grower = Dart(Booster, None)
        grower.weight = [1.0] * 50
        counts.append(len(grower.draw()))
    assert np.mean(np.array(counts) == 0) == pytest.approx(0.3, abs=0.07)
    assert np.mean([c for c in counts if c]) == pytest.approx(10, abs=0.6)
    Params.max_drop = 4
    assert max(len(grower.draw()) for _ in range(3)) <= 4
    Params.uniform_drop, Params.max_drop, Params.skip_drop = False, 0, 0.0
    heavy = []
    for seed in range(400):
        Booster.seed = seed
        grower.weight = [1.0] * 25 + [3.0] * 25
        heavy += [number >= 25 for number in grower.draw()]
    assert np.mean(heavy) == pytest.approx(0.75, abs=0.03)


def test_result_does_not_depend_on_threads():
    X, y = table(20_000)
    results = [dart(8, n_jobs=n, drop_rate=0.5, skip_drop=0.0).fit(X, y).predict(X) for n in (1, 3)]
    assert np.array_equal(*results)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_accuracy_equals_lightgbm(n_classes):
    X, y = table(6000)
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    params = {"n_estimators": 60, "boosting_type": "dart", "drop_rate": 0.2}
    ours = HistogramBoostingClassifier(random_state=0, **params).fit(X[:3000], y[:3000])
    theirs = lightgbm.LGBMClassifier(random_state=0, verbose=-1, n_jobs=1, **params)
    theirs.fit(X[:3000], y[:3000])
    losses = [log_loss(y[3000:], theirs.booster_.predict(X[3000:]))]
    losses += [log_loss(y[3000:], ours.predict_proba(X[3000:]))]
    assert losses[1] < 1.05 * losses[0]


def test_unsupported_combinations_are_reported(capsys):
    X, y = table(200)
    model = dart(early_stopping_round=1, metric="None")  # as in LightGBM, nothing stops it
    model.fit(X, y, eval_set=[(X.copy(), y)], eval_metric=lambda *_: ("same", 1.0, False))
    assert len(model.evals_result_["valid_0"]["same"]) == model.n_estimators_ == model.n_estimators
    assert capsys.readouterr().out == "Early stopping is not available in dart mode\n"
    with pytest.raises(ValueError, match="boosting_type='dart' is not supported with parity"):
        dart(parity="lightgbm").fit(X, y)
