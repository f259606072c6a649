"""Tests of trees, forests and bags with several outputs, against scikit-learn."""

import numpy as np
import pytest
from columns import seeds, table
from hypothesis import given
from hypothesis import strategies as st
from parity_sklearn import KINDS_AND_CRITERIA, LIMITS, WEIGHTS, fit_both, weights_of
from scipy import sparse
from sklearn import ensemble, tree
from sklearn.exceptions import DataConversionWarning
from sktrees import difference

from algorithms import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

FOREST = {"n_estimators": 5, "random_state": 3}


def outputs_of(rng, X, kind, criterion="", k=3):
    """Return class codes or values (n_rows, k), each in part a function of a column of X."""
    n, columns = len(X), np.nan_to_num(X[:, rng.integers(0, X.shape[1], k)])
    if kind is DecisionTreeClassifier:
        n_classes = rng.choice([1, 2, 3, 7], k)
        codes = np.where(rng.random((n, k)) < 0.5, columns * 3, rng.integers(0, 9, (n, k)))
        return codes.astype(np.int64) % n_classes
    if criterion == "poisson":
        return rng.poisson(np.minimum(np.abs(columns), 5) + 0.2) + np.arange(n)[:, None] % 2.0
    return np.round(rng.normal(size=(n, k)) + columns, rng.choice([0, 1, 15]))


@given(
    seed=seeds,
    how=st.sampled_from(KINDS_AND_CRITERIA),
    limits=LIMITS,
    weights=WEIGHTS,
    splitter=st.sampled_from(["best", "best", "random"]),
    n=st.integers(2, 120),
)
def test_trees_equal_scikit_learn_bitwise(seed, how, limits, weights, splitter, n):
    kind, criterion = how
    rng = np.random.default_rng(seed)
    X = table(rng, n, int(rng.integers(1, 6)), missing=rng.choice([0.0, 0.3]))
    y = outputs_of(rng, X, kind, criterion, k=int(rng.integers(2, 5)))
    params = {"criterion": criterion, "splitter": splitter, **limits}
    if kind is DecisionTreeClassifier and rng.random() < 0.3:
        params["class_weight"] = "balanced"
    weight = weights_of(rng, weights, n)
    ours, theirs = fit_both(kind, X, y, weight, **params)
    assert difference(ours, theirs) == ""
    assert (ours.n_outputs_, np.ndim(ours.predict(X))) == (y.shape[1], 2)
    new = table(rng, 20, X.shape[1], missing=0.3)
    assert np.array_equal(ours.predict(new), theirs.predict(new))
    if weights == "unit":  # others are rescaled in default mode
        plain = kind(**params).fit(X, y)
        assert np.array_equal(plain.predict(new), theirs.predict(new))


def test_labels_probabilities_and_scores_are_those_of_each_output():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.column_stack([np.where(X[:, 0] > 0, "yes", "no"), rng.choice(["a", "b", "c"], 90)])
    both = [kind(random_state=0).fit(X[:60], y[:60]) for kind in PAIRS[0]]
    for ours, theirs in [both, [kind(**FOREST).fit(X[:60], y[:60]) for kind in PAIRS[1]]]:
        assert [labels.tolist() for labels in ours.classes_] == [["no", "yes"], ["a", "b", "c"]]
        assert list(ours.n_classes_) == [2, 3]
        assert np.array_equal(ours.predict(X), theirs.predict(X))
        for method in ("predict_proba", "predict_log_proba"):
            with np.errstate(divide="ignore"):
                pairs = zip(getattr(ours, method)(X), getattr(theirs, method)(X), strict=True)
            assert all(np.array_equal(a, b) for a, b in pairs)
        assert np.array_equal(ours.feature_importances_, theirs.feature_importances_)
        leaves = ours.ensemble_.predict(X)  # shares of the first output, padded, then the second
        assert np.array_equal(leaves[:, :2], ours.predict_proba(X)[0])
        assert np.array_equal(leaves[:, 3:], ours.predict_proba(X)[1])
    assert "class: [no, " in both[0].export_text()


PAIRS = [
    (DecisionTreeClassifier, tree.DecisionTreeClassifier),
    (RandomForestClassifier, ensemble.RandomForestClassifier),
]


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")  # equal in both
@pytest.mark.parametrize("parity", [None, "scikit-learn"])
@pytest.mark.parametrize("class_weight", [None, "balanced", "balanced_subsample", "each"])
def test_forests_equal_scikit_learn(parity, class_weight):
    rng = np.random.default_rng(1)
    X = table(rng, 80, 4, missing=0.1)
    y = (np.nan_to_num(X[:, :3]) + rng.normal(size=(80, 3)) > 0).astype(int)
    if class_weight == "each":
        class_weight = [{0: 1.0, 1: 2.0}, {0: 0.5, 1: 1.0}, {0: 1.0, 1: 1.0}]
    params = {**FOREST, "class_weight": class_weight, "oob_score": True, "n_estimators": 20}
    ours = RandomForestClassifier(parity=parity, **params).fit(X, y)
    theirs = ensemble.RandomForestClassifier(**params).fit(X, y)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert np.array_equal(ours.oob_decision_function_, theirs.oob_decision_function_)
    assert ours.oob_score_ == theirs.oob_score_
    values = outputs_of(rng, X, DecisionTreeRegressor)
    params.pop("class_weight")
    ours = RandomForestRegressor(parity=parity, **params).fit(X, values)
    theirs = ensemble.RandomForestRegressor(**params).fit(X, values)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert np.array_equal(ours.oob_prediction_, theirs.oob_prediction_)
    assert (ours.oob_score_, ours.score(X, values)) == (theirs.oob_score_, theirs.score(X, values))
    assert ours.ensemble_.predict(X) == pytest.approx(ours.predict(X), abs=1e-12)


def test_bags_of_regressors_take_several_outputs():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=(80, 2))
    params = {**FOREST, "max_features": 2, "n_estimators": 20}
    ours = BaggingRegressor(oob_score=True, **params).fit(X, y)
    theirs = ensemble.BaggingRegressor(tree.DecisionTreeRegressor(), **params).fit(X, y)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    any_model = BaggingRegressor(tree.DecisionTreeRegressor(), oob_score=True, **params).fit(X, y)
    assert any_model.predict(X) == pytest.approx(ours.predict(X), abs=1e-12)
    assert any_model.oob_prediction_ == pytest.approx(ours.oob_prediction_, abs=1e-12)
    assert ours.oob_prediction_.shape == (80, 2)
    with pytest.raises(ValueError, match="1d array"):
        BaggingClassifier().fit(X, y > 0)


def test_outputs_far_from_zero_and_of_small_units_are_split():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 2))
    y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.5, np.zeros(100)])
    plain = DecisionTreeRegressor().fit(X, y)
    shift = np.array([1e6, 0.0, 1e9])
    scaled = DecisionTreeRegressor().fit(X, y * 1e-8 + shift)
    assert scaled.get_n_leaves() == plain.get_n_leaves() == 4
    assert scaled.predict(X)[:, 1] == pytest.approx(y[:, 1] * 1e-8, abs=1e-16)
    assert np.array_equal(scaled.predict(X)[:, 2], np.full(100, 1e9))


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, RandomForestClassifier])
def test_one_column_is_one_output_and_what_needs_one_output_is_refused(kind):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, (40, 2))
    forest = kind is RandomForestClassifier
    if forest:
        with pytest.warns(DataConversionWarning):
            one = kind(n_estimators=3).fit(X, y[:, :1])
    else:
        one = kind().fit(X, y[:, :1])
    assert (one.n_outputs_, one.predict(X).shape, one.predict_proba(X).shape) == (1, (40,), (40, 2))
    for params, message in (
        ({"monotonic_cst": [1, 0]}, "not supported with multiple outputs"),
        ({"criterion": "gain_ratio"}, "one output"),
        ({"class_weight": {0: 1, 1: 2}}, "should be a list of dicts"),
    ):
        with pytest.raises(ValueError, match=message):
            kind(**params).fit(X, y)
    with pytest.raises((TypeError, ValueError), match="sparse"):
        kind().fit(X, sparse.csr_array(y))
    if forest:
        with pytest.raises(ValueError, match="multiclass-multioutput"):
            kind(oob_score=True).fit(X, rng.integers(0, 3, (40, 2)))
    else:
        with pytest.raises(ValueError, match="needs a target with one output"):
            kind(categorical_features=[0]).fit(X, y)
        with pytest.raises(ValueError, match="a tree of one output"):
            kind().fit(X, y).prune_by_error(X, y)


def test_fitting_again_with_one_output_sorts_once_as_before():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    again = DecisionTreeRegressor(random_state=0).fit(X, y).fit(X, y[:, 0])
    assert difference(again, DecisionTreeRegressor(random_state=0).fit(X, y[:, 0])) == ""
    assert again.n_outputs_ == 1


def test_pickles_of_another_byte_order_are_read():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    model = DecisionTreeRegressor(random_state=0).fit(X, y)
    state = model.tree_.__getstate__()
    for name in ("nodes", "values"):
        state[name] = state[name].byteswap().view(state[name].dtype.newbyteorder())
    read = object.__new__(type(model.tree_))
    read.__setstate__(state)
    assert np.array_equal(read.predict(np.float32(X)), model.predict(X))
    assert (read.capacity, read.n_outputs) == (model.tree_.node_count, 2)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor, BaggingRegressor])
def test_warm_starts_with_other_outputs_are_refused(kind):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, (40, 2))
    model = kind(n_estimators=2, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=3)
    with pytest.raises(ValueError, match=r"1 output\(s\), and 2"):
        model.fit(X, y[:, 0])
    if kind is RandomForestClassifier:
        with pytest.raises(ValueError, match="the classes 0, 2, and 0, 1"):
            model.fit(X, y * [1, 2])
    whole = kind(n_estimators=3, random_state=0).fit(X, y)
    assert np.array_equal(model.fit(X, y).predict(X), whole.predict(X))
