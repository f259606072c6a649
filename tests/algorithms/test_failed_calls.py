"""Tests that a failed or interrupted `fit` or `load_model` leaves the estimator unchanged."""

import inspect
import sys
from copy import copy, deepcopy
from pathlib import Path

import numpy as np
import pytest
from estimator_cases import (
    LOCAL,
    ROWS,
    assert_same_predictions,
    assert_same_state,
    predictions,
    small,
    state_of,
    table,
)

import algorithms
from algorithms import (
    DaskHistogramBoostingRegressor,
    DecisionTreeClassifier,
    GradientBoostingRegressor,
    HistogramBoostingRegressor,
    NewtonBoostingRegressor,
)
from harness.core.errors import HarnessError

PACKAGE = str(Path(algorithms.__file__).parent)
BOOSTERS = [name for name in LOCAL if name.startswith(("Newton", "Histogram"))]
WARM = [
    name for name in LOCAL if name.startswith(("Bagging", "RandomForest", "GradientB", "NewtonB"))
]
POINTS = 12  # calls of a fit at which it is interrupted


class InterruptAt:
    """Context that raises KeyboardInterrupt at the n-th package call in this thread."""

    def __init__(self, n=0):
        self.n, self.calls = n, 0

    def __call__(self, frame, event, _):
        code = frame.f_code  # exceptions in a closing generator are lost
        is_plain = not code.co_flags & inspect.CO_GENERATOR
        if event == "call" and is_plain and code.co_filename.startswith(PACKAGE):
            self.calls += 1
            if self.calls == self.n:
                raise KeyboardInterrupt

    def run(self, call):
        """Call a function; return True if it was interrupted."""
        sys.setprofile(self)
        try:
            call()
        except KeyboardInterrupt:
            return True
        finally:
            sys.setprofile(None)
        return False


def points_of(call):
    """Return call numbers spread over the calls that a function makes when it runs again.

    Not the last ones: later runs need a few calls less, as trees keep what is made of them.
    """
    call()
    counter = InterruptAt()
    counter.run(call)
    return np.unique(np.linspace(1, 0.9 * counter.calls, POINTS, dtype=int)).tolist()


def bad_calls(name):
    """Return invalid arguments of `fit`: dict, name of the fault → (X, y, keywords, params)."""
    X, y = table(name, seed=1, columns=2, labels=("c", "d", "e"))
    infinite, cube = X.copy(), X.reshape(ROWS, 2, 1)
    infinite[3, 0] = np.inf
    missing = np.full(ROWS, np.nan)
    cases = {
        "short y": (X, y[:-1], {}, {}),
        "missing y": (X, missing, {}, {}),
        "y of two columns": (X, np.column_stack([missing, missing]), {}, {}),
        "cube": (cube, y, {}, {}),
        "text": (np.full((ROWS, 2), "x"), y, {}, {}),
        "no rows": (X[:0], y[:0], {}, {}),
        "infinite X": (infinite, y, {}, {}),
        "missing weights": (X, y, {"sample_weight": missing}, {}),
        "short weights": (X, y, {"sample_weight": np.ones(ROWS - 1)}, {}),
        "text weights": (X, y, {"sample_weight": ["heavy"] * ROWS}, {}),
    }
    params = {
        "Voting": {"weights": [1]},
        "Stacking": {"cv": "none"},
        "DecisionTree": {"max_depth": -1},
        "Boosting": {"effort": -1.0},
        "HistGradientBoosting": {"max_iter": -1},
    }
    family = name.removesuffix("Classifier").removesuffix("Regressor")
    cases["parameter"] = X, y, {}, params.get(family, {"n_estimators": -1})
    if family == "HistGradientBoosting":
        del cases["infinite X"]  # allowed, as in scikit-learn
    if "estimators" in small(name).get_params(deep=False):
        cases["member"] = X, y, {}, {"tree__max_depth": -1}
    return cases


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("name", LOCAL)
def test_refused_fit_keeps_the_earlier_model(name):
    X, y = table(name)
    for other, target, keywords, params in bad_calls(name).values():
        model = small(name).fit(X, y)
        expected = predictions(model, X)
        model.set_params(**params)
        before = state_of(model)
        with pytest.raises((ValueError, TypeError)):
            model.fit(other, target, **keywords)
        assert_same_state(model, before)
        assert_same_predictions(predictions(model, X), expected)
        for method in ("predict", "predict_proba"):
            if hasattr(model, method):
                with pytest.raises(ValueError, match="features"):
                    getattr(model, method)(X[:, :2])


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("name", LOCAL)
def test_refused_first_fit_leaves_the_estimator_unfitted(name):
    for other, target, keywords, params in bad_calls(name).values():
        model = small(name).set_params(**params)
        before = state_of(model)
        with pytest.raises((ValueError, TypeError)):
            model.fit(other, target, **keywords)
        assert_same_state(model, before)


@pytest.mark.parametrize("name", LOCAL)
def test_interrupted_fit_keeps_the_earlier_model(name):
    X, y = table(name)
    other, target = table(name, seed=1, columns=2, labels=("c", "d", "e"))
    model = small(name).fit(X, y)
    expected, before = predictions(model, X), state_of(model)
    for n in points_of(lambda: copy(model).fit(other, target)):
        assert InterruptAt(n).run(lambda: model.fit(other, target))
        assert_same_state(model, before)
        assert_same_predictions(predictions(model, X), expected)


@pytest.mark.parametrize("name", WARM)
def test_interrupted_warm_start_keeps_the_earlier_members(name):
    X, y = table(name)
    sampling = {"subsample": 0.5} if "Boosting" in name else {}

    def grown():
        generator = np.random.RandomState(0)
        model = small(name, warm_start=True, random_state=generator, **sampling).fit(X, y)
        return model.set_params(n_estimators=6)

    expected = predictions(grown().fit(X, y), X)
    model = grown()
    before = state_of(model)
    copies = iter([deepcopy(model), deepcopy(model)])
    for n in points_of(lambda: next(copies).fit(X, y)):
        assert InterruptAt(n).run(lambda: model.fit(X, y))
        assert_same_state(model, before)
    assert_same_predictions(predictions(model.fit(X, y), X), expected)


def stop(*_, **__):
    """Interrupt the training, as a callback, an objective or a metric."""
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("kind", "params", "keywords"),
    [
        (GradientBoostingRegressor, {}, {"monitor": stop}),
        (HistogramBoostingRegressor, {"objective": stop}, {}),
        (HistogramBoostingRegressor, {}, {"eval_metric": stop}),
        (NewtonBoostingRegressor, {"objective": stop}, {}),
        (NewtonBoostingRegressor, {"eval_metric": stop}, {}),
    ],
)
def test_interrupt_in_a_user_function_keeps_the_earlier_model(kind, params, keywords):
    X, y = table(kind.__name__)
    other, target = table(kind.__name__, seed=1, columns=2)
    model = kind(n_estimators=3, random_state=0).fit(X, y)
    expected = predictions(model, X)
    model.set_params(**params)
    before = state_of(model)
    watched = {} if kind is GradientBoostingRegressor else {"eval_set": [(other, target)]}
    with pytest.raises(KeyboardInterrupt):
        model.fit(other, target, **keywords, **watched)
    assert_same_state(model, before)
    assert_same_predictions(predictions(model, X), expected)


class FailsLater(DecisionTreeClassifier):
    """A member whose second training in a process fails."""

    trained = 0

    def fit(self, X, y, sample_weight=None):
        """Train, or fail."""
        type(self).trained += 1
        if type(self).trained % 2 == 0:
            raise MemoryError
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("name", ["BaggingClassifier", "AdaBoostClassifier"])
def test_failed_member_keeps_the_earlier_ensemble(name):
    X, y = table(name)
    model = small(name).fit(X, y)
    expected = predictions(model, X)
    model.set_params(estimator=FailsLater(max_depth=1))
    before = state_of(model)
    with pytest.raises(MemoryError):
        model.fit(X[:, :2], y)
    assert_same_state(model, before)
    assert_same_predictions(predictions(model, X), expected)


@pytest.fixture
def saved(tmp_path):
    """Return a function: name of a booster, format → file of a model of another table."""

    def write(name, form):
        path = tmp_path / f"{name}.{form}"
        X, y = table(name, seed=1, columns=2, labels=("c", "d", "e"))
        small(name, n_estimators=2).fit(X, y).save_model(path, format=form)
        return path

    return write


@pytest.mark.parametrize("form", ["harness", "xgboost", "lightgbm"])
@pytest.mark.parametrize("name", BOOSTERS)
def test_damaged_file_keeps_the_earlier_model(name, form, saved):
    X, y = table(name)
    path = saved(name, form)
    whole = path.read_bytes()
    model = small(name).fit(X, y)
    expected, before = predictions(model, X), state_of(model)
    middle = len(whole) // 2
    needed = b"split_conditions" if form == "xgboost" else b"threshold"
    damaged = [b"", whole[:middle], whole.replace(needed, b"unknown")]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"\w"):
            model.load_model(path)
        assert_same_state(model, before)
    other = name.replace("Classifier", "?").replace("Regressor", "Classifier")
    with pytest.raises(ValueError, match="cannot load it"):
        model.load_model(saved(other.replace("?", "Regressor"), form))
    assert_same_state(model, before)
    assert_same_predictions(predictions(model, X), expected)


@pytest.mark.parametrize("form", ["harness", "xgboost", "lightgbm"])
@pytest.mark.parametrize("name", BOOSTERS)
def test_interrupted_load_keeps_the_earlier_model(name, form, saved):
    X, y = table(name)
    if name.startswith("Newton") and form == "lightgbm":
        name = name.replace("Newton", "Histogram")  # the only booster that reads this form
    path = saved(name, form)
    model = small(name).fit(X, y)
    expected, before = predictions(model, X), state_of(model)
    for n in points_of(lambda: copy(model).load_model(path)):
        assert InterruptAt(n).run(lambda: model.load_model(path))
        assert_same_state(model, before)
    assert_same_predictions(predictions(model, X), expected)


def test_failed_dask_fit_keeps_the_earlier_model_and_resume_state(monkeypatch):
    X, y = table("DaskHistogramBoostingRegressor")
    local = small("HistogramBoostingRegressor").fit(X, y)
    model = DaskHistogramBoostingRegressor(n_estimators=3, min_child_samples=2, random_state=0)
    fitted = {n: v for n, v in vars(local).items() if n not in model.get_params()}
    vars(model).update(fitted)

    def lose_a_worker(self):
        self.n_features_in_, self._unfinished = 2, "three rounds"
        raise RuntimeError

    monkeypatch.setattr(DaskHistogramBoostingRegressor, "_client", lose_a_worker)
    before = dict(vars(model))
    with pytest.raises(RuntimeError):
        model.fit(X[:, :2], y)
    assert vars(model) == before | {"_unfinished": "three rounds"}


@pytest.mark.parametrize("name", [n for n in LOCAL if not n.startswith(("Voting", "Stacking"))])
def test_predictors_refuse_rows_with_another_number_of_columns(name):
    """This holds also if an attribute of the estimator claims that width."""
    X, y = table(name)
    for width in (2, 9):
        model = small(name).fit(X, y)
        model.n_features_in_ = width
        rows = np.zeros((300, width))
        for method in ("predict", "predict_proba", "decision_function", "apply"):
            if hasattr(model, method):
                with pytest.raises((ValueError, HarnessError), match=r"features|columns"):
                    getattr(model, method)(rows)
        with pytest.raises(ValueError, match=r"features"):
            model.predict(rows[:1])
