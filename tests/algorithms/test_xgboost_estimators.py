"""Details of XGBoost's estimators that programs rely on."""

import json

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.utils import get_tags

import algorithms.compat.xgboost as xgb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0.0).astype(int)


def coded_rows():
    codes = np.random.default_rng(1).integers(0, 4, size=(80, 2)).astype(float)
    return codes, np.where(codes[:, 0] == 2, 1.0, 0.0) + codes[:, 1] % 2


def test_a_parameter_that_does_not_exist_gives_a_warning_with_a_similar_name():
    model = xgb.XGBRegressor(maxdepth=3, n_estimators=1)
    assert model.get_params()["maxdepth"] == 3
    with pytest.warns(UserWarning, match="maxdepth.* not used.*did you mean 'max_depth'"):
        model.fit(X, Y)
    assert model.get_booster().num_boosted_rounds() == 1


def test_load_model_leaves_the_parameters_of_the_constructor(tmp_path):
    xgb.XGBClassifier(n_estimators=2, tree_method="exact").fit(X, Y).save_model(tmp_path / "m.json")
    loaded = xgb.XGBClassifier()
    loaded.load_model(tmp_path / "m.json")
    assert loaded.n_estimators is None
    assert loaded.tree_method is None
    assert loaded.get_booster().num_boosted_rounds() == 2


@pytest.mark.parametrize("as_rows", [np.asarray, pd.DataFrame], ids=["array", "frame"])
def test_feature_types_make_codes_categorical(as_rows, tmp_path):
    codes, y = coded_rows()
    types = ["c", "c"]
    params = {"n_estimators": 3, "enable_categorical": True}
    rows = as_rows(codes)
    model = xgb.XGBRegressor(feature_types=types, **params).fit(rows, y, eval_set=[(rows, y)])
    frame = pd.DataFrame(codes.astype(int)).astype("category")
    expected = xgb.XGBRegressor(**params).fit(frame, y)
    np.testing.assert_array_equal(model.predict(rows), expected.predict(frame))
    np.testing.assert_array_equal(model.apply(rows), expected.apply(frame))
    assert model.get_booster().feature_types == types
    model.save_model(tmp_path / "model.json")
    loaded = xgb.XGBRegressor()
    loaded.load_model(tmp_path / "model.json")
    assert (loaded.feature_types, loaded.enable_categorical) == (types, True)
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))


def test_feature_types_of_another_number_of_columns_are_refused():
    codes, y = coded_rows()
    model = xgb.XGBRegressor(feature_types=["c"], enable_categorical=True)
    with pytest.raises(ValueError, match="feature_types has 1 entries for 2 columns"):
        model.fit(pd.DataFrame(codes), y)


def test_apply_refuses_categories_that_are_not_enabled():
    frame = pd.DataFrame({"a": pd.Series(list("xyz") * 20, dtype="category")})
    model = xgb.XGBClassifier(enable_categorical=True, n_estimators=1).fit(frame, Y)
    model.apply(frame)
    model.set_params(enable_categorical=False)
    with pytest.raises(ValueError, match="`enable_categorical`"):
        model.apply(frame)


def test_the_base_class_is_trained_with_labels():
    params = {"n_estimators": 3, "objective": "binary:logistic", "tree_method": "exact"}
    sets = {"eval_set": [(X, Y)], "verbose": False}
    ours = xgb.XGBModel(**params).fit(X, Y, **sets)
    theirs = xgboost.XGBModel(**params).fit(X, Y, **sets)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)
    result, expected = (one.evals_result()["validation_0"]["logloss"] for one in (ours, theirs))
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_the_file_of_a_frame_differs_from_that_of_an_array_in_the_names_only(tmp_path):
    found = []
    for rows in (X, pd.DataFrame(X, columns=list("abc"))):
        xgb.XGBClassifier(n_estimators=1).fit(rows, Y).save_model(tmp_path / "model.json")
        found.append(json.loads((tmp_path / "model.json").read_text()))
    assert found[1]["learner"].pop("feature_names") == list("abc")
    assert found[0]["learner"].pop("feature_names") == []
    assert found[0] == found[1]


def test_training_continues_from_a_booster_with_the_categories_in_another_order():
    codes, y = coded_rows()
    first = pd.DataFrame({"a": pd.Categorical.from_codes(codes[:, 0].astype(int), list("pqrs"))})
    other = first.assign(a=first["a"].cat.reorder_categories(list("qpsr")))
    params = {"enable_categorical": True, "n_estimators": 2}
    booster = xgb.XGBRegressor(**params).fit(first, y).get_booster()
    assert not booster.get_categories().empty()
    ((name, values),) = booster.get_categories(export_to_arrow=True).to_arrow()
    assert (name, values.to_pylist()) == ("a", list("pqrs"))
    more = xgb.XGBRegressor(**params).fit(other, y, xgb_model=booster)
    whole = xgb.XGBRegressor(enable_categorical=True, n_estimators=4).fit(first, y)
    np.testing.assert_allclose(more.predict(first), whole.predict(other), rtol=1e-5)
    numeric = xgb.train({}, xgb.DMatrix(X, Y), 1)
    assert numeric.get_categories().empty()


def test_a_metric_is_added_to_the_booster_of_a_fitted_ranker():
    ranker = xgb.XGBRanker(n_estimators=1).fit(X, Y, group=[60])
    ranker.set_params(eval_metric="pre@5")
    line = ranker.get_booster().eval(xgb.DMatrix(X, Y))
    assert [cell.partition(":")[0] for cell in line.split()[1:]] == ["eval-ndcg@32", "eval-pre@5"]


def test_tags_and_link_are_those_of_xgboost():
    for name in ("XGBClassifier", "XGBRegressor", "XGBRFRegressor", "XGBRanker"):
        ours, theirs = getattr(xgb, name)(), getattr(xgboost, name)()
        assert ours._more_tags() == theirs._more_tags()
        assert get_tags(ours).no_validation == get_tags(theirs).no_validation
        assert get_tags(ours).input_tags == get_tags(theirs).input_tags
        assert f"xgboost.{name}" in ours._get_doc_link()


@pytest.mark.parametrize(
    ("rows", "labels", "error", "text"),
    [
        (None, Y, TypeError, "NoneType"),
        (X, None, ValueError, "Invalid classes: y is None"),
    ],
)
def test_missing_rows_and_labels_are_refused(rows, labels, error, text):
    with pytest.raises(error, match=text):
        xgb.XGBClassifier().fit(rows, labels)
