"""Every estimator of `algorithms` in a small size, and a table for it."""

import joblib
import numpy as np

import algorithms

SIZE = {
    "Bagging": {"n_estimators": 3},
    "RandomForest": {"n_estimators": 3},
    "AdaBoost": {"n_estimators": 3},
    "GradientBoosting": {"n_estimators": 3},
    "NewtonBoosting": {"n_estimators": 3},
    "SymmetricBoosting": {"n_estimators": 3},
    "HistGradientBoosting": {"max_iter": 3, "min_samples_leaf": 2},
    "HistogramBoosting": {"n_estimators": 3, "min_child_samples": 2},
    "Boosting": {"effort": 0.25},
}
LOCAL = [
    name
    for name in algorithms.__all__
    if name.endswith(("Classifier", "Regressor")) and not name.startswith("Dask")
]
ROWS = 60


def small(name, **params):
    """Return a small estimator by name, with a fixed seed if it is random."""
    kind = getattr(algorithms, name)
    family = name.removesuffix("Classifier").removesuffix("Regressor")
    if family in ("Voting", "Stacking"):
        suffix = name.removeprefix(family)
        members = [
            ("tree", small(f"DecisionTree{suffix}", max_depth=2)),
            ("boosting", small(f"GradientBoosting{suffix}")),
        ]
        return kind(members, **params)
    return kind(**{"random_state": 0, **SIZE.get(family, {}), **params})


def is_classifier(name):
    """Return True if the estimator of a name predicts classes."""
    return name.endswith("Classifier")


def table(name, seed=0, columns=4, labels=("a", "b")):
    """Return X and y for the estimator of a name."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, columns))
    score = X[:, 0] + X[:, -1] * X[:, 1] + 0.3 * rng.normal(size=ROWS)
    if not is_classifier(name):
        return X, score
    codes = np.digitize(score, np.quantile(score, np.arange(1, len(labels)) / len(labels)))
    return X, np.array(labels)[codes]


def predictions(model, X):
    """Return the results of all prediction methods of a model: dict, method → array."""
    names = ("predict", "predict_proba", "decision_function", "transform", "apply")
    results = {name: getattr(model, name)(X) for name in names if hasattr(model, name)}
    staged = ("staged_predict", "staged_predict_proba")
    results |= {
        name: np.stack(list(getattr(model, name)(X))) for name in staged if hasattr(model, name)
    }
    return results


def assert_same_predictions(result, expected):
    """Assert that two results of `predictions` are bitwise equal."""
    assert result.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(result[name], values, err_msg=name)


def state_of(model):
    """Return the attributes of a model, and a digest of their contents."""
    return dict(vars(model)), joblib.hash(vars(model))


def assert_same_state(model, before):
    """Assert that a model has the same attributes with unchanged contents."""
    attributes, digest = before
    assert vars(model).keys() == attributes.keys()
    assert [n for n, value in attributes.items() if vars(model)[n] is not value] == []
    assert joblib.hash(vars(model)) == digest
