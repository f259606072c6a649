"""Tests of the search by Optuna's proposals; they are skipped if Optuna is not installed."""

import importlib.metadata
import json
import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from harness import estimator_adapter
from harness.config.experiment import Tuning
from harness.config.search_space import TUNE, draw, tuned_params
from harness.core.errors import ConfigError
from harness.core.model import ALL_TASKS, Algorithm, Spec, Task
from harness.worker.tuning import build_adapter

SPACE = {
    "max_depth": {"low": 1, "high": 12},
    "ccp_alpha": {"low": 1e-5, "high": 1.0, "log": True},
    "max_features": [None, 0.5, "sqrt"],
}


def tree(spec):
    return DecisionTreeRegressor(random_state=spec.seed, **spec.params)


TREE = Algorithm(
    "tree", estimator_adapter(tree), ALL_TASKS, params={"min_samples_leaf": 2}, space=SPACE
)


def params_of(configurations, algorithm=TREE, seed=0, *, ensembled=False, fixed=None):
    tuning = Tuning(configurations=configurations, method="optuna", seed=seed)
    return tuned_params(algorithm, fixed or {}, tuning, ensembled=ensembled)


def fitted(params, algorithm=TREE):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (200, 3))
    y = np.sin(X[:, 0]) + rng.normal(0, 0.3, 200)
    adapter = build_adapter(algorithm, Spec(Task.REGRESSION, params))
    adapter.fit(adapter.prepare(X, y, None))
    return adapter


def test_missing_package_is_a_clear_error(monkeypatch):
    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("harness.config.search_space.version", version)
    with pytest.raises(ConfigError, match=r"needs the package optuna: pip install .*\[optuna\]"):
        params_of(10)


def test_params_determine_the_search(monkeypatch):
    monkeypatch.setattr("harness.config.search_space.version", lambda name: "5.0.0")
    search = params_of(30, fixed={"max_depth": 3})[TUNE]
    usual = tuned_params(TREE, {"max_depth": 3}, Tuning(configurations=30))[TUNE]
    assert search["configurations"] == usual["configurations"][:11]  # the defaults and ten draws
    assert search["optuna"] == {
        "space": {name: SPACE[name] for name in ("ccp_alpha", "max_features")},
        "base": {"min_samples_leaf": 2, "max_depth": 3},
        "proposed": 19,
        "seed": 0,
        "version": "5.0.0",
    }
    assert params_of(1)[TUNE]["optuna"]["proposed"] == 0
    few = params_of(6)[TUNE]
    assert (len(few["configurations"]), few["optuna"]["proposed"]) == (4, 2)


def test_search_is_repeatable_and_depends_on_its_seed():
    pytest.importorskip("optuna")
    params = params_of(16)
    first = fitted(params)
    again = fitted(json.loads(json.dumps(params, sort_keys=True)))
    assert len(first.configurations) == len(first.losses) == 16
    assert again.configurations == first.configurations
    assert again.losses == first.losses
    other = {TUNE: {**params[TUNE], "optuna": {**params[TUNE]["optuna"], "seed": 1}}}
    assert fitted(other).configurations[:9] == first.configurations[:9]
    assert fitted(other).configurations != first.configurations


def test_proposals_are_complete_and_in_their_space():
    pytest.importorskip("optuna")
    adapter = fitted(params_of(16))
    facts = adapter.facts()
    assert facts["proposed"] == adapter.configurations[9:]
    assert facts["params"] == adapter.configurations[int(np.argmin(adapter.losses))]
    assert [step[0] for step in facts["trajectory"]] == list(range(16))
    for configuration in facts["proposed"]:
        assert configuration["min_samples_leaf"] == 2
        assert configuration["max_depth"] in range(1, 13)
        assert 1e-5 <= configuration["ccp_alpha"] <= 1.0
        assert configuration["max_features"] in SPACE["max_features"]
    json.dumps(facts)


def test_proposals_follow_the_losses():
    """The loss is the distance of a number from 0.3, so later proposals are nearer to it."""
    proposals = pytest.importorskip("harness.worker.optuna_search").Proposals(
        {"x": {"low": 0.0, "high": 1.0}}, seed=0
    )
    for values in draw({"x": {"low": 0.0, "high": 1.0}}, 10, 0):
        proposals.add(values, abs(values["x"] - 0.3))
    distances = []
    for _ in range(40):
        distances.append(abs(proposals.propose()["x"] - 0.3))
        proposals.tell(distances[-1])
    assert np.median(distances[20:]) < 0.15  # of uniform draws: 0.25


def test_failing_configurations_are_left_out():
    pytest.importorskip("optuna")

    def sometimes(spec):
        if spec.params.get("max_features") == "sqrt":
            raise ValueError("no")
        return tree(spec)

    algorithm = Algorithm("tree", estimator_adapter(sometimes), ALL_TASKS, space=SPACE)
    adapter = fitted(params_of(16, algorithm), algorithm)
    failed = [c.get("max_features") == "sqrt" for c in adapter.configurations]
    assert any(failed)
    assert [math.isinf(loss) for loss in adapter.losses] == failed
    assert not failed[adapter.chosen]


def test_ensemble_of_proposals():
    pytest.importorskip("optuna")
    adapter = fitted(params_of(12, ensembled=True))
    assert set(adapter.weights) <= set(range(12))
    assert sum(adapter.weights.values()) == pytest.approx(1)
    assert adapter.held_out(np.zeros(200))["index"].tolist() == list(range(12))
