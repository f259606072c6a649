"""Tests of the hyperparameter search of a tuned trial: inside ``fit``, on training rows only."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.dummy import DummyRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from harness import estimator_adapter
from harness.config.search_space import TUNE
from harness.core.model import ALL_TASKS, Algorithm, Spec, Split, Table, Task, Trial
from harness.worker import prepared_trial
from harness.worker.tuning import build_adapter, inner_folds

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


def tuned(build, configurations, task=Task.REGRESSION, folds=3, **spec):
    params = {TUNE: {"configurations": configurations, "inner_folds": folds}}
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
