"""Tests of metrics, against scikit-learn, and of undefined cases."""

import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as oracle

from harness.core.model import Predicted, Task
from harness.plugins import metrics
from harness.plugins.registry import load_registry


def classification(seed, classes, weighted, n=60):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    output = np.round(rng.dirichlet(np.ones(classes), n), 2)  # ties among the scores
    output += 0.01  # scikit-learn clips zeros elsewhere
    output /= output.sum(axis=1, keepdims=True)
    weight = rng.uniform(0.1, 3, n) if weighted else None
    return Predicted(y, output, weight, 1.0)


def regression(seed, weighted, n=60):
    rng = np.random.default_rng(seed)
    y = rng.normal(5, 2, n)
    weight = rng.uniform(0.1, 3, n) if weighted else None
    return Predicted(y, y + rng.normal(0, 1, n), weight, 2.0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_classification_metrics_equal_scikit_learn(classes, weighted):
    p = classification(classes, classes, weighted)
    given = {"sample_weight": p.weight}
    labels = np.arange(classes)
    assert metrics.log_loss(p) == pytest.approx(
        oracle.log_loss(p.y, p.output, labels=labels, **given), abs=1e-12
    )
    assert metrics.error(p) == pytest.approx(
        oracle.zero_one_loss(p.y, p.output.argmax(axis=1), **given), abs=1e-12
    )
    assert metrics.brier(p) == pytest.approx(
        oracle.brier_score_loss(p.y, p.output, labels=labels, scale_by_half=False, **given),
        abs=1e-12,
    )
    score = p.output[:, 1] if classes == 2 else p.output
    assert metrics.auc(p) == pytest.approx(
        oracle.roc_auc_score(p.y, score, multi_class="ovr", **given), abs=1e-12
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_regression_metrics_equal_scikit_learn(weighted):
    p = regression(0, weighted)
    given = {"sample_weight": p.weight}
    rmse = oracle.root_mean_squared_error(p.y, p.output, **given)
    assert metrics.rmse_sd(p) == pytest.approx(rmse / 2.0, abs=1e-12)
    assert metrics.mae(p) == pytest.approx(
        oracle.mean_absolute_error(p.y, p.output, **given), abs=1e-12
    )
    assert metrics.r2(p) == pytest.approx(oracle.r2_score(p.y, p.output, **given), abs=1e-12)


@given(st.integers(0, 10_000), st.integers(2, 4))
def test_integer_weights_equal_repeated_rows(seed, classes):
    p = classification(seed, classes, weighted=False, n=20)
    times = np.random.default_rng(seed).integers(0, 4, 20)
    times[:classes] += 1
    repeated = Predicted(np.repeat(p.y, times), np.repeat(p.output, times, axis=0), None, 1.0)
    weighted = Predicted(p.y, p.output, times.astype(float), 1.0)
    for score in (metrics.log_loss, metrics.error, metrics.brier, metrics.auc):
        assert score(weighted) == pytest.approx(score(repeated), abs=1e-12, nan_ok=True)


def test_labels_only_get_the_clipped_loss():
    p = Predicted(np.array([0, 1, 1, 1]), np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]]), None, 1.0)
    assert metrics.log_loss(p) == pytest.approx(-math.log(1e-15) / 4)
    assert metrics.error(p) == 0.25


def test_probabilities_that_do_not_sum_to_one_gain_nothing():
    honest = classification(1, 3, weighted=False)
    inflated = Predicted(honest.y, honest.output * 5, None, 1.0)
    assert metrics.log_loss(inflated) == pytest.approx(metrics.log_loss(honest), abs=1e-12)


def test_undefined_is_nan_without_a_warning():
    one_class = Predicted(np.zeros(4, dtype=int), np.full((4, 2), 0.5), None, 1.0)
    constant = Predicted(np.ones(4), np.arange(4.0), None, 0.0)
    tenths = Predicted(np.full(3, 0.1), np.arange(3.0), None, 0.0)  # their mean is not 0.1
    broken = Predicted(np.array([0, 1]), np.array([[0.5, 0.5], [np.nan, 0.5]]), None, 1.0)
    empty_row = Predicted(np.array([0, 1]), np.array([[0.5, 0.5], [0.0, 0.0]]), None, 1.0)
    weightless = Predicted(np.array([0, 1]), np.full((2, 2), 0.5), np.zeros(2), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isnan(metrics.auc(one_class))
        assert math.isnan(metrics.r2(constant))
        assert math.isnan(metrics.r2(tenths))
        assert math.isnan(metrics.rmse_sd(constant))
        for score in (metrics.log_loss, metrics.error, metrics.brier, metrics.auc):
            assert math.isnan(score(broken))
        assert math.isnan(metrics.log_loss(empty_row))
        assert math.isnan(metrics.error(weightless))


def test_class_without_test_rows_is_left_out_of_mean_auc():
    p = classification(2, 3, weighted=False)
    without = p.y != 2
    subset = Predicted(p.y[without], p.output[without], None, 1.0)
    areas = [oracle.roc_auc_score(subset.y == k, subset.output[:, k]) for k in (0, 1)]
    assert metrics.auc(subset) == pytest.approx(np.mean(areas))


def test_each_task_has_one_primary_metric_and_it_is_a_loss_except_for_rankings():
    registered = load_registry(modules=["harness.plugins.metrics"]).all("metric")
    for task in Task:
        primary = [m for m in registered if m.primary and task in m.tasks]
        assert [m.lower_is_better for m in primary] == [task is not Task.RANKING], task
    assert all(m.summary for m in registered)


def test_declaring_metrics_imports_no_scikit_learn():
    code = "import sys, harness.plugins.metrics; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
