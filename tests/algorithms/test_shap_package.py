"""Tests of contributions against the shap package, for read and for written models.

For models of XGBoost and LightGBM the package calls the library, unless it is configured to use
its own tree walk. Both are tested.
"""

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn import ensemble, tree

from algorithms import (
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    read_model,
)
from algorithms.prediction.shap_values import contributions
from algorithms.reference._export_sklearn import export

TASKS = {"regression": 0, "binary": 2, "multiclass": 3}
ROWS = 300
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:The set_(bad|over|under) function:PendingDeprecationWarning"
    ),
    pytest.mark.filterwarnings("ignore:LightGBM binary classifier with:UserWarning"),
]


@pytest.fixture
def shap():
    """Return the shap package; its import takes two seconds, and matplotlib gives a warning."""
    import shap

    return shap


def table(task, missing=0.1):
    """Return X of float32 and a target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 6)).astype(np.float32)
    y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + rng.normal(size=ROWS)
    X[rng.random(X.shape) < missing] = np.nan
    ends = {"binary": [0.5], "multiclass": [0.0, 2.0]}
    return X, np.digitize(y, ends[task]) if TASKS[task] else y


def estimator(kinds, task, **params):
    """Return the classifier or the regressor of a pair."""
    return kinds[0 if TASKS[task] else 1](**params)


def package_contributions(shap, model, X, *, walks=False):
    """Return the package's contributions, shaped as `contributions`, without and with the base."""
    explainer = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    if walks:
        explainer.model.model_type = "internal"
    values = explainer.shap_values(X, check_additivity=False)  # the package's base may be another
    values = values[:, None] if values.ndim == 2 else values.transpose(0, 2, 1)
    base = np.broadcast_to(explainer.expected_value, values.shape[:2])
    return values, np.concatenate([values, base[:, :, None]], axis=2)


def assert_close(result, expected, digits):
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=digits, atol=digits * np.abs(expected).max())


def assert_agrees(shap, result, model, X, digits):
    """Compare contributions with a library's model, computed by the library and by the package."""
    assert_close(result, package_contributions(shap, model, X)[1], digits)
    # The base is left out: the package reads XGBoost's base score as a rounded text.
    assert_close(result[:, :, :-1], package_contributions(shap, model, X, walks=True)[0], 1e-7)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_xgboost_models(shap, task, missing, tmp_path):
    X, y = table(task, missing)
    kinds = xgboost.XGBClassifier, xgboost.XGBRegressor
    model = estimator(kinds, task, n_estimators=6, max_depth=5, n_jobs=1).fit(X, y)
    model.save_model(tmp_path / "model.json")
    result = contributions(read_model(tmp_path / "model.json"), X)
    assert_agrees(shap, result, model, X, 1e-6)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_lightgbm_models(shap, task, missing, tmp_path):
    X, y = table(task, missing)
    kinds = lightgbm.LGBMClassifier, lightgbm.LGBMRegressor
    model = estimator(kinds, task, n_estimators=6, n_jobs=1, verbose=-1).fit(X, y)
    model.booster_.save_model(tmp_path / "model.txt")
    result = contributions(read_model(tmp_path / "model.txt"), X)
    assert_agrees(shap, result, model, X, 1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    "kinds",
    [
        (tree.DecisionTreeClassifier, tree.DecisionTreeRegressor),
        (ensemble.RandomForestClassifier, ensemble.RandomForestRegressor),
        (ensemble.ExtraTreesClassifier, ensemble.ExtraTreesRegressor),
        (ensemble.HistGradientBoostingClassifier, ensemble.HistGradientBoostingRegressor),
    ],
)
def test_scikit_learn_models(shap, kinds, task, missing):
    X, y = table(task, missing)
    model = estimator(kinds, task, random_state=0)
    rounds = {"max_iter", "n_estimators"} & set(model.get_params())
    model.set_params(**dict.fromkeys(rounds, 6)).fit(X, y)
    assert_close(contributions(export(model), X), package_contributions(shap, model, X)[1], 1e-12)


@pytest.mark.parametrize("task", ["regression", "binary"])  # the package knows no more of them
def test_scikit_learn_gradient_boosting(shap, task):
    X, y = table(task, missing=0.0)
    kinds = ensemble.GradientBoostingClassifier, ensemble.GradientBoostingRegressor
    model = estimator(kinds, task, n_estimators=6, random_state=0).fit(X, y)
    assert_close(contributions(export(model), X), package_contributions(shap, model, X)[1], 1e-12)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("own", [{}, {"tree_method": "exact"}, {"parity": "xgboost"}])
def test_our_newton_boosters_in_xgboost_format(shap, own, task, tmp_path):
    X, y = table(task)
    kinds = NewtonBoostingClassifier, NewtonBoostingRegressor
    model = estimator(kinds, task, n_estimators=6, max_depth=5, random_state=0, **own).fit(X, y)
    model.save_model(tmp_path / "model.json")
    contributions = model.predict_contributions(X).reshape(ROWS, -1, 7)
    assert_agrees(shap, contributions, xgboost.Booster(model_file=tmp_path / "model.json"), X, 2e-6)


@pytest.mark.parametrize("task", TASKS)
def test_our_histogram_boosters_in_lightgbm_format(shap, task, tmp_path):
    X, y = table(task)
    kinds = HistogramBoostingClassifier, HistogramBoostingRegressor
    model = estimator(kinds, task, n_estimators=6, random_state=0).fit(X, y)
    model.save_model(tmp_path / "model.txt")
    contributions = model.predict_contributions(X).reshape(ROWS, -1, 7)
    booster = lightgbm.Booster(model_file=tmp_path / "model.txt")
    if task == "multiclass":  # the package takes the trees of a lone booster for those of one score
        assert_close(contributions, package_contributions(shap, booster, X)[1], 1e-12)
    else:
        assert_agrees(shap, contributions, booster, X, 1e-12)
