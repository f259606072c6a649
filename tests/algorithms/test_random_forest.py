import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from columns import seeds, table
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn import datasets, ensemble
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from sktrees import difference

from algorithms import RandomForestClassifier, RandomForestRegressor
from algorithms.trees import tree_batch

BOTH = [RandomForestClassifier, RandomForestRegressor]
REFERENCE = {
    RandomForestClassifier: ensemble.RandomForestClassifier,
    RandomForestRegressor: ensemble.RandomForestRegressor,
}
UNEQUAL = (
    "max_samples=None draws as many rows as "
    "there are, whatever they weigh; scikit-learn's own forests fail this check too"
)
WEIGHTED = {
    f"check_sample_weight_equivalence_on_{form}_data": UNEQUAL for form in ("dense", "sparse")
}


@parametrize_with_checks(
    [E(n_estimators=5) for E in BOTH], expected_failed_checks=lambda _: WEIGHTED
)
@pytest.mark.filterwarnings("ignore")  # the checks cause warnings and count them
def test_scikit_learn_estimator_checks_pass(estimator, check):
    check(estimator)


def both(kind, X, y, sample_weight=None, **params):
    """Return our and scikit-learn's forest, fitted; with few trees some rows get no votes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB")
        warnings.filterwarnings("ignore", ".*low number")
        ours = kind(**params).fit(X, y, sample_weight=sample_weight)
        theirs = REFERENCE[kind](**params).fit(X, y, sample_weight=sample_weight)
    return ours, theirs


def assert_same_forest(ours, theirs):
    for a, b in zip(ours.estimators_samples_, theirs.estimators_samples_, strict=True):
        assert np.array_equal(a, b)
    for a, b in zip(ours.estimators_, theirs.estimators_, strict=True):
        assert difference(a, b) == ""
        assert a.random_state == b.random_state


def assert_same_answers(ours, theirs, X):
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert np.array_equal(ours.apply(X), theirs.apply(X))
    path, ends = ours.decision_path(X)
    expected, wanted_ends = theirs.decision_path(X)
    assert np.array_equal(ends, wanted_ends)
    assert (path != expected).nnz == 0
    assert np.array_equal(ours.feature_importances_, theirs.feature_importances_, equal_nan=True)


LIMITS = st.fixed_dictionaries(
    {"random_state": st.integers(0, 10**6), "n_estimators": st.integers(1, 4)},
    optional={
        "max_depth": st.integers(1, 6),
        "max_features": st.sampled_from([1, 2, "log2", 0.5, None]),
        "max_leaf_nodes": st.integers(2, 30),
        "min_samples_leaf": st.sampled_from([2, 5, 0.1]),
        "min_samples_split": st.sampled_from([5, 0.2]),
        "min_weight_fraction_leaf": st.sampled_from([0.05, 0.2]),
        "min_impurity_decrease": st.sampled_from([0.001, 0.02]),
        "max_samples": st.sampled_from([7, 0.5, 1.5]),
    },
)


@given(
    seed=seeds,
    limits=LIMITS,
    n=st.integers(5, 150),
    k=st.sampled_from([1, 2, 2, 3, 10]),
    missing=st.sampled_from([0.0, 0.0, 0.3]),
    weighted=st.booleans(),
    more=st.fixed_dictionaries(
        {},
        optional={
            "criterion": st.sampled_from(["entropy", "log_loss"]),
            "class_weight": st.sampled_from(["balanced", {0: 2.0}]),
            "ccp_alpha": st.sampled_from([0.001, 0.02]),
        },
    ),
)
def test_classifier_forest_equals_scikit_learn(seed, limits, n, k, missing, weighted, more):
    rng = np.random.default_rng(seed)
    X = table(rng, n, int(rng.integers(1, 8)), missing)
    y = np.append(np.arange(k), rng.integers(0, k, n))[:n]
    weight = rng.uniform(0.3, 1, n) if weighted else None
    if k == 2 and rng.random() < 0.3:
        limits = {**limits, "monotonic_cst": rng.integers(-1, 2, X.shape[1])}
    ours, theirs = both(RandomForestClassifier, X, y, weight, oob_score=True, **limits, **more)
    assert_same_forest(ours, theirs)
    new = table(rng, 30, X.shape[1], missing)
    assert_same_answers(ours, theirs, new)
    assert np.array_equal(ours.predict_proba(new), theirs.predict_proba(new))
    assert np.array_equal(ours.ensemble_.predict(new), ours.predict_proba(new))
    assert ours.oob_score_ == theirs.oob_score_
    assert np.array_equal(ours.oob_decision_function_, theirs.oob_decision_function_)


@given(seed=seeds, limits=LIMITS, bootstrap=st.booleans())
@settings(max_examples=40)
def test_regressor_forest_equals_scikit_learn_when_sums_are_exact(seed, limits, bootstrap):
    rng = np.random.default_rng(seed)
    X = table(rng, 80, int(rng.integers(1, 8)), missing=0.2)
    y = rng.integers(-50, 50, 80).astype(float)
    if not bootstrap:
        limits = {name: v for name, v in limits.items() if name != "max_samples"}
    draws = {"bootstrap": bootstrap, "oob_score": bootstrap}
    ours, theirs = both(RandomForestRegressor, X, y, **limits, **draws)
    assert_same_forest(ours, theirs)
    assert_same_answers(ours, theirs, table(rng, 30, X.shape[1], 0.2))
    if bootstrap:
        assert ours.oob_score_ == theirs.oob_score_
        assert np.array_equal(ours.oob_prediction_, theirs.oob_prediction_)


@given(seed=seeds, limits=LIMITS, weighted=st.booleans(), classes=st.booleans())
@settings(max_examples=30)
def test_parity_forest_equals_scikit_learn_when_rounding_matters(seed, limits, weighted, classes):
    rng = np.random.default_rng(seed)
    X = table(rng, 80, int(rng.integers(1, 8)), missing=0.2)
    y = rng.integers(0, 3, 80) if classes else rng.normal(size=80)
    kind = RandomForestClassifier if classes else RandomForestRegressor
    weight = rng.uniform(0.3, 1, 80) if weighted else None
    if classes:
        limits = {**limits, "class_weight": "balanced_subsample"}
    ours = kind(parity="scikit-learn", **limits)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*low number")
        ours.fit(X, y, sample_weight=weight)
        theirs = REFERENCE[kind](**limits).fit(X, y, sample_weight=weight)
    assert_same_forest(ours, theirs)
    assert_same_answers(ours, theirs, table(rng, 30, X.shape[1], 0.2))


@pytest.mark.parametrize("load", [datasets.load_wine, datasets.load_digits])
def test_forest_equals_scikit_learn_on_real_data(load):
    X, y = load(return_X_y=True)
    ours, theirs = both(RandomForestClassifier, X, y, n_estimators=5, random_state=3)
    assert_same_forest(ours, theirs)


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample"])
def test_balanced_weights_equal_scikit_learn(class_weight, bootstrap):
    X, y = datasets.load_breast_cancer(return_X_y=True)
    params = {"class_weight": class_weight, "bootstrap": bootstrap, "max_depth": 1}
    ours, theirs = both(
        RandomForestClassifier, X, y, np.arange(len(y)) + 1.0, n_estimators=4, random_state=1,
        **params,
    )  # fmt: skip
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-12)


def test_out_of_bag_score_may_be_custom():
    X, y = datasets.load_wine(return_X_y=True)
    ours, theirs = both(
        RandomForestClassifier, X, y, random_state=1, oob_score=balanced_accuracy_score
    )
    assert ours.oob_score_ == theirs.oob_score_


@pytest.mark.parametrize("threads", [2, 3, -1])
@pytest.mark.parametrize("kind", BOTH)
def test_any_number_of_threads_gives_the_same_bits(kind, threads):
    rng = np.random.default_rng(3)
    X, y = table(rng, 300, 6, missing=0.2), rng.normal(size=300)
    y = y if kind is RandomForestRegressor else (y > 0).astype(int)
    params = {"n_estimators": 20, "random_state": 0, "oob_score": True}
    alone = kind(**params).fit(X, y)
    shared = kind(n_jobs=threads, **params).fit(X, y)
    for a, b in zip(alone.estimators_, shared.estimators_, strict=True):
        assert difference(a, b) == ""
    assert np.array_equal(alone.predict(X), shared.predict(X))
    assert alone.oob_score_ == shared.oob_score_


@pytest.mark.parametrize(
    ("kind", "unit", "params"),
    [
        (RandomForestClassifier, 1.0, {"max_leaf_nodes": 9}),
        (RandomForestClassifier, 1.0, {"bootstrap": False, "max_features": 0.2}),
        (RandomForestClassifier, 1.0, {"max_samples": 2}),  # often one row, drawn twice
        (RandomForestRegressor, 1.0, {"ccp_alpha": 0.01}),
        (RandomForestRegressor, 1e-6, {}),  # y is scaled, see `TargetScale`
    ],
)
def test_trees_of_a_batch_are_those_grown_one_by_one(kind, unit, params, monkeypatch):
    random = np.random.default_rng(0)
    X = random.integers(0, 9, (60, 7)).astype(float)
    y = X[:, 0] + random.random(60) > 5 if kind is RandomForestClassifier else X[:, 0] * unit
    model = kind(n_estimators=40, random_state=0, n_jobs=2, **params)
    batch = pickle.dumps([tree.tree_ for tree in model.fit(X, y).estimators_])
    monkeypatch.setattr(tree_batch, "MAX_ROWS", 0)
    alone = model.fit(X, y).estimators_
    for a, b in zip(pickle.loads(batch), alone, strict=True):
        assert np.array_equal(a.nodes, b.tree_.nodes)
        assert np.array_equal(a.values, b.tree_.values)
        assert a.max_depth == b.tree_.max_depth


def test_warm_start_adds_trees():
    X, y = datasets.load_iris(return_X_y=True)
    whole = RandomForestClassifier(n_estimators=7, random_state=1).fit(X, y)
    warm = RandomForestClassifier(n_estimators=3, random_state=1, warm_start=True).fit(X, y)
    first = warm.estimators_[0]
    warm.set_params(n_estimators=7).fit(X, y)
    assert warm.estimators_[0] is first
    assert np.array_equal(warm.predict_proba(X), whole.predict_proba(X))
    with pytest.warns(UserWarning, match="does not fit new trees"):
        warm.fit(X, y)
    warm.set_params(oob_score=True, n_estimators=40).fit(X, y)
    lone = RandomForestClassifier(n_estimators=40, random_state=1, oob_score=True).fit(X, y)
    assert warm.oob_score_ == lone.oob_score_
    with pytest.raises(ValueError, match="must be larger or equal"):
        warm.set_params(n_estimators=2).fit(X, y)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"max_samples": 0.0}, "max_samples"),
        ({"max_features": "auto"}, "max_features"),
        ({"criterion": "unheard"}, "criterion"),
        ({"bootstrap": False, "max_samples": 10}, "cannot be set if `bootstrap=False`"),
        ({"bootstrap": False, "oob_score": True}, "only available if bootstrap=True"),
    ],
)
def test_invalid_parameters_raise_scikit_learn_errors(kind, params, text):
    X, y = datasets.load_iris(return_X_y=True)
    for forest in (kind, REFERENCE[kind]):
        with pytest.raises(ValueError, match=text):
            forest(**params).fit(X, y)


@pytest.mark.parametrize("kind", [RandomForestRegressor])
def test_invalid_poisson_targets_are_refused(kind):
    for y, text in (([-1, 1, 3], "are negative"), ([0, 0, 0], "not strictly positive")):
        with pytest.raises(ValueError, match=text):
            kind(criterion="poisson").fit(np.zeros((3, 3)), y)


@pytest.mark.parametrize("kind", [RandomForestClassifier])
def test_preset_class_weights_with_warm_start_give_a_warning(kind):
    X, y = datasets.load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="presets .* not recommended for warm_start"):
        kind(n_estimators=1, class_weight="balanced", warm_start=True).fit(X, y)


@pytest.mark.parametrize("kind", BOTH)
def test_invalid_data_raises_scikit_learn_errors(kind):
    X, y = datasets.load_iris(return_X_y=True)
    with pytest.raises(NotFittedError):
        kind().predict(X)
    with pytest.raises(ValueError, match="sparse multilabel-indicator for y is not supported"):
        kind().fit(X[:2], csr_matrix(X[:2]))
    with pytest.raises(ValueError, match="infinity"):
        kind().fit(np.where(X > 4, np.inf, X), y)
    model = kind(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.predict(X[:, :3])


def test_warnings_equal_scikit_learn():
    X, y = datasets.load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="low number"):
        RandomForestClassifier(max_samples=0.01, n_estimators=1).fit(X, y)
    with pytest.warns(UserWarning, match="do not have OOB scores"):
        RandomForestClassifier(n_estimators=1, oob_score=True, random_state=0).fit(X, y)


def test_verbose_prints_one_line_per_tree(capsys):
    X, y = datasets.load_iris(return_X_y=True)
    RandomForestClassifier(n_estimators=2, verbose=2).fit(X, y)
    assert capsys.readouterr().out.splitlines() == ["building tree 1 of 2", "building tree 2 of 2"]


@pytest.mark.parametrize("kind", BOTH)
def test_frame_input_pickle_and_len(kind):
    X, y = datasets.load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = kind(n_estimators=3, random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(frame), model.predict(frame))
    assert len(model) == 3
    assert model[1] is model.estimators_[1]
    assert [*model] == model.estimators_


def test_permutation_importance_finds_the_relevant_feature():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    model = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, X[:, 2])
    result = permutation_importance(model, X, X[:, 2], n_repeats=3, random_state=0)
    assert result.importances_mean.argmax() == 2
    assert result.importances_mean[2] > 10 * np.delete(result.importances_mean, 2).max()


def test_names_and_defaults_equal_scikit_learn():
    for ours, theirs in REFERENCE.items():
        assert ours().get_params() == {**theirs().get_params(), "parity": None}
