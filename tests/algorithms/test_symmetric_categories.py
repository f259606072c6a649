"""Categorical columns of symmetric-tree boosting: statistics, one-hot splits, errors."""

import json
import pickle

import catboost
import numpy as np
import pandas as pd
import pytest
from catboost_categories import FIXED, QUIET, first_difference, fit_both, random_categories
from catboost_kit import random_sampling, seeds_up_to

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor
from algorithms.compat.catboost import CatBoostRegressor, Pool
from algorithms.model_io.errors import ModelFileError
from algorithms.symmetric.categories import fit_categories
from algorithms.symmetric.city_hash import city_hash
from algorithms.symmetric.ctr_options import TargetClasses, read_ctrs
from algorithms.symmetric.projections import Projection
from algorithms.symmetric.target_statistics import count_levels, ordered_bins, statistics_of
from harness import Spec, Task
from harness.plugins.registry import load_registry

LOSSES = ["RMSE", "Logloss", "MultiClass", "Poisson", "MAE", "Quantile:alpha=0.3"]
LEVELS = {2: {}, 3: {"one_hot_max_size": 5, "max_ctr_complexity": 4}}  # parity levels
CODES = np.array([0, 1, 0, 0, 1, 2, 0, 1, 2, 0], np.int32)
Y = np.array([1, 0, 0, 1, 1, 0, 1, 0, 1, 1], np.float32)


def differs(seed, loss, folder, level):
    """Return where our trees and CatBoost's differ on a random table, or how predictions do."""
    X, y, weight, params = random_categories(seed, loss, **LEVELS[level])
    ours, theirs = fit_both(X, y, weight, params)
    if (found := first_difference(ours, theirs, folder)) != "":
        return found
    for frame in (X, X.sample(frac=1.0, random_state=0)):
        if hasattr(ours, "predict_proba"):
            pair = ours.predict_proba(frame), theirs.predict_proba(frame)
        else:
            pair = ours.predict(frame), theirs.predict(frame)
        if not np.allclose(*pair, rtol=1e-9, atol=1e-12):
            return "predictions"
    return ""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("loss", LOSSES)
def test_trees_and_leaf_values_are_catboosts_to_the_bit(loss, level, tmp_path):
    assert [differs(seed, loss, tmp_path, level) for seed in (1, 6)] == ["", ""]


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("loss", LOSSES)
def test_two_hundred_random_tables_have_catboosts_bits(loss, level, tmp_path):
    found = {seed: differs(seed, loss, tmp_path, level) for seed in seeds_up_to(200)}
    assert {seed: what for seed, what in found.items() if what} == {}


def by_hand(codes, classes, prior, order):
    """Return the bins of the statistic Borders, computed row by row."""
    bins = np.empty(len(codes), int)
    for place, row in enumerate(order):
        earlier = [other for other in order[:place] if codes[other] == codes[row]]
        good = sum(classes[other] for other in earlier)
        bins[row] = int((good + prior) / (len(earlier) + 1) * 15)
    return bins


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_statistics_count_earlier_rows_of_a_permutation(is_shuffled):
    order = np.random.default_rng(0).permutation(10) if is_shuffled else np.arange(10)
    given = order.astype(np.uint32) if is_shuffled else np.empty(0, np.uint32)
    classes = TargetClasses(Y, 0, None)
    bins = ordered_bins(CODES, 3, read_ctrs(None, "simple_ctr"), classes, given)
    for row, prior in zip(bins.T, (0.0, 0.5, 1.0), strict=False):
        np.testing.assert_array_equal(row, by_hand(CODES, Y, prior, order))
    np.testing.assert_array_equal(bins[:, 3], [np.array([5, 3, 2])[c] / 6 * 15 // 1 for c in CODES])


def test_prediction_counts_all_rows_and_gives_an_unseen_level_the_prior():
    classes = TargetClasses(Y, 0, None)
    statistics = statistics_of(Projection((0,)), read_ctrs(None, "simple_ctr"), classes)
    tables = [count_levels(CODES, 3, one.options, classes) for one in statistics]
    values = [table.values(one) for table, one in zip(tables, statistics, strict=True)]
    values = np.array(values) / 15
    np.testing.assert_allclose(values[1], np.array([4.5 / 6, 1.5 / 4, 1.5 / 3, 0.5]), rtol=1e-6)
    np.testing.assert_allclose(values[3], np.array([5, 3, 2, 0]) / 6, rtol=1e-6)


def table(n_rows=400, seed=0):
    """Return a frame with numbers, text and integers, and a target that needs all of them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n_rows),
            "b": rng.choice(["x", "y", "z"], n_rows),
            "c": rng.integers(0, 30, n_rows),
            "d": rng.choice(["left", "right"], n_rows),
        }
    )
    effect = rng.normal(size=30)[X["c"]] * 2 + (X["b"] == "y") * (X["d"] == "left") * 3
    y = (X["a"] + effect + rng.normal(size=n_rows)).to_numpy()
    return X, y


MODES = [
    {"iterations": 15},
    {"iterations": 15, "max_ctr_complexity": 3, "one_hot_max_size": 4},
    {"iterations": 15, "has_time": True, "bootstrap_type": "No", "random_strength": 0},
    {"iterations": 15, "rsm": 0.5, "max_ctr_complexity": 2, "simple_ctr": ["Buckets", "Counter"]},
]


@pytest.mark.parametrize("params", MODES)
def test_categories_help_and_threads_do_not_matter(params):
    X, y = table()
    names = {"cat_features": ["b", "c", "d"], "random_seed": 1, **params}
    model = SymmetricBoostingRegressor(**names, thread_count=1).fit(X, y)
    again = SymmetricBoostingRegressor(**names, thread_count=3).fit(X, y)
    other, target = table(seed=0)
    numeric = SymmetricBoostingRegressor(iterations=15).fit(X[["a"]], y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    loss = np.square(target - model.predict(other)).mean()
    assert loss < 0.8 * np.square(target - numeric.predict(other[["a"]])).mean()
    assert model.feature_importances_.sum() == pytest.approx(100)
    assert model.feature_importances_[2] > 10
    kept = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(kept.predict(X), model.predict(X))
    shap = kept.predict_contributions(X)
    assert shap.shape == (len(X), 5)
    np.testing.assert_allclose(shap.sum(axis=1), model.predict(X), rtol=1e-9)
    last = list(model.staged_predict(X))[-1]
    np.testing.assert_allclose(last, model.predict(X), rtol=1e-12)
    np.testing.assert_allclose(model.predict(X[:1]), model.predict(X)[:1], rtol=1e-12)


def test_the_seed_draws_the_permutations_unless_rows_have_an_order():
    X, y = table()
    fixed = {"bootstrap_type": "No", "random_strength": 0, "iterations": 5}
    fixed["cat_features"] = ["b", "c", "d"]
    found = [
        [
            SymmetricBoostingRegressor(**fixed, has_time=has_time, random_seed=seed)
            .fit(X, y)
            .predict(X)
            .tolist()
            for seed in (0, 0, 1)
        ]
        for has_time in (False, True)
    ]
    assert found[0][0] == found[0][1] != found[0][2]
    assert found[1][0] == found[1][1] == found[1][2]


def test_unseen_and_missing_levels_and_evaluation_sets_are_catboosts():
    X, y = table()
    labels = np.digitize(y, [-1.0, 1.0])
    other, target = table(200, seed=3)
    other.loc[:40, "b"], other.loc[30:90, "c"] = "new", 999
    fixed = {
        "iterations": 20, "cat_features": [1, 2, 3], "has_time": True, "bootstrap_type": "No",
        "random_strength": 0, "max_ctr_complexity": 3, "learning_rate": 0.1,
    }  # fmt: skip
    sets = {"eval_set": [(other, np.digitize(target, [-1.0, 1.0]))]}
    ours = SymmetricBoostingClassifier(**fixed, parity="catboost", thread_count=1)
    ours.fit(X, labels, **sets)
    theirs = catboost.CatBoostClassifier(**fixed, **QUIET).fit(X, labels, **sets)
    pair = ours.predict_proba(other), theirs.predict_proba(other)
    np.testing.assert_allclose(*pair, rtol=1e-12)
    pair = (one.get_evals_result()["validation"]["MultiClass"] for one in (ours, theirs))
    np.testing.assert_allclose(*pair, rtol=1e-6)
    assert ours.get_cat_feature_indices() == theirs.get_cat_feature_indices()
    assert ours.tree_count_ == theirs.tree_count_
    missing = X.astype({"b": object}).replace({"b": {"z": None}})
    as_text = X.replace({"b": {"z": "nan"}})
    pair = (ours.fit(frame, labels).predict_proba(frame) for frame in (missing, as_text))
    np.testing.assert_array_equal(*pair)


def test_the_identity_of_a_category_is_its_text():
    X, y = table()
    model = SymmetricBoostingRegressor(iterations=5, cat_features=["b", "c", "d"]).fit(X, y)
    text = X.astype({"b": "category", "c": str, "d": "string"})
    np.testing.assert_array_equal(model.predict(text), model.predict(X))
    detected = SymmetricBoostingRegressor(iterations=5).fit(text, y)
    np.testing.assert_array_equal(detected.predict(X), model.predict(X))
    cells = SymmetricBoostingRegressor(iterations=5)
    cells.fit(X.to_numpy(object), y, cat_features=[1, 2, 3])
    np.testing.assert_array_equal(cells.predict(X.to_numpy(object)), model.predict(X))
    _, _, codes = fit_categories(np.array([["u", 1], ["v", 2], ["v", 1]], object), [0, 1])
    np.testing.assert_array_equal(codes, [[1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize("kind", ["object", "str", "string", "category", "array"])
def test_one_row_is_predicted_as_in_a_table_for_each_kind_of_column(kind):
    rng = np.random.default_rng(3)
    number, color = rng.random(200), rng.integers(0, 5, 200)
    letters = np.array(list("abcde"), object)[color]
    y = number + (color == 2)
    X = pd.DataFrame({"letter": letters, "code": rng.integers(0, 60, 200), "number": number})
    new = X.iloc[:60].copy()
    new.loc[7, "letter"], new.loc[9, "code"] = "unseen", -1
    settings = {"n_estimators": 5, "cat_features": [0, 1]}
    expected = SymmetricBoostingRegressor(**settings).fit(X, y).predict(new)
    if kind == "array":
        X, new = X.to_numpy(), new.to_numpy()
    else:
        X, new = X.astype({"letter": kind}), new.astype({"letter": kind})
    model = SymmetricBoostingRegressor(**settings).fit(X, y)
    np.testing.assert_array_equal(model.predict(new), expected)
    single = [model.predict(new[i : i + 1])[0] for i in range(len(new))]
    np.testing.assert_array_equal(single, expected)


def test_missing_values_of_a_nullable_integer_column_are_one_category():
    codes = pd.array([1, 2, None, 1, None, 2] * 10, dtype="Int64")
    X = pd.DataFrame({"code": codes, "number": np.arange(60.0)})
    y = X["code"].isna().to_numpy().astype(float)
    model = SymmetricBoostingRegressor(n_estimators=20, cat_features=["code"]).fit(X, y)
    as_text = X.assign(code=["nan" if pd.isna(one) else str(one) for one in codes])
    np.testing.assert_array_equal(model.predict(X), model.predict(as_text))
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.99


@pytest.mark.parametrize(
    ("X", "cat_features", "match"),
    [
        (pd.DataFrame({"a": [0.5, 1.5]}), ["a"], "has the real number 0.5"),
        (pd.DataFrame({"a": [1.0, np.nan]}), [0], "has the real number 1.0"),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"] * 2)}), [0], "has the value 2020"),
        (pd.DataFrame({"a": [1, 2]}), ["b"], "'b', which is not a column"),
        (pd.DataFrame({"a": [1, 2]}), [1], "has 1, but X has 1 columns"),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), ["a"], r"columns \['b'\] hold categories"),
        (np.ones((2, 2)), [0], "X is an array of real numbers"),
    ],
)
def test_invalid_categories_are_named(X, cat_features, match):
    with pytest.raises(ValueError, match=match):
        SymmetricBoostingRegressor(iterations=1).fit(X, [0.0, 1.0], cat_features=cat_features)


def test_pools_have_categories():
    X, y = table(100)
    pool = Pool(X, y, cat_features=["b", "c", "d"])
    model = CatBoostRegressor(iterations=5).fit(pool)
    same = SymmetricBoostingRegressor(iterations=5, cat_features=[1, 2, 3]).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))


@pytest.mark.parametrize("stopping", [{}, {"early_stopping_rounds": 5}])
def test_the_harness_hands_over_categories_and_exports_no_trees(stopping):
    X, y = table()
    X = X.astype({"b": "category", "c": "category", "d": "category"})
    X.loc[:9, "b"] = np.nan
    spec = Spec(Task.REGRESSION, {"n_estimators": 20, **stopping}, 1, 1, 0, categorical=(1, 2, 3))
    algorithm = load_registry(modules=["algorithms.symmetric_boosting"]).algorithm(
        "symmetric_boosting"
    )
    assert algorithm.accepts.categorical
    adapter = algorithm.adapter(spec)
    adapter.fit(adapter.prepare(X, y, None))
    assert adapter.model.get_cat_feature_indices() == [1, 2, 3]
    assert np.square(y - adapter.predict(X)).mean() < 0.5 * y.var()
    with pytest.raises(TypeError, match="cannot be exported"):
        adapter.export_trees()


def random_numbers(mode, seed):
    """Return parameters of a test with random numbers and categories."""
    rng = np.random.default_rng(4 * 10**6 + seed)
    params = {"has_time": mode == "in time", "random_seed": seed}
    if mode == "defaults":
        names = "bootstrap_type", "max_ctr_complexity", "one_hot_max_size", "simple_ctr"
        backtracking = {"leaf_estimation_backtracking": "AnyImprovement"}
        return {**params, **dict.fromkeys(names), "random_strength": 1.0, **backtracking}
    params |= {"one_hot_max_size": int(rng.integers(1, 6))}
    params |= {"max_ctr_complexity": int(rng.integers(1, 5)), **random_sampling(seed)}
    if mode == "backtracking":
        params |= {"leaf_estimation_iterations": int(rng.integers(2, 12))}
        params |= {"leaf_estimation_backtracking": "AnyImprovement"}
    return params


def differs_with_numbers(seed, loss, mode, folder):
    """Return where our trees and CatBoost's differ on a random table, with random numbers."""
    X, y, weight, params = random_categories(seed, loss, **random_numbers(mode, seed))
    params = {name: value for name, value in params.items() if value is not None}
    return first_difference(*fit_both(X, y, weight, params), folder)


@pytest.mark.parametrize("mode", ["defaults", "any", "backtracking", "in time"])
@pytest.mark.parametrize("loss", ["RMSE", "Logloss"])
def test_random_numbers_are_catboosts(loss, mode, tmp_path):
    assert [differs_with_numbers(s, loss, mode, tmp_path) for s in (2, 5)] == ["", ""]


@pytest.mark.parametrize("loss", ["MultiClass", "Poisson", "MAE", "Quantile:alpha=0.3"])
def test_random_numbers_of_other_losses_are_catboosts(loss, tmp_path):
    assert [differs_with_numbers(s, loss, "any", tmp_path) for s in (2, 5)] == ["", ""]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["defaults", "any", "backtracking", "in time"])
@pytest.mark.parametrize("loss", ["RMSE", "Logloss"])
def test_two_hundred_random_tables_with_random_numbers(loss, mode, tmp_path):
    found = {s: differs_with_numbers(s, loss, mode, tmp_path) for s in seeds_up_to(200)}
    assert {seed: what for seed, what in found.items() if what} == {}


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["MultiClass", "Poisson", "MAE", "Quantile:alpha=0.3"])
def test_a_hundred_random_tables_of_other_losses_with_random_numbers(loss, tmp_path):
    found = {s: differs_with_numbers(s, loss, "any", tmp_path) for s in seeds_up_to(100)}
    assert {seed: what for seed, what in found.items() if what} == {}


@pytest.mark.parametrize("loss", ["RMSE", "Logloss"])
def test_rows_are_shuffled_as_catboosts_where_all_categories_are_one_hot(loss, tmp_path):
    X, y = table(1200)
    params = {
        "iterations": 10, "learning_rate": 0.1, "loss_function": loss, "random_seed": 5,
        "cat_features": ["b", "c", "d"], "one_hot_max_size": 40,
    }  # fmt: skip
    pair = fit_both(X, y > 0 if loss == "Logloss" else y, None, params)
    assert first_difference(*pair, tmp_path) == ""


@pytest.mark.parametrize("is_frame", [True, False])
def test_the_projects_files_keep_categories(is_frame, tmp_path):
    X, y = table()
    new, _ = table(200, seed=3)
    new.loc[:40, "b"], new.loc[30:90, "c"] = "new", 999
    new.loc[:10, "a"] = np.nan
    if not is_frame:
        X, new = X.to_numpy(object), new.to_numpy(object)
    params = {"iterations": 30, "cat_features": [1, 2, 3], "max_ctr_complexity": 3}
    model = SymmetricBoostingRegressor(**params, model_size_reg=0.0).fit(X, y)
    model.save_model(tmp_path / "model.json")
    loaded = SymmetricBoostingRegressor(iterations=1).load_model(tmp_path / "model.json")
    kinds = [getattr(one, "projection", None) for one in loaded._derived.features]
    assert None in kinds
    assert any(one.complexity > 1 for one in kinds if one)
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    np.testing.assert_array_equal(
        loaded.predict_contributions(new), model.predict_contributions(new)
    )
    assert loaded.n_features_in_ == 4
    assert loaded.get_params() == model.get_params()
    assert loaded.get_cat_feature_indices() == [1, 2, 3]
    assert hasattr(loaded, "feature_names_in_") == is_frame
    loaded.save_model(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "model.json").read_text()
    numeric = SymmetricBoostingRegressor(iterations=2).fit(
        np.arange(20.0)[:, None], np.arange(20.0)
    )
    numeric.save_model(tmp_path / "numeric.json")
    assert loaded.load_model(tmp_path / "numeric.json").get_cat_feature_indices() == []
    with pytest.raises(ValueError, match="use format='harness' or 'json'"):
        model.save_model(tmp_path / "model.txt", format="lightgbm")


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(n_features=3),
        lambda d: d["features"].pop(),
        lambda d: d["tables"][0]["counts"].pop(),
        lambda d: d["tables"][0]["counts"].__setitem__(0, [None]),
        lambda d: d["tables"][0]["counts"][0].__setitem__(0, -1),
        lambda d: d["tables"][0].update(kind="Median"),
        lambda d: d["tables"][0].update(projection=99),
        lambda d: next(f for f in d["features"] if "table" in f).update(table=99),
        lambda d: next(f for f in d["features"] if "table" in f).update(scale="wide"),
        lambda d: next(f for f in d["features"] if "table" in f).update(weight=0.0),
        lambda d: next(f for f in d["features"] if "table" in f).update(prior=None),
        lambda d: next(f for f in d["features"] if "table" in f).update(target=-1),
        lambda d: d["categories"][0].update(levels=["x", "x"]),
        lambda d: d["categories"][0].update(column=9),
        lambda d: d["projections"][-1].update(columns=[0]),
        lambda d: d["projections"][0]["steps"].append([2, None]),
    ],
)
def test_damaged_files_with_categories_are_refused(change, tmp_path):
    X, y = table(100)
    SymmetricBoostingRegressor(iterations=5).fit(X.astype({"c": str}), y).save_model(
        tmp_path / "model.json"
    )
    document = json.loads((tmp_path / "model.json").read_text())
    change(document["estimator"]["derived_columns"])
    (tmp_path / "model.json").write_text(json.dumps(document))
    model = SymmetricBoostingRegressor()
    with pytest.raises(ModelFileError, match="malformed"):
        model.load_model(tmp_path / "model.json")
    assert not hasattr(model, "ensemble_")


@pytest.mark.parametrize("length", [0, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 128, 200])
def test_level_hashes_are_catboosts(length, tmp_path):
    text = "".join(chr(97 + 7 * i % 26) for i in range(length))
    X = pd.DataFrame({"c": [text, "z"] * 10})
    fixed = {"iterations": 1, "depth": 1, "cat_features": [0], **FIXED}
    catboost.CatBoostRegressor(**fixed, **QUIET).fit(X, np.arange(20) % 2).save_model(
        str(tmp_path / "model.json"), format="json"
    )
    info = json.loads((tmp_path / "model.json").read_text())["features_info"]
    (value,) = info["categorical_features"][0]["values"]
    hashes = sorted(city_hash(one) & 0xFFFFFFFF for one in (text, "z"))
    assert value % 2**32 == hashes[1]  # the lower one is level 0, the split asks for level 1


@pytest.mark.parametrize("parity", [None, "catboost"])
@pytest.mark.parametrize("levels", [1, 2, 60])
@pytest.mark.parametrize("has_number", [False, True])
def test_one_level_two_levels_and_unique_levels(levels, has_number, parity):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": [f"v{i % levels}" for i in range(60)]})
    if has_number:
        X["a"] = rng.normal(size=60)
    y = np.arange(60) % 2 + 0.1 * rng.normal(size=60)
    fixed = {"iterations": 20, "bootstrap_type": "No", "random_strength": 0, "parity": parity}
    fixed = {**fixed, "has_time": parity is not None, "max_ctr_complexity": 2}
    model = SymmetricBoostingRegressor(**fixed).fit(X, y)
    predicted = model.predict(X)
    assert np.isfinite(predicted).all()
    if levels == 2:
        assert np.corrcoef(predicted, y)[0, 1] > 0.9
    if levels == 1 and not has_number:
        np.testing.assert_allclose(predicted, y.mean(), rtol=1e-6)
    if levels == 60 and not has_number:  # an unseen level is as good as any other
        assert predicted.std() < 0.1 * y.std()


def test_levels_of_rows_without_weight_are_as_unseen_ones():
    X, y = table()
    weight = np.ones(len(X))
    X.loc[:9, "c"] = np.arange(1000, 1010)
    weight[:10] = 0.0
    fixed = {"iterations": 5, "cat_features": ["b", "c", "d"], "model_size_reg": 0}
    model = SymmetricBoostingRegressor(**fixed).fit(X, y, sample_weight=weight)
    assert model.feature_importances_[2] > 0
    unseen = X.assign(c=X["c"].where(X["c"] < 1000, 5000))
    np.testing.assert_array_equal(model.predict(X), model.predict(unseen))


def test_rows_without_weight_do_not_count():
    X, y = table()
    weight = np.repeat([1.0, 0.0], [300, 100])
    fixed = {"iterations": 5, "cat_features": ["b", "c", "d"], "random_seed": 2}
    first = SymmetricBoostingRegressor(**fixed).fit(X, y, sample_weight=weight)
    second = SymmetricBoostingRegressor(**fixed).fit(X[:300], y[:300])
    np.testing.assert_allclose(first.predict(X), second.predict(X), rtol=1e-9)


@pytest.mark.parametrize("value", [["x"], {"x": 1}, "\ud800", b"\xff"])
def test_a_value_that_cannot_be_a_category_names_its_column(value):
    column = pd.Series(["a", value, "b"], dtype=object)
    with pytest.raises(ValueError, match="column 'city' is categorical, but"):
        fit_categories(pd.DataFrame({"city": column}), ["city"])
