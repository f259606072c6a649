"""Tests of packed sums at their limits: ten million rows, extreme weights, rare targets.

Leaves are held against sums of all their rows' g and h in float64. A leaf of m rows may be off by
the noise of rounding alone: of a sum at most Δ √m / 2 in standard deviation, Δ being the step. The
noise has no mean, so over all leaves neither has what they are off by, in units of it.
"""

import lightgbm
import numpy as np
import pytest
from sklearn.metrics import log_loss

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.gbdt.params import MAX_STEP

pytestmark = pytest.mark.slow

MANY = 10_000_000
MEAN_BITS, MAX_BITS = 15, 30  # of |g| in steps: on average, and at most
ROWS_AT_ONCE = 1 << 20


def columns(n, seed=0):
    """Return two columns, one with few values, so that its entries hold millions of rows."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, 2), np.float32)
    X[:, 0] = rng.integers(0, 3, n)
    X[:, 1] = rng.normal(size=n)
    return X, rng


def largest_step(values):
    """Return the largest allowed quantization step of values."""
    mean = values.mean(dtype=np.float64)
    return max(mean * 2.0**-MEAN_BITS, values.max() * 2.0 ** (1 - MAX_BITS))


def stored_derivatives(score, y, weight, is_logistic):
    """Return g and h of rows as stored, float32: equal values are rounded equally."""
    g, h = score - y, np.ones(len(y))
    if is_logistic:
        p = 1.0 / (1.0 + np.exp(-score))
        g, h = p - y, p * (1.0 - p)
    g, h = g.astype(np.float32), h.astype(np.float32)
    return (g, h) if weight is None else (g * np.float32(weight), h * np.float32(weight))


def leaf_errors(model, X, y, weight=None):
    """Return the errors of leaf values against exact sums, in units of the rounding noise.

    Float64 (n_leaves,), of all trees; and the number of each leaf's rows.
    """
    trees = model.ensemble_
    is_logistic, rate = trees.link == "sigmoid", model.learning_rate
    score, results, sizes = np.full(len(y), trees.base[0]), [], []
    for t in range(trees.n_trees):
        one = trees.tree(t)
        leaf = leaves_of(model, X, t)
        g, h = stored_derivatives(score, y, weight, is_logistic)
        G, H, m = (np.bincount(leaf, w, len(one.left)) for w in (g, h, None))
        ends = np.flatnonzero(one.left < 0)
        G, H, m, message = G[ends], H[ends], m[ends], one.value[ends, 0] / rate
        step_g = largest_step(np.abs(g))
        step_h = largest_step(h) if is_logistic or weight is not None else 0.0
        noise = np.sqrt(m) / 2.0 * np.hypot(step_g, message * step_h) / H
        most = MAX_STEP / rate if is_logistic else np.inf
        results.append((message - np.clip(-G / H, -most, most)) / noise)
        sizes.append(m)
        score += one.value[leaf, 0]
    return np.concatenate(results), np.concatenate(sizes)


def leaves_of(model, X, number):
    """Return the leaf of each row in one tree, int32 (n_rows,)."""
    trees = model.ensemble_
    first = trees.offsets[number]
    parts = [X[at : at + ROWS_AT_ONCE] for at in range(0, len(X), ROWS_AT_ONCE)]
    return np.concatenate([trees.leaves(part)[:, number] - first for part in parts])


def check(model, X, y, weight=None):
    """Assert that leaf errors are rounding noise without bias."""
    off, sizes = leaf_errors(model, X, y, weight)
    assert sizes.max() > len(X) / 50
    assert np.abs(off).max() < 6.0
    assert abs(off.mean()) < 4.0 / np.sqrt(len(off))
    assert off.std() > 0.05  # otherwise the noise is not measured


# ------------------------------------------------------------------ sums


def test_ten_million_rows_with_largest_gradients():
    """Each entry sums up to 2³⁹ steps and more, beyond the 2³¹ of a packed sum."""
    X, rng = columns(MANY)
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0) * np.where(rng.random(MANY) < 0.999, 1.0, -1.0)
    model = HistogramBoostingRegressor(n_estimators=2, num_leaves=31, n_jobs=2, random_state=0)
    check(model.fit(X, y), X, y)


def test_ten_million_rows_with_weights_over_six_orders_of_magnitude():
    X, rng = columns(MANY)
    weight = 10.0 ** rng.uniform(-3.0, 3.0, MANY)
    y = X[:, 1] + X[:, 0] + rng.normal(size=MANY)
    params = {"num_leaves": 31, "n_jobs": 2, "random_state": 0}
    model = HistogramBoostingRegressor(n_estimators=2, **params).fit(X, y, weight)
    check(model, X, y, weight)


@pytest.mark.parametrize("size", [1e30, 1e-30])
def test_targets_over_many_orders_of_magnitude(size):
    """The largest |g| is at least 10⁶ times the mean and determines the step."""
    n = 3_000_000
    X, rng = columns(n)
    y = size * (X[:, 1] + 10.0 ** rng.uniform(-12.0, 0.0, n) * rng.choice([-1.0, 1.0], n))
    y[rng.integers(0, n, 20)] *= 1e7
    model = HistogramBoostingRegressor(n_estimators=3, num_leaves=31, n_jobs=2, random_state=0)
    check(model.fit(X, y), X, y)


def rare(n, seed):
    """Return rows of which 1 in 100 000 is positive, mostly where X is large."""
    X, rng = columns(n, seed)
    chance = 1e-5 * np.exp(2.0 * X[:, 1] - 2.0) * (1.0 + X[:, 0]) / 2.0
    return X, (rng.random(n) < chance).astype(np.int64)


def test_one_positive_in_a_hundred_thousand():
    X, y = rare(MANY, 0)
    assert 50 < y.sum() < 200
    params = {"n_estimators": 2, "num_leaves": 15, "n_jobs": 2, "random_state": 0}
    check(HistogramBoostingClassifier(**params).fit(X, y), X, y)


# ------------------------------------------------------------------ losses


def test_rare_positives_are_predicted_as_well_as_by_lightgbm():
    X, y = rare(MANY * 3 // 10, 0)
    X_test, y_test = rare(MANY * 3 // 10, 1)
    params = {"n_estimators": 10, "num_leaves": 7, "n_jobs": 2, "min_child_samples": 50_000}
    losses = []
    for kind, options in (
        (HistogramBoostingClassifier, {"random_state": 0}),
        (lightgbm.LGBMClassifier, {"verbose": -1}),
    ):
        probabilities = kind(**params, **options).fit(X, y).predict_proba(X_test)[:, 1]
        losses.append(log_loss(y_test, probabilities))
    plain = log_loss(y_test, np.full(len(y_test), y.mean()))
    assert losses[0] < 0.97 * plain
    assert losses[0] < 1.01 * losses[1]


def test_weights_over_six_orders_of_magnitude_are_as_accurate_as_lightgbm():
    def draw(seed):
        X, rng = columns(MANY // 10, seed)
        y = np.sin(3.0 * X[:, 1]) * X[:, 0] + rng.normal(size=len(X))
        return X, y, 10.0 ** rng.uniform(-3.0, 3.0, len(X))

    (X, y, weight), (X_test, y_test, test_weight) = draw(0), draw(1)
    params, losses = {"n_estimators": 15, "num_leaves": 15, "n_jobs": 2}, []
    for kind, options in (
        (HistogramBoostingRegressor, {"random_state": 0}),
        (lightgbm.LGBMRegressor, {"verbose": -1}),
    ):
        predictions = kind(**params, **options).fit(X, y, weight).predict(X_test)
        losses.append(np.average((y_test - predictions) ** 2, weights=test_weight))
    assert losses[0] < 1.005 * losses[1]
