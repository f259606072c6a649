"""Ordered boosting: CatBoost's trees, segments, threads, and the shift of the gradients."""

import numpy as np
import pytest
from catboost_kit import (
    PARITY,
    first_difference,
    fit_library,
    random_case,
    random_sampling,
    seeds_up_to,
)

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor
from algorithms.parity.catboost_ordered import CatBoostSegmentLeaves, fast_log
from algorithms.symmetric.segments import draw_order, find_segments, make_fold

ORDERED = {"boosting_type": "Ordered", "has_time": True}
FULL = {"approx_on_full_history": True, "fold_len_multiplier": 1.4}


class Recorded(SymmetricBoostingRegressor):
    """Regressor that keeps its booster as ``booster_``."""

    def _booster_class(self, params, table):
        kind = super()._booster_class(params, table)

        def make(*given):
            self.booster_ = kind(*given)
            return self.booster_

        return make


def differs(seed, loss, folder, **params):
    """Return where our trees and CatBoost's differ on a random case."""
    X, y, weight, given = random_case(seed, loss)
    given = {**given, **ORDERED, **params}
    kind = SymmetricBoostingClassifier if loss == "Logloss" else SymmetricBoostingRegressor
    ours = kind(**{**PARITY, "thread_count": 1, **given}).fit(X, y, sample_weight=weight)
    return first_difference(ours, fit_library(X, y, weight, given), folder)


@pytest.mark.parametrize("params", [{}, FULL])
@pytest.mark.parametrize("loss", ["RMSE", "Logloss"])
def test_trees_and_leaf_values_are_catboosts_to_the_bit(loss, params, tmp_path):
    assert [differs(seed, loss, tmp_path, **params) for seed in (1, 2)] == ["", ""]


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["RMSE", "Logloss"])
def test_two_hundred_random_configurations_have_catboosts_bits(loss, tmp_path):
    found = {seed: differs(seed, loss, tmp_path) for seed in seeds_up_to(200)}
    assert {seed: what for seed, what in found.items() if what} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "params"), [("RMSE", FULL), ("Logloss", FULL), ("Poisson", {}), ("MAE", {})]
)
def test_more_random_configurations_have_catboosts_bits(loss, params, tmp_path):
    found = {seed: differs(seed, loss, tmp_path, **params) for seed in seeds_up_to(50)}
    assert {seed: what for seed, what in found.items() if what} == {}


@pytest.mark.parametrize("seed", [4, 5])
@pytest.mark.parametrize("loss", ["RMSE", "Logloss"])
def test_shuffles_samples_and_noise_follow_catboosts_generator(loss, seed, tmp_path):
    assert differs(seed, loss, tmp_path, **random_sampling(seed), has_time=False) == ""
    assert differs(seed, loss, tmp_path, **random_sampling(seed)) == ""


def test_the_rows_are_shuffled_as_catboost_shuffles_them(tmp_path):
    params = {"has_time": False, "random_seed": 7, "fold_permutation_block": 3}
    assert differs(1, "RMSE", tmp_path, **params, **FULL) == ""


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["RMSE", "Logloss"])
def test_two_hundred_random_configurations_of_shuffles_and_sampling(loss, tmp_path):
    found = {
        s: differs(s, loss, tmp_path, **random_sampling(s), has_time=bool(s % 2))
        for s in seeds_up_to(200)
    }
    assert {seed: what for seed, what in found.items() if what} == {}


def test_factors_above_float32_are_scaled_as_two_to_the_128th():
    log = fast_log(np.array([1.0, 1e30, np.inf], np.float32))
    np.testing.assert_allclose(log, [0.0, 30 * np.log(10), 128 * np.log(2)], atol=1e-4)
    factor = np.array([[1e300, 2.0], [2.0**128, 1e39]])
    scaled = CatBoostSegmentLeaves._scaled_factor(None, factor, 0.5)
    np.testing.assert_allclose(scaled, [[2.0**64, 2**0.5], [2.0**64, 2.0**64]], rtol=1e-4)


@pytest.mark.parametrize("n_rows", [1, 2, 10, 500, 501, 5000, 20000])
@pytest.mark.parametrize("multiplier", [1.1, 2.0, 7.5])
def test_tails_follow_one_another(n_rows, multiplier):
    segments = find_segments(n_rows, multiplier)
    body, tail, start = segments.T
    assert body[0] == (1 if n_rows <= 500 else min(100, n_rows // 50))
    assert tail[-1] == n_rows
    assert (body[1:] == tail[:-1]).all()
    assert (start == np.cumsum(tail) - tail).all()


def test_permutations_move_blocks_of_rows():
    order = draw_order(10, 4, 7)
    assert sorted(order) == list(range(10))
    assert {tuple(part) for part in np.split(order, np.flatnonzero(np.diff(order) != 1) + 1)} <= {
        (0, 1, 2, 3), (4, 5, 6, 7), (8, 9), (0, 1, 2, 3, 4, 5, 6, 7), (4, 5, 6, 7, 8, 9),
    }  # fmt: skip
    assert (draw_order(5000, 0, 7) != draw_order(5000, 0, 8)).any()
    fold = make_fold(order, 2.0)
    assert (order[fold.position] == np.arange(10)).all()
    assert len(fold.rows) == 2 + 4 + 8 + 10


@pytest.mark.parametrize("params", [{}, {"bootstrap_type": "Bernoulli", "rsm": 0.5}, FULL])
def test_the_model_depends_on_the_seed_but_not_on_threads(params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20000, 7))
    y = (X.sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
    weight = rng.uniform(0.5, 2.0, len(X))
    fixed = {"iterations": 3, "boosting_type": "Ordered", **params}
    raw = [
        SymmetricBoostingClassifier(**fixed, thread_count=n, random_seed=seed)
        .fit(X, y, weight)
        .decision_function(X)
        for n, seed in ((1, 0), (3, 0), (3, 5))
    ]
    np.testing.assert_array_equal(raw[0], raw[1])
    assert (raw[0] != raw[2]).any()
    assert np.mean((raw[0] > 0) == y) > 0.6


def test_scores_of_a_tail_do_not_depend_on_its_targets():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(600, 2)), rng.normal(size=600)
    changed = y.copy()
    changed[-1] = 50.0
    fixed = {"iterations": 1, "depth": 1, "boost_from_average": False, "random_strength": 0}
    scores = []
    for target in (y, changed):
        model = Recorded(**fixed, **ORDERED, bootstrap_type="No", thread_count=1)
        fold = model.fit(X[:, :1] > 0, target).booster_.models[0]
        scores.append(fold.score[0])
    np.testing.assert_array_equal(*scores)
    assert np.ptp(scores[0]) > 0.0


@pytest.mark.parametrize("labels", [2, 3])
def test_edge_cases_train(labels):
    X, y = np.arange(12.0)[:, None], np.arange(12) % labels
    model = SymmetricBoostingClassifier(iterations=3, boosting_type="Ordered", thread_count=1)
    assert np.isfinite(model.fit(X, y).predict_proba(X)).all()
    lonely = SymmetricBoostingRegressor(iterations=3, boosting_type="Ordered", thread_count=1)
    assert lonely.fit([[1.0]], [7.0]).predict([[2.0]]) == pytest.approx(7.0)
    np.testing.assert_allclose(lonely.fit(X, np.full(12, 4.0)).predict(X), 4.0)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"approx_on_full_history": True}, "needs boosting_type='Ordered'"),
        ({**ORDERED, **FULL, "loss_function": "MultiClass"}, "approx_on_full_history is not"),
        ({**ORDERED, **PARITY, "loss_function": "MultiClass"}, "parity is not supported"),
        ({**ORDERED, "fold_len_multiplier": 1.0 + 1e-12}, "fold_len_multiplier"),
        ({**PARITY, "boosting_type": "Ordered", "cat_features": [0]}, "needs has_time=True"),
    ],
)
def test_parameters_that_do_not_fit_together(params, match):
    X, y = np.arange(40).reshape(20, 2), np.arange(20) % 2
    with pytest.raises(ValueError, match=match):
        SymmetricBoostingClassifier(iterations=2, **params).fit(X, y)


def leak(boosting_type, seed):
    """Return the mean product of a row's score and its target, which is noise."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    model = Recorded(
        iterations=20, learning_rate=0.1, depth=3, boosting_type=boosting_type, random_strength=0,
        bootstrap_type="No", boost_from_average=False, border_count=16, thread_count=1,
    ).fit(X, y)  # fmt: skip
    booster = model.booster_
    if boosting_type == "Plain":
        return np.mean(booster.score[0] * booster.y)
    fold = booster.models[0]
    return np.mean(fold.score[0, fold.tails] * fold.y[fold.tails])


@pytest.mark.slow
def test_ordered_boosting_shifts_gradients_less_than_plain_boosting():
    """Prokhorenkova et al. 2018, section 4.1: scores that have seen a target lean towards it."""
    plain, ordered = (
        np.array([leak(kind, seed) for seed in range(40)]) for kind in ("Plain", "Ordered")
    )
    error = 2.6 * np.std(plain - ordered, ddof=1) / np.sqrt(len(plain))  # 99 %
    assert np.mean(plain) - 2.6 * np.std(plain, ddof=1) / np.sqrt(len(plain)) > 0.07
    assert np.mean(plain - ordered) - error > 0.04
    assert np.mean(ordered) < np.mean(plain) / 2


@pytest.mark.parametrize("multiplier", [1.0, 1e300])
def test_a_multiplier_outside_float32_is_an_error(multiplier):
    model = SymmetricBoostingRegressor(**{**ORDERED, "fold_len_multiplier": multiplier})
    with pytest.raises(ValueError, match="fold_len_multiplier"):
        model.fit([[1.0], [2.0]], [1.0, 2.0])
