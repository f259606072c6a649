"""Losses and metrics of the user, further metrics, held-out rows, and columns that are ignored."""

import catboost
import numpy as np
import pandas as pd
import pytest

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRanker
from algorithms import SymmetricBoostingRegressor as Regressor

FIXED = {
    "iterations": 6,
    "depth": 3,
    "learning_rate": 0.2,
    "bootstrap_type": "No",
    "random_strength": 0,
}
SILENT = {"logging_level": "Silent", "allow_writing_files": False}


def table():
    """Return rows, numbers, weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = 2 * X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * rng.normal(size=400)
    return X, y, rng.uniform(0.5, 2, 400)


class LogLoss:
    """Log loss, as in CatBoost's tutorial."""

    def calc_ders_range(self, approxes, targets, weights):
        result = []
        for index in range(len(targets)):
            p = 1.0 / (1.0 + np.exp(-approxes[index]))
            first, second = targets[index] - p, -p * (1.0 - p)
            if weights is not None:
                first, second = first * weights[index], second * weights[index]
            result.append((first, second))
        return result


class SquaredError:
    """Squared error with whole arrays."""

    def calc_ders_range(self, approxes, targets, weights):
        first = np.asarray(targets) - np.asarray(approxes)
        weight = np.ones(len(first)) if weights is None else np.asarray(weights)
        return np.stack([first * weight, -weight], axis=1).tolist()


class MultiClass:
    """Softmax loss."""

    def calc_ders_multi(self, approx, target, weight):
        p = np.exp(np.array(approx) - max(approx))
        p /= p.sum()
        first = (np.arange(len(p)) == target) - p
        return (first * weight).tolist(), ((np.outer(p, p) - np.diag(p)) * weight).tolist()


class NoDirection:
    """An incomplete metric."""

    def evaluate(self, approxes, target, weight):
        raise AssertionError

    def get_final_error(self, error, weight):
        raise AssertionError


class Accuracy:
    """Share of rows whose score has the right sign."""

    def is_max_optimal(self):
        return True

    def evaluate(self, approxes, target, weight):
        assert len(approxes) == 1
        is_right = (np.asarray(approxes[0]) > 0) == (np.asarray(target) > 0.5)
        weight = np.ones(len(is_right)) if weight is None else np.asarray(weight)
        return float((is_right * weight).sum()), float(weight.sum())

    def get_final_error(self, error, weight):
        return error / weight


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"leaf_estimation_method": "Gradient"},
        {"leaf_estimation_method": "Newton", "leaf_estimation_iterations": 3},
    ],
)
@pytest.mark.parametrize("loss", [LogLoss, SquaredError, MultiClass])
@pytest.mark.filterwarnings("ignore")  # CatBoost's attempts to compile the function
def test_losses_of_the_user_predict_as_in_catboost(loss, params, weighted):
    X, y, weight = table()
    y = {LogLoss: (y > 0).astype(int), MultiClass: np.digitize(y, [-1, 1])}.get(loss, y)
    metric = {LogLoss: "Logloss", MultiClass: "MultiClass"}.get(loss, "RMSE")
    classifies = loss is not SquaredError
    library = catboost.CatBoostClassifier if classifies else catboost.CatBoostRegressor
    own = SymmetricBoostingClassifier if classifies else Regressor
    given = {**FIXED, **params, "loss_function": loss(), "eval_metric": metric}
    weight = weight if weighted else None
    theirs = library(**given, **SILENT).fit(X, y, sample_weight=weight)
    ours = own(**given).fit(X, y, sample_weight=weight)
    raw = theirs.predict(X, prediction_type="RawFormulaVal")
    np.testing.assert_allclose(ours._raw(X).reshape(raw.shape), raw, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["Newton", "Gradient"])
def test_langevin_noise_of_several_scores_is_that_of_the_library_loss(method):
    X, y, weight = table()
    y = np.digitize(y, [-1, 1])
    given = FIXED | {"langevin": True, "diffusion_temperature": 100, "random_seed": 1}
    given |= {"leaf_estimation_method": method, "leaf_estimation_iterations": 1}
    raw = [
        SymmetricBoostingClassifier(loss_function=loss, **given)
        .fit(X, y, sample_weight=weight)
        ._raw(X)
        for loss in (MultiClass(), "MultiClass")
    ]
    np.testing.assert_allclose(*raw, rtol=1e-5, atol=1e-5)


def test_a_repeated_metric_keeps_its_first_place():
    X, y, _ = table()
    rows = X[:300], y[:300] > 0
    given = {"eval_metric": "AUC", "iterations": 40, "eval_fraction": 0.4, "random_seed": 3}
    usual = SymmetricBoostingClassifier(**given).fit(*rows)
    given["custom_metric"] = ["Logloss", "AUC"]
    model = SymmetricBoostingClassifier(**given).fit(*rows)
    values = model.evals_result_["validation"]
    assert list(values) == ["AUC", "Logloss"]
    assert model.best_iteration_ == usual.best_iteration_ == np.argmax(values["AUC"])
    assert model.best_iteration_ != np.argmin(values["Logloss"])


def test_metrics_are_those_of_catboost():
    X, y, _ = table()
    y = (y > 0).astype(int)
    given = {**FIXED, "eval_metric": Accuracy()}
    given["custom_metric"] = ["AUC:hints=skip_train~false", "Logloss"]
    theirs = catboost.CatBoostClassifier(**given, **SILENT)
    theirs.fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    ours = SymmetricBoostingClassifier(**given)
    ours.fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    found, wanted = ours.evals_result_["validation"], theirs.evals_result_["validation"]
    assert list(found) == ["Accuracy", "AUC", "Logloss"]
    for name, values in found.items():
        np.testing.assert_allclose(values, wanted[name], rtol=1e-6)
    assert ours.best_iteration_ == theirs.best_iteration_ == int(np.argmax(found["Accuracy"]))
    assert ours.tree_count_ == theirs.tree_count_


def test_an_unused_metric_does_not_stop_training():
    X, y, _ = table()
    given = {"eval_set": (X[300:], y[300:]), "early_stopping_rounds": 2}
    one = Regressor(**FIXED).fit(X[:300], y[:300], **given)
    two = Regressor(custom_metric="MAE", **FIXED).fit(X[:300], y[:300], **given)
    assert list(two.evals_result_["validation"]) == ["RMSE", "MAE"]
    assert one.evals_result_["validation"]["RMSE"] == two.evals_result_["validation"]["RMSE"]
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_class_names_give_the_order_of_the_classes(tmp_path):
    X, y, _ = table()
    y = np.where(y > 0, "yes", "no")
    given = {**FIXED, "class_names": ["yes", "no"]}
    theirs = catboost.CatBoostClassifier(**given, **SILENT).fit(X, y)
    ours = SymmetricBoostingClassifier(**given).fit(X, y, eval_set=(X, y), use_best_model=False)
    assert ours.classes_.tolist() == theirs.classes_.tolist() == ["yes", "no"]
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    assert ours.predict(X).tolist() == theirs.predict(X).tolist()
    ours.save_model(tmp_path / "model.json")
    loaded = SymmetricBoostingClassifier().load_model(tmp_path / "model.json")
    assert loaded.predict(X).tolist() == ours.predict(X).tolist()
    assert loaded._encode_y(y).tolist() == ours._encode_y(y).tolist()
    for names, match in ((["no", "maybe"], "class_names does not have"), (["no"], "at least two")):
        with pytest.raises(ValueError, match=match):
            SymmetricBoostingClassifier(class_names=names, **FIXED).fit(X, y)


def test_ignored_columns_are_not_read():
    X, y, _ = table()
    frame = pd.DataFrame(X, columns=list("abcde"))
    theirs = catboost.CatBoostRegressor(ignored_features=[0, 2], **FIXED, **SILENT).fit(X, y)
    for wanted, data in (([0, 2], X), (["a", "c"], frame), ([0, "c"], frame)):
        ours = Regressor(ignored_features=wanted, **FIXED).fit(data, y)
        np.testing.assert_allclose(ours.predict(data), theirs.predict(X), rtol=1e-9)
    text = frame.assign(a="text", c=pd.Categorical(["u"] * len(y)))
    model = Regressor(ignored_features=["a", "c"], cat_features=["c"], **FIXED).fit(text, y)
    np.testing.assert_allclose(model.predict(text), theirs.predict(X), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(text[:1]), model.predict(text)[:1])
    assert text["a"].iloc[0] == "text"
    with pytest.raises(ValueError, match="9, which is not a column of X"):
        Regressor(ignored_features=[9], **FIXED).fit(X, y)


def test_held_out_rows_decide_the_best_iteration():
    X, y, weight = table()
    model = SymmetricBoostingClassifier(eval_fraction=0.25, iterations=30, random_seed=1)
    model.fit(X, y > 0, sample_weight=weight)
    assert list(model.evals_result_) == ["validation"]
    assert model.tree_count_ == model.best_iteration_ + 1
    last = Regressor(eval_fraction=0.25, has_time=True, **FIXED).fit(X, y)
    usual = Regressor(**FIXED).fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    assert last.evals_result_ == usual.evals_result_
    for given, match in (
        ({"eval_set": (X, y)}, "eval_set: give one of them"),
        ({"baseline": y}, "baseline: give an eval_set and its eval_baseline"),
    ):
        with pytest.raises(ValueError, match=f"eval_fraction cannot be combined with {match}"):
            Regressor(eval_fraction=0.25).fit(X, y, **given)
    with pytest.raises(ValueError, match="eval_fraction is not supported for rankings"):
        SymmetricBoostingRanker(eval_fraction=0.25).fit(X, y, np.zeros(400))


class StopAfter:
    """Callback that ends the training."""

    def __init__(self, count):
        self.count, self.seen = count, []

    def after_iteration(self, info):
        self.seen.append((info.iteration, len(info.metrics["validation"]["RMSE"])))
        return info.iteration < self.count


def test_callbacks_end_the_training():
    X, y, _ = table()
    callback = StopAfter(3)
    model = Regressor(**FIXED).fit(X, y, eval_set=(X, y), callbacks=[callback])
    assert model.n_iter_ == 3
    assert callback.seen == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"loss_function": MultiClass()}, "is for classes"),
        ({"loss_function": SquaredError(), "parity": "catboost"}, "parity"),
        ({"loss_function": SquaredError(), "boosting_type": "Ordered"}, "Ordered"),
        ({"loss_function": object()}, "calc_ders_range"),
        ({"loss_function": SquaredError(), "score_function": "NewtonL2"}, "use 'L2' or 'Cosine'"),
        ({"custom_metric": "Nonsense", "eval_fraction": 0.5}, "the metric 'Nonsense' is not"),
        ({"eval_metric": NoDirection()}, "is_max_optimal"),
    ],
)
def test_what_does_not_fit_is_named(params, match):
    X, y, _ = table()
    with pytest.raises(ValueError, match=match):
        Regressor(**FIXED, **params).fit(X, y)


def test_further_mistakes_are_named():
    X, y, _ = table()
    with pytest.raises(ValueError, match="give eval_metric"):
        Regressor(loss_function=SquaredError(), **FIXED).fit(X, y, eval_set=(X, y))
    with pytest.raises(TypeError, match="after_iteration"):
        Regressor(**FIXED).fit(X, y, callbacks=[print])
    with pytest.raises(TypeError, match="needs the name of a loss_function"):
        SymmetricBoostingRanker(loss_function=SquaredError(), **FIXED).fit(X, y, np.zeros(400))

    class Short:
        def calc_ders_range(self, approxes, targets, weights):
            return [(0.0, -1.0)]

    with pytest.raises(ValueError, match="pair of derivatives for each of 400 rows"):
        Regressor(loss_function=Short(), **FIXED).fit(X, y)
