"""Cross-fitted boosting: folds, effort, determinism, categories, weights and refusals."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from algorithms import (
    BoostingClassifier,
    BoostingRegressor,
    HistogramBoostingRegressor,
    cross_fitted_boosting,
)
from algorithms.gbdt import cross_fitting, effort, thread_choice
from algorithms.gbdt.cross_fitting import stratified_folds
from algorithms.gbdt.effort import effort_of_budget, make_plan
from algorithms.gbdt.round_batches import RoundBatches
from algorithms.inspection.tree_models import mixing_of

LOW = {"effort": "low", "n_jobs": 1}
CHEAPEST = {"effort": 0.25, "n_jobs": 1}
UNEQUAL = "a repeated row may be in other folds than its copy; a weighted row is in one fold"
WEIGHTED = {
    f"check_sample_weight_equivalence_on_{form}_data": UNEQUAL for form in ("dense", "sparse")
}


def regression_table(n_rows=200):
    """Return a frame with missing values and a categorical column, and its target."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["a", "b", "c"])
    X.loc[::7, "b"] = np.nan
    codes = rng.integers(4, size=n_rows)
    X["city"] = pd.Categorical(np.array(["p", "q", "r", "s"])[codes])
    y = X["a"].to_numpy() + codes + 0.1 * rng.normal(size=n_rows)
    return X, y


@parametrize_with_checks(
    [BoostingClassifier(**CHEAPEST), BoostingRegressor(**CHEAPEST)],
    expected_failed_checks=lambda _: WEIGHTED,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_folds_have_the_same_classes_and_targets():
    y = np.repeat([0, 1, 2], [30, 12, 6])
    fold = stratified_folds(y, 3, 0, is_classifier=True)
    counts = np.array([np.bincount(y[fold == k], minlength=3) for k in range(3)])
    assert (np.ptp(counts, axis=0) <= 1).all()
    targets = np.random.default_rng(0).normal(size=48)
    fold = stratified_folds(targets, 4, 0, is_classifier=False)
    blocks = fold[np.argsort(targets)].reshape(-1, 4)
    assert (np.sort(blocks, axis=1) == np.arange(4)).all()


def test_the_model_does_not_depend_on_threads_and_is_deterministic():
    X, y = regression_table()
    one, two, seeded, other = (
        BoostingRegressor("low", n_jobs=threads, random_state=seed).fit(X, y).predict(X)
        for threads, seed in ((1, None), (2, None), (1, 0), (1, 1))
    )
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, seeded)
    assert not np.array_equal(one, other)


def test_out_of_fold_loss_of_noise_shows_no_leak():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"id": pd.Categorical(rng.integers(100, size=600)), "x": rng.normal(size=600)})
    y = rng.integers(2, size=600)
    model = BoostingClassifier(**LOW).fit(X, y)
    assert model.out_of_fold_loss_ > 0.68  # log 2 is 0.693
    new = rng.integers(2, size=600)
    assert log_loss(new, model.predict_proba(X)) < 0.72


def test_it_predicts_new_rows_better_than_the_booster_alone():
    X, y = load_diabetes(return_X_y=True)
    split = train_test_split(X, y, random_state=0)
    losses = []
    for model in (BoostingRegressor(n_jobs=1), HistogramBoostingRegressor(n_jobs=1)):
        model.fit(split[0], split[2])
        losses.append(np.mean((model.predict(split[1]) - split[3]) ** 2))
    assert losses[0] < 0.95 * losses[1]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("task", ["regression", "classes", "sparse"])
def test_batches_of_rounds_give_the_same_members(task, n_jobs, monkeypatch):
    X, y = regression_table(800)
    if task == "sparse":
        X = sparse.random_array((800, 40), density=0.03, rng=np.random.default_rng(0)).tocsr()
        y = X[:, :20].sum(axis=1) - X[:, 20:].sum(axis=1)
    boosting = BoostingRegressor
    if task == "classes":
        boosting, y = BoostingClassifier, np.digitize(y, [0.5, 2.0, 3.0])
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    models = []
    sizes, grow = set(), RoundBatches._grow
    if n_jobs == 2:  # grow trees on several threads
        monkeypatch.setattr(thread_choice, "SMALL", 0)
        monkeypatch.setattr(thread_choice, "MAX_WORK", 0)
        monkeypatch.setattr(thread_choice, "count_processors", lambda: 2)
    monkeypatch.setattr(
        RoundBatches, "_grow", lambda self, own: (sizes.add(own.team.size), grow(self, own))
    )
    for is_batched in (True, False):
        if not is_batched:
            monkeypatch.setattr(cross_fitting, "can_batch", lambda _: False)
        model = boosting("low", n_jobs=n_jobs).fit(X, y, sample_weight=weight)
        models.append(model)
    assert max(sizes) == n_jobs
    assert models[0].rounds_ == models[1].rounds_
    assert models[0].out_of_fold_loss_ == models[1].out_of_fold_loss_
    for name in ("feature", "threshold", "value", "gain", "set_codes"):
        batched, single = (getattr(model.ensemble_, name) for model in models)
        np.testing.assert_array_equal(batched, single)


def test_unknown_and_missing_categories_are_predicted():
    X, y = regression_table()
    model = BoostingRegressor(**LOW).fit(X, y)
    new = X.head(3).copy()
    new["city"] = pd.Categorical(["unknown", None, "q"])
    assert np.isfinite(model.predict(new)).all()
    assert "city" in model.describe().splitlines()[-2]
    assert model.feature_importances_.argmax() == 3
    text = X.assign(city=X["city"].astype(str))
    with pytest.raises(ValueError, match="city"):
        BoostingRegressor(**LOW).fit(text, y)


def test_categories_given_by_position_are_those_of_the_frame():
    X, y = regression_table()
    codes = X.assign(city=X["city"].cat.codes.astype(float)).to_numpy()
    by_frame = BoostingRegressor(**LOW).fit(X, y).predict(X)
    by_position = BoostingRegressor(**LOW, categorical_features=[3]).fit(codes, y).predict(codes)
    np.testing.assert_array_equal(by_frame, by_position)


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_the_unit_of_the_weights_does_not_matter(unit):
    X, y = regression_table()
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    plain, scaled = (
        BoostingRegressor(**LOW).fit(X, y, sample_weight=weight * u).predict(X) for u in (1.0, unit)
    )
    np.testing.assert_array_equal(scaled, plain)


def test_weights_that_vanish_beside_the_largest_are_left_out():
    X, y = regression_table()
    weight = np.where(np.arange(len(y)) % 3 == 0, 1e-300, 1e300)
    kept = weight > 1.0
    weighted = BoostingRegressor(**LOW).fit(X, y, sample_weight=weight).predict(X)
    dropped = BoostingRegressor(**LOW).fit(X[kept], y[kept]).predict(X)
    np.testing.assert_array_equal(weighted, dropped)


def test_rows_of_weight_0_are_left_out():
    X, y = regression_table()
    weight = np.ones(len(y))
    weight[::3] = 0.0
    kept = weight > 0
    weighted = BoostingRegressor(**LOW).fit(X, y, sample_weight=weight).predict(X)
    dropped = BoostingRegressor(**LOW).fit(X[kept], y[kept]).predict(X)
    np.testing.assert_array_equal(weighted, dropped)


def test_weights_move_the_predictions():
    X, y = regression_table()
    twice, targets = pd.concat([X, X]), np.concatenate([y, y + 10.0])
    weight = np.repeat([10.0, 0.1], len(y))
    model = BoostingRegressor(**LOW).fit(twice, targets, sample_weight=weight)
    plain = BoostingRegressor(**LOW).fit(twice, targets)
    errors = [np.abs(one.predict(X) - y).mean() for one in (model, plain)]
    assert errors[0] < 1.0
    assert errors[1] > 4.0


def test_a_budget_becomes_an_effort_that_is_stored():
    X, y = regression_table()
    model = BoostingRegressor(time_budget=0.05, n_jobs=1).fit(X, y)
    assert model.effort_ == effort_of_budget(0.05, *X.shape, 1)
    same = BoostingRegressor(model.effort_, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    assert f"effort: {model.effort_:g}" in model.describe()


def test_more_effort_is_more_rounds_of_a_smaller_rate():
    plans = [make_plan(units, 5000) for units in (0.5, 1.0, 4.0, 24.0)]
    rates = [plan.learning_rate for plan in plans]
    assert rates == sorted(rates, reverse=True)
    rounds = [plan.n_folds * plan.max_rounds for plan in plans]
    assert rounds == sorted(rounds)


def test_plans_of_several_classes():
    one, few, many = (make_plan(4.0, 2000, n_scores) for n_scores in (1, 5, 26))
    assert [plan.num_leaves for plan in (one, few, many)] == [16, 12, 24]
    assert make_plan(1.0, 2000).num_leaves == 24  # few members
    assert [plan.try_pairs for plan in (one, few, many)] == [True, False, False]
    assert {plan.max_bin for plan in (one, few, many)} == {63}
    assert [plan.n_fourier > 0 for plan in (one, few, many)] == [False, True, True]
    assert make_plan(1.0, 2000, 5).n_fourier == make_plan(4.0, 60_000, 5).n_fourier == 0
    assert few.learning_rate == many.learning_rate > one.learning_rate
    assert make_plan(1.0, 2000, 5).learning_rate == make_plan(1.0, 2000).learning_rate


def test_bins_and_columns_of_regressions_follow_the_rows():
    plans = [make_plan(4.0, n_rows) for n_rows in (10, 4000, 100_000, 300_000)]
    assert [plan.max_bin for plan in plans] == [63, 125, 255, 255]
    assert [plan.adds_ridge for plan in plans] == [True, True, True, False]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rounds_after_the_best_one_are_kept_with_several_classes(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(n_classes, size=300)  # noise: few rounds help
    model = BoostingClassifier(**LOW).fit(X, y)
    is_kept = [rounds > model.plan_.patience for rounds in model.rounds_]
    assert all(is_kept) if n_classes > 2 else not any(is_kept)


@pytest.mark.parametrize("value", ["huge", 0, -1.0])
def test_no_such_effort_is_refused(value):
    X, y = regression_table(20)
    with pytest.raises(ValueError, match="effort"):
        BoostingRegressor(value).fit(X, y)


def test_rare_classes_and_few_rows_are_trained():
    X = np.arange(12.0)[:, None]
    y = np.array(["a"] * 6 + ["b"] * 5 + ["c"])
    model = BoostingClassifier(**LOW).fit(X, y)
    proba = model.predict_proba(X)
    assert proba.shape == (12, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert list(model.predict(X[[0, 8]])) == ["a", "b"]
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict_proba(X), proba)


def test_models_pickled_before_extra_columns_and_linear_leaves_predict(monkeypatch):
    monkeypatch.setattr(cross_fitted_boosting, "MAX_RIDGE_FEATURES", 0)
    X, y = regression_table(40)
    model = BoostingRegressor(**CHEAPEST, random_state=0).fit(X, y)
    expected = model.predict(X)
    del model.__dict__["pairs_"], model.__dict__["ridge_"], model.__dict__["fourier_"]
    walker = model.model_._walker
    monkeypatch.setattr(  # earlier versions pickled the packed trees, without linear leaves
        type(walker), "__getstate__", lambda self: {"ensemble": self.ensemble, "roots": None}
    )
    loaded = pickle.loads(pickle.dumps(model))
    assert "roots" not in vars(loaded.model_._walker)
    np.testing.assert_array_equal(loaded.predict(X), expected)


def table_of_products(n_rows):
    """Return a table whose target is a product and a difference of features."""
    X = np.random.default_rng(5).normal(size=(n_rows, 5))
    return X, X[:, 0] * X[:, 1] + np.sin(3.0 * (X[:, 2] - X[:, 0]))


def test_pairs_of_features_are_used_where_they_decrease_the_loss():
    X, y = table_of_products(1200)
    model = BoostingRegressor(2.0, n_jobs=1).fit(X[:1000], y[:1000])
    alone = BoostingRegressor(1.9, n_jobs=1).fit(X[:1000], y[:1000])
    pairs = {tuple(sorted(pair)) for pair in model.pairs_.pairs}  # ordered by gains
    assert {(0, 1), (0, 2)} <= pairs
    assert alone.pairs_ is None
    errors = [np.mean((one.predict(X[1000:]) - y[1000:]) ** 2) for one in (model, alone)]
    assert errors[0] < 0.5 * errors[1]
    first, second = model.pairs_.pairs[0]
    assert f"{first} and {second}" in model.describe().splitlines()[-1]
    importances = model.feature_importances_
    assert importances.shape == (5,)
    assert set(np.argsort(-importances)[:3]) == {0, 1, 2}
    assert importances.sum() == pytest.approx(model.ensemble_.gain[model.ensemble_.left >= 0].sum())


def test_pairs_of_features_are_not_used_for_an_additive_target():
    rng = np.random.default_rng(6)
    X = rng.integers(2, size=(1000, 4)).astype(np.float64)
    y = X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=1000)
    assert BoostingRegressor(2.0, random_state=0, n_jobs=1).fit(X, y).pairs_ is None


def test_columns_of_noise_are_left_out_with_pairs(monkeypatch):
    X, y = table_of_products(2000)
    X = np.hstack([X[:, :3], np.random.default_rng(9).normal(size=(2000, 30))])
    losses, used = [], []
    for is_tried in (True, False):
        if not is_tried:
            monkeypatch.setattr(cross_fitting.CrossFitTrainer, "drop_columns", lambda *_: None)
        model = BoostingRegressor(n_jobs=1).fit(X[:1000], y[:1000])
        losses.append(np.mean((model.predict(X[1000:]) - y[1000:]) ** 2))
        trees = model.ensemble_
        used.append(len(np.unique(trees.feature[trees.left >= 0])))
    assert losses[0] < losses[1]
    assert used[0] < 20
    assert used[1] > 33


def test_a_trial_that_is_stopped_early_changes_nothing(monkeypatch):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(1000, 4))
    y = X[:, 0] + np.abs(X[:, 1]) + rng.normal(size=1000)
    numbers, is_not_beaten_by = [], cross_fitting.LossCurve.is_not_beaten_by

    def note(curve, lowest):
        numbers.append((is_not_beaten_by(curve, lowest), len(lowest), curve.best_round))
        return numbers[-1][0]

    monkeypatch.setattr(cross_fitting.LossCurve, "is_not_beaten_by", note)
    stopped = BoostingRegressor(2.0, n_jobs=1).fit(X, y)
    assert stopped.pairs_ is None
    assert numbers[-1][0]
    assert numbers[-1][1] in ((numbers[-1][2] + 1) // 2, numbers[-1][2])
    monkeypatch.setattr(cross_fitting.LossCurve, "is_not_beaten_by", lambda *_: False)
    whole = BoostingRegressor(2.0, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(stopped.predict(X), whole.predict(X))


def test_pairs_with_missing_and_huge_values():
    X, y = table_of_products(1000)
    X[::9, 0] = np.nan
    X[::7, 1] *= 1e200
    X[::11, 2] *= 1e200
    model = BoostingRegressor(2.0, n_jobs=1).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def slanted_table(n_rows):
    """Return a table of six features whose classes a slanted plane separates, and the classes."""
    X = np.random.default_rng(8).normal(size=(n_rows, 6))
    return X, (X.sum(axis=1) > 0.0).astype(int)


def test_every_second_member_uses_columns_of_ridge_regressions():
    X, y = slanted_table(500)
    model = BoostingClassifier(**LOW).fit(X, y)
    assert model.ensemble_.n_features == 7
    trees, counts = model.ensemble_, []
    first = 0
    for rounds in model.rounds_:
        nodes = slice(trees.offsets[first], trees.offsets[first + rounds])
        counts.append(int((trees.feature[nodes] == 6).sum()))
        first += rounds
    assert counts[0] == counts[2] == 0
    assert counts[1] > 0
    assert "every second member): 1" in model.describe()
    assert mixing_of(model).shape == (6, 7)


def test_columns_of_ridge_regressions_decrease_the_loss_at_a_slanted_plane(monkeypatch):
    X, y = slanted_table(900)
    with_ridge = BoostingClassifier(n_jobs=1).fit(X[:400], y[:400])
    monkeypatch.setattr(cross_fitted_boosting, "MAX_RIDGE_FEATURES", 0)
    without = BoostingClassifier(n_jobs=1).fit(X[:400], y[:400])
    assert without.ridge_ is None
    losses = [log_loss(y[400:], one.predict_proba(X[400:])) for one in (with_ridge, without)]
    assert losses[0] < 0.8 * losses[1]


def table_of_rings(n_rows):
    """Return a table whose three classes are the lengths of its rows, and the classes."""
    X = np.random.default_rng(4).normal(size=(n_rows, 6))
    return X, np.digitize(np.linalg.norm(X, axis=1), [2.0, 2.6])


def test_regressions_on_fourier_features_decrease_the_loss_at_curved_boundaries(monkeypatch):
    X, y = table_of_rings(900)
    with_fourier = BoostingClassifier(2.0, n_jobs=1).fit(X[:400], y[:400])
    monkeypatch.setattr(effort, "N_FOURIER", 0)
    without = BoostingClassifier(2.0, n_jobs=1).fit(X[:400], y[:400])
    assert without.fourier_ is None
    losses = [log_loss(y[400:], one.predict_proba(X[400:])) for one in (with_fourier, without)]
    assert losses[0] < 0.95 * losses[1]
    assert "every second member): 6" in with_fourier.describe()
    shares = mixing_of(with_fourier)
    assert shares.shape == (6, 12)
    np.testing.assert_allclose(shares.sum(axis=0), 1.0)
    each = np.concatenate([with_fourier.predict_proba(row[None]) for row in X[:20]])
    np.testing.assert_array_equal(each, with_fourier.predict_proba(X)[:20])


def test_sparse_rows_are_predicted_with_pairs():
    X, y = table_of_products(1000)
    model = BoostingRegressor(2.0, n_jobs=1).fit(X, y)
    assert model.pairs_ is not None
    rows = X[:20]
    for sparse_rows in (sparse.csr_matrix(rows), sparse.csr_array(rows)):
        np.testing.assert_array_equal(model.predict(sparse_rows), model.predict(rows))


def test_contributions_of_pairs_are_divided_among_their_features():
    X, y = table_of_products(1000)
    model = BoostingRegressor(2.0, n_jobs=1).fit(X, y)
    shares = mixing_of(model)
    assert shares.shape == (5, model.ensemble_.n_features)
    np.testing.assert_array_equal(shares.sum(axis=0), 1.0)
    first = model.pairs_.pairs[0]
    assert shares[list(first), 6].tolist() == [0.5, 0.5]
