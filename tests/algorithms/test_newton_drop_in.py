"""``NewtonBoosting*`` in the place of XGBoost's estimators: the same calls, the same answers."""

import numpy as np
import pytest
import xgboost

from algorithms import NewtonBoostingClassifier, NewtonBoostingRegressor

CLASSES = (NewtonBoostingClassifier, xgboost.XGBClassifier)
VALUES = (NewtonBoostingRegressor, xgboost.XGBRegressor)


def table(n=300, seed=0):
    """Return X, a noisy signal, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    signal = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n)
    return X, signal, rng.uniform(0.2, 2.0, n)


def twins(kinds, **params):
    """Return our estimator that grows XGBoost's trees, and XGBoost's."""
    return kinds[0](parity="xgboost", **params), kinds[1](n_jobs=1, **params)


# ------------------------------------------------------------------ what is printed


@pytest.mark.parametrize("verbose", [True, 3, 1, False, None])
def test_a_verbose_fit_prints_the_lines_of_xgboost(verbose, capsys):
    X, signal, _ = table()
    y = signal > 0
    asked = {"n_estimators": 9, "early_stopping_rounds": 2, "eval_metric": ["error", "logloss"]}
    printed = []
    for model in twins(CLASSES, **asked):
        tables = [(X[:200], y[:200]), (X[200:], y[200:])]
        model.fit(X[:200], y[:200], eval_set=tables, verbose=verbose)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert bool(printed[0]) == bool(verbose)


def test_a_fit_is_quiet_unless_it_is_asked(capsys):
    X, y, _ = table()
    model = NewtonBoostingRegressor(n_estimators=4).fit(X, y, eval_set=[(X, y)])
    assert capsys.readouterr().out == ""
    model.fit(X, y, verbose=True)  # without tables there is nothing to tell
    assert capsys.readouterr().out == ""
    model.fit(X, y, eval_set=[(X, y)], verbose=2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["[0]", "[2]", "[3]"]
    with pytest.raises(ValueError, match="verbose is a number of rounds"):
        model.fit(X, y, eval_set=[(X, y)], verbose=-1)
