"""Tests of the bias-variance diagnostic of a run: from the splits to the stored result."""

from pathlib import Path

import numpy as np
import pytest
from oracles_bias import squared_parts

from harness.analysis.build_view import view_run
from harness.config.experiment import parse_experiment
from harness.core.model import Task
from harness.core.progress import Progress
from harness.data import resolve, split_rows
from harness.data.loading import table_of
from harness.plugins.registry import load_registry
from harness.runs.run import Request, run_experiment
from harness.store import Store

PLUGINS = [
    Path(__file__).resolve().parents[1] / "plugins" / f"{n}.py"
    for n in ("constant", "stump_ensemble")
]
NAME = "friedman1:rows=160,seed=3"
SETS = {"training_sets": 4, "training_rows": [10, 40]}


@pytest.fixture(scope="module")
def registry():
    modules = [
        "harness.plugins.metrics",
        "harness.executors.local",
        "harness.data.providers.generators",
    ]
    return load_registry(PLUGINS, modules=modules)


def run(registry, folder, **keys):
    data = {
        "name": "parted",
        "run": {"jobs": 1},
        "diagnostics": {"names": ["bias_variance"]},
        "verdicts": {"pairs": []},
    }
    experiment = parse_experiment(data | keys, "test")
    files = tuple(map(str, PLUGINS))
    request = Request(experiment, plugin_files=files, results=folder / "results")
    result = run_experiment(request, registry, Progress())
    with Store.open(request.results) as store:
        return view_run(store, result.run_id, registry)


@pytest.fixture(scope="module")
def view(registry, tmp_path_factory):
    grid = [{"name": "constant", "grid": {"factor": [0.5, 1.0]}}, "stumps"]
    folder = tmp_path_factory.mktemp("parted")
    return run(registry, folder, algorithms=grid, datasets=[NAME, "square"], splits=SETS)


def test_every_size_of_every_model_is_decomposed(view):
    messages = [(d.algorithm, d.params.get("factor"), d.about, d.reason) for d in view.diagnostics]
    assert messages == [
        *[("constant", factor, size, "") for factor in (0.5, 1.0) for size in ("10", "40")],
        *[("stumps", None, size, "") for size in ("10", "40")],
    ]


def test_parts_equal_those_of_known_models(view, registry):
    table = table_of(resolve(NAME, registry))
    f = table_of(resolve(f"{NAME},noise=0", registry)).y
    (cell,) = [c for c in view.cells if c.params.get("factor") == 0.5]
    for message in (d for d in view.diagnostics if d.params.get("factor") == 0.5):
        splits = [
            o.trial.split for o in cell.outcomes if o.trial.split.train_rows == int(message.about)
        ]
        parts = [split_rows(split, table, Task.REGRESSION) for split in splits]
        (test,) = {tuple(rows) for _, rows in parts}
        messages = [np.full(len(test), 0.5 * table.y[train].mean()) for train, _ in parts]
        rows = list(test)
        plain = squared_parts(messages, table.y[rows], f[rows], np.ones(len(rows)))
        results = {name: part["value"] for name, part in message.found["parts"].items()}
        assert results == {name: pytest.approx(value, rel=1e-9) for name, value in plain.items()}
        assert (message.found["sets"], message.found["rows"]) == (4, 40)
        # 4 × 10 rows fit into the 120 that are left, 4 × 40 do not
        assert message.found["apart"] == (message.about == "10")


def test_classes_are_decomposed_by_their_main_prediction(view):
    messages = [d for d in view.diagnostics if d.algorithm == "stumps"]
    assert {d.found["kind"] for d in messages} == {"0-1"}
    value = {name: part["value"] for name, part in messages[0].found["parts"].items()}
    assert value["error"] == pytest.approx(
        value["bias"] + value["unbiased_variance"] - value["biased_variance"]
    )


def test_folds_cannot_be_decomposed_and_the_reason_is_given(registry, tmp_path):
    result = run(registry, tmp_path, algorithms=["stumps"], datasets=["square"])
    (message,) = result.diagnostics
    assert message.reason == "it needs repeated training sets: [splits] training_sets"
