"""Tests of losses, gradients and sums of gradient boosting, against formulas."""

import numpy as np
import oracles_losses
import pytest
from scipy.special import softmax

from algorithms import DecisionTreeRegressor
from algorithms.boosting.boosted_trees import join_steps
from algorithms.boosting.kernels import leaf_sums, losses
from algorithms.levelwise.kernels.level_arrays import BLOCK_ROWS

KINDS = {
    "squared": losses.SQUARED,
    "absolute": losses.ABSOLUTE,
    "huber": losses.HUBER,
    "quantile": losses.QUANTILE,
    "poisson": losses.POISSON,
    "binomial": losses.BINOMIAL,
    "exponential": losses.EXPONENTIAL,
}
EVERY_ROW = np.empty(0, np.uint32)
TWO_CLASSES = ("binomial", "exponential")


def rows(kind, n=300):
    """Return y, scores and weights."""
    rng = np.random.default_rng(n)
    y = rng.integers(0, 2, n).astype(float) if kind in TWO_CLASSES else rng.exponential(size=n)
    return y, rng.normal(size=n) * 2, rng.random(n)


@pytest.mark.parametrize("kind", KINDS)
def test_loss_and_gradient_equal_formulas(kind):
    y, raw, weight = rows(kind)
    expected = [oracles_losses.loss(kind, a, f, 0.3) for a, f in zip(y, raw, strict=True)]
    sums = np.empty((1, 2))
    losses.sum_losses(KINDS[kind], 0.3, y, raw[None], weight, EVERY_ROW, sums, 0, 1)
    np.testing.assert_allclose(sums[0], [weight @ expected, weight.sum()], rtol=1e-12)
    losses.sum_losses(KINDS[kind], 0.3, y, raw[None], np.empty(0), EVERY_ROW, sums, 0, 1)
    np.testing.assert_allclose(sums[0], [sum(expected), len(y)], rtol=1e-12)
    g = np.empty(len(y))
    losses.fill_gradients(KINDS[kind], 0.3, y, raw[None], g[None], 0, 1)
    slopes = [
        oracles_losses.slope(lambda f, a=a: oracles_losses.loss(kind, a, f, 0.3), f)
        for a, f in zip(y, raw, strict=True)
    ]
    np.testing.assert_allclose(g, np.negative(slopes), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("kind", ["squared", "poisson", *TWO_CLASSES])
def test_newton_sums_equal_second_derivatives(kind):
    y, raw, weight = rows(kind)
    g = np.empty(len(y))
    losses.fill_gradients(KINDS[kind], 0.0, y, raw[None], g[None], 0, 1)
    p = 1 / (1 + np.exp(-raw))
    h = {
        "squared": np.ones(len(y)),
        "poisson": np.exp(raw),
        "binomial": p * (1 - p),
        "exponential": np.exp(np.where(y == 1.0, -raw, raw)),
    }[kind]
    leaf = np.random.default_rng(1).integers(0, 5, len(y)).astype(np.uint16)
    used = np.arange(len(y)) % 3 > 0
    sums = np.empty((1, 5, 2))
    losses.sum_newton(KINDS[kind], -1, y, g, weight, used, leaf, sums, 0, 1)
    expected = oracles_losses.newton(leaf, g, h, weight, used, 5)
    np.testing.assert_allclose(sums[0], expected, rtol=1e-9)


def test_several_classes_use_softmax():
    rng = np.random.default_rng(2)
    raw, y = rng.normal(size=(3, 50)), rng.integers(0, 3, 50).astype(float)
    g, sums = np.empty((3, 50)), np.empty((1, 2))
    losses.fill_gradients(losses.BINOMIAL, 0.0, y, raw, g, 0, 1)
    np.testing.assert_allclose(g, np.eye(3)[y.astype(int)].T - softmax(raw, axis=0), atol=1e-15)
    losses.sum_losses(losses.BINOMIAL, 0.0, y, raw, np.empty(0), EVERY_ROW, sums, 0, 1)
    expected = sum(oracles_losses.softmax_loss(a, f) for a, f in zip(y, raw.T, strict=True))
    np.testing.assert_allclose(sums[0], [expected, 50], rtol=1e-12)


def test_row_blocks_do_not_overlap():
    n = BLOCK_ROWS + 5
    y, raw, _ = rows("squared", n)
    sums = np.full((2, 2), np.nan)
    losses.sum_losses(losses.SQUARED, 0.0, y, raw[None], np.empty(0), EVERY_ROW, sums, 1, 2)
    assert np.isnan(sums[0]).all()
    assert sums[1, 1] == n - BLOCK_ROWS
    out = np.zeros(n)
    losses.fill_gradients(losses.SQUARED, 0.0, y, raw[None], out[None], 0, 1)
    assert out[BLOCK_ROWS:].tolist() == [0.0] * 5


@pytest.mark.parametrize("raw", [-800.0, -40.0, 40.0, 800.0])
def test_extreme_scores_do_not_overflow(raw):
    sums, g = np.empty((1, 2)), np.empty(2)
    y, scores = np.array([0.0, 1.0]), np.full(2, raw)
    losses.sum_losses(losses.BINOMIAL, 0.0, y, scores[None], np.empty(0), EVERY_ROW, sums, 0, 1)
    losses.fill_gradients(losses.BINOMIAL, 0.0, y, scores[None], g[None], 0, 1)
    assert sums[0, 0] == pytest.approx(abs(raw))
    assert g == pytest.approx([-1.0, 0.0] if raw > 0 else [0.0, 1.0], abs=1e-16)


def test_leaf_values_are_scaled_by_the_learning_rate():
    rng = np.random.default_rng(4)
    n = leaf_sums.ROWS_AT_ONCE + 90
    X = rng.normal(size=(n, 3)).astype(np.float32)
    models = [DecisionTreeRegressor(max_depth=d).fit(X, rng.normal(size=n)) for d in (4, 1, 6, 2)]
    trees = [model.tree_ for model in models]
    raw = np.ones((2, n))
    leaf_sums.add_trees(*join_steps(trees, 2), 0.5, X, raw, 3, n - 5)
    assert (np.delete(raw, np.s_[3 : n - 5], axis=1) == 1.0).all()
    for k in (0, 1):
        expected = 1.0 + 0.5 * trees[k].predict(X)[:, 0] + 0.5 * trees[k + 2].predict(X)[:, 0]
        np.testing.assert_array_equal(raw[k, 3 : n - 5], expected[3 : n - 5])


def test_rows_are_drawn_in_sequence():
    uniform = np.random.default_rng(3).random(200)
    mask = np.empty(200, bool)
    leaf_sums.draw_mask(uniform, 63, mask)
    np.testing.assert_array_equal(mask, oracles_losses.sequential_draw(uniform, 63))
    assert mask.sum() == 63
