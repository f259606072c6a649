"""Tests that programs for XGBoost's scikit-learn estimators run on ours with one changed import."""

import inspect

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone

from algorithms import NewtonBoostingClassifier, NewtonBoostingRegressor
from algorithms.compat.parameters import constructor_defaults
from algorithms.compat.xgboost_parameters import XGBOOST


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n) > 0.5).astype(int)


X, Y = table()
X_VALID, Y_VALID = table(200, 1)


def classifier(**params):
    return NewtonBoostingClassifier(**{"n_estimators": 8, "random_state": 0, **params})


def test_every_argument_of_xgboost_estimators_is_accepted():
    theirs = inspect.signature(xgboost.XGBModel.__init__).parameters
    known = {*constructor_defaults(NewtonBoostingClassifier), *XGBOOST.by_name}
    assert set(theirs) - {"self", "kwargs"} <= known


def test_every_row_has_one_meaning():
    for row in XGBOOST.rows:
        assert bool(row.attribute) + row.ignored + bool(row.harmless) == 1, row.name
        assert row.attribute or row.reason, row.name


@pytest.mark.parametrize(
    ("alias", "name", "value"),
    [
        ("eta", "learning_rate", 0.05),
        ("lambda", "reg_lambda", 30.0),
        ("alpha", "reg_alpha", 3.0),
        ("min_split_loss", "gamma", 3.0),
        ("nthread", "n_jobs", 1),
        ("seed", "random_state", 4),
    ],
)
def test_alias_means_the_same_as_the_name(alias, name, value):
    by_alias = clone(classifier(**{alias: value})).fit(X, Y)
    by_name = classifier(**{name: value}).fit(X, Y)
    assert np.array_equal(by_alias.predict_proba(X), by_name.predict_proba(X))
    assert by_alias.get_params()[alias] == value


def test_output_parameters_do_not_change_the_model():
    quiet = classifier(
        verbosity=0, use_label_encoder=False, predictor="cpu_predictor", device="cpu", silent=True
    ).fit(X, Y)
    assert np.array_equal(quiet.predict_proba(X), classifier().fit(X, Y).predict_proba(X))


@pytest.mark.parametrize(
    "params",
    [
        {"device": "cuda"},
        {"updater": "refresh"},
    ],
)
def test_unsupported_parameters_are_refused_with_a_reason(params):
    ((name, _),) = params.items()
    with pytest.raises(ValueError, match=f"NewtonBoostingClassifier does not support {name}="):
        classifier(**params).fit(X, Y)


def test_misspelled_parameter_suggests_the_right_name():
    with pytest.raises(TypeError, match="did you mean 'max_depth'"):
        NewtonBoostingRegressor(maxdepth=3)


def test_xgboost_callbacks_work(capsys):
    callbacks = [
        xgboost.callback.EvaluationMonitor(period=2),
        xgboost.callback.EarlyStopping(rounds=3),
        xgboost.callback.LearningRateScheduler(lambda epoch: 0.3 * 0.9**epoch),
    ]
    model = classifier(n_estimators=60, callbacks=callbacks)
    model.fit(X, Y, eval_set=[(X_VALID, Y_VALID)])
    history = model.evals_result()["validation_0"]["logloss"]
    assert len(history) == model.n_iter_ < 60
    assert model.best_iteration == int(np.argmin(history))
    assert model.best_score == pytest.approx(min(history))
    assert capsys.readouterr().out.startswith("[0]\tvalidation_0-logloss:")


def test_early_stopping_with_save_best_keeps_the_best_rounds_only():
    stop = xgboost.callback.EarlyStopping(rounds=3, save_best=True)
    model = classifier(n_estimators=60, callbacks=[stop])
    model.fit(X, Y, eval_set=[(X_VALID, Y_VALID)])
    assert model.n_iter_ == model.best_iteration + 1
    assert stop.save_best


def test_callback_can_end_training_before_and_after_a_round():
    class Stop(xgboost.callback.TrainingCallback):
        def __init__(self, at, *, early):
            self.at, self.early = at, early

        def before_iteration(self, model, epoch, evals_log):
            return self.early and epoch == self.at

        def after_iteration(self, model, epoch, evals_log):
            assert model.num_boosted_rounds() == epoch + 1
            return not self.early and epoch == self.at

    for early, n_rounds in ((True, 2), (False, 3)):
        model = classifier(callbacks=[Stop(2, early=early)]).fit(X, Y)
        assert model.n_iter_ == n_rounds


def test_callbacks_are_refused_in_parity_mode():
    model = classifier(parity="xgboost", callbacks=[xgboost.callback.TrainingCallback()])
    with pytest.raises(ValueError, match="callbacks"):
        model.fit(X, Y)


@pytest.mark.parametrize("given", ["estimator", "booster", "file"])
def test_boosting_continues_from_xgboost_models(given, tmp_path):
    theirs = xgboost.XGBClassifier(n_estimators=5).fit(X, Y)
    path = tmp_path / "model.json"
    theirs.save_model(path)
    first = {"estimator": theirs, "booster": theirs.get_booster(), "file": path}[given]
    model = classifier(n_estimators=3).fit(X, Y, xgb_model=first)
    assert model.n_iter_ == 8
    probabilities = model.predict_proba(X, iteration_range=(0, 5))
    np.testing.assert_allclose(probabilities, theirs.predict_proba(X), rtol=1e-5)


def test_booster_has_the_xgboost_formats(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = classifier().fit(frame, Y)
    ours, theirs = model.get_booster(), xgboost.Booster()
    ours.save_model(tmp_path / "model.json")
    theirs.load_model(tmp_path / "model.json")
    assert ours.feature_names == theirs.feature_names == list("abcd")
    assert ours.num_boosted_rounds() == theirs.num_boosted_rounds() == 8
    for kind in ("weight", "gain", "total_cover"):
        result, expected = (one.get_score(importance_type=kind) for one in (ours, theirs))
        assert result == pytest.approx(expected, rel=1e-4)
    result, expected = (one.trees_to_dataframe() for one in (ours, theirs))
    assert list(result.columns) == list(expected.columns)
    assert sorted(result["Feature"]) == sorted(expected["Feature"])
    lines, others = (one.get_dump()[0].splitlines() for one in (ours, theirs))
    assert len(lines) == len(others)
    assert ours.get_dump(dump_format="json", with_stats=True)[0].startswith("{")
    np.testing.assert_allclose(
        ours.inplace_predict(frame), theirs.inplace_predict(frame), rtol=1e-5
    )


def test_failed_fit_keeps_the_model():
    model = classifier().fit(X, Y)
    before = model.predict_proba(X)
    model.set_params(eval_metric="nonsense")
    with pytest.raises(ValueError, match="nonsense"):
        model.fit(X, Y, eval_set=[(X_VALID, Y_VALID)])
    assert np.array_equal(model.predict_proba(X), before)
