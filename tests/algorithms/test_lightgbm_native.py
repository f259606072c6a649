"""LightGBM's functions and data classes on our engine: ``import algorithms.compat.lightgbm``."""

import contextlib
import copy
import pickle
import subprocess
import sys

import lightgbm
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import algorithms.compat.lightgbm as lgb
from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = X[:, 0] + X[:, 1] ** 2 + 0.3 * RNG.normal(size=300)
LABEL = (Y > 0.8).astype(int)
CLASS = np.digitize(Y, [0.2, 1.2])
GROUP = np.full(30, 10)
QUIET = {"verbose": -1, "min_data_in_leaf": 5, "seed": 3}


def fit(objective="regression", label=Y, n_rounds=5, **options):
    """Return a Booster of few rounds."""
    params = QUIET | {"objective": objective} | options
    return lgb.train(params, lgb.Dataset(X, label), n_rounds)


# ------------------------------------------------------------------ train


def test_it_does_not_import_lightgbm():
    code = "import sys, algorithms.compat.lightgbm as l; assert 'lightgbm' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_predictions_are_those_of_the_estimators():
    shared = {"n_estimators": 5, "min_child_samples": 5, "random_state": 3}
    regressor = HistogramBoostingRegressor(**shared).fit(X, Y)
    np.testing.assert_array_equal(fit().predict(X), regressor.predict(X))
    classifier = HistogramBoostingClassifier(**shared)
    proba = classifier.fit(X, LABEL).predict_proba(X)
    np.testing.assert_array_equal(fit("binary", LABEL).predict(X), proba[:, 1])
    proba = classifier.fit(X, CLASS).predict_proba(X)
    np.testing.assert_array_equal(fit("multiclass", CLASS, num_class=3).predict(X), proba)


def test_early_stopping_history_and_best_score():
    train, valid = lgb.Dataset(X[:200], Y[:200]), lgb.Dataset(X[200:], Y[200:])
    history = {}
    model = lgb.train(
        QUIET | {"learning_rate": 0.5, "metric": ["l2", "l1"]},
        train,
        100,
        valid_sets=[train, valid],
        valid_names=["a", "b"],
        callbacks=[lgb.early_stopping(3, verbose=False), lgb.record_evaluation(history)],
    )
    assert list(history) == ["a", "b"]
    assert list(history["b"]) == ["l2", "l1"]
    stopped_by = [1 + np.argmin(values) for values in history["b"].values()]
    assert model.best_iteration in stopped_by
    assert len(history["b"]["l2"]) == model.best_iteration + 3
    assert model.num_trees() == model.best_iteration, "the best rounds are kept, as in LightGBM"
    assert model.best_score["b"]["l2"] == history["b"]["l2"][model.best_iteration - 1]
    best = np.mean((model.predict(X[200:]) - Y[200:]) ** 2)
    assert best == pytest.approx(model.best_score["b"]["l2"])
    every = model.predict(X[200:], num_iteration=-1)
    assert np.array_equal(every, model.predict(X[200:]))


@pytest.mark.parametrize("first_metric_only", [False, True])
def test_early_stopping_by_parameters(first_metric_only):
    counter = iter(range(100))

    def falling(_prediction, _data):
        return "falling", -next(counter), False

    def constant(_prediction, _data):
        return [("constant", 1.0, False)]

    params = QUIET | {"early_stopping_round": 2, "metric": "None", "num_trees": 6}
    params["first_metric_only"] = first_metric_only
    sets = lgb.Dataset(X, Y), lgb.Dataset(X, Y)
    model = lgb.train(params, sets[0], valid_sets=sets[1], feval=[falling, constant])
    assert model.best_iteration == (6 if first_metric_only else 1)


def test_the_training_set_alone_does_not_stop():
    train = lgb.Dataset(X, Y)
    with pytest.warns(UserWarning, match="Only training set found"):
        model = lgb.train(QUIET, train, 3, valid_sets=train, callbacks=[lgb.early_stopping(1)])
    assert (model.best_iteration, model.num_trees()) == (0, 3)


def test_reset_parameter_and_log_evaluation(capsys):
    train = lgb.Dataset(X, Y)
    rates = [0.5, 0.1, 0.1]
    calls = [lgb.reset_parameter(learning_rate=rates), lgb.log_evaluation(2)]
    model = lgb.train(QUIET, train, 3, valid_sets=[train], callbacks=calls)
    assert capsys.readouterr().out.startswith("[2]\ttraining's l2: ")
    steps = np.diff([model.predict(X, num_iteration=k).std() for k in (1, 2, 3)])
    assert model.params["learning_rate"] == 0.1
    assert model.predict(X, num_iteration=1).std() > 2.0 * steps[0]


def test_objectives_and_metrics_of_the_user():
    def squares(score, data):
        return score - data.get_label(), np.ones(len(score))

    seen = []

    def metric(prediction, data):
        seen.append(prediction)
        return "mse", np.mean((prediction - data.get_label()) ** 2), False

    train = lgb.Dataset(X, Y)
    model = lgb.train(QUIET | {"objective": squares}, train, 4, valid_sets=[train], feval=metric)
    builtin = fit(n_rounds=4, boost_from_average=False)
    np.testing.assert_allclose(model.predict(X), builtin.predict(X))
    np.testing.assert_allclose(seen[-1], model.predict(X))
    assert model.params["objective"] == "none"
    assert list(model.best_score["training"]) == ["mse"]


def test_several_scores_of_a_users_objective():
    def softmax(score, data):
        p = np.exp(score - score.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return p - np.eye(3)[data.get_label()], 1.5 * p * (1.0 - p)

    params = QUIET | {"num_class": 3, "metric": "multi_logloss", "objective": softmax}
    train = lgb.Dataset(X, CLASS)
    model = lgb.train(params, train, 4, valid_sets=[train])
    builtin = fit("multiclass", CLASS, 4, num_class=3, boost_from_average=False)
    np.testing.assert_allclose(model.predict(X), builtin.predict(X, raw_score=True), rtol=1e-6)


def test_a_model_is_continued_from_a_booster_and_from_a_file(tmp_path):
    first = fit()
    first.save_model(tmp_path / "model.txt")
    train = lgb.Dataset(X, Y)
    by_object = lgb.train(QUIET, train, 3, init_model=first)
    by_file = lgb.train(QUIET, train, 3, init_model=str(tmp_path / "model.txt"))
    assert by_object.current_iteration() == 8
    np.testing.assert_allclose(by_object.predict(X, num_iteration=5), first.predict(X))
    np.testing.assert_allclose(by_file.predict(X), by_object.predict(X))


def test_too_few_rows_for_a_split_add_nothing_to_the_initial_model():
    first, few = fit(n_rounds=2), lgb.Dataset(X[:8], Y[:8])
    more = lgb.train(QUIET, few, 3, init_model=first)
    np.testing.assert_array_equal(more.predict(X), first.predict(X))


@pytest.mark.parametrize("call", [lgb.train, lgb.cv])
def test_a_misspelled_parameter_is_an_error_that_names_the_booster(call):
    with pytest.raises(TypeError, match=r"^Booster has no parameter 'leafs'"):
        call(QUIET | {"leafs": 7}, lgb.Dataset(X, LABEL), 1)


def test_ranking():
    params = QUIET | {"objective": "lambdarank", "eval_at": [3]}
    train = lgb.Dataset(X, CLASS, group=GROUP)
    model = lgb.train(params, train, 5, valid_sets=[train])
    assert model.best_score["training"]["ndcg@3"] > 0.9
    found = lgb.cv(params, train, 3, nfold=3)
    assert list(found) == ["valid ndcg@3-mean", "valid ndcg@3-stdv"]
    with pytest.raises(lgb.LightGBMError, match="require query information"):
        lgb.train(params, lgb.Dataset(X, CLASS), 1)


@pytest.mark.parametrize("boosting", ["dart", "rf", "goss"])
def test_results_are_those_of_predictions(boosting):
    params = QUIET | {"boosting": boosting, "skip_drop": 0.0, "drop_rate": 0.5}
    params |= {"bagging_freq": 1, "bagging_fraction": 0.5} if boosting == "rf" else {}
    valid = lgb.Dataset(X[::2], Y[::2])
    model = lgb.train(params, lgb.Dataset(X, Y), 6, valid_sets=[valid])
    value = np.mean((model.predict(X[::2]) - Y[::2]) ** 2)
    assert model.best_score["valid_0"]["l2"] == pytest.approx(value)


def test_metrics_of_classes_with_an_objective_of_the_users():
    def logistic(score, data):
        p = 1.0 / (1.0 + np.exp(-score))
        return p - data.get_label(), p * (1.0 - p)

    params = QUIET | {"objective": logistic, "metric": ["binary_logloss", "binary_error"]}
    train = lgb.Dataset(X, LABEL)
    model = lgb.train(params, train, 2, valid_sets=[train])
    p = np.clip(model.predict(X), 1e-15, 1.0 - 1e-15)
    wanted = -np.mean(np.where(LABEL == 1, np.log(p), np.log(1.0 - p)))
    found = model.best_score["training"]
    assert found["binary_logloss"] == pytest.approx(wanted)
    assert found["binary_error"] == np.mean((p > 0.5) != LABEL)


def test_one_categorical_column_as_a_number():
    codes = np.column_stack([CLASS, X[:, 0]])
    by_number = lgb.train(QUIET | {"categorical_feature": 0}, lgb.Dataset(codes, Y), 2)
    by_list = lgb.train(QUIET, lgb.Dataset(codes, Y, categorical_feature=[0]), 2)
    np.testing.assert_array_equal(by_number.predict(codes), by_list.predict(codes))


# ------------------------------------------------------------------ cv


def test_cv_and_its_models():
    train = lgb.Dataset(X, LABEL)
    params = QUIET | {"objective": "binary"}
    options = {"nfold": 3, "return_cvbooster": True, "eval_train_metric": True}
    found = lgb.cv(params, train, 4, metrics="auc", **options)
    models = found.pop("cvbooster")
    assert sorted(found) == sorted(
        f"{table} auc-{kind}" for table in ("train", "valid") for kind in ("mean", "stdv")
    )
    assert len(found["valid auc-mean"]) == 4
    assert np.shape(models.predict(X)) == (3, 300)
    again = lgb.CVBooster().model_from_string(models.model_to_string())
    np.testing.assert_array_equal(again.predict(X), models.predict(X))
    again = pickle.loads(pickle.dumps(models))
    np.testing.assert_array_equal(again.predict(X), models.predict(X))


def test_cv_stops_early_and_takes_folds():
    train = lgb.Dataset(X, Y)
    half = np.arange(150)
    calls = [lgb.early_stopping(2, verbose=False)]
    folds = [(half, half + 150), (half + 150, half)]
    params = QUIET | {"learning_rate": 0.7}
    found = lgb.cv(params, train, 60, folds=folds, callbacks=calls, return_cvbooster=True)
    best = found["cvbooster"].best_iteration
    assert len(found["valid l2-mean"]) == best == 1 + np.argmin(found["valid l2-mean"]) < 58
    fold = lgb.train(params, train.subset(half), best)
    value = np.mean((fold.predict(X[150:]) - Y[150:]) ** 2)
    other = lgb.train(params, train.subset(half + 150), best)
    value = (value + np.mean((other.predict(X[:150]) - Y[:150]) ** 2)) / 2
    assert found["valid l2-mean"][-1] == pytest.approx(value)


# ------------------------------------------------------------------ Booster


def test_lightgbm_reads_the_text_and_we_read_lightgbms(tmp_path):
    for objective, label, options in (
        ("regression", Y, {}),
        ("poisson", np.abs(Y), {}),
        ("binary", LABEL, {}),
        ("multiclass", CLASS, {"num_class": 3}),
    ):
        model = fit(objective, label, **options)
        theirs = lightgbm.Booster(model_str=model.model_to_string())
        np.testing.assert_allclose(theirs.predict(X), model.predict(X), rtol=1e-12)
        again = lgb.Booster(model_str=theirs.model_to_string())
        np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)
        assert again.num_feature() == 4
    model.save_model(tmp_path / "model.txt", num_iteration=2, start_iteration=1)
    part = lgb.Booster(model_file=tmp_path / "model.txt")
    wanted = model.predict(X, start_iteration=1, num_iteration=2, raw_score=True)
    np.testing.assert_allclose(part.predict(X, raw_score=True), wanted, rtol=1e-12)


def test_update_rollback_and_evaluation():
    train, valid = lgb.Dataset(X, Y), lgb.Dataset(X[:50], Y[:50])
    model = lgb.Booster(QUIET, train).add_valid(valid, "few")
    values = []
    for _ in range(4):
        assert model.update() is False
        values.append(model.eval_valid()[0].metric_value)
    assert values == sorted(values, reverse=True)
    model.rollback_one_iter()
    assert model.num_trees() == 3
    assert model.eval_valid()[0].metric_value == values[2]
    assert model.eval(valid, "few")[0].metric_value == values[2]
    name, metric, value, higher = model.eval_train()[0]
    assert (name, metric, higher) == ("training", "l2", False)
    assert value == pytest.approx(np.mean((model.predict(X) - Y) ** 2))
    model.update()
    assert model.eval_valid()[0].metric_value == pytest.approx(values[3])


def test_copies_and_pickles():
    model = fit("binary", LABEL)
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.params == model.params


def test_views_of_the_trees():
    model = fit(label=Y + 50.0)
    dumped = model.dump_model()
    assert len(dumped["tree_info"]) == 5
    assert dumped["tree_info"][0]["tree_structure"]["internal_value"] == pytest.approx(50, abs=3)
    frame = model.trees_to_dataframe()
    leaf = model.predict(X[:1], pred_leaf=True)[0]
    values = [model.get_leaf_output(t, number) for t, number in enumerate(leaf)]
    assert sum(values) == pytest.approx(model.predict(X[:1])[0])
    assert frame["tree_index"].nunique() == 5
    assert model.feature_importance().sum() == frame["split_feature"].notna().sum()
    changed = model.set_leaf_output(0, leaf[0], values[0] + 1.0)
    assert changed.predict(X[:1])[0] == pytest.approx(sum(values) + 1.0)


def test_refit_changes_leaves_and_keeps_splits():
    model = fit(n_rounds=20)
    other = model.refit(X[:100], Y[:100] + 3.0, decay_rate=0.5)
    assert abs(other.predict(X[:100]).mean() - Y[:100].mean()) > 0.5
    before, after = model.trees_to_dataframe(), other.trees_to_dataframe()
    pd.testing.assert_series_equal(before["threshold"], after["threshold"])
    same = model.refit(X, Y, decay_rate=1.0)
    np.testing.assert_allclose(same.predict(X), model.predict(X))
    again = fit(n_rounds=1, boost_from_average=False, learning_rate=1.0)
    new = again.refit(X, Y, decay_rate=0.0)
    np.testing.assert_allclose(new.predict(X), again.predict(X), atol=1e-3)


@pytest.mark.parametrize("missing", [0.0, 0.02])
@pytest.mark.parametrize("seed", range(3))
def test_refitted_linear_trees_equal_those_of_lightgbm(seed, missing):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(800, 3))
    label = rows @ [1.0, 2.0, -1.0] + 5.0 + 0.1 * rng.normal(size=800)
    new, decay_rate = label + rows[:, 0] ** 2 * 0.3, (0.9, 0.0, 0.5)[seed]
    rows[rng.random(rows.shape) < missing] = np.nan
    params = {"linear_tree": True, "num_leaves": 4, "verbose": -1, "linear_lambda": 0.1}
    theirs = lightgbm.train(params, lightgbm.Dataset(rows, label), 8)
    ours = lgb.Booster(model_str=theirs.model_to_string())
    expected = theirs.refit(rows, new, decay_rate=decay_rate).predict(rows)
    found = ours.refit(rows, new, decay_rate=decay_rate).predict(rows)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.abs(expected - theirs.predict(rows)).max() > 0.01


def test_refitted_constant_trees_equal_those_of_lightgbm(tmp_path):
    params = {"num_leaves": 5, "verbose": -1, "objective": "multiclass", "num_class": 3}
    theirs = lightgbm.train(params, lightgbm.Dataset(X, CLASS), 4)
    theirs.save_model(tmp_path / "model.txt")
    ours = lgb.Booster(model_file=tmp_path / "model.txt")
    expected, found = (one.refit(X, CLASS[::-1], decay_rate=0.3) for one in (theirs, ours))
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=1e-6)


def test_linear_trees_with_missing_values_are_refitted():
    rows = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    params = QUIET | {"linear_tree": True, "num_leaves": 4}
    model = lgb.train(params, lgb.Dataset(rows, Y), 20)
    other = model.refit(rows, Y + 2.0, decay_rate=0.0)
    assert np.mean((other.predict(rows) - Y - 2.0) ** 2) < 0.3 * Y.var()
    assert other.predict(rows).mean() == pytest.approx(Y.mean() + 2.0, abs=0.05)


def test_refit_of_linear_trees_changes_only_reached_leaves():
    model = fit(n_rounds=4, linear_tree=True, num_leaves=4)
    same = model.refit(X, Y, decay_rate=1.0)
    np.testing.assert_allclose(same.predict(X), model.predict(X))
    few = model.refit(X[:2], Y[:2] + 1.0)  # fewer rows than coefficients
    assert np.isfinite(few.predict(X)).all()
    leaf = model.predict(X, pred_leaf=True)
    apart = (leaf[:, None] != leaf[:2]).all(axis=(1, 2))
    assert apart.any()
    np.testing.assert_array_equal(few.predict(X)[apart], model.predict(X)[apart])


def test_refit_leaves_out_rows_of_weight_zero():
    model, weight = fit(n_rounds=4), np.repeat([1.0, 0.0], [200, 100])
    whole = model.refit(X, Y + 1.0, weight=weight)
    part = model.refit(X[:200], Y[:200] + 1.0)
    np.testing.assert_allclose(whole.predict(X), part.predict(X))


# ------------------------------------------------------------------ Dataset


def test_fields_of_a_dataset():
    data = lgb.Dataset(X, Y, weight=np.arange(300.0), feature_name=["a b", "c", "d", "e"])
    assert (data.num_data(), data.num_feature()) == (300, 4)
    assert data.get_feature_name() == ["a_b", "c", "d", "e"]
    part = data.subset([5, 3])
    np.testing.assert_array_equal(part.get_label(), Y[[3, 5]])
    np.testing.assert_array_equal(part.get_weight(), [3.0, 5.0])
    ranked = lgb.Dataset(X, CLASS, group=GROUP).subset(np.arange(5, 35))
    assert ranked.get_group().tolist() == [5, 10, 10, 5]
    assert data.construct() is data
    with pytest.raises(lgb.LightGBMError, match="freed raw data"):
        data.get_data()
    valid = data.create_valid(X[:5], Y[:5])
    assert valid.get_ref_chain() == {valid, data}
    assert lgb.train(QUIET, data, 2).feature_name() == ["a_b", "c", "d", "e"]


@pytest.mark.parametrize(
    "data",
    [
        X.astype(np.float32).astype(np.float64),
        [X[:100], X[100:]],
        pd.DataFrame(X),
        pd.DataFrame(X, columns=list("abcd")),
        sparse.csr_matrix(X),
    ],
)
def test_forms_of_data(data):
    model = lgb.train(QUIET, lgb.Dataset(data, Y), 3)
    rows = np.concatenate(data) if isinstance(data, list) else data
    found = model.predict(rows)
    np.testing.assert_allclose(found, fit(n_rounds=3).predict(X), atol=1e-6)
    if isinstance(rows, pd.DataFrame):
        np.testing.assert_array_equal(model.predict(rows.to_numpy()), found)
        renamed = rows.rename(columns={rows.columns[1]: "z"})
        np.testing.assert_array_equal(model.predict(renamed), found)
        with pytest.raises(lgb.LightGBMError, match="at position 1 but found 'z'"):
            model.predict(renamed, validate_features=True)


def test_text_files_with_other_fields_beside_them(tmp_path):
    path = tmp_path / "rows.train"
    np.savetxt(path, np.column_stack([CLASS, X]), delimiter="\t")
    np.savetxt(f"{path}.query", GROUP, fmt="%d")
    data = lgb.Dataset(path)
    model = lgb.train(QUIET | {"objective": "rank_xendcg"}, data, 2)
    assert data.get_group().tolist() == GROUP.tolist()
    np.testing.assert_array_equal(model.predict(path), model.predict(X))
    (tmp_path / "bad.train").write_text("binary\0rubbish\n")
    with pytest.raises(lgb.LightGBMError, match="Unknown format of training data"):
        lgb.train(QUIET, lgb.Dataset(tmp_path / "bad.train"), 1)
    with pytest.raises(lgb.LightGBMError, match="Could not open data file"):
        lgb.Dataset("absent.train").construct()


def frame_of_kinds():
    """Return a frame of numbers, missing values and categories."""
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["b"] = frame["b"].mask(frame["b"] > 1.5)
    frame["n"] = pd.array(np.where(Y > 2, None, CLASS), dtype="Int64")
    frame["flag"] = Y > 0.5
    frame["kind"] = pd.Categorical.from_codes(CLASS - (Y > 3), ["u", "v", "w"])
    frame["size"] = pd.Categorical(CLASS, categories=[2, 1, 0], ordered=True)
    return frame


@pytest.mark.parametrize(
    "rows",
    [X, X.astype(np.float32), frame_of_kinds(), sparse.csr_matrix(X > 0.3), sparse.csc_array(X)],
)
def test_a_binary_file_trains_the_same_model(rows, tmp_path):
    path, given = tmp_path / "rows.bin", {"weight": np.arange(1.0, 301.0), "init_score": Y / 2.0}
    data = lgb.Dataset(rows, Y, params={"max_bin": 20}, **given)
    assert data.save_binary(path) is data
    read = lgb.Dataset(str(path))
    assert read.get_params() == {"max_bin": 20}
    assert read.get_feature_name() == data.get_feature_name()
    for name in ("label", "weight", "init_score"):
        np.testing.assert_array_equal(read.get_field(name), data.get_field(name))
    models = [lgb.train(QUIET, one, 4) for one in (data, read)]
    assert models[0].model_to_string() == models[1].model_to_string()
    assert read.save_binary(path) is read  # a file may replace itself
    assert lgb.train(QUIET, lgb.Dataset(path), 4).num_trees() == 4


def test_binary_file_holds_queries_and_names(tmp_path):
    path, names = tmp_path / "rows.bin", ["w", "x", "y", "z"]
    data = lgb.Dataset(X, CLASS, group=GROUP, position=CLASS, feature_name=names)
    data.set_categorical_feature(["z"]).save_binary(path)
    read = lgb.Dataset(path, weight=np.arange(1.0, 301.0))
    assert read.get_feature_name() == names
    assert read.categorical_feature == ["z"]
    np.testing.assert_array_equal(read.get_group(), GROUP)
    np.testing.assert_array_equal(read.get_position(), data.get_position())
    assert read.get_weight()[5] == 6.0
    assert lgb.Dataset(path, feature_name=list("abcd")).get_feature_name() == list("abcd")


def test_a_damaged_binary_file_is_an_error(tmp_path):
    path = tmp_path / "rows.bin"
    lgb.Dataset(X, Y).save_binary(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.integers(200, len(whole) - 1000, 20).tolist():  # in the arrays
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(lgb.LightGBMError, match="not a complete binary file"):
            lgb.Dataset(path)
    for at in (*range(4, 200), *range(len(whole) - 1000, len(whole))):  # in zip's own fields
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with contextlib.suppress(lgb.LightGBMError):  # some bytes, such as dates, do not matter
            lgb.Dataset(path)
    for cut in (5, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(lgb.LightGBMError, match="not a complete binary file"):
            lgb.Dataset(path)
    np.savez(path.with_suffix(".npz"), rows=X)
    with pytest.raises(lgb.LightGBMError, match="not a complete binary file"):
        lgb.Dataset(path.with_suffix(".npz"))
    lightgbm.Dataset(X, Y, params={"verbose": -1}).save_binary(tmp_path / "theirs.bin")
    with pytest.raises(lgb.LightGBMError, match="which only LightGBM reads"):
        lgb.Dataset(tmp_path / "theirs.bin")


def test_what_a_binary_file_cannot_hold_is_an_error(tmp_path):
    path = tmp_path / "rows.bin"
    path.write_text("before")
    text = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    mixed = pd.DataFrame({"a": [1.0, 2.0], "b": pd.Categorical(["x", 2])})
    for data, words in (
        (lgb.Dataset(text, [0, 1]), "column 'b' cannot be saved"),
        (lgb.Dataset(mixed, [0, 1]), "must be numbers only or text only"),
        (lgb.Dataset(X, Y, params={"objective": print}), "a parameter of the Dataset"),
    ):
        with pytest.raises(lgb.LightGBMError, match=words):
            data.save_binary(path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_initial_scores_are_read_class_by_class():
    score = np.random.default_rng(1).normal(size=(300, 3))
    params = QUIET | {"objective": "multiclass", "num_class": 3}
    by_row = lgb.train(params, lgb.Dataset(X, CLASS, init_score=score), 2)
    flat = lgb.train(params, lgb.Dataset(X, CLASS, init_score=score.T.ravel()), 2)
    np.testing.assert_array_equal(flat.predict(X), by_row.predict(X))


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("params", "label", "words"),
    [
        ({"objective": "multiclass"}, CLASS, "Number of classes should be specified"),
        ({"num_class": 3}, CLASS, "must be 1 for non-multiclass"),
        ({"objective": "multiclass", "num_class": 2}, CLASS, r"Label must be in \[0, 2\)"),
        ({"device": "gpu"}, Y, "no GPU code"),
        ({"feature_contri": [0.5, 1, 1]}, Y, "for each of the 4 columns"),
        ({"cegb_penalty_split": 0.1}, Y, "splits have no cost"),
        ({"parity": "lightgbm"}, Y, "parity is a parameter of the estimators"),
        ({"num_leaves": "many"}, Y, "num_leaves"),
        ({}, Y[:7], "Length of label"),
        ({}, None, "Label should not be None"),
    ],
)
def test_arguments_that_are_refused(params, label, words):
    with pytest.raises(lgb.LightGBMError, match=words):
        lgb.train(QUIET | params, lgb.Dataset(X, label), 1)


def test_types_that_are_refused():
    train = lgb.Dataset(X, Y)
    with pytest.raises(TypeError, match="only accepts Dataset object"):
        lgb.train({}, X)
    with pytest.raises(TypeError, match="Item 1 has type 'tuple'"):
        lgb.train({}, train, valid_sets=[train, (X, Y)])
    with pytest.raises(ValueError, match=r"must be greater than 0\. Got -1"):
        lgb.cv({"num_trees": -1}, train)
    with pytest.raises(TypeError, match="did you mean 'num_leaves'"):
        lgb.train({"num_leafs": 3}, train)
    with pytest.raises(TypeError, match=r"should be an integer\. Got 'str'"):
        lgb.train({"early_stopping_round": "3"}, train)
    with pytest.raises(TypeError, match="must provide"):
        lgb.register_logger(object())


def test_a_logger_of_the_users():
    class Lines:
        def __init__(self):
            self.lines = []

        def note(self, text):
            self.lines.append(text)

    logger, train = Lines(), lgb.Dataset(X, Y)
    try:
        lgb.register_logger(logger, info_method_name="note", warning_method_name="note")
        lgb.train(QUIET, train, 1, valid_sets=[train], callbacks=[lgb.log_evaluation(1)])
        lgb.train(QUIET | {"num_trees": 1, "n_iter": 2}, train)
    finally:
        lgb.register_logger(lgb.messages.Logger(), "info", "warning")
    assert logger.lines[0].startswith("[1]\ttraining's l2:")
    assert "conflicting values for num_iterations" in logger.lines[1]


def test_estimators_under_lightgbms_names():
    valid = {"eval_set": [(X, LABEL)], "callbacks": [lgb.early_stopping(2, verbose=False)]}
    model = lgb.LGBMClassifier(n_estimators=3, verbose=-1).fit(X, LABEL, **valid)
    assert isinstance(model, HistogramBoostingClassifier)
    assert isinstance(model, lgb.LGBMModel)
    with pytest.raises(TypeError, match="LGBMRegressor has no parameter 'leafs'"):
        lgb.LGBMRegressor(leafs=1)
    ranker = lgb.LGBMRanker(n_estimators=2).fit(X, CLASS, group=GROUP)
    assert ranker.predict(X).shape == (300,)


def test_errors_name_the_booster_instead_of_its_estimator():
    with pytest.raises(lgb.LightGBMError, match="Booster is expecting 4 features"):
        fit().predict(X[:, :2])
