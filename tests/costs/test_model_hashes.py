"""Tests of model hashes: equal for equal models, different for different models."""

import os
import sys
from importlib import import_module
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
with mock.patch.dict(os.environ), mock.patch.object(sys, "path", [str(ROOT), *sys.path]):
    model_hashes = import_module("costs.model_hashes")
    hashed_models = import_module("costs.hashed_models")

Configuration = hashed_models.Configuration
FOREST = Configuration("RandomForest", "binary", "float64", {"n_estimators": 2})
BOOSTER = Configuration("HistogramBoosting", "regression", "frame", {"n_estimators": 2})


def test_model_fitted_twice_has_equal_hashes():
    for configuration in (FOREST, BOOSTER):
        first = model_hashes.hash_model(configuration)
        assert model_hashes.hash_model(configuration) == first


def test_another_seed_gives_other_hashes():
    for configuration in (FOREST, BOOSTER):
        trees, predictions = model_hashes.hash_model(configuration, seed=0)
        other_trees, other_predictions = model_hashes.hash_model(configuration, seed=1)
        assert trees != other_trees
        assert predictions != other_predictions


def test_configuration_names_are_unique_and_cover_every_estimator():
    configurations = hashed_models.all_configurations()
    assert len({one.name for one in configurations}) == len(configurations) >= 150
    stems = {"DecisionTree", "Bagging", "RandomForest", "AdaBoost", "GradientBoosting"}
    stems |= {"NewtonBoosting", "HistogramBoosting", "SymmetricBoosting", "Voting", "Stacking"}
    assert {one.estimator for one in configurations} == stems


def test_check_names_the_differences(tmp_path, capsys, monkeypatch):
    file = tmp_path / "hashes.txt"
    monkeypatch.setattr(model_hashes, "all_configurations", lambda: [FOREST, BOOSTER])
    assert model_hashes.main(["--write", str(file)]) == 0
    assert model_hashes.main(["--check", str(file)]) == 0
    capsys.readouterr()
    assert model_hashes.main(["--check", str(file), "--seed", "1"]) == 1
    assert f"other trees: {FOREST.name}" in capsys.readouterr().out
    file.write_text(file.read_text().splitlines()[1] + "\n")
    assert model_hashes.main(["--check", str(file)]) == 1
    assert f"not in the file: {FOREST.name}" in capsys.readouterr().out
