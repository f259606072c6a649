"""Tests of the losses, class weights and metrics of the histogram booster, against LightGBM."""

import lightgbm
import numpy as np
import pytest
from sklearn.metrics import log_loss, mean_pinball_loss, roc_auc_score

from algorithms import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.gbdt.kernels import gradients as kinds
from algorithms.gbdt.metrics import metrics_of

QUIET = {"verbose": -1, "n_jobs": 1}
LIGHTGBMS = ["fair", "mape", "cross_entropy", "huber"]
NEW = [*LIGHTGBMS[:3], "pseudo_huber"]
SIDES = [{"scale_pos_weight": 7.0}, {"is_unbalance": True}]


def table(n=3000, seed=0, grid=None):
    """Return features, integers with a given number of values if requested, and values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) if grid is None else rng.integers(0, grid, (n, 5)) / (grid / 4) - 2
    s = X[:, 0] * X[:, 1] + X[:, 2] + np.sin(2.0 * X[:, 3])
    return X, 3.0 * (s + 0.5 * rng.normal(size=n))


def target_of(objective, y):
    return 1.0 / (1.0 + np.exp(-y)) if objective == "cross_entropy" else y


def loss_of(objective, y, result):
    """Return the mean of an objective's default metric."""
    losses = metrics_of(HistogramBoostingRegressor(), is_classifier=False)
    return losses[objective](y, result).mean()


# ------------------------------------------------------------------ losses


@pytest.mark.parametrize("kind", [kinds.FAIR, kinds.PSEUDO_HUBER, kinds.MAPE])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_gradients_equal_metric_derivatives(kind, is_weighted):
    rng = np.random.default_rng(0)
    y, score = rng.normal(size=(2, 60)) * 5.0
    weight = rng.uniform(0.5, 2.0, 60) if is_weighted else np.empty(0)
    g, h = np.ones((2, 60), np.float32)
    a = 1.7
    kinds.differentiate(kind, a, score, y, weight, g, h, 0, 60)
    params = HistogramBoostingRegressor(fair_c=a, huber_slope=a)
    name = {kinds.FAIR: "fair", kinds.PSEUDO_HUBER: "pseudo_huber", kinds.MAPE: "mape"}[kind]
    loss, far = metrics_of(params, is_classifier=False)[name], 1e-5
    slope = (loss(y, score + far) - loss(y, score - far)) / (2.0 * far)
    left, w = score - y, weight if is_weighted else 1.0
    np.testing.assert_allclose(g, w * slope, rtol=1e-5, atol=1e-7)
    curve = {
        kinds.FAIR: (a / (np.abs(left) + a)) ** 2,
        kinds.PSEUDO_HUBER: slope / left,  # of the parabola that touches the loss at F
        kinds.MAPE: 1.0,
    }[kind]
    np.testing.assert_allclose(h, w * curve, rtol=1e-5)


def test_residuals_may_overflow_when_squared():
    y, score, none = np.zeros(3), np.array([-1e200, 1e160, 3e-200]), np.empty(0)
    g, h = np.empty((2, 3), np.float32)
    kinds.differentiate(kinds.PSEUDO_HUBER, 2.0, score, y, none, g, h, 0, 3)
    np.testing.assert_allclose(g, [-2.0, 2.0, 0.0], rtol=1e-6)
    assert h.tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("objective", LIGHTGBMS)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_first_tree_equals_lightgbm(objective, is_weighted):
    X, y = table(grid=12)
    y = target_of(objective, y)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if is_weighted else None
    params = {"objective": objective, "n_estimators": 1, "num_leaves": 6}
    ours = HistogramBoostingRegressor(**params, random_state=0).fit(X, y, weight)
    theirs = lightgbm.LGBMRegressor(**params, **QUIET).fit(X, y, weight)
    mine, other = ours.predict(X), theirs.predict(X)
    off = {"mape": 0.05, "fair": 0.02}.get(objective, 1e-3)  # quantiles have another definition
    assert np.abs(mine - other).max() < off * np.ptp(other)
    assert np.array_equal(*(np.unique(p, return_inverse=True)[1] for p in (mine, other)))


@pytest.mark.parametrize("objective", LIGHTGBMS)
def test_losses_equal_lightgbm(objective):
    shares = []
    for seed in range(4):
        (X, y), (X_test, y_test) = table(seed=seed), table(seed=seed + 50)
        y, y_test = target_of(objective, y), target_of(objective, y_test)
        params = {"objective": objective, "n_estimators": 60}
        ours = HistogramBoostingRegressor(**params, random_state=0).fit(X, y).predict(X_test)
        theirs = lightgbm.LGBMRegressor(**params, **QUIET).fit(X, y).predict(X_test)
        shares.append(loss_of(objective, y_test, ours) / loss_of(objective, y_test, theirs))
    assert np.mean(shares) < 1.02
    assert max(shares) < 1.05


@pytest.mark.parametrize("spread", [1.0, 100.0])
def test_pseudo_huber_loss_never_rises_and_is_robust_to_outliers(spread):
    X, y = table()
    y = spread * y
    far = y + np.where(np.arange(len(y)) % 50 == 0, 1e6, 0.0)
    params = {"objective": "pseudo_huber", "n_estimators": 60, "random_state": 0}
    model = HistogramBoostingRegressor(**params, learning_rate=1.0)
    losses = model.fit(X, y, eval_set=[(X, y)]).evals_result_["training"]["pseudo_huber"]
    assert (np.diff(losses) < 1e-4 * losses[0]).all()
    assert losses[-1] < 0.5 * losses[0]
    model = HistogramBoostingRegressor(**params, n_jobs=2).fit(X, far)
    assert model._base[0] == pytest.approx(np.median(far))
    assert np.abs(model.predict(X) - y).mean() < 0.5 * np.abs(y - y.mean()).mean()


def test_gradient_changes_sign_at_the_loss_minimum():
    X, y = table()
    y = y + np.where(np.arange(len(y)) % 3 == 0, 40.0, 0.0)  # a third are outliers on one side
    results = {
        (name, size): HistogramBoostingRegressor(
            objective=name, n_estimators=60, **{parameter: size}
        ).fit(X, y)
        for name, parameter in (("pseudo_huber", "huber_slope"), ("fair", "fair_c"))
        for size in (0.5, 1e4)
    }
    mean = np.abs(y - y.mean()).mean()
    for name in ("pseudo_huber", "fair"):
        near, wide = (results[name, size].predict(X) for size in (0.5, 1e4))
        assert near.mean() < wide.mean() - 5.0
        assert wide.mean() == pytest.approx(y.mean(), rel=0.05)
        assert np.abs(near - y).mean() < mean


def test_cross_entropy_predicts_probabilities():
    X, y = table()
    share = target_of("cross_entropy", y)
    model = HistogramBoostingRegressor(objective="xentropy", n_estimators=40).fit(X, share)
    predictions = model.predict(X)
    assert ((predictions > 0.0) & (predictions < 1.0)).all()
    assert model._base[0] == pytest.approx(np.log(share.mean() / (1.0 - share.mean())))
    assert np.array_equal(predictions, model.ensemble_.predict(X))
    assert np.array_equal(predictions, list(model.staged_predict(X))[-1])
    for wrong in (share + 1e-9 + 1.0, share - 1.0):
        with pytest.raises(ValueError, match="y between 0 and 1"):
            model.fit(X, wrong)


@pytest.mark.parametrize("objective", NEW)
@pytest.mark.parametrize(
    "options",
    [
        {"boosting_type": "dart"},
        {"data_sample_strategy": "goss", "learning_rate": 0.2},
        {"subsample": 0.5, "subsample_freq": 1, "colsample_bytree": 0.6},
        {"boost_from_average": False, "extra_trees": True},
    ],
)
def test_objectives_work_with_every_boosting_type(objective, options):
    X, y = table()
    y = target_of(objective, y)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    params = {"objective": objective, "n_estimators": 30, "random_state": 0, **options}
    one, two = (
        HistogramBoostingRegressor(**params, n_jobs=n).fit(X, y, weight).predict(X) for n in (1, 2)
    )
    assert np.array_equal(one, two)
    assert loss_of(objective, y, one) < 0.8 * loss_of(objective, y, np.median(y))


# ------------------------------------------------------------------ files


@pytest.mark.parametrize("objective", NEW)
@pytest.mark.parametrize("suffix", [".txt", ".json"])
def test_models_are_written_and_read(objective, suffix, tmp_path):
    X, y = table(600)
    model = HistogramBoostingRegressor(objective=objective, n_estimators=5, fair_c=2.0)
    model.fit(X, target_of(objective, y)).save_model(tmp_path / f"model{suffix}")
    again = HistogramBoostingRegressor().load_model(tmp_path / f"model{suffix}")
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)
    known = "regression" if objective == "pseudo_huber" and suffix == ".txt" else objective
    assert again.objective == known
    if suffix == ".json":
        assert again.fair_c == 2.0
        return
    theirs = lightgbm.Booster(model_file=tmp_path / "model.txt")
    np.testing.assert_allclose(theirs.predict(X), model.predict(X), rtol=1e-12)


@pytest.mark.parametrize("objective", NEW[:3])
def test_lightgbm_files_are_read(objective, tmp_path):
    X, y = table(600)
    data = lightgbm.Dataset(X, target_of(objective, y))
    theirs = lightgbm.train({"objective": objective, "verbose": -1, "num_threads": 1}, data, 5)
    theirs.save_model(tmp_path / "model.txt")
    model = HistogramBoostingRegressor().load_model(tmp_path / "model.txt")
    assert model.objective == objective
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), rtol=1e-12)


# ------------------------------------------------------------------ weights of two classes


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_class_imbalance_parameters_equal_sample_weights(sides, flip, is_weighted):
    X, y = table()
    y = (y > 6.0) ^ flip
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if is_weighted else 1.0
    rare = 7.0
    if "is_unbalance" in sides:  # by numbers of rows, whatever they weigh
        rare = max(y.mean(), 1.0 - y.mean()) / min(y.mean(), 1.0 - y.mean())
    heavy = y if "scale_pos_weight" in sides else y != flip
    params = {"n_estimators": 10, "random_state": 0, "boost_from_average": False}
    model = HistogramBoostingClassifier(**params, **sides)
    model.fit(X, y, weight if is_weighted else None)
    other = HistogramBoostingClassifier(**params).fit(X, y, weight * np.where(heavy, rare, 1.0))
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-4)
    model.set_params(boost_from_average=True, n_estimators=1).fit(X, y)
    assert model._base[0] == pytest.approx(np.log(y.mean() / (1.0 - y.mean())))


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("flip", [False, True])
def test_class_imbalance_parameters_equal_lightgbm(sides, flip):
    (X, y), (X_test, y_test) = table(), table(seed=50)
    y, y_test = (y > 6.0) ^ flip, (y_test > 6.0) ^ flip
    losses = []
    for kind, options in (
        (HistogramBoostingClassifier, {"random_state": 0}),
        (lightgbm.LGBMClassifier, QUIET),
    ):
        model = kind(**sides, **options, n_estimators=40).fit(X, y)
        losses.append(log_loss(y_test, model.predict_proba(X_test)[:, 1]))
    assert losses[0] < 1.05 * losses[1]
    plain = HistogramBoostingClassifier(n_estimators=40).fit(X, y).predict_proba(X_test)[:, 1]
    assert abs(losses[0] - log_loss(y_test, plain)) > 0.005


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (HistogramBoostingClassifier(scale_pos_weight=2.0, is_unbalance=True), "both weigh"),
        (HistogramBoostingClassifier(is_unbalance=True, objective="ova"), "is_unbalance is for"),
        (HistogramBoostingRegressor(scale_pos_weight=2.0), "scale_pos_weight is for"),
        (HistogramBoostingClassifier(scale_pos_weight=2.0, parity="lightgbm"), "scale_pos_weight"),
        (HistogramBoostingRegressor(objective="fair", parity="lightgbm"), "objective='fair'"),
        (HistogramBoostingRegressor(objective="mape", parity="lightgbm"), "objective='mape'"),
        (HistogramBoostingRegressor(objective="cross_entropy"), "y between 0 and 1"),
        (HistogramBoostingRegressor(objective="mape", monotone_constraints=[1] * 5), "quantiles"),
        (HistogramBoostingClassifier(objective="cross_entropy"), "not one for classification"),
        (HistogramBoostingRegressor(fair_c=0.0), "fair_c"),
        (HistogramBoostingClassifier(scale_pos_weight=0.0), "scale_pos_weight"),
    ],
)
def test_incompatible_parameters_are_an_error(model, message):
    X, y = table(300)
    n_classes = 2 if model.parity else 3
    y = y if isinstance(model, HistogramBoostingRegressor) else np.arange(300) % n_classes
    if model.get_params()["is_unbalance"] and model.scale_pos_weight != 1.0:
        y = y % 2
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


# ------------------------------------------------------------------ metrics


@pytest.mark.parametrize("is_weighted", [False, True])
def test_auc_equals_scikit_learn(is_weighted):
    """Few leaves give many ties, which count half."""
    (X, y), (X_test, y_test) = table(500), table(500, seed=50)
    weight = np.random.default_rng(1).uniform(0.0, 2.0, len(y)) if is_weighted else None
    model = HistogramBoostingClassifier(n_estimators=3, num_leaves=3)
    model.fit(
        X,
        np.where(y > 2.0, "yes", "no"),
        eval_set=[(X_test, np.where(y_test > 2.0, "yes", "no"))],
        eval_sample_weight=None if weight is None else [weight],
        eval_metric="auc",
    )
    values = model.evals_result_["valid_0"]["auc"][-1]
    probabilities = model.predict_proba(X_test)[:, 1]
    assert len(np.unique(probabilities)) < 30
    assert values == pytest.approx(
        roc_auc_score(y_test > 2.0, probabilities, sample_weight=weight), rel=1e-12
    )


def test_larger_auc_is_better():
    (X, y), (X_test, y_test) = table(500), table(500, seed=50)
    model = HistogramBoostingClassifier(n_estimators=400, early_stopping_round=10, metric="auc")
    model.fit(X, y > 0.0, eval_set=[(X_test, y_test > 0.0)])
    areas = model.evals_result_["valid_0"]["auc"]
    assert model.best_score_["valid_0"]["auc"] == max(areas) > areas[0]
    assert model.n_estimators_ < len(areas) < 400


@pytest.mark.parametrize("objective", NEW)
def test_each_objective_has_its_metric(objective):
    X, y = table(500)
    y, weight = target_of(objective, y), np.random.default_rng(1).uniform(0.0, 2.0, len(y))
    params = {"objective": objective, "n_estimators": 3, "fair_c": 0.5, "huber_slope": 2.0}
    model = HistogramBoostingRegressor(**params)
    model.fit(X, y, eval_set=[(X, y)], eval_sample_weight=[weight])
    predictions = model.predict(X)
    left = np.abs(y - predictions)
    expected = {
        "fair": lambda: 0.5 * left - 0.25 * np.log1p(left / 0.5),
        "pseudo_huber": lambda: 4.0 * (np.sqrt(1.0 + left**2 / 4.0) - 1.0),
        "mape": lambda: left / np.maximum(1.0, np.abs(y)),
        "cross_entropy": lambda: -y * np.log(predictions) - (1.0 - y) * np.log(1.0 - predictions),
    }[objective]()
    values = model.evals_result_["training"][objective][-1]
    assert values == pytest.approx(np.average(expected, weights=weight), rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "n_classes", "expected"),
    [
        (HistogramBoostingClassifier, 2, ["auc", "binary_error", "binary_logloss", "multi_error"]),
        (HistogramBoostingClassifier, 3, ["binary_error", "multi_error", "multi_logloss"]),
        (
            HistogramBoostingRegressor,
            0,
            ["cross_entropy", "fair", "huber", "l1", "mape", "pseudo_huber", "quantile", "tweedie"],
        ),
    ],
)
def test_unknown_metric_is_reported_with_all_known_metrics(kind, n_classes, expected):
    X, y = table(200)
    y = np.arange(200) % n_classes if n_classes else y
    model = kind(n_estimators=1)
    with pytest.raises(ValueError, match="there is no eval_metric 'nope'") as caught:
        model.fit(X, y, eval_set=[(X, y)], eval_metric="nope")
    assert all(f"'{name}'" in str(caught.value) for name in expected)
    assert ("'auc'" in str(caught.value)) == (n_classes != 3)
    for name in expected:
        if name not in ("cross_entropy", "tweedie"):  # of shares and of values above 0
            model.fit(X, y, eval_set=[(X, y)], eval_metric=name)
            assert name in model.evals_result_["training"]


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        *(("mse", "l2"), ("mae", "l1"), ("xentropy", "cross_entropy")),
        *((name, "rmse") for name in ("rmse", "l2_root", "root_mean_squared_error")),
    ],
)
def test_metrics_accept_lightgbm_aliases(expected, message):
    X, y = table(200)
    y = target_of("cross_entropy", y)
    model = HistogramBoostingRegressor(n_estimators=1)
    model.fit(X, y, eval_set=[(X, y)], eval_metric=expected)
    assert next(iter(model.evals_result_["training"])) == message


def test_leaves_with_equal_gradients_are_split_for_quantiles():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    y = X[:, 0] + np.exp(X[:, 1]) * rng.gamma(2.0, size=4000)
    train, test = slice(0, 2000), slice(2000, 4000)
    settings = {"objective": "quantile", "alpha": 0.03, "n_estimators": 60}
    ours = HistogramBoostingRegressor(**settings, random_state=0).fit(X[train], y[train])
    theirs = lightgbm.LGBMRegressor(**settings, verbose=-1).fit(X[train], y[train])
    assert (np.diff(ours.ensemble_.offsets) == 61).mean() > 0.9  # nodes of 31 leaves
    losses = [mean_pinball_loss(y[test], m.predict(X[test]), alpha=0.03) for m in (ours, theirs)]
    assert losses[0] < 1.02 * losses[1]
