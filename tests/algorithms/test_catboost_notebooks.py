"""Pieces of notebooks written for CatBoost run with one changed import, with the same results."""

import pickle

import catboost
import numpy as np
import pandas as pd
import pytest
from catboost import utils as their_utils
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import algorithms.compat.catboost as ours
from algorithms.compat.catboost import utils as our_utils

SILENT = {"logging_level": "Silent", "allow_writing_files": False}
FIXED = {**SILENT, "bootstrap_type": "No", "random_strength": 0, "depth": 3}


@pytest.fixture(autouse=True)
def _files_of_catboost(tmp_path, monkeypatch):
    """Let CatBoost write its files elsewhere."""
    monkeypatch.chdir(tmp_path)


def numbers():
    """Return rows, classes and numbers."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5))
    score = 2 * X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=300)
    return X, (score > 1).astype(int), score


def people():
    """Return a frame with two categorical columns, and classes."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 300),
            "city": rng.choice(["Rome", "Oslo", "Lima", "Kyiv"], 300),
            "income": rng.normal(size=300),
            "sex": rng.choice(["m", "f"], 300),
        }
    )
    target = (frame["age"] > 40).astype(int) ^ (frame["city"] == "Oslo")
    return frame, target


def pool_with_categories_by_name(library):
    frame, target = people()
    pool = library.Pool(frame, target, cat_features=["city", "sex"])
    model = library.CatBoostClassifier(iterations=10, has_time=True, **FIXED)
    model.fit(pool, verbose=False)
    return model.predict_proba(pool), model.feature_names_, model.get_cat_feature_indices()


def pool_with_categories_by_position(library):
    frame, target = people()
    pool = library.Pool(data=frame, label=target, cat_features=[1, 3], text_features=[])
    model = library.CatBoostClassifier(iterations=10, has_time=True, **FIXED).fit(pool)
    return model.predict(frame), pool.get_cat_feature_indices(), pool.shape


def train_with_validation(library):
    X, y, _ = numbers()
    X_train, X_valid, y_train, y_valid = train_test_split(X, y, random_state=42)
    model = library.CatBoostClassifier(
        iterations=60, learning_rate=0.3, eval_metric="AUC", custom_metric=["Accuracy", "F1"],
        random_seed=42, **FIXED,
    )  # fmt: skip
    model.fit(
        library.Pool(X_train, y_train), eval_set=library.Pool(X_valid, y_valid),
        use_best_model=True, early_stopping_rounds=20, plot=False,
    )  # fmt: skip
    results = model.get_evals_result()
    best = model.get_best_score()
    return (
        model.get_best_iteration(), model.best_iteration_, model.tree_count_,
        sorted(results), sorted(results["validation"]), results["validation"]["AUC"],
        results["validation"]["F1"], results["learn"]["Logloss"], results["learn"]["F1"],
        best["validation"], best["learn"]["Accuracy"], model.predict(X_valid, "RawFormulaVal"),
    )  # fmt: skip


def learning_curve_without_validation(library):
    X, _, score = numbers()
    model = library.CatBoostRegressor(
        iterations=20, early_stopping_rounds=5, use_best_model=False, **FIXED
    ).fit(X, score)
    return model.evals_result_["learn"]["RMSE"], model.best_score_, model.tree_count_


def staged_predictions(library):
    X, y, score = numbers()
    model = library.CatBoostClassifier(iterations=7, **FIXED).fit(X, y)
    regressor = library.CatBoostRegressor(iterations=7, **FIXED).fit(X, score)
    return (
        list(model.staged_predict(X)),
        list(model.staged_predict(X, prediction_type="Probability", eval_period=3)),
        list(model.staged_predict_proba(X, ntree_start=0, ntree_end=4, eval_period=2)),
        list(regressor.staged_predict(X, ntree_end=5)),
    )


def prediction_types(library):
    X, y, _ = numbers()
    model = library.CatBoostClassifier(iterations=5, **FIXED).fit(X, y)
    kinds = "Class", "Probability", "LogProbability", "RawFormulaVal"
    found = [model.predict(X, prediction_type=kind) for kind in kinds]
    return (*found, model.predict_log_proba(X), model.predict(X, ntree_end=2), model.classes_)


def feature_importances(library):
    X, y, _ = numbers()
    pool = library.Pool(X, y, feature_names=list("abcde"))
    model = library.CatBoostClassifier(iterations=5, **FIXED).fit(pool)
    shap = model.get_feature_importance(pool, type=library.EFstrType.ShapValues)
    table = model.get_feature_importance(prettified=True)
    return (
        model.get_feature_importance(type="PredictionValuesChange"),
        shap,
        table.shape,
    )


def metrics_of_a_fitted_model(library):
    X, y, score = numbers()
    model = library.CatBoostClassifier(iterations=6, **FIXED).fit(X, y)
    names = ["Logloss", "AUC", "Accuracy", "Precision", "Recall", "F1", "MCC", "BalancedAccuracy"]
    found = model.eval_metrics(library.Pool(X, y), names, eval_period=2)
    regressor = library.CatBoostRegressor(iterations=6, **FIXED).fit(X, score)
    weights = np.linspace(1, 2, 300)
    pool = library.Pool(X, score, weight=weights)
    of_values = ["RMSE", "MAE", "R2", "SMAPE", "MedianAbsoluteError"]
    return found, regressor.eval_metrics(pool, metrics=of_values, ntree_start=0, ntree_end=4)


def metrics_of_three_classes(library):
    X, _, score = numbers()
    y = np.digitize(score, [0, 2])
    model = library.CatBoostClassifier(iterations=6, loss_function="MultiClass", **FIXED).fit(X, y)
    names = ["MultiClass", "Accuracy", "TotalF1", "MCC"]
    return model.eval_metrics(library.Pool(X, y), names), model.predict(X)


def weights_of_a_validation_set(library):
    X, _, score = numbers()
    weight = np.linspace(0.5, 2, 300)
    model = library.CatBoostRegressor(iterations=6, **FIXED)
    model.fit(
        library.Pool(X[:200], score[:200], weight=weight[:200]),
        eval_set=library.Pool(X[200:], score[200:], weight=weight[200:]),
    )
    return model.evals_result_


def save_and_load(library):
    X, _, score = numbers()
    model = library.CatBoostRegressor(iterations=4, **FIXED).fit(X, score)
    model.save_model("model.json", format="json")
    loaded = library.CatBoostRegressor()
    loaded.load_model("model.json", format="json")
    return model.predict(X), loaded.predict(X), loaded.tree_count_


def parameters(library):
    model = library.CatBoostClassifier(iterations=10, learning_rate=0.3, verbose=False)
    given = model.get_params()
    model.set_params(depth=4)
    copied = library.CatBoostClassifier(**model.get_params())
    return given, model.get_param("depth"), copied.get_params()


def parts_of_a_model(library):
    X, _, score = numbers()
    model = library.CatBoostRegressor(iterations=4, **FIXED).fit(X, score)
    return (
        model.get_leaf_values(), model.get_leaf_weights(), model.get_tree_leaf_counts(),
        model.get_scale_and_bias(), model.calc_leaf_indexes(X), model.learning_rate_,
    )  # fmt: skip


def shrunk_models(library):
    X, _, score = numbers()
    found = []
    for trees in ((3,), (5, 2)):
        model = library.CatBoostRegressor(iterations=6, **FIXED).fit(X, score)
        model.shrink(*trees)
        found += [model.tree_count_, model.predict(X)]
    return found


def summed_models(library):
    X, _, score = numbers()
    one = library.CatBoostRegressor(iterations=3, **FIXED).fit(X, score)
    two = library.CatBoostRegressor(iterations=5, **{**FIXED, "depth": 2}).fit(X, score)
    total = library.sum_models([one, two], weights=[0.25, 0.75])
    return total.predict(X), total.tree_count_, library.to_regressor(total).predict(X)


class Recorder:
    """Callback, as a pruning callback of a search for parameters."""

    def __init__(self):
        self.seen = []

    def after_iteration(self, info):
        self.seen.append((info.iteration, info.metrics["validation"]["Logloss"][-1]))
        return info.iteration < 4


def callbacks(library):
    X, y, _ = numbers()
    recorder = Recorder()
    model = library.CatBoostClassifier(iterations=30, **FIXED)
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], callbacks=[recorder])
    return recorder.seen, model.tree_count_ <= 4


class Error:
    """Metric of the user."""

    def is_max_optimal(self):
        return False

    def evaluate(self, approxes, target, weight):
        errors = np.abs(np.asarray(approxes[0]) - np.asarray(target))
        return float(errors.sum()), float(len(errors))

    def get_final_error(self, error, weight):
        return error / weight


class Squares:
    """Loss of the user."""

    def calc_ders_range(self, approxes, targets, weights):
        return [(target - approx, -1.0) for approx, target in zip(approxes, targets)]  # noqa: B905


def own_loss_and_metric(library):
    X, _, score = numbers()
    params = {"loss_function": Squares(), "eval_metric": Error(), "iterations": 5, **FIXED}
    model = library.train(
        library.Pool(X[:200], score[:200]), params, eval_set=library.Pool(X[200:], score[200:])
    )
    return model.predict(X), model.evals_result_["validation"]["Error"]


def class_names_and_ignored_columns(library):
    X, y, _ = numbers()
    model = library.CatBoostClassifier(
        iterations=5,
        class_names=[1, 0],
        ignored_features=[2],
        auto_class_weights="Balanced",
        **FIXED,
    )
    model.fit(X, y)
    return model.classes_, model.predict_proba(X), model.feature_importances_


def curves_and_thresholds(library):
    utils = our_utils if library is ours else their_utils
    X, y, _ = numbers()
    pool = library.Pool(X, y)
    model = library.CatBoostClassifier(iterations=3, **FIXED).fit(pool)
    curve = utils.get_roc_curve(model, pool)
    raw = model.predict(pool, prediction_type="RawFormulaVal")
    return (
        utils.get_confusion_matrix(model, pool),
        np.trapezoid(curve[1], curve[0]),
        utils.eval_metric(y, raw, "AUC"),
        utils.eval_metric(y, raw, "Logloss"),
        utils.eval_metric(y, raw[:, None], "RMSE"),
        utils.eval_metric(y, np.column_stack([raw, -raw]), "MultiClass"),
    )


def scikit_learn_tools(library):
    X, y = make_classification(120, 6, random_state=0)
    model = library.CatBoostClassifier(iterations=5, learning_rate=0.3, **FIXED)
    search = GridSearchCV(model, {"l2_leaf_reg": [1, 30]}, cv=3).fit(X, y)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    return (
        cross_val_score(model, X, y, cv=3),
        search.best_params_,
        search.best_score_,
        pipeline.predict_proba(X),
    )


def statistics_of_a_column(library):
    X, _, score = numbers()
    model = library.CatBoostRegressor(iterations=4, **FIXED).fit(X, score)
    found = model.calc_feature_statistics(X, score, feature=0, plot=False)
    return {name: found[name] for name in sorted(found) if name != "mean_weighted_target"}


def multi_quantiles(library):
    X, _, score = numbers()
    loss = "MultiQuantile:alpha=0.1,0.5,0.9"
    model = library.CatBoostRegressor(iterations=4, loss_function=loss, **FIXED).fit(X, score)
    return model.predict(X)


NOTEBOOKS = [
    pool_with_categories_by_name,
    pool_with_categories_by_position,
    train_with_validation,
    learning_curve_without_validation,
    staged_predictions,
    prediction_types,
    feature_importances,
    metrics_of_a_fitted_model,
    metrics_of_three_classes,
    weights_of_a_validation_set,
    save_and_load,
    parameters,
    parts_of_a_model,
    shrunk_models,
    summed_models,
    callbacks,
    own_loss_and_metric,
    class_names_and_ignored_columns,
    curves_and_thresholds,
    scikit_learn_tools,
    statistics_of_a_column,
    multi_quantiles,
]


def check_same(found, wanted):
    """Check that two results are equal, numbers to 1e-6."""
    if isinstance(wanted, dict):
        assert set(found) == set(wanted)
        for name, value in wanted.items():
            check_same(found[name], value)
    elif isinstance(wanted, list | tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            check_same(one, other)
    elif isinstance(wanted, float) or (
        isinstance(wanted, np.ndarray) and wanted.dtype.kind in "fiu"
    ):
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    elif isinstance(wanted, np.ndarray):
        assert np.asarray(found).tolist() == wanted.tolist()
    else:
        assert found == wanted


@pytest.mark.parametrize("notebook", NOTEBOOKS)
@pytest.mark.filterwarnings("ignore")  # CatBoost's attempts to compile the functions
def test_a_notebook_has_the_same_results(notebook):
    check_same(notebook(ours), notebook(catboost))


@pytest.mark.parametrize("name", ["grid_search", "randomized_search"])
@pytest.mark.parametrize("by_parts", [True, False])
def test_searches_find_the_same_parameters(name, by_parts):
    X, y, _ = numbers()
    found = []
    for library in (ours, catboost):
        model = library.CatBoostClassifier(iterations=15, **FIXED)
        grid = {"learning_rate": [0.0001, 0.3], "l2_leaf_reg": [3]}
        options = {} if name == "grid_search" else {"n_iter": 2}
        result = getattr(model, name)(
            grid, X, y, cv=3, plot=False, verbose=False, search_by_train_test_split=by_parts,
            **options,
        )  # fmt: skip
        assert model.is_fitted()
        found.append((result["params"], sorted(result), sorted(result["cv_results"])))
        assert model.get_param("learning_rate") == 0.3
    assert found[0] == found[1]
    with pytest.raises(ours.CatBoostError, match="the model is fitted"):
        ours.CatBoostClassifier(iterations=1).fit(X, y).grid_search({"depth": [1]}, X, y)


class Share:
    """Metric of the user: the share of rows whose score has the right sign."""

    def is_max_optimal(self):
        return True

    def evaluate(self, approxes, target, weight):
        is_right = (np.asarray(approxes[0]) > 0) == (np.asarray(target) > 0.5)
        return float(is_right.sum()), float(len(is_right))

    def get_final_error(self, error, weight):
        return error / weight


def test_larger_values_of_a_metric_of_the_user_may_be_better():
    X, y, _ = numbers()
    found = []
    for metric in (Share(), "Accuracy"):
        given = {"iterations": 15, "eval_metric": metric, **FIXED}
        result = ours.CatBoostClassifier(**given).grid_search({"depth": [1, 4]}, X, y)
        params = {"loss_function": "Logloss", "learning_rate": 0.5, **given}
        table = ours.cv(ours.Pool(X, y), params, early_stopping_rounds=4)
        model = ours.CatBoostClassifier(**given).fit(X, y)
        found.append((result["params"], len(table), list(model.best_score_["learn"].values())))
    assert found[0] == found[1]
    assert found[0][0] == {"depth": 4}


def test_trees_are_pickled_once():
    X, _, score = numbers()
    model = ours.CatBoostRegressor(iterations=40, **FIXED).fit(X, score)
    size = len(pickle.dumps(model))
    total = ours.sum_models([model])._model
    model.shrink(model.tree_count_)
    for one in (model, total):
        assert len(pickle.dumps(one)) < 1.1 * size
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict(X), one.predict(X))


@pytest.mark.parametrize("class_names", [None, [1, 0]])
def test_labels_that_the_model_does_not_have_are_named(class_names):
    X, y, _ = numbers()
    model = ours.CatBoostClassifier(iterations=2, class_names=class_names).fit(X, y)
    with pytest.raises(ValueError, match=r"labels that the model does not have: \[5, 6\]"):
        model.eval_metrics(ours.Pool(X, y + 5), ["AUC"])


def test_scores_may_be_given_by_class():
    _, y, score = numbers()
    for raw, metric in ((score[:, None], "RMSE"), (np.column_stack([score, -score]), "MultiClass")):
        found = [our_utils.eval_metric(y, one, metric) for one in (raw, raw.T)]
        assert found[0] == found[1]


def test_columns_are_selected():
    X, _, score = numbers()
    found = []
    for library in (ours, catboost):
        model = library.CatBoostRegressor(iterations=15, **FIXED)
        found.append(
            model.select_features(
                library.Pool(X[:200], score[:200]),
                eval_set=library.Pool(X[200:], score[200:]),
                features_for_select="0-4",
                num_features_to_select=2,
                steps=3,
                algorithm=library.EFeaturesSelectionAlgorithm.RecursiveByShapValues,
                shap_calc_type=library.EShapCalcType.Regular,
                train_final_model=True,
                logging_level="Silent",
                plot=False,
            )
        )
        assert np.flatnonzero(model.get_feature_importance()).tolist() == [0, 1]
    mine, theirs = found
    assert mine["selected_features"] == theirs["selected_features"] == [0, 1]
    assert set(mine["eliminated_features"]) == set(theirs["eliminated_features"])
    assert set(mine) <= set(theirs)
    with pytest.raises(ours.CatBoostError, match="names 7, which is not a column"):
        ours.CatBoostRegressor().select_features(X, score, features_for_select="0,3-7")
    with pytest.raises(ours.CatBoostError, match="num_features_to_select"):
        ours.CatBoostRegressor().select_features(X, score, features_for_select=[0])


def test_borders_are_those_of_the_trees():
    X, _, score = numbers()
    model = ours.CatBoostRegressor(iterations=4, **FIXED).fit(X, score)
    borders = model.get_borders()
    assert list(borders) == list(range(5))
    assert borders[0] == sorted(set(borders[0]))
    assert sum(map(len, borders.values())) == len(
        set(
            zip(
                model.ensemble_.feature[model.ensemble_.feature >= 0].tolist(),
                model.ensemble_.threshold[model.ensemble_.feature >= 0].tolist(),
                strict=True,
            )
        )
    )


def test_cross_validation_has_further_metrics():
    X, y, _ = numbers()
    params = {"loss_function": "Logloss", "custom_metric": ["AUC"], "iterations": 3, **FIXED}
    table = ours.cv(ours.Pool(X, y), params, fold_count=3)
    assert {"test-Logloss-mean", "test-AUC-mean"} <= set(table.columns)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda model, pool: model.compare(model, pool, ["Logloss"]), "eval_metrics of both"),
        (lambda model, pool: model.plot_tree(0), "format='json'"),
        (lambda model, pool: model.get_object_importance(pool, pool), "not available"),
        (lambda model, pool: model.get_metadata(), "beside the file"),
        (lambda model, pool: model.eval_metrics(pool.data, ["Logloss"]), "must be a Pool"),
        (lambda model, pool: model.shrink(0), "above ntree_start"),
        (lambda model, pool: model.calc_feature_statistics(pool.data), "target is missing"),
        (lambda model, pool: list(model.staged_predict(pool, eval_period=0)), "at least 1"),
        (lambda model, pool: ours.sum_models([]), "at least one model"),
        (lambda model, pool: ours.to_regressor(model), "needs a regression"),
        (lambda model, pool: model.set_feature_names(["a"]), "1 names for 5"),
    ],
)
def test_what_is_missing_says_what_to_do(call, match):
    X, y, _ = numbers()
    pool = ours.Pool(X, y)
    model = ours.CatBoostClassifier(iterations=2).fit(pool)
    with pytest.raises(ours.CatBoostError, match=match):
        call(model, pool)
