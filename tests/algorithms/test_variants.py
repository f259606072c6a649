"""Tests of the additional params with which doctor compiles the kernels of an algorithm."""

import pytest

from algorithms.gbdt import high_cardinality
from harness.plugins.registry import load_registry
from harness.worker.warm_up import exercise

ENTRIES = load_registry([], strangers=False).entries["algorithm"]
VARIED = sorted(name for name, entry in ENTRIES.items() if entry.value.variants)


def test_every_tree_algorithm_names_variants():
    assert {"adaboost", "bagging", "decision_tree", "gradient_boosting"} < set(VARIED)
    assert {"histogram_boosting", "newton_boosting", "random_forest"} < set(VARIED)


@pytest.mark.parametrize("name", VARIED)
def test_each_variant_runs_on_every_task_and_form(name):
    algorithm = ENTRIES[name].value
    assert exercise(algorithm, algorithm.variants, 2, ["sparse"])[0] == []


@pytest.mark.parametrize("name", ["histogram_boosting", "newton_boosting"])
def test_categorical_warm_up_covers_more_categories_than_bins(name, monkeypatch):
    run = set()
    for kernel in ("add_codes", "rebin"):
        before = getattr(high_cardinality, kernel)

        def noted(*given, kernel=kernel, before=before):
            run.add(kernel)
            before(*given)

        monkeypatch.setattr(high_cardinality, kernel, noted)
    algorithm = ENTRIES[name].value
    assert exercise(algorithm, [{"n_estimators": 2}], 1, ["categorical"])[0] == []
    assert run == {"add_codes", "rebin"}
