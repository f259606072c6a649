"""Target statistics are computed out of fold."""

import numpy as np
import pytest

from algorithms.estimator.target_statistics import TargetStatistics

PRIOR = 2.0


@pytest.fixture
def table():
    """Return codes with missing values, targets, weights and folds."""
    rng = np.random.default_rng(0)
    X = rng.integers(4, size=(40, 2)).astype(float)
    X[::9, 1] = np.nan
    return X, rng.normal(size=(40, 1)), rng.uniform(0.5, 2.0, 40), np.arange(40) % 3


def expected_statistic(table, row, column):
    """Return the statistic of a training row by its formula, without vectors."""
    X, targets, weight, fold = table
    mean = np.average(targets[:, 0], weights=weight)
    same = [
        i
        for i in range(len(X))
        if fold[i] != fold[row] and str(X[i, column]) == str(X[row, column])
    ]
    total = sum(weight[i] * targets[i, 0] for i in same)
    return (total + PRIOR * mean) / (sum(weight[i] for i in same) + PRIOR)


def test_statistics_follow_the_formula(table):
    X, targets, weight, fold = table
    extra = TargetStatistics(PRIOR).fit(X, [1], targets, weight, fold)
    assert extra.shape == (40, 2)
    for row in range(40):
        assert extra[row, 0] == pytest.approx(expected_statistic(table, row, 1))


def test_no_row_enters_its_own_statistic(table):
    X, targets, weight, fold = table
    before = TargetStatistics(PRIOR).fit(X, [0, 1], targets - targets.mean(), weight, fold)
    changed = targets.copy()
    changed[fold == 1] = targets[fold == 1][::-1]  # the overall mean of equal weights stays
    equal = np.ones(40)
    first = TargetStatistics(PRIOR).fit(X, [0], targets, equal, fold)
    second = TargetStatistics(PRIOR).fit(X, [0], changed, equal, fold)
    np.testing.assert_allclose(first[fold == 1], second[fold == 1])
    assert not np.allclose(first[fold == 0], second[fold == 0])
    assert before.shape == (40, 4)


def test_new_rows_use_all_training_rows_and_unknown_categories_the_mean(table):
    X, targets, _, fold = table
    statistics = TargetStatistics(PRIOR)
    statistics.fit(X, [0], targets, None, fold)
    new = np.array([[2.0, 0.0], [77.0, 0.0], [np.nan, 0.0], [1.5, 0.0]])
    found = statistics.transform(new)
    own = targets[X[:, 0] == 2.0, 0]
    mean = targets.mean()
    assert found[0] == pytest.approx([(own.sum() + PRIOR * mean) / (len(own) + PRIOR), len(own)])
    np.testing.assert_allclose(found[1:], [[mean, 0.0]] * 3)
