"""Langevin boosting and Newton scores of splits."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

from algorithms import (
    SymmetricBoostingClassifier,
    SymmetricBoostingRanker,
    SymmetricBoostingRegressor,
)
from algorithms.symmetric.langevin import LangevinNoise

rng = np.random.default_rng(0)
N = 400
X = rng.normal(size=(N, 4)).astype(np.float32)
Y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=N)
FIXED = {"iterations": 15, "depth": 3, "learning_rate": 0.1, "thread_count": 1}
CALM = FIXED | {"bootstrap_type": "No", "random_strength": 0}
NOISY = {"langevin": True, "diffusion_temperature": 20.0}
LABELS = {"Logloss": (Y > 0.0).astype(int), "MultiClass": np.digitize(Y, [-1.0, 1.0])}
QUIET = {"logging_level": "Silent", "allow_writing_files": False}


def train(params, loss="RMSE"):
    """Return a trained model."""
    is_classifier = loss in LABELS
    kind = SymmetricBoostingClassifier if is_classifier else SymmetricBoostingRegressor
    return kind(**FIXED | {"loss_function": loss} | params).fit(X, LABELS.get(loss, Y))


def resolved(params):
    """Return the parameters with which a model is trained."""
    found = {}

    class Watched(SymmetricBoostingRegressor):
        def _booster_class(self, params, table):
            found.update(vars(params))
            return super()._booster_class(params, table)

    Watched(**FIXED | params).fit(X, Y)
    return found


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"langevin": True},
        {"diffusion_temperature": 50},
        {"posterior_sampling": True},
        {"langevin": True, "model_shrink_mode": "Decreasing"},
        {
            "langevin": True,
            "model_shrink_rate": 0.3,
            "leaf_estimation_backtracking": "AnyImprovement",
        },
        {"langevin": False, "diffusion_temperature": 5},
    ],
)
def test_defaults_are_those_of_catboost(given):
    catboost = pytest.importorskip("catboost")
    wanted = catboost.CatBoostRegressor(**FIXED, **given, **QUIET).fit(X, Y).get_all_params()
    found = resolved(given)
    assert found["langevin"] == wanted.get("langevin", False)
    if found["langevin"]:
        assert found["diffusion_temperature"] == wanted["diffusion_temperature"]
    assert np.float32(found["model_shrink_rate"]) == np.float32(wanted["model_shrink_rate"])
    assert found["leaf_estimation_backtracking"] == wanted["leaf_estimation_backtracking"]


def leaves(kind, seeds, **params):
    """Return the leaf values of one tree of depth 1 for some seeds, and the leaf weights."""
    table = np.repeat([[0.0], [1.0]], [60, 140], axis=0)
    y = np.repeat([0.2, 0.1], [60, 140])
    given = CALM | NOISY | {"iterations": 1, "depth": 1} | params
    trees = []
    for seed in seeds:
        model = kind(**given, random_seed=seed).fit(table, y)
        trees.append(model.predict(np.array([[0.0], [1.0]])) - y.mean())
    return np.array(trees)


@pytest.mark.parametrize("method", ["Gradient", "Newton"])
def test_leaf_values_have_the_noise_of_the_formula(method):
    found = leaves(SymmetricBoostingRegressor, range(300), leaf_estimation_method=method)
    sigma, weight = np.sqrt(2.0 / (0.1 * 20.0)), np.array([60.0, 140.0])
    mean = 0.1 * weight * (np.array([0.2, 0.1]) - 0.13) / (weight + 3.0)
    deviation = 0.1 * sigma / np.sqrt(weight + 3.0)
    for leaf in range(2):
        z = (found[:, leaf] - mean[leaf]) / deviation[leaf]
        assert kstest(z, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(found.T)[0, 1]) < 0.2


def test_leaf_values_have_catboosts_distribution():
    catboost = pytest.importorskip("catboost")
    from scipy.stats import ks_2samp

    given = {"leaf_estimation_method": "Gradient", "model_shrink_rate": 0}
    ours = leaves(SymmetricBoostingRegressor, range(200), **given)
    theirs = leaves(catboost.CatBoostRegressor, range(200), **given, **QUIET)
    for leaf in range(2):
        assert ks_2samp(ours[:, leaf], theirs[:, leaf]).pvalue > 1e-3


def test_derivatives_have_the_noise_of_the_formula():
    class Params:
        learning_rate, diffusion_temperature, leaf_estimation_method = 0.1, 20.0, "Gradient"

    noise = LangevinNoise(Params, 7)
    g = rng.normal(size=(2, 5000))
    added = noise.add_to_derivatives(g) - g
    assert kstest(added.ravel() / np.sqrt(2.0 / (0.1 * 20.0)), "norm").pvalue > 1e-3
    assert not np.array_equal(noise.add_to_derivatives(g) - g, added)  # new numbers
    sums = np.zeros((3, 4))
    sums[:, -1] = 5.0, 0.0, 7.0
    noise.add_to_sums(sums, np.ones((3, 2)), 1.0)
    assert sums[[0, 2], :2].all()
    assert not sums[1].any()
    assert not sums[:, 2].any()


@pytest.mark.parametrize("boosting_type", ["Plain", "Ordered"])
@pytest.mark.parametrize("loss", ["RMSE", "Logloss", "MultiClass", "MAE"])
def test_same_seed_gives_the_same_bits_for_any_number_of_threads(loss, boosting_type):
    given = NOISY | {"boosting_type": boosting_type}
    first, same, other = (
        train(given | own, loss).ensemble_.value
        for own in ({}, {"thread_count": 2}, {"random_seed": 5})
    )
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


def test_noise_falls_with_the_temperature():
    deviations = [
        np.std(leaves(SymmetricBoostingRegressor, range(20), diffusion_temperature=T)[:, 0])
        for T in (1e2, 1e4)
    ]
    assert 5.0 < deviations[0] / deviations[1] < 20.0
    none = train(CALM | {"langevin": True, "diffusion_temperature": 0, "model_shrink_rate": 0})
    np.testing.assert_array_equal(none.predict(X), train(CALM).predict(X))


def test_other_trainings_have_noise():
    frame = pd.DataFrame(X).rename(columns=str).assign(code=rng.integers(0, 9, N).astype(str))
    queries = np.repeat(np.arange(N // 8), 8)
    grades = np.clip(np.round(Y) + 1.0, 0.0, 4.0)
    fits = {
        "category": lambda p: SymmetricBoostingRegressor(**FIXED | p).fit(frame, Y),
        "depthwise": lambda p: train(p | {"grow_policy": "Depthwise"}),
        "monotone": lambda p: train(p | {"monotone_constraints": [1, 0, 0, 0]}),
        "ranker": lambda p: SymmetricBoostingRanker(**FIXED | p).fit(X, grades, queries),
        "normal": lambda p: train(p, "RMSEWithUncertainty"),
    }
    for name, fit in fits.items():
        one, two = (fit(NOISY | {"random_seed": seed}) for seed in (1, 1))
        np.testing.assert_array_equal(one.ensemble_.value, two.ensemble_.value, err_msg=name)
        three = fit({"random_seed": 1, "model_shrink_rate": 0.001})
        assert not np.array_equal(one.ensemble_.value, three.ensemble_.value), name


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"posterior_sampling": True, "langevin": False}, "needs langevin=True"),
        ({"posterior_sampling": True, "diffusion_temperature": 5}, "leave it out"),
        ({"posterior_sampling": True, "model_shrink_mode": "Decreasing"}, "'Constant'"),
        ({"langevin": True, "parity": "catboost"}, "parity"),
        ({"diffusion_temperature": -1.0}, "diffusion_temperature"),
    ],
)
def test_invalid_parameters_raise(params, message):
    with pytest.raises(ValueError, match=message):
        train(params)


def test_continued_training_is_not_shrunk():
    first = train(CALM)
    model = SymmetricBoostingRegressor(**CALM | NOISY).fit(X, Y, init_model=first)
    values = first.ensemble_.value
    np.testing.assert_array_equal(model.ensemble_.value[: len(values)], values)
    with pytest.raises(ValueError, match="posterior_sampling is not supported with init_model"):
        SymmetricBoostingRegressor(posterior_sampling=True).fit(X, Y, init_model=first)


ROUNDED = np.round(X, 1)  # so that all midpoints of values are borders


def best_scores(score_function, g, h, l2, leaf, n_leaves):
    """Return the score of each split by each column and border, list of (score, column, border)."""
    found = []
    for column in range(X.shape[1]):
        values = np.unique(ROUNDED[:, column])
        for border in (values[:-1] + values[1:]) / 2.0:
            side = 2 * leaf + (ROUNDED[:, column] > border)
            top = bottom = 0.0
            for k in range(len(g)):
                G = np.bincount(side, g[k], 2 * n_leaves)
                H = np.bincount(side, h[k], 2 * n_leaves)
                average = np.where(H > 0.0, G / (H + l2), 0.0)
                top += (average * G).sum()
                bottom += (average**2 * H).sum()
            score = top / np.sqrt(bottom) if score_function == "NewtonCosine" else top
            found.append((score, column, border))
    return found


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise"])
@pytest.mark.parametrize("score_function", ["NewtonL2", "NewtonCosine"])
@pytest.mark.parametrize("loss", ["Logloss", "MultiClass", "Poisson"])
def test_splits_have_the_best_newton_score(loss, score_function, policy):
    y = LABELS.get(loss, np.floor(np.exp(Y / 2.0)))
    kind = SymmetricBoostingClassifier if loss in LABELS else SymmetricBoostingRegressor
    start = rng.normal(size=(N, 3 if loss == "MultiClass" else 1)).astype(np.float32)
    given = CALM | {"iterations": 1, "depth": 2 if policy == "SymmetricTree" else 1}
    given |= {"loss_function": loss, "score_function": score_function, "grow_policy": policy}
    model = kind(**given).fit(ROUNDED, y, baseline=start)
    F = start.astype(float).T
    if loss == "MultiClass":
        p = np.exp(F) / np.exp(F).sum(axis=0)
        g, h = (y == np.arange(3)[:, None]) - p, p * (1.0 - p)
    else:
        p = np.exp(F) if loss == "Poisson" else 1.0 / (1.0 + np.exp(-F))
        g, h = y - p, p if loss == "Poisson" else p * (1.0 - p)
    tree, leaf = model._trees[0], np.zeros(N, int)
    for level, (column, border) in enumerate(zip(tree.features, tree.borders, strict=True)):
        scores = best_scores(score_function, g, h, 3.0, leaf, 1 << level)
        usable = [one for one in scores if one[1] == column]
        at = min(usable, key=lambda one: abs(one[2] - border))
        best = max(scores)[0]
        assert at[0] > (1.0 - 1e-4) * best
        plain = best_scores("L2", g, np.ones_like(h), 3.0, leaf, 1 << level)
        assert max(plain)[0] != best
        leaf = 2 * leaf + (ROUNDED[:, column] > border)


def test_newton_scores_of_rmse_are_the_usual_ones():
    for newton, usual in (("NewtonL2", "L2"), ("NewtonCosine", "Cosine")):
        models = [train(CALM | {"score_function": name}) for name in (newton, usual)]
        np.testing.assert_array_equal(*(model.ensemble_.value for model in models))


def test_newton_scores_of_other_trainings():
    grades = np.clip(np.round(Y) + 1.0, 0.0, 4.0)
    ranker = SymmetricBoostingRanker(**FIXED, score_function="NewtonL2")
    ranker.fit(X, grades, np.repeat(np.arange(N // 8), 8))
    assert ranker.score(X, grades, np.repeat(np.arange(N // 8), 8)) > 0.9
    for loss in ("Huber:delta=0.5", "Expectile:alpha=0.8"):
        model = train({"score_function": "NewtonCosine", "iterations": 50}, loss)
        assert np.mean((model.predict(X) - Y) ** 2) < np.var(Y)
    first, second = (
        train({"score_function": "NewtonL2", "thread_count": n}, "MultiClass") for n in (1, 2)
    )
    np.testing.assert_array_equal(first.ensemble_.value, second.ensemble_.value)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"parity": "catboost"}, "parity"),
        ({"boosting_type": "Ordered"}, "Plain"),
        ({"loss_function": "MAE"}, "second derivatives"),
        ({"loss_function": "RMSEWithUncertainty"}, "second derivatives"),
    ],
)
def test_trainings_without_newton_scores_raise(params, message):
    with pytest.raises(ValueError, match=message):
        train({"score_function": "NewtonL2"} | params)
