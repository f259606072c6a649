"""Tests of the estimators of `algorithms.compat.lightgbm` where they follow LightGBM."""

import inspect
import pickle

import lightgbm
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

import algorithms.compat.lightgbm as lgb

rng = np.random.default_rng(5)
X = rng.normal(size=(200, 3))
LABEL = (X[:, 0] > 0).astype(int)
CLASS = np.digitize(X[:, 0], [-0.5, 0.5])
FEW = {"n_estimators": 3, "num_leaves": 4, "verbose": -1}
NAMES = ["LGBMModel", "LGBMClassifier", "LGBMRegressor", "LGBMRanker"]


def squared(y, score):
    return score - y, np.ones(len(y))


@pytest.mark.parametrize("name", NAMES)
def test_constructor_is_lightgbms(name):
    ours, theirs = getattr(lgb, name), getattr(lightgbm, name)
    assert inspect.getfullargspec(ours)[1:6] == inspect.getfullargspec(theirs)[1:6]
    assert ours().get_params() == theirs().get_params()
    model = ours(max_bin=63, parity=None, **FEW)
    assert clone(model).get_params() == {
        **theirs(**FEW).get_params(),
        "max_bin": 63,
        "parity": None,
    }
    assert isinstance(model, lgb.LGBMModel)
    with pytest.raises(TypeError, match=f"{name} has no parameter 'num_leafs'; did you mean"):
        ours(num_leafs=3)
    for attribute in ("feature_name_", "n_features_in_", "booster_"):
        with pytest.raises(NotFittedError):
            getattr(model, attribute)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [lgb.LGBMClassifier, lgb.LGBMRegressor])
def test_check_estimator(kind):
    weights = dict.fromkeys(
        [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
        "bins and leaf sizes count rows, not weights",
    )
    model = kind(n_estimators=5, min_child_samples=2)
    check_estimator(model, expected_failed_checks=weights, on_skip=None)


def test_values_are_checked_whatever_the_name():
    with pytest.raises(ValueError, match="'max_bin' parameter of LGBMClassifier"):
        lgb.LGBMClassifier(max_bins=1).fit(X, LABEL)
    with pytest.warns(UserWarning, match="learning_rate is set=0.1, eta=0.5 will be ignored"):
        model = lgb.LGBMRegressor(eta=0.5, n_estimators=3, num_leaves=4).fit(X, X[:, 0])
    expected = lgb.LGBMRegressor(**FEW).fit(X, X[:, 0]).predict(X)
    np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize(
    ("name", "y"),
    [("LGBMClassifier", LABEL), ("LGBMClassifier", CLASS), ("LGBMRegressor", X[:, 1])],
)
def test_booster_is_a_booster_with_the_same_predictions(name, y):
    model = getattr(lgb, name)(**FEW).fit(X, y)
    check_is_fitted(model)
    booster = pickle.loads(pickle.dumps(model)).booster_
    assert isinstance(booster, lgb.Booster)
    wanted = model.predict_proba(X) if name == "LGBMClassifier" else model.predict(X)
    wanted = wanted[:, 1] if wanted.ndim == 2 and wanted.shape[1] == 2 else wanted
    np.testing.assert_array_equal(booster.predict(X), wanted)
    again = lgb.Booster(model_str=booster.model_to_string())
    np.testing.assert_allclose(again.predict(X), wanted)
    more = lgb.train(
        {**FEW, "objective": model.objective_, "num_class": booster.num_model_per_iteration()},
        lgb.Dataset(X, y),
        2,
        init_model=model,
    )
    assert more.current_iteration() == 6, "n_estimators is the number of rounds"


def test_a_model_of_any_objective():
    model = lgb.LGBMModel(objective="multiclass", num_class=3, **FEW).fit(X, CLASS)
    assert model.predict(X).shape == (200, 3)
    binary = lgb.LGBMModel(objective="binary", **FEW).fit(X, LABEL)
    expected = lgb.LGBMClassifier(**FEW).fit(X, LABEL).predict_proba(X)[:, 1]
    np.testing.assert_array_equal(binary.predict(X), expected)
    ranker = lgb.LGBMModel(objective="lambdarank", **FEW).fit(X, CLASS, group=[20] * 10)
    assert ranker.predict(X).shape == (200,)
    with pytest.raises(ValueError, match="Unknown model type"):
        lgb.LGBMModel().fit(X, LABEL)


def test_scores_of_a_users_objective_are_raw():
    model = lgb.LGBMClassifier(objective=squared, **FEW).fit(X, LABEL)
    raw = model.predict(X, raw_score=True)
    with pytest.warns(UserWarning, match="Returning raw scores instead"):
        np.testing.assert_array_equal(model.predict_proba(X), raw)
    with pytest.warns(UserWarning, match="Returning raw scores instead"):
        np.testing.assert_array_equal(model.predict(X), raw)


def test_frames_are_read_by_position():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = lgb.LGBMRegressor(**FEW).fit(frame, X[:, 0])
    expected = model.predict(X)
    np.testing.assert_array_equal(model.predict(frame.set_axis(["c", "b", "x"], axis=1)), expected)
    with pytest.raises(lgb.LightGBMError, match="Expected 'b' at position 1 but found 'z'"):
        model.predict(frame.set_axis(["a", "z", "c"], axis=1), validate_features=True)


def test_columns_of_a_list_are_the_only_categories():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = pd.Categorical(rng.choice(list("pqrs"), 200))
    frame["size"] = pd.Categorical(rng.choice(list("xyz"), 200), ordered=True)

    def categorical(model):
        return np.flatnonzero(model.fit(frame, X[:, 0], **given)._is_categorical).tolist()

    given = {}
    assert categorical(lgb.LGBMRegressor(**FEW)) == [3], "ordered categories are numbers"
    given = {"categorical_feature": ["size"]}
    assert categorical(lgb.LGBMRegressor(**FEW)) == [4]
    model = lgb.LGBMRegressor(**FEW).fit(frame, X[:, 0])
    assert model.booster_.pandas_categorical == [list("pqrs"), list("xyz")]


@pytest.mark.parametrize(("y", "names"), [(LABEL, "binary"), (CLASS, "multi")])
def test_short_names_of_metrics(y, names):
    model = lgb.LGBMClassifier(**FEW).fit(
        X, y, eval_X=X, eval_y=y, eval_metric=["error", "logloss"]
    )
    assert list(model.evals_result_["training"]) == [f"{names}_error", f"{names}_logloss"]


def test_objective_is_the_given_name():
    model = lgb.LGBMClassifier(app="ovr", **FEW)
    with pytest.warns(UserWarning, match="Found 'app' in params"):
        model.fit(X, CLASS, eval_X=X, eval_y=CLASS, eval_metric=[None, "multi_error"])
    assert model.objective_ == "ovr"
    assert lgb.LGBMClassifier(**FEW).fit(X, LABEL).objective_ == "binary"
    assert not hasattr(model.booster_, "train_set")


def test_an_unknown_metric_is_ignored_with_a_warning():
    with pytest.warns(UserWarning, match="metric 'nope' is ignored"):
        model = lgb.LGBMRegressor(**FEW).fit(X, LABEL, eval_X=X, eval_y=LABEL, eval_metric="nope")
    assert list(model.evals_result_["training"]) == ["l2"]


def test_conflicting_numbers_of_rounds():
    model = lgb.LGBMRegressor(num_iterations=2, n_iter=4, num_leaves=4)
    with pytest.warns(UserWarning, match="mean the same"):  # noqa: SIM117 - both are issued
        with pytest.warns(UserWarning, match="perform up to 2 boosting rounds"):
            model.fit(X, X[:, 0])
    assert model.n_estimators_ == 2


def test_histogram_of_thresholds():
    model = lgb.train({"verbose": -1}, lgb.Dataset(X, X[:, 0]), 5)
    counts, edges = model.get_split_value_histogram(0)
    assert counts.sum() == model.feature_importance()[0]
    assert len(edges) == len(counts) + 1
    frame = model.get_split_value_histogram("Column_0", bins=2, xgboost_style=True)
    assert frame["Count"].sum() == counts.sum()
    data = lgb.Dataset(CLASS[:, None] * 1.0, CLASS, categorical_feature=[0])
    model = lgb.train({"verbose": -1, "min_data_per_group": 1}, data, 2)
    with pytest.raises(lgb.LightGBMError, match="for the categorical feature"):
        model.get_split_value_histogram(0)


def test_trees_of_one_leaf_and_roots():
    stump = lgb.train({"verbose": -1}, lgb.Dataset(np.ones((9, 2)), np.arange(9.0)), 3)
    frame = stump.trees_to_dataframe()
    assert frame["node_index"].tolist() == ["0-L0"]
    assert frame.loc[0, "count"] is None
    model = lgb.train({"verbose": -1}, lgb.Dataset(X, X[:, 0] + 50.0), 2)
    first = model.dump_model()["tree_info"][0]["tree_structure"]
    assert first["internal_value"] == pytest.approx(50.0, abs=0.5)
    assert model.predict(X, start_iteration=9, pred_contrib=True).tolist() == [[0.0] * 4] * 200


FORMS = {
    "array": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "frame": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    "frame with categories": lambda X: pd.DataFrame(X).assign(d=pd.Categorical(LABEL)),
    "sparse": sparse.csr_matrix,
}


@pytest.mark.parametrize("form", FORMS)
def test_infinite_values_are_read_as_in_lightgbm(form):
    infinite, y = X.copy(), X[:, 0] + X[:, 1]
    infinite[::7, 0], infinite[1::7, 0], y[::7] = np.inf, -np.inf, 5.0
    rows = FORMS[form](infinite)
    if isinstance(rows, pd.DataFrame):
        rows.columns = rows.columns.astype(str)
    theirs = lightgbm.LGBMRegressor(**FEW).fit(rows, y).predict(rows)
    ours = lgb.LGBMRegressor(parity="lightgbm", **FEW).fit(rows, y)
    assert np.array_equal(ours.predict(rows), theirs)
    watched = lgb.LGBMRegressor(**FEW).fit(rows, y, eval_set=[(rows, y)])
    error = np.mean((watched.predict(rows) - y) ** 2)
    assert watched.evals_result_["training"]["l2"][-1] == pytest.approx(error)
    params = {"num_leaves": 4, "verbose": -1}
    booster = lgb.train(params, lgb.Dataset(rows, y), 3)
    assert booster.predict(rows)[::7].min() > booster.predict(rows)[1::7].max()
