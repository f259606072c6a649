"""Tests that programs for LightGBM's scikit-learn estimators run on ours with a changed import."""

import pickle

import lightgbm
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.compat.lightgbm_parameters import LIGHTGBM


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n) > 0.5).astype(int)


X, Y = table()
X_VALID, Y_VALID = table(200, 1)


def classifier(**params):
    return HistogramBoostingClassifier(**{"n_estimators": 10, "random_state": 0, **params})


# ------------------------------------------------------------------ parameters


def test_every_lightgbm_parameter_is_in_the_table():
    lightgbm.basic._ConfigAliases.get("num_leaves")
    for name, aliases in lightgbm.basic._ConfigAliases.aliases.items():
        for one in {name, *aliases}:
            assert LIGHTGBM.by_name[one].name == name


def test_every_row_has_one_meaning():
    for row in LIGHTGBM.rows:
        assert bool(row.attribute) + row.ignored + bool(row.harmless) == 1, row.name
        assert row.attribute or row.reason, row.name
    names = [name for row in LIGHTGBM.rows for name in row.names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("alias", "name", "value"),
    [
        ("eta", "learning_rate", 0.5),
        ("num_boost_round", "n_estimators", 3),
        ("min_data_in_leaf", "min_child_samples", 40),
        ("lambda_l2", "reg_lambda", 30.0),
        ("lambda", "reg_lambda", 30.0),
        ("feature_fraction", "colsample_bytree", 0.5),
        ("max_leaves", "num_leaves", 4),
        ("seed", "random_state", 3),
        ("monotonic_cst", "monotone_constraints", [1, 0, 0, 0]),
        ("mc", "monotone_constraints", [1, 0, 0, 0]),
    ],
)
def test_alias_means_the_same_as_the_name(alias, name, value):
    by_alias = HistogramBoostingClassifier(n_estimators=5, **{alias: value})
    by_name = HistogramBoostingClassifier(n_estimators=5).set_params(**{name: value})
    if alias != "seed":
        by_alias.set_params(random_state=0)
        by_name.set_params(random_state=0)
    result, expected = (m.fit(X, Y).predict_proba(X) for m in (by_alias, by_name))
    assert np.array_equal(result, expected)
    assert by_alias.get_params()[alias] == value


def test_lightgbm_value_syntax_is_read():
    plain = classifier().fit(X, Y).predict_proba(X)
    written = classifier(
        early_stopping_round=0,
        monotone_constraints=[],
        interaction_constraints="",
        boosting="gbrt",
        is_unbalance=0,
        bagging_freq=-1,
        categorical_feature="",
    )
    assert np.array_equal(written.fit(X, Y).predict_proba(X), plain)
    signs = classifier(monotone_constraints="1,0,0,0").fit(X, Y).predict_proba(X)
    assert np.array_equal(
        signs, classifier(monotone_constraints=[1, 0, 0, 0]).fit(X, Y).predict_proba(X)
    )


def test_output_and_memory_parameters_do_not_change_the_model():
    plain = classifier().fit(X, Y).predict_proba(X)
    quiet = classifier(
        verbose=-1,
        force_col_wise=True,
        device="cpu",
        deterministic=True,
        data_random_seed=7,
        num_threads=2,
        feature_pre_filter=False,
        two_round=True,
    )
    assert np.array_equal(quiet.fit(X, Y).predict_proba(X), plain)


@pytest.mark.parametrize(
    "params",
    [{"device": "cuda"}, {"device_type": "gpu"}, {"reg_sqrt": True}, {"tree_learner": "data"}],
)
def test_unsupported_parameters_are_refused_with_a_reason(params):
    ((name, _),) = params.items()
    with pytest.raises(ValueError, match=f"Classifier does not support {name}="):
        classifier(**params).fit(X, Y)


def test_misspelled_parameter_is_reported_with_the_users_class_name():
    class Mine(HistogramBoostingClassifier):
        pass

    with pytest.raises(TypeError, match="Mine has no parameter 'num_leafs'; did you mean 'num_lea"):
        Mine(num_leafs=3)
    with pytest.raises(ValueError, match="Mine has no parameter 'num_leafs'"):
        Mine().set_params(num_leafs=3)


def test_main_name_has_precedence_over_an_alias():
    with pytest.warns(UserWarning, match="num_iterations counts"):
        model = HistogramBoostingRegressor(num_iterations=2, n_iter=6).fit(X, Y)
    assert model.n_estimators_ == 2


def test_clones_and_pickles_keep_aliased_parameters():
    model = classifier(bagging_fraction=0.5, bagging_freq=1, verbose=-1)
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        assert copy.get_params() == model.get_params()
        assert np.array_equal(
            copy.fit(X, Y).predict_proba(X), clone(model).fit(X, Y).predict_proba(X)
        )
    assert model.set_params(bagging_fraction=0.7).get_params()["bagging_fraction"] == 0.7


def test_subclass_passes_parameters_on():
    class Mine(HistogramBoostingRegressor):
        def __init__(self, *, own=1, **kwargs):
            self.own = own
            super().__init__(**kwargs)

    model = clone(Mine(own=2, num_leaves=5, eta=0.2))
    assert (model.own, model.num_leaves, model.eta) == (2, 5, 0.2)
    assert model.fit(X, Y).ensemble_.n_trees == 100


# ------------------------------------------------------------------ fit


def test_several_metrics_are_added_to_the_default_metric():
    def half(y, p):
        assert p.shape == y.shape
        return "half", 0.5, False

    model = classifier().fit(
        X, Y, eval_set=[(X, Y), (X_VALID, Y_VALID)], eval_metric=["auc", half, "binary_error"]
    )
    assert list(model.evals_result_) == ["training", "valid_1"]
    names = ["auc", "binary_error", "binary_logloss", "half"]
    assert list(model.evals_result_["valid_1"]) == names
    assert model.best_score_["valid_1"]["half"] == 0.5


def test_evaluation_sets_have_the_given_names():
    model = classifier().fit(
        X, Y, eval_X=(X, X_VALID), eval_y=(Y, Y_VALID), eval_names=["seen", "new"]
    )
    assert list(model.evals_result_) == ["seen", "new"]


@pytest.mark.parametrize("first_metric_only", [False, True])
def test_early_stopping_follows_lightgbm(first_metric_only):
    values = {"one": [3, 2, 1, 0] * 9, "two": [1, 2, 3, 4] * 9}
    counts = {"one": 0, "two": 0}

    def metric(name):
        def take(y, p):
            counts[name] += 1
            return name, values[name][0] - (counts[name] if name == "one" else 0), False

        return take

    params = {"n_estimators": 12, "early_stopping_round": 4, "metric": "None"}
    model = classifier(**params, first_metric_only=first_metric_only)
    model.fit(X, Y, eval_set=[(X_VALID, Y_VALID)], eval_metric=[metric("one"), metric("two")])
    assert model.best_iteration_ == (12 if first_metric_only else 1)
    assert model.n_iter_ == model.booster_.num_trees() == model.best_iteration_


def test_lightgbm_callbacks_work(capsys, monkeypatch):
    # The reference LightGBM sets a logger of its own, which may have run in this process.
    monkeypatch.setattr(lightgbm.basic, "_LOGGER", lightgbm.basic._DummyLogger())
    monkeypatch.setattr(lightgbm.basic, "_INFO_METHOD_NAME", "info")
    messages, rates = {}, []
    callbacks = [
        lightgbm.early_stopping(3, verbose=False),
        lightgbm.log_evaluation(1),
        lightgbm.record_evaluation(messages),
        lightgbm.reset_parameter(learning_rate=lambda k: 0.3 * 0.9**k),
        lambda env: rates.append(env.params["learning_rate"]),
    ]
    model = classifier(n_estimators=80, learning_rate=0.3)
    model.fit(X, Y, eval_set=[(X, Y), (X_VALID, Y_VALID)], callbacks=callbacks)
    assert messages == model.evals_result_
    assert len(rates) == len(messages["valid_1"]["binary_logloss"]) < 80
    assert model.best_iteration_ == int(np.argmin(messages["valid_1"]["binary_logloss"])) + 1
    assert "[1]\ttraining's binary_logloss" in capsys.readouterr().out
    assert model.learning_rate == 0.3  # training changed a copy


def test_learning_rate_changed_by_a_callback_applies_to_the_round():
    slow = classifier(learning_rate=0.05).fit(X, Y)
    reset = lightgbm.reset_parameter(learning_rate=lambda k: 0.05)
    changed = classifier(learning_rate=0.5).fit(X, Y, callbacks=[reset])
    assert np.array_equal(changed.predict_proba(X), slow.predict_proba(X))


def test_training_set_never_stops_training(capsys):
    model = classifier(early_stopping_round=1, n_estimators=15)
    model.fit(X, Y, eval_set=[(X, Y)])
    assert model.best_iteration_ == 0
    assert model.n_iter_ == 15
    assert "Only training set found" in capsys.readouterr().out


def test_failed_fit_keeps_the_model():
    model = classifier().fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="eval_metric"):
        model.fit(X, Y, eval_set=[(X_VALID, Y_VALID)], eval_metric="nonsense")
    assert np.array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("given", ["estimator", "booster", "file"])
def test_boosting_continues_from_lightgbm_models(given, tmp_path):
    theirs = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit(X, Y)
    path = tmp_path / "model.txt"
    theirs.booster_.save_model(path)
    first = {"estimator": theirs, "booster": theirs.booster_, "file": path}[given]
    model = classifier(n_estimators=3).fit(X, Y, init_model=first)
    assert model.n_iter_ == 8
    raw = theirs.booster_.predict(X, raw_score=True)
    np.testing.assert_allclose(model.predict(X, raw_score=True, num_iteration=5), raw)


# ------------------------------------------------------------------ predict


@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_of_round_ranges_add_up(n_classes):
    y = np.digitize(X[:, 0], [-0.5, 0.5][: n_classes - 1])
    model = classifier().fit(X, y)
    first, rest = (
        model.predict(X, raw_score=True, start_iteration=s, num_iteration=n)
        for s, n in ((0, 4), (4, None))
    )
    np.testing.assert_allclose(first + rest, model.predict(X, raw_score=True), atol=1e-12)
    predictions = model.predict(X, pred_contrib=True, start_iteration=2, num_iteration=3)
    raw = model.predict(X, raw_score=True, start_iteration=2, num_iteration=3)
    sums = predictions.reshape(len(X), -1, 5).sum(axis=2)
    np.testing.assert_allclose(sums.reshape(raw.shape), raw, atol=1e-9)


def test_leaves_are_numbered_within_their_tree():
    model = classifier().fit(X, Y)
    leaves = model.predict(X, pred_leaf=True)
    assert leaves.shape == (len(X), 10)
    booster = model.booster_
    value = sum(booster.get_leaf_output(t, leaves[0, t]) for t in range(10)) + model._base[0]
    assert value == pytest.approx(model.predict(X, raw_score=True)[0])


def test_contributions_of_sparse_rows_are_sparse():
    model = classifier().fit(X, Y)
    predictions = model.predict(sparse.csr_matrix(X), pred_contrib=True)
    assert sparse.issparse(predictions)
    np.testing.assert_allclose(predictions.toarray(), model.predict(X, pred_contrib=True))


@pytest.mark.parametrize("strategy", ["rf", "goss"])
def test_other_boosting_types(strategy):
    params = {"subsample": 0.6, "subsample_freq": 1} if strategy == "rf" else {}
    model = classifier(boosting_type=strategy, n_estimators=30, **params).fit(X, Y)
    theirs = lightgbm.LGBMClassifier(
        boosting_type=strategy, n_estimators=30, verbose=-1, **params
    ).fit(X, Y)
    assert model.score(X_VALID, Y_VALID) > theirs.score(X_VALID, Y_VALID) - 0.05
    watched = classifier(boosting_type=strategy, **params)
    watched.fit(X, Y, eval_set=[(X_VALID, Y_VALID)])
    proba = watched.predict_proba(X_VALID)[np.arange(len(Y_VALID)), Y_VALID]
    values = watched.evals_result_["valid_0"]["binary_logloss"][-1]
    assert values == pytest.approx(-np.log(proba).mean())


def test_forest_of_identical_trees_is_refused():
    with pytest.raises(ValueError, match="needs bagging"):
        classifier(boosting_type="rf").fit(X, Y)


# ------------------------------------------------------------------ the model's view


def test_booster_has_the_lightgbm_formats():
    frame = pd.DataFrame(X, columns=["a", "b", "c d", "e"])
    model = classifier().fit(frame, Y)
    booster = model.booster_
    assert booster.feature_name() == model.feature_name_ == ["a", "b", "c_d", "e"]
    assert booster.num_trees() == booster.current_iteration() == 10
    nodes = booster.trees_to_dataframe()
    theirs = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(X, Y).booster_
    assert list(nodes.columns) == list(theirs.trees_to_dataframe().columns)
    splits = nodes["split_feature"].value_counts().reindex(booster.feature_name(), fill_value=0)
    assert splits.tolist() == model.feature_importances_.tolist()
    assert len(booster.dump_model()["tree_info"]) == 10
    loaded = lightgbm.Booster(model_str=booster.model_to_string())
    np.testing.assert_allclose(loaded.predict(X), model.predict_proba(frame)[:, 1])
    assert booster.lower_bound() <= model.predict(frame, raw_score=True).min()


def test_array_columns_get_the_given_names():
    model = classifier().fit(X, Y, feature_name=["a", "b", "c", "d"], categorical_feature=["d"])
    assert model.feature_name_ == ["a", "b", "c", "d"]
    assert classifier().fit(X, Y).feature_name_[0] == "Column_0"
