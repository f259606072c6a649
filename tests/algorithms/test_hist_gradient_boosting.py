"""Tests of the classes with the names of scikit-learn's HistGradientBoosting."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import algorithms
from algorithms import HistGradientBoostingClassifier, HistGradientBoostingRegressor

EXPECTED_FAILURES = {  # scikit-learn expects it of its own classes, too
    f"check_sample_weight_equivalence_on_{kind}_data": "bins and leaf sizes count rows, not weights"
    for kind in ("dense", "sparse")
}
MODES = (None, "scikit-learn")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
X[RNG.random(X.shape) < 0.1] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2
VALUES = SIGNAL + 0.3 * RNG.normal(size=400)
LABELS = np.array(["a", "b", "c"])[np.digitize(VALUES, [0.0, 1.5])]
COLORS = pd.DataFrame({"color": pd.Categorical(LABELS, ["c", "b", "a"]), "x": X[:, 2]})


@parametrize_with_checks(
    [
        kind(max_iter=5, min_samples_leaf=2, early_stopping=False, parity=parity)
        for kind in (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
        for parity in MODES
    ],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "name", ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"]
)
def test_constructor_equals_the_library_up_to_parity(name):
    ours, theirs = (
        list(inspect.signature(getattr(home, name)).parameters.values())
        for home in (algorithms, ensemble)
    )
    assert [str(one) for one in ours[:-1]] == [str(one) for one in theirs]
    assert str(ours[-1]) == "parity=None"


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "absolute_error"},
        {"loss": "quantile", "quantile": 0.3},
        {"loss": "poisson", "scoring": None},
        {"loss": "gamma", "validation_fraction": None},
        {"scoring": "neg_mean_absolute_error", "n_iter_no_change": 2, "tol": 0.1},
    ],
    ids=str,
)
def test_parity_equals_the_library_bitwise(options):
    y = np.exp(VALUES / 3) if options.get("loss") in ("poisson", "gamma") else VALUES
    params = {"max_iter": 8, "early_stopping": True, "random_state": 1, **options}
    weight = RNG.integers(1, 4, len(y)).astype(float)
    ours = HistGradientBoostingRegressor(**params, parity="scikit-learn").fit(X, y, weight)
    theirs = ensemble.HistGradientBoostingRegressor(**params).fit(X, y, weight)
    assert ours.n_iter_ == theirs.n_iter_
    for name in ("train_score_", "validation_score_"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_parity_of_classes_after_a_warm_start():
    params = {"early_stopping": True, "random_state": 1, "class_weight": "balanced"}
    pair = (
        HistGradientBoostingClassifier(**params, warm_start=True, parity="scikit-learn"),
        ensemble.HistGradientBoostingClassifier(**params, warm_start=True),
    )
    for model in pair:
        model.set_params(max_iter=3).fit(X, LABELS)
        model.set_params(max_iter=6).fit(X, LABELS)
    ours, theirs = pair
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    np.testing.assert_array_equal(ours.validation_score_, theirs.validation_score_)
    for mine, other in zip(
        ours.staged_predict_proba(X), theirs.staged_predict_proba(X), strict=True
    ):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("parity", MODES)
def test_scores_after_each_round_are_those_of_the_model(parity):
    model = HistGradientBoostingRegressor(max_iter=5, random_state=0, scoring=None, parity=parity)
    half = len(X) // 2
    model.set_params(early_stopping=True)
    model.fit(X[:half], VALUES[:half], X_val=X[half:], y_val=VALUES[half:])
    for number, prediction in enumerate(model.staged_predict(X[half:]), 1):
        residual = ((VALUES[half:] - prediction) ** 2).sum()
        total = ((VALUES[half:] - VALUES[half:].mean()) ** 2).sum()
        assert model.validation_score_[number] == pytest.approx(1.0 - residual / total)
    assert len(model.train_score_) == model.n_iter_ + 1


def test_default_warm_start_is_one_longer_training():
    model = HistGradientBoostingRegressor(max_iter=3, warm_start=True).fit(X, VALUES)
    model.set_params(max_iter=6).fit(X, VALUES)
    longer = HistGradientBoostingRegressor(max_iter=6).fit(X, VALUES)
    assert model.n_iter_ == 6
    np.testing.assert_allclose(model.predict(X), longer.predict(X), rtol=1e-12)


@pytest.mark.parametrize("parity", MODES)
def test_categories_of_a_frame(parity):
    model = HistGradientBoostingClassifier(max_iter=5, parity=parity).fit(COLORS, LABELS)
    assert model.is_categorical_.tolist() == [True, False]
    assert list(model.feature_names_in_) == ["color", "x"]
    assert model.score(COLORS, LABELS) == 1.0


@pytest.mark.parametrize("parity", MODES)
def test_infinite_values_are_allowed(parity):
    rows = np.array([-np.inf, 0.0, 1.0, np.inf])[:, None]
    model = HistGradientBoostingRegressor(min_samples_leaf=1, parity=parity)
    np.testing.assert_allclose(model.fit(rows, np.arange(4)).predict(rows), np.arange(4), atol=1e-3)


@pytest.mark.parametrize("parity", MODES)
def test_one_class_is_allowed(parity):
    model = HistGradientBoostingClassifier(parity=parity, max_iter=2).fit(X, np.full(len(X), "a"))
    assert set(model.predict(X)) == {"a"}


def test_monotonic_constraint_by_name_holds():
    frame = pd.DataFrame(X[:, :2], columns=["up", "other"])
    model = HistGradientBoostingRegressor(max_iter=20, monotonic_cst={"up": 1}).fit(frame, VALUES)
    grid = pd.DataFrame({"up": np.linspace(-3, 3, 50), "other": 0.5})
    assert (np.diff(model.predict(grid)) >= 0).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [("monotonic_cst", [1, 0, 0, 0]), ("interaction_cst", "pairwise"), ("max_features", 0.5)],
)
def test_parity_refuses_what_it_does_not_follow(name, value):
    model = HistGradientBoostingRegressor(parity="scikit-learn", **{name: value})
    with pytest.raises(ValueError, match=f"{name}=.* is not supported with parity='scikit-learn'"):
        model.fit(X, VALUES)


@pytest.mark.parametrize("parity", MODES)
def test_categories_have_no_direction(parity):
    model = HistGradientBoostingClassifier(monotonic_cst=[1, 0], parity=parity)
    with pytest.raises(ValueError, match="Categorical features cannot have monotonic constraints"):
        model.fit(COLORS, LABELS == "a")


def test_large_tables_stop_early_by_default():
    many = RNG.normal(size=(10_001, 1))
    model = HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=3).fit(many, many[:, 0])
    assert model.do_early_stopping_
    assert len(model.validation_score_) == 3
    assert not clone(model).fit(many[:10_000], many[:10_000, 0]).do_early_stopping_
