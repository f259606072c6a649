"""Tests that unsupported Newton options are refused with advice, or work as in XGBoost."""

import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy import sparse

from algorithms import NewtonBoostingClassifier, NewtonBoostingRegressor
from algorithms.estimator import library_versions
from algorithms.parity.xgboost_releases import RELEASES, find_release


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] + 0.1 * rng.normal(size=n)


# ------------------------------------------------------------------ rounds that predict


@pytest.mark.parametrize(
    "rounds", [(-1, 2), (2, 1), (1, 1), (5, 6), (0, 100), (0, -1), (0, 2.5), (1,), "ab", 3]
)
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_invalid_round_ranges(rounds, n_classes):
    X, y = table()
    kind = NewtonBoostingClassifier if n_classes else NewtonBoostingRegressor
    codes = np.digitize(y, np.linspace(-0.5, 0.5, n_classes - 1)) if n_classes else y
    model = kind(n_estimators=3).fit(X, codes)
    message = r"iteration_range=.* is not \(first, last\) with 0 <= first < last <= 3"
    asks = [model.predict, model.apply] + ([model.predict_proba] if n_classes else [])
    for ask in asks:
        with pytest.raises(ValueError, match=message):
            ask(X, iteration_range=rounds)


def test_valid_rounds_may_be_any_sequence():
    X, y = table()
    model = NewtonBoostingRegressor(n_estimators=3).fit(X, y)
    expected = list(model.staged_predict(X))[1]
    for rounds in [(0, 2), [0, 2], np.array([0, 2])]:
        np.testing.assert_array_equal(model.predict(X, iteration_range=rounds), expected)
    for rounds in [None, (0, 0), (0, 3), (1, 0)]:
        np.testing.assert_array_equal(model.predict(X, iteration_range=rounds), model.predict(X))


# ------------------------------------------------------------------ a warm start of no rounds


@pytest.mark.parametrize("n_classes", [0, 3])
def test_warm_start_without_new_rounds_changes_nothing(n_classes):
    X, y = table(400)
    y += np.random.default_rng(1).normal(size=400)
    kind = NewtonBoostingClassifier if n_classes else NewtonBoostingRegressor
    y = np.digitize(y, [-0.5, 0.5]) if n_classes else y
    given = {"learning_rate": 0.5, "random_state": 0, "early_stopping_rounds": 3}
    model = kind(n_estimators=60, warm_start=True, **given)
    fitted = X[:200], y[:200]
    model.fit(*fitted, eval_set=[(X[200:], y[200:])])
    assert model.best_iteration + 1 < model.n_iter_ < 60
    before = model.predict(X), model.best_iteration, model.best_score, model.evals_result()
    model.set_params(n_estimators=model.n_iter_).fit(*fitted, eval_set=[(X[200:], y[200:])])
    np.testing.assert_array_equal(model.predict(X), before[0])
    assert (model.best_iteration, model.best_score, model.evals_result()) == before[1:]


# ------------------------------------------------------------------ parameters


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("monotone_constraints", "(1,0"),
        ("monotone_constraints", "1"),
        ("interaction_constraints", "[[0,1]"),
        ("interaction_constraints", '{"a": 1}'),
    ],
)
def test_malformed_constraint_text(name, text):
    with pytest.raises(ValueError, match=f"{name}='.*' cannot be read: write it as in"):
        NewtonBoostingRegressor(**{name: text}).fit(*table())


def test_monotone_sign_by_column_name():
    X, y = table()
    X = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match=r"monotone_constraints=\{'b': 0.7\} must hold -1, 0 or 1"):
        NewtonBoostingRegressor(monotone_constraints={"b": 0.7}).fit(X, y)
    model = NewtonBoostingRegressor(n_estimators=3, random_state=0)
    one, other = (
        model.set_params(monotone_constraints=signs).fit(X, y).predict(X)
        for signs in ({"a": 1}, "(1,)")
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("base_score", [np.nan, np.inf, 1e300, [np.nan], ["a"]])
@pytest.mark.parametrize(
    "own", [{}, {"parity": "xgboost"}, {"objective": lambda y, raw: (raw - y, np.ones(len(y)))}]
)
def test_nonfinite_base_score(base_score, own):
    with pytest.raises(ValueError, match=r"base_score=.* must be finite, within the range of"):
        NewtonBoostingRegressor(base_score=base_score, **own).fit(*table())


def test_base_score_with_wrong_length():
    options = {"objective": lambda y, raw: (raw - y, np.ones(len(y)))}
    for given in ({}, options, {"parity": "xgboost"}):
        with pytest.raises(ValueError, match="base_score has 2 values; the model has 1"):
            NewtonBoostingRegressor(base_score=[1.0, 2.0], **given).fit(*table())


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("tweedie-nloglik@x", "'tweedie-nloglik@x' needs a number between 1 and 2 after the @"),
        ("tweedie-nloglik@3", "'tweedie-nloglik@3' needs a number between 1 and 2 after the @"),
        ("error@x", "'error@x' needs a number"),
        ([3], "3 is neither"),
    ],
)
def test_invalid_metric(metric, message):
    X, y = table()
    with pytest.raises((TypeError, ValueError), match=f"eval_metric .*{message}"):
        NewtonBoostingRegressor(eval_metric=metric).fit(X, y, eval_set=[(X, y)])


def changed_cuts(X, change):
    start, values = xgboost.QuantileDMatrix(X, max_bin=8).get_quantile_cut()
    values = values.copy()
    change(values)
    return start, values


@pytest.mark.parametrize(
    "change",
    [lambda v: v.__setitem__(3, np.nan), lambda v: v.__setitem__(slice(1, 7), v[6:0:-1].copy())],
    ids=["nan", "descending"],
)
def test_bin_edges_must_ascend(change):
    X, y = table()
    with pytest.raises(ValueError, match="cuts must ascend within each feature, and none may be"):
        NewtonBoostingRegressor(parity="xgboost").fit(X, y, cuts=changed_cuts(X, change))


def test_bin_edges_must_be_a_pair():
    with pytest.raises(TypeError, match=r"cuts must be \(indptr, values\)"):
        NewtonBoostingRegressor(parity="xgboost").fit(*table(), cuts="ab")


# ------------------------------------------------------------------ infinity means missing


@pytest.mark.parametrize(
    "own", [{}, {"tree_method": "exact"}, {"tree_method": "approx"}, {"parity": "xgboost"}]
)
def test_infinity_may_mark_missing_values(own):
    X, y = table()
    X[::7, 0] = X[::5, 1] = np.inf
    there = np.where(np.isinf(X), np.nan, X)
    expected = NewtonBoostingRegressor(n_estimators=3, random_state=0, **own).fit(there, y)
    model = NewtonBoostingRegressor(n_estimators=3, random_state=0, missing=np.inf, **own)
    for rows in (X, pd.DataFrame(X), sparse.csr_array(X)):
        model.fit(rows, y)
        np.testing.assert_array_equal(model.predict(rows), expected.predict(there))
        np.testing.assert_array_equal(model.predict(rows[:1]), expected.predict(there[:1]))
    if own:
        method = {"tree_method": own.get("tree_method", "hist"), "missing": np.inf, "n_jobs": 1}
        theirs = xgboost.XGBRegressor(n_estimators=3, **method).fit(X, y)
        np.testing.assert_allclose(model.predict(X), theirs.predict(X), atol=0.2)
    X[3, 2] = -np.inf
    for ask in (lambda: model.fit(X, y), lambda: expected.set_params(missing=np.inf).predict(X)):
        with pytest.raises(ValueError, match="Input X contains infinity"):
            ask()


# ------------------------------------------------------------------ boosting that diverges


@pytest.mark.parametrize("method", ["exact", "approx"])
def test_diverging_steps_are_reported_and_can_be_bounded(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2)).astype(np.float32)
    y = np.exp(3.0 * rng.normal(size=len(X)) + X[:, 0])
    weight = np.exp(4.0 * rng.normal(size=len(X)))
    given = {"n_estimators": 60, "objective": "reg:gamma", "tree_method": method}
    model = NewtonBoostingRegressor(random_state=0, **given)
    with pytest.raises(ValueError, match=r"has diverged: after \d+ rounds .* max_delta_step=0.7"):
        model.fit(X, y, sample_weight=weight)
    model.set_params(max_delta_step=0.7, n_estimators=20).fit(X, y, sample_weight=weight)
    result = np.log(model.predict(X))
    assert np.average(y / np.exp(result) + result, weights=weight) < 20.0


# ------------------------------------------------------------------ derivatives, metrics and files


def test_transposed_derivatives_of_classes():
    X, y = table()
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))

    def derive(y, score, turn=lambda derivatives: derivatives):
        share = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
        return turn(share - np.eye(3)[y.astype(int)]), turn(2 * share * (1 - share))

    def fit(turn):
        model = NewtonBoostingClassifier(
            n_estimators=3, objective=lambda y, score: derive(y, score, turn), random_state=0
        )
        return model.fit(X, labels).predict_proba(X)

    np.testing.assert_array_equal(fit(np.ravel), fit(np.asarray))
    with pytest.raises(ValueError, match=r"gradients of shape \(3, \d+\); scores have \(\d+, 3\)"):
        fit(np.transpose)


def test_derivatives_of_one_score_may_be_a_column():
    X, y = table()

    def fit(shape):
        model = NewtonBoostingRegressor(
            n_estimators=2, random_state=0,
            objective=lambda y, s: ((s - y).reshape(shape), np.ones(len(y))),
        )  # fmt: skip
        return model.fit(X, y).predict(X)

    np.testing.assert_array_equal(fit((-1, 1)), fit(-1))


@pytest.mark.parametrize("parity", [None, "xgboost"])
@pytest.mark.parametrize("metric", ["auc", lambda _y, _found: np.nan])
def test_nan_metric_cannot_stop_training(metric, parity):
    X, y = table()
    labels = (y > np.median(y)).astype(int)
    table_of_one_class = X[labels == 1], labels[labels == 1]
    model = NewtonBoostingClassifier(
        n_estimators=9, early_stopping_rounds=2, eval_metric=metric, parity=parity
    )
    with pytest.raises(
        ValueError, match="has been NaN for 3 rounds: it cannot decide when to stop"
    ):
        model.fit(X, labels, eval_set=[table_of_one_class])
    model.set_params(early_stopping_rounds=None).fit(X, labels, eval_set=[table_of_one_class])
    assert model.n_iter_ == 9


@pytest.mark.parametrize("kept", [3, 40, 900])
def test_cut_binary_file_is_refused(tmp_path, kept):
    X, y = table()
    xgboost.XGBRegressor(n_estimators=2).fit(X, y).save_model(tmp_path / "model.ubj")
    data = (tmp_path / "model.ubj").read_bytes()
    (tmp_path / "model.ubj").write_bytes(data[:kept])
    with pytest.raises(ValueError, match="cannot be read as a model"):
        NewtonBoostingRegressor().load_model(tmp_path / "model.ubj")


@pytest.mark.parametrize("model", [{}, 3.0])
def test_invalid_init_model(model):
    X, y = table()
    with pytest.raises(TypeError, match=r"is not an initial model: give .* the path of the file"):
        NewtonBoostingRegressor().fit(X, y, xgb_model=model)


# ------------------------------------------------------------------ versions of the library


@pytest.mark.parametrize(
    ("installed", "followed"),
    [
        (None, "3.2.0"),
        ("3.1.9", "3.2.0"),
        ("3.2.0", "3.2.0"),
        ("3.3.2", "3.2.0"),
        ("3.4.0", "3.4.1"),
        ("3.4.1.post1", "3.4.1"),
        ("10.0.0", "3.4.1"),
    ],
)
def test_installed_xgboost_chooses_the_rules(installed, followed, monkeypatch):
    monkeypatch.setattr(library_versions, "installed_version", lambda _: installed)
    assert library_versions.followed_version("xgboost") == followed
    assert find_release() == RELEASES[followed]


def test_all_followed_versions_have_rules():
    assert tuple(RELEASES) == library_versions.FOLLOWED["xgboost"]


def test_parity_warns_once_if_another_xgboost_is_installed(monkeypatch):
    monkeypatch.setattr(library_versions, "version", lambda _: "3.9.0")
    sentence = (
        r"parity='xgboost' follows the rules of xgboost 3\.4\.1, but 3\.9\.0 is installed: its "
        r"models may differ\.$"
    )
    with pytest.warns(UserWarning, match=sentence) as caught:
        NewtonBoostingRegressor(parity="xgboost", n_estimators=1).fit(*table())
    assert len(caught) == 1
