"""Comparison of random boosters, and boosters on real tables, with scikit-learn's.

``SOAK_BOOSTERS`` (60) random ones drawn from ``SOAK_SEED`` (1). Real tables are those of the folder
that ``HARNESS_MIRROR`` names, up to ``SOAK_MIRROR_BYTES`` (200 000) each, of which at most
``SOAK_ROWS`` (400) rows are used.
"""

import os

import columns
import numpy as np
import pandas as pd
import pytest
from mirror_tables import mirror_table_names
from sklearn import ensemble

from algorithms import GradientBoostingClassifier, GradientBoostingRegressor
from harness.data import resolve
from harness.data.loading import table_of
from harness.plugins.registry import load_registry

COUNT = int(os.environ.get("SOAK_BOOSTERS", "60"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
ROWS = int(os.environ.get("SOAK_ROWS", "400"))
CHOICES = {
    "max_depth": [1, 2, 3, 6, None],
    "learning_rate": [0.1, 0.7, 1.0],
    "subsample": [1.0, 1.0, 0.6],
    "max_features": [None, None, 1, 0.7],
    "min_samples_leaf": [1, 1, 4, 0.05],
    "max_leaf_nodes": [None, None, 4],
    "min_weight_fraction_leaf": [0.0, 0.0, 0.1],
    "ccp_alpha": [0.0, 0.0, 0.01],
    "init": [None, None, "zero"],
}
REGRESSION = ["squared_error", "absolute_error", "huber", "quantile"]

pytestmark = pytest.mark.slow


def compare(loss, X, y, weight, params):
    """Compare a booster in parity mode with scikit-learn's."""
    regression = loss in REGRESSION
    ours = GradientBoostingRegressor if regression else GradientBoostingClassifier
    theirs = getattr(ensemble, ours.__name__)
    ours, theirs = ours(parity="scikit-learn", loss=loss, **params), theirs(loss=loss, **params)
    both = ours.fit(X, y, weight), theirs.fit(X, y, weight)
    messages = [model.predict(X) if regression else model.decision_function(X) for model in both]
    for a, b in zip(ours.estimators_.ravel(), theirs.estimators_.ravel(), strict=True):
        np.testing.assert_array_equal(a.tree_.feature, b.tree_.feature)
        np.testing.assert_array_equal(a.tree_.threshold, b.tree_.threshold)
    np.testing.assert_allclose(
        *messages, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(messages[1]).max())
    )


@pytest.mark.parametrize("number", range(COUNT))
def test_random_boosters_equal_scikit_learn(number):
    rng = np.random.default_rng([SEED, number])
    n = int(rng.integers(20, 300))
    X = columns.table(rng, n, int(rng.integers(1, 6)))
    loss = [*REGRESSION, "log_loss", "log_loss", "exponential"][number % 7]
    score = np.nan_to_num(X[:, 0]) / (np.abs(X[:, 0]).max() or 1.0) + rng.normal(size=n)
    k = 2 if loss == "exponential" else int(rng.integers(2, 5))
    y = score if loss in REGRESSION else np.digitize(score, np.quantile(score, np.arange(1, k) / k))
    weight = rng.uniform(0.1, 2.0, n) if rng.random() < 0.5 else None
    params = {name: given[rng.integers(len(given))] for name, given in CHOICES.items()}
    compare(loss, X, y, weight, {"n_estimators": 6, "random_state": number, **params})


@pytest.mark.parametrize("name", mirror_table_names())
def test_real_tables_boosters_equal_scikit_learn(name):
    table = table_of(resolve(name, load_registry()))
    X = table.X.apply(lambda c: c.cat.codes if isinstance(c.dtype, pd.CategoricalDtype) else c)
    X = np.nan_to_num(X.to_numpy(np.float64), nan=-1.0)
    rows = np.random.default_rng(SEED).permutation(len(X))[:ROWS]
    X, y = X[rows], np.asarray(table.y)[rows]
    losses = ["log_loss"] if table.classes else REGRESSION
    for loss in losses:
        for params in ({}, {"subsample": 0.7, "max_features": "sqrt"}):
            compare(loss, X, y, None, {"n_estimators": 5, "random_state": SEED, **params})
