"""Tests of library defaults, class weights, early stopping, and params kept by -a."""

from __future__ import annotations

import numpy as np
import pytest

from harness.config.experiment import Choice, parse_experiment
from harness.core.class_weights import BALANCED, balanced_weights
from harness.core.errors import ConfigError
from harness.core.libraries import Surroundings
from harness.core.model import Spec, Task
from harness.planning.plan import make_plan
from harness.plugins.registry import load_registry
from harness.runs.request import RunOptions

DATASETS = [
    "harness.data.providers.generators",
    "harness.data.providers.cards",
    "harness.executors.local",
]
LIBRARIES = [f"algorithms.reference.{name}" for name in ("sklearn", "catboost", "xgboost")]
LIBRARIES += ["algorithms.reference.lightgbm", "algorithms.histogram_boosting"]


@pytest.fixture(scope="module")
def registry():
    return load_registry(modules=[*DATASETS, *LIBRARIES, "harness.plugins.metrics"])


def params_of(registry, algorithm, **keys):
    requested = {
        "name": "own",
        "algorithms": [algorithm],
        "datasets": ["hastie_10_2:rows=200"],
        **keys,
    }
    plan = make_plan(parse_experiment(requested, "own"), registry, Surroundings())
    return next(plan.trials()).params


@pytest.mark.parametrize(
    ("algorithm", "own"),
    [
        ("catboost.plain", {"n_estimators": 1000}),
        ("sklearn.hist_gradient_boosting", {"max_iter": 100, "early_stopping": "auto"}),
        ("sklearn.bagging", {"n_estimators": 10}),
        ("sklearn.adaboost", {"n_estimators": 50}),
    ],
)
def test_default_track_trains_with_library_defaults(registry, algorithm, own):
    assert params_of(registry, algorithm, tracks=["default"]) == own


def test_equal_capacity_uses_no_early_stopping(registry):
    result = params_of(
        registry, "sklearn.hist_gradient_boosting", tracks=["equal"], capacity={"trees": 20}
    )
    assert result == {"max_iter": 20, "early_stopping": False}


def test_first_configuration_of_a_search_is_the_library_default(registry):
    result = params_of(registry, "catboost.plain", tracks=["tuned"])
    assert result["tune"]["configurations"][0] == {"n_estimators": 1000}


def test_user_data_are_compared_at_defaults_and_quick_at_equal_capacity(registry, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("a,y\n" + "\n".join(f"{i},{i % 2}" for i in range(30)))
    every = load_registry()
    requested = RunOptions(data=path, target="y").request(every).experiment
    assert (requested.name, requested.tracks, requested.run.budget) == (
        "own_data",
        ["default"],
        600.0,
    )
    quick = RunOptions(data=path, target="y", quick=True).request(every).experiment
    assert (quick.name, quick.tracks, quick.capacity) == ("quick", ["equal"], {"trees": 20})
    longer = RunOptions(data=path, target="y", budget="30m", track="tuned").request(every)
    assert (longer.experiment.run.budget, longer.experiment.tracks) == (1800.0, ["tuned"])


def test_balanced_weights_equal_scikit_learn():
    from sklearn.utils.class_weight import compute_sample_weight

    y = np.array([0] * 7 + [1] * 2 + [3])
    assert np.allclose(balanced_weights(y, None), compute_sample_weight("balanced", y))
    twice = balanced_weights(y, np.full(10, 2.0))
    assert np.allclose(twice, 2 * compute_sample_weight("balanced", y))


def test_class_weights_are_part_of_the_params_and_need_classes(registry):
    training = {"class_weight": "balanced"}
    assert params_of(registry, "lightgbm.gbdt", training=training)[BALANCED] is True
    with pytest.raises(ConfigError, match="class weights need classes"):
        params_of(registry, "lightgbm.gbdt", training=training, datasets=["friedman1:rows=200"])


@pytest.mark.parametrize(
    "algorithm",
    [
        "lightgbm.gbdt",
        "xgboost.hist",
        "xgboost.exact",
        "catboost.plain",
        "sklearn.hist_gradient_boosting",
        "sklearn.gradient_boosting",
        "histogram_boosting",
    ],
)
@pytest.mark.parametrize("task", [Task.BINARY, Task.REGRESSION])
def test_early_stopping_trains_fewer_rounds_in_every_library(registry, algorithm, task):
    declared = registry.algorithm(algorithm)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] + rng.normal(size=300)
    if task is Task.BINARY:
        y = (y > 0).astype(np.int64)
    params = {**declared.params, **declared.early_stopping(5, 0.1)}
    classes = 2 if task is Task.BINARY else 0
    adapter = declared.adapter(Spec(task, params, n_classes=classes))
    adapter.fit(adapter.prepare(X, y, None))
    assert len(adapter.predict(X)) == 300
    rounds = sum(1 for _ in adapter.staged(X))
    assert 0 < rounds < 300, "the most are 1 000"


def test_algorithms_without_rounds_get_no_early_stopping(registry):
    training = {"early_stopping": 5}
    assert params_of(registry, "sklearn.random_forest", training=training) == {"n_estimators": 100}


def test_selecting_an_algorithm_keeps_the_params_of_the_experiment():
    every = load_registry()
    experiment = {
        "datasets": ["wine"],
        "algorithms": [{"name": "sklearn.*", "params": {"max_depth": 3}}],
    }
    options = RunOptions(experiment, algorithms=("sklearn.random_forest",))
    requested = options.request(every).experiment
    assert requested.algorithms == [Choice(name="sklearn.random_forest", params={"max_depth": 3})]
    override = ['algorithms=[{name = "sklearn.random_forest", params = {max_depth = 2}}]']
    options = RunOptions("quick", algorithms=("sklearn.random_forest",), overrides=override)
    requested = options.request(every).experiment
    assert requested.algorithms == [Choice(name="sklearn.random_forest", params={"max_depth": 2})]


def test_metric_unknown_or_of_another_task_is_refused(registry):
    with pytest.raises(ConfigError, match="unknown metric 'acu'"):
        params_of(registry, "lightgbm.gbdt", verdicts={"metric": "acu"})
    with pytest.raises(ConfigError, match="the metric mae is not for binary"):
        params_of(registry, "lightgbm.gbdt", verdicts={"metric": "mae"})


def test_selection_times_every_chosen_algorithm_and_runs_each_track_on_every_dataset():
    every = load_registry()
    whole = RunOptions().request(every).experiment
    assert "bagging" not in whole.duels.algorithms
    assert set(whole.tracks) == {"equal", "default"}
    chosen = RunOptions(algorithms=("bagging",), datasets=("iris",)).request(every).experiment
    assert chosen.duels.algorithms == ["*"]
    assert chosen.track_datasets == {}
