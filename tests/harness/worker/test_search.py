"""Tests of the hyperparameter search of a tuned trial: inside ``fit``, on training rows only."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.dummy import DummyRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from harness import estimator_adapter
from harness.config.search_space import TUNE
from harness.core.errors import DataError
from harness.core.model import (
    ALL_TASKS,
    Algorithm,
    Predicted,
    Spec,
    Split,
    Table,
    Task,
    Trial,
)
from harness.plugins.metrics import rmse_sd
from harness.worker import prepared_trial
from harness.worker.ensemble_selection import select_ensemble
from harness.worker.tuning import (
    Training,
    build_adapter,
    inner_folds,
    sampled,
    shares_of_rows,
)

SEEN: list[np.ndarray] = []


def tree(spec):
    kind = DecisionTreeClassifier if spec.task.is_classification else DecisionTreeRegressor
    return kind(random_state=spec.seed, **spec.params)


class Recording(DummyRegressor):
    """An adapter that records the first column, a row number, of its input."""

    def fit(self, X, y, sample_weight=None):
        SEEN.append(np.asarray(X)[:, 0].copy())
        return super().fit(X, y, sample_weight)

    def predict(self, X):
        SEEN.append(np.asarray(X)[:, 0].copy())
        return super().predict(X)


def tuned(build, configurations, task=Task.REGRESSION, folds=3, more=(), **spec):
    params = {TUNE: {"configurations": configurations, "inner_folds": folds, **dict(more)}}
    algorithm = Algorithm("tree", estimator_adapter(build), ALL_TASKS)
    return build_adapter(algorithm, Spec(task, params, **spec))


def fitted(adapter, X, y, weight=None):
    adapter.fit(adapter.prepare(X, y, weight))
    return adapter


def wavy(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(X[:, 0]) + rng.normal(0, 0.3, n)


def test_outer_test_rows_never_reach_the_inner_search():
    """Rows carry their number: the rows seen by the search are compared with the split."""
    n = 120
    table = Table(pd.DataFrame({"row": np.arange(float(n)), "x": 0.0}), np.arange(float(n)))
    trial = Trial(
        "tree",
        {TUNE: {"configurations": [{}, {"strategy": "median"}], "inner_folds": 4}},
        "native", "d", Split(folds=3, fold=1), 0, 1, "c", "t", Task.REGRESSION,
    )  # fmt: skip
    rows = prepared_trial.split_table(trial, table)
    taken = prepared_trial.prepare_trial(trial, table, rows)
    algorithm = Algorithm(
        "tree", estimator_adapter(lambda spec: Recording(**spec.params)), ALL_TASKS
    )
    adapter = build_adapter(algorithm, taken.spec)
    SEEN.clear()
    adapter.fit(adapter.prepare(*taken.train))
    shown = np.concatenate(SEEN)
    assert len(SEEN) == 2 * 4 * 2 + 1  # configurations × folds × (fit, predict), and the last fit
    assert set(shown) == set(rows.train)
    assert not set(shown) & set(rows.test)
    # Within the search a configuration is scored on rows that it was not trained on.
    for fit, score in zip(SEEN[0:16:2], SEEN[1:16:2], strict=True):
        assert not set(fit) & set(score)
        assert set(fit) | set(score) == set(rows.train)


def test_better_configuration_wins_and_is_trained_on_all_rows():
    X, y = wavy()
    adapter = fitted(tuned(tree, [{}, {"max_depth": 3}, {"max_depth": 1}]), X, y)
    assert adapter.chosen == 1
    assert adapter.facts()["params"] == {"max_depth": 3}
    expected = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(adapter.predict(X), expected.predict(X))
    np.testing.assert_array_equal(adapter.predict_one(X[:1]), expected.predict(X[:1]))


def test_losses_equal_plain_cross_validation():
    X, y = wavy()
    adapter = fitted(tuned(tree, [{"max_depth": 2}], folds=4, seed=5), X, y)
    part = inner_folds(y, 4, adapter.spec)
    errors = [
        DecisionTreeRegressor(max_depth=2, random_state=5)
        .fit(X[part != k], y[part != k])
        .predict(X[part == k])
        - y[part == k]
        for k in range(4)
    ]
    expected = np.mean([math.sqrt(np.mean(e**2)) for e in errors])
    assert adapter.losses == [pytest.approx(expected, rel=1e-12)]


def test_weights_count_in_training_and_selection():
    X, y = wavy()
    y[:150] = 5.0
    weight = np.where(np.arange(300) < 150, 1e-9, 1.0)
    constant = {"max_depth": 1}
    adapter = fitted(tuned(tree, [{"max_depth": 3}, constant]), X, y, weight)
    unweighted = fitted(tuned(tree, [{"max_depth": 3}, constant]), X, y)
    assert adapter.losses[0] < unweighted.losses[0] / 2


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, csr_matrix])
def test_every_form_of_rows_is_split(form):
    X, y = wavy()
    labels = (y > 0).astype(np.int64)
    spec = {"task": Task.BINARY, "n_classes": 2}
    configurations = [{"max_depth": 2}, {"max_depth": 9}]
    adapter = fitted(tuned(tree, configurations, **spec), form(X), labels)
    plain = fitted(tuned(tree, configurations, **spec), X, labels)
    assert adapter.losses == plain.losses
    assert adapter.predict(form(X)).shape == (300, 2)


def test_configuration_that_cannot_be_trained_loses_and_is_counted():
    X, y = wavy()
    adapter = fitted(tuned(tree, [{"max_depth": -5}, {"max_depth": 2}]), X, y)
    assert adapter.chosen == 1
    assert adapter.facts()["losses"][0] is None


def test_first_error_is_raised_if_none_can_be_trained():
    X, y = wavy()
    with pytest.raises(ValueError, match="max_depth"):
        fitted(tuned(tree, [{"max_depth": -5}, {"criterion": "no"}]), X, y)


class Lost(DummyRegressor):
    """An adapter that trains without an error and predicts NaN."""

    def predict(self, X):
        return np.full(len(X), math.nan)


def test_nonfinite_losses_only_are_an_error():
    X, y = wavy()
    with pytest.raises(ValueError, match="no configuration of the search has a finite loss"):
        fitted(tuned(lambda spec: Lost(**spec.params), [{}, {"strategy": "median"}]), X, y)


def test_second_fit_searches_again_and_agrees():
    X, y = wavy()
    adapter = tuned(tree, [{}, {"max_depth": 3}])
    native = adapter.prepare(X, y, None)
    adapter.fit(native)
    first = list(adapter.losses)
    adapter.fit(native)
    assert adapter.losses == first


def test_trajectory_has_every_configuration_in_order_with_growing_time():
    X, y = wavy()
    adapter = fitted(tuned(tree, [{}, {"max_depth": -5}, {"max_depth": 3}]), X, y)
    steps = adapter.facts()["trajectory"]
    assert [(i, share) for i, share, _, _ in steps] == [(0, 1.0), (1, 1.0), (2, 1.0)]
    assert [loss for _, _, loss, _ in steps] == adapter.facts()["losses"]
    seconds = [seconds for *_, seconds in steps]
    assert seconds == sorted(seconds)
    adapter.fit(adapter.prepare(X, y, None))
    assert len(adapter.trajectory) == 3, "a second fit starts again"


def test_held_out_predictions_give_the_losses_and_are_not_pickled():
    X, y = wavy()
    adapter = fitted(tuned(tree, [{}, {"max_depth": -5}, {"max_depth": 3}]), X, y)
    kept = adapter.held_out(y)
    assert kept["index"].tolist() == [0, 2]
    for loss, output in zip(kept["loss"], kept["output"], strict=True):
        errors = [
            rmse_sd(Predicted(y[kept["fold"] == f], output[kept["fold"] == f], None, 1.0))
            for f in range(3)
        ]
        assert loss == pytest.approx(np.mean(errors), rel=1e-12)
    again = pickle.loads(pickle.dumps(adapter))
    assert not {"tried", "folds"} & set(vars(again))
    np.testing.assert_array_equal(again.predict(X), adapter.predict(X))


def test_methods_of_the_chosen_model_are_available():
    X, y = wavy()
    adapter = tuned(tree, [{"max_depth": 3}])
    assert not hasattr(adapter, "export_trees")
    fitted(adapter, X, y)
    with pytest.raises(TypeError, match="ensemble_"):
        adapter.export_trees()


def test_plain_params_get_the_plain_adapter():
    algorithm = Algorithm("tree", estimator_adapter(tree), ALL_TASKS)
    assert type(build_adapter(algorithm, Spec(Task.REGRESSION, {}))).__name__ == "EstimatorAdapter"


def test_inner_folds_are_stratified():
    y = np.repeat([0, 1, 2], [90, 9, 3])
    part = inner_folds(y, 3, Spec(Task.MULTICLASS, n_classes=3))
    for k in range(3):
        counts = np.bincount(y[part == k], minlength=3)
        assert counts.tolist() == [30, 3, 1]
    other = inner_folds(y, 3, Spec(Task.MULTICLASS, seed=1, n_classes=3))
    assert (part != other).any()


# ------------------------------------------------------------------ successive halving


@pytest.mark.parametrize(
    ("configurations", "rows", "shares"),
    [
        (10, 10_000, [1 / 9, 1 / 3, 1.0]),
        (27, 10_000, [1 / 27, 1 / 9, 1 / 3, 1.0]),
        (10, 900, [1 / 3, 1.0]),  # a ninth has too few rows
        (2, 10_000, [1.0]),
    ],
)
def test_iterations_have_three_times_as_many_rows_each(configurations, rows, shares):
    assert shares_of_rows(configurations, 3, rows) == pytest.approx(shares)
    assert shares_of_rows(configurations, 0, rows) == [1.0]


def test_halving_trains_the_best_third_on_more_rows():
    X, y = wavy(2000)
    depths = [1, 12, 3, 2, 4, 11, 10, 9, 8]
    counts = []

    class Counted(DecisionTreeRegressor):
        def fit(self, X, y):
            counts.append((self.max_depth, len(y)))
            return super().fit(X, y)

    configurations = [{"max_depth": depth} for depth in depths]
    adapter = tuned(lambda spec: Counted(**spec.params), configurations, more={"halving": 3})
    fitted(adapter, X, y)
    assert [(share, len(left)) for share, left in adapter.iterations] == [
        (pytest.approx(1 / 9), 9), (pytest.approx(1 / 3), 3), (1.0, 1),
    ]  # fmt: skip
    final = adapter.iterations[-1][1]
    assert adapter.chosen == final[0]
    assert depths[adapter.chosen] in {3, 4}
    sizes = [rows for _, rows in counts]
    assert sizes[:27] == [148] * 27  # a ninth of two thirds of 2000 rows, 9 × 3 folds
    assert set(sizes[27:36]) == {444, 445}
    assert sorted(sizes[36:]) == [1333, 1333, 1334, 2000]
    assert len(adapter.facts()["iterations"]) == 3
    # The losses of those that were dropped are kept, so they do not count as untrainable.
    assert None not in adapter.facts()["losses"]


def test_sample_of_rows_is_stratified_and_repeatable():
    y = np.repeat([0, 1], [900, 90])
    spec = Spec(Task.BINARY, n_classes=2, seed=3)
    rows, training = np.arange(990), Training(None, y, None)
    part = sampled(rows, training, 1 / 3, spec)
    assert np.bincount(y[part]).tolist() == [300, 30]
    np.testing.assert_array_equal(part, sampled(rows, training, 1 / 3, spec))
    assert sampled(rows, training, 1.0, spec) is rows


# ------------------------------------------------------------------ ensembles


def squared(y):
    return lambda output: float(np.mean((output - y) ** 2))


def test_ensemble_cancels_errors_of_opposite_sign():
    y = np.linspace(0, 1, 50)
    weights = select_ensemble([y + 1, y - 1, y + 3], squared(y), 10)
    assert weights.tolist() == [0.5, 0.5, 0]


def test_one_model_that_is_best_has_all_the_weight():
    y = np.linspace(0, 1, 50)
    assert select_ensemble([y + 2, y, y + 1], squared(y), 7).tolist() == [0, 1, 0]
    # Ties go to the first; a loss of NaN is infinite.
    assert select_ensemble([y + 1, y + 1], squared(y), 3).tolist() == [1, 0]
    assert select_ensemble([y * math.nan, y + 1], squared(y), 3).tolist() == [0, 1]


def test_selected_ensemble_is_no_worse_than_the_best_model_on_its_rows():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    outputs = [y + rng.normal(size=200) for _ in range(5)]
    loss = squared(y)
    weights = select_ensemble(outputs, loss, 25)
    assert weights.sum() == pytest.approx(1)
    assert loss(np.tensordot(weights, outputs, 1)) < 0.5 * min(map(loss, outputs))


def test_ensembled_trial_averages_models_trained_on_all_rows():
    X, y = wavy()
    configurations = [{"max_depth": 2}, {"max_depth": 4}, {"max_depth": -5}]
    adapter = fitted(tuned(tree, configurations, more={"ensemble": 25}), X, y)
    facts = adapter.facts()
    weights = dict(facts["weights"])
    assert set(weights) == {0, 1}
    assert facts["chosen"] == max(weights, key=weights.get)
    assert facts["losses"][2] is None
    expected = sum(
        weight * DecisionTreeRegressor(random_state=0, **configurations[i]).fit(X, y).predict(X)
        for i, weight in weights.items()
    )
    np.testing.assert_allclose(adapter.predict(X), expected, rtol=1e-12)
    np.testing.assert_allclose(adapter.predict_one(X[:1]), expected[:1], rtol=1e-12)
    assert not hasattr(adapter, "export_trees")
    again = pickle.loads(pickle.dumps(adapter))
    np.testing.assert_array_equal(again.predict(X), adapter.predict(X))


def test_ensembled_probabilities_sum_to_one():
    X, y = wavy()
    labels = (y > 0).astype(np.int64)
    configurations = [{"max_depth": 1}, {"max_depth": 2}, {"max_depth": 5}]
    more = {"ensemble": 10, "halving": 2}
    adapter = tuned(tree, configurations, Task.BINARY, n_classes=2, more=more)
    shares = fitted(adapter, X, labels).predict(X)
    assert shares.shape == (300, 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


# ------------------------------------------------------------------ groups, times and queries


def recorded_search(table, split, task=Task.REGRESSION, **search):
    """Return the rows of a split and the rows that each fit and prediction of a search saw."""
    configurations = [{}, {"strategy": "median"}]
    params = {TUNE: {"configurations": configurations, "inner_folds": 3, **search}}
    trial = Trial("tree", params, "native", "d", split, 0, 1, "c", "t", task)
    rows = prepared_trial.split_table(trial, table)
    taken = prepared_trial.prepare_trial(trial, table, rows)
    taken.algorithm = Algorithm(
        "tree", estimator_adapter(lambda spec: Recording(**spec.params)), ALL_TASKS
    )
    taken.drop()
    SEEN.clear()
    taken.adapter.fit(taken.adapter.prepare(*taken.train))
    calls = [seen.astype(int) for seen in SEEN]
    return rows, calls, taken.adapter


def numbered(n=120, **of_rows):
    return Table(pd.DataFrame({"row": np.arange(float(n))}), np.arange(float(n)) % 7, **of_rows)


def test_inner_folds_do_not_divide_groups():
    group = np.random.default_rng(0).permutation(np.arange(120) % 12)
    rows, calls, _ = recorded_search(numbered(group=group), Split(folds=3, fold=1))
    for fit, held in zip(calls[0:12:2], calls[1:12:2], strict=True):
        assert not set(group[fit]) & set(group[held])
        assert set(fit) | set(held) == set(rows.train)


def test_inner_folds_of_an_ordered_split_train_on_earlier_rows():
    order = np.random.default_rng(0).permutation(120)
    split = Split("ordered", folds=2, fold=1)
    rows, calls, adapter = recorded_search(numbered(order=order), split, ensemble=3)
    for fit, held in zip(calls[0:12:2], calls[1:12:2], strict=True):
        assert order[fit].max() < order[held].min()
    first = order[rows.train] < np.sort(order[rows.train])[len(rows.train) // 4]
    np.testing.assert_array_equal(adapter.folds == -1, first)
    kept = adapter.held_out(np.zeros(len(rows.train)))
    np.testing.assert_array_equal(np.isnan(kept["output"]), np.tile(first, (2, 1)))
    assert sum(adapter.weights.values()) == pytest.approx(1.0)


def test_times_do_not_count_in_splits_that_ignore_them():
    table = numbered(order=np.arange(120))
    rows, calls, _ = recorded_search(table, Split(folds=3, fold=1))
    for fit, held in zip(calls[0:12:2], calls[1:12:2], strict=True):
        assert set(fit) | set(held) == set(rows.train)


def test_too_few_groups_for_the_inner_folds_are_named():
    group = np.arange(120) // 40
    with pytest.raises(DataError, match=r"tuning.inner_folds = 3, .*2 groups cannot be divided"):
        recorded_search(numbered(group=group), Split(folds=3, fold=1))


class Scores(DummyRegressor):
    """A ranker: its first column is the score; it records the sizes of the queries."""

    def fit(self, X, y, group=None):
        SEEN.append(np.asarray(group))
        assert np.sum(group) == len(y)
        return super().fit(X, y)

    def predict(self, X):
        return np.asarray(X)[:, 0] * (1 if self.strategy == "mean" else -1)


@pytest.mark.parametrize("search", [{}, {"halving": 2}])
def test_search_of_a_ranking_keeps_queries_whole_and_chooses_by_ndcg(search):
    n = 1000
    grade = np.random.default_rng(0).integers(0, 4, n).astype(float)
    table = Table(pd.DataFrame({"x": grade}), grade, group=np.repeat(np.arange(n // 10), 10))
    params = {
        TUNE: {
            "configurations": [{"strategy": "median"}, {"strategy": "mean"}],
            "inner_folds": 2,
            **search,
        }
    }
    split = Split(folds=4)
    trial = Trial("tree", params, "native", "d", split, 0, 1, "c", "t", Task.RANKING)
    taken = prepared_trial.prepare_trial(trial, table, prepared_trial.split_table(trial, table))
    taken.algorithm = Algorithm(
        "tree", estimator_adapter(lambda spec: Scores(**spec.params)), ALL_TASKS
    )
    taken.drop()
    SEEN.clear()
    taken.adapter.fit(taken.adapter.prepare(*taken.train))
    assert all((sizes == 10).all() for sizes in SEEN)
    assert taken.adapter.chosen == 1
    assert taken.adapter.losses[1] == pytest.approx(0.0, abs=1e-12)
    assert taken.adapter.losses[0] > 0.3
