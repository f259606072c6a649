"""The params with which doctor compiles what an algorithm's own do not."""

import pytest

from harness.plugins import load_registry
from harness.worker.warm import exercise

ENTRIES = load_registry([], strangers=False).entries["algorithm"]
VARIED = sorted(name for name, entry in ENTRIES.items() if entry.value.variants)


def test_every_algorithm_that_grows_trees_names_some():
    assert {"adaboost", "bagging", "decision_tree", "gradient_boosting"} < set(VARIED)
    assert {"histogram_boosting", "newton_boosting", "random_forest"} < set(VARIED)


@pytest.mark.parametrize("name", VARIED)
def test_each_runs_on_every_task_and_form(name):
    algorithm = ENTRIES[name].value
    assert exercise(algorithm, algorithm.variants, 2, ["sparse"])[0] == []
