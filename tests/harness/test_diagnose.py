"""Tests of the diagnostics of a run: requested, computed and reused."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fake_runs import FOLDS, trial
from sized_duels import duel

from harness import Argument
from harness.analysis.build_view import view_run
from harness.config.diagnostics import Diagnostics
from harness.config.experiment import parse_experiment
from harness.core.errors import ConfigError
from harness.core.model import Split
from harness.core.progress import Progress
from harness.measurement import answers
from harness.measurement.diagnostics import KIND, Diagnosis, answered, questions
from harness.measurement.questions import Subject
from harness.planning.plan import Plan
from harness.plugins.registry import load_registry
from harness.runs.run import Request, plan_request, run_experiment
from harness.store import Store

PLUGIN = Path(__file__).resolve().parents[1] / "plugins" / "stump_ensemble.py"
EVERY = ["staged", "determinism", "scaling", "calibration"]
EVERY += ["importance", "agreement", "margins", "strength"]
SIZES = {"rows": [0.5, 1.0], "bins": [8, 64], "depth": [1, 3], "calls": 1}


def experiment_of(**table):
    data = {
        "name": "asked",
        "algorithms": ["stumps", "shaky"],
        "datasets": ["square"],
        "run": {"jobs": 1},
        "diagnostics": table,
    }
    return parse_experiment(data, "test")


def request_of(tmp_path, **table):
    files = (str(PLUGIN),)
    return Request(experiment_of(**table), plugin_files=files, results=tmp_path / "results")


@pytest.fixture(scope="module")
def registry():
    modules = ["harness.plugins.metrics", "harness.executors.local"]
    return load_registry([PLUGIN], modules=modules)


@pytest.fixture(scope="module")
def whole(registry, tmp_path_factory):
    """Return the request of a run with every diagnostic, and its view."""
    pair = [["stumps", "shaky"]]
    request = request_of(tmp_path_factory.mktemp("whole"), names=EVERY, pairs=pair, **SIZES)
    result = run_experiment(request, registry, Progress())
    with Store.open(request.results) as store:
        return request, view_run(store, result.run_id, registry)


@pytest.fixture(scope="module")
def diagnostics(whole):
    return {(d.name, d.algorithm, d.about): d for d in whole[1].diagnostics}


@pytest.mark.slow
def test_every_diagnostic_has_a_result(diagnostics):
    assert Counter(name for name, _, _ in diagnostics) == {
        **dict.fromkeys(EVERY, 2),
        "scaling": 6,
        "importance": 1,
        "agreement": 1,
    }
    reasons = [d.reason for d in diagnostics.values() if d.reason]
    assert reasons == ["it has no parameter for the depth to vary"] * 2
    assert all(d.sentence for d in diagnostics.values() if not d.reason)


def test_stages_are_scored_and_timed(diagnostics):
    result = diagnostics["staged", "stumps", ""].found
    assert result["stage"] == list(range(1, 13))
    assert result["rows"] == [60, 20]
    assert len(result["test"]) == len(result["train"]) == len(result["seconds"]) == 12
    assert all(s > 0 for s in result["seconds"])


def test_last_stage_equals_the_whole_model(whole, diagnostics):
    (cell,) = [c for c in whole[1].cells if c.algorithm == "stumps"]
    assert diagnostics["staged", "stumps", ""].found["test"][-1] == pytest.approx(
        cell.scores["log_loss"][0], abs=1e-12
    )


def test_thread_and_row_order_dependence_is_found(diagnostics):
    sides = {
        name: diagnostics["determinism", name, ""].found["checks"] for name in ("stumps", "shaky")
    }
    same = {name: {c["check"]: c["same"] for c in checks} for name, checks in sides.items()}
    assert same["stumps"] == {"seed": True, "threads": True, "rows": False}
    assert same["shaky"] == {"seed": True, "threads": False, "rows": False}
    threads = next(c for c in sides["shaky"] if c["check"] == "threads")["agreement"]
    assert (threads["most_ulps"], threads["dtype"]) == (1, "float64")


def test_sizes_are_the_training_sizes(diagnostics):
    assert sorted(diagnostics["scaling", "stumps", "rows"].found["x"]) == [30, 60]
    assert sorted(diagnostics["scaling", "stumps", "bins"].found["x"]) == [8, 64]


def test_depth_is_the_capacity_of_that_name(registry, tmp_path):
    plan = plan_request(request_of(tmp_path), registry)
    deep = replace(registry.algorithm("stumps"), capacity={"depth": Argument("levels")})
    evidence = SimpleNamespace(config=Diagnostics(depth=[2, 4]), algorithm=lambda _: deep)
    fits = answers._fits("depth", plan.jobs[0].trials[0], evidence, None)
    assert [(value, trial.params["levels"]) for value, trial, _ in fits] == [(2, 2), (4, 4)]


def test_two_stump_ensembles_agree(diagnostics):
    assert diagnostics["agreement", "stumps", ""].found["same"] == 1
    assert diagnostics["importance", "stumps", ""].found["kendall"] == 1
    assert diagnostics["agreement", "stumps", ""].reference == "shaky"


def test_members_are_taken_from_the_trees(diagnostics):
    assert diagnostics["strength", "stumps", ""].found["members"] == 12
    assert diagnostics["margins", "stumps", ""].found["train"]["rows"] == 60
    assert diagnostics["margins", "stumps", ""].found["test"]["rows"] == 20


def test_calibration_covers_every_test_row(diagnostics):
    assert diagnostics["calibration", "stumps", ""].found["rows"] == 20


def test_every_test_row_counts_once_with_several_seeds_and_sizes():
    folds = [trial("ours", "blobs", fold, seed) for seed in (0, 1) for fold in range(FOLDS)]
    assert Subject(None, tuple(folds)).every_row_once == folds[:FOLDS]
    sets = [Split("draw", 2, repeat=n, train_rows=rows) for rows in (10, 40) for n in (0, 1)]
    drawn = [trial("ours", "blobs", 0, split=split) for split in sets]
    assert Subject(None, tuple(drawn)).every_row_once == drawn[:1]


def test_artifacts_are_stored_only_if_needed(whole, registry, tmp_path):
    (outcome,) = next(c for c in whole[1].cells if c.algorithm == "stumps").outcomes
    assert {"staged", "members", "trees", "predictions"} <= set(outcome.arrays)
    request = request_of(tmp_path)
    result = run_experiment(request, registry, Progress())
    with Store.open(request.results) as store:
        kept = {name for o, _ in store.outcomes(result.run_id) for name in o.arrays}
        assert kept == {"predictions", "classes"}
        assert store.events(result.run_id) == []


def test_stored_answers_are_reused_without_any_fit(whole, registry, monkeypatch):
    request, view = whole

    def refuse(*_):
        raise AssertionError("nothing needs to be fitted")

    monkeypatch.setattr("harness.measurement.diagnostics.probe", refuse)
    monkeypatch.setattr("harness.execution.supervisor.Supervisor.supervise", refuse)
    result = run_experiment(request, registry, Progress())
    with Store.open(request.results) as store:
        assert view_run(store, result.run_id, registry).diagnostics == view.diagnostics


def test_missing_answer_is_computed_again():
    ids = {"id": "a", "reason": ""}, {"id": "b", "reason": "it failed"}
    assert answered(ids).keys() == {"a"}


def test_impossible_diagnostic_gives_the_reason(whole, registry):
    request = replace(
        whole[0], experiment=experiment_of(names=["scaling"], rows=[], threads=[1024])
    )
    result = run_experiment(request, registry, Progress())
    with Store.open(request.results) as store:
        events = [e["data"] for e in store.events(result.run_id) if e["kind"] == KIND]
    why = "a slope needs at least two sizes; threads were timed at 0"
    assert [(e["reason"], e["found"]) for e in events] == [(why, {})] * 2


def test_duels_of_several_sizes_are_fitted_automatically(registry, tmp_path):
    requested = Diagnostics(names=["scaling"], rows=[])
    with Store.open(tmp_path / "results", write=True) as store:
        run = store.begin_run("sized", {}, "", {}, [])
        for outcome in (duel(1000), duel(4000)):
            store.record_duel(run, outcome)
        Diagnosis(store, run, registry, Progress(), requested).carry_out(Plan())
        diagnostics = [e["data"] for e in store.events(run)]
    assert [(d["algorithm"], d["dataset"], d["about"]) for d in diagnostics] == [
        (name, "cloud", "rows of duels") for name in ("ours", "theirs")
    ]
    assert [d["found"]["slope"]["value"] for d in diagnostics] == pytest.approx([1, 1])


def test_unknown_name_in_a_pair_is_reported_before_anything_runs(registry, tmp_path):
    request = request_of(tmp_path, names=["agreement"], pairs=[["stumps", "shakey"]])
    with pytest.raises(ConfigError, match="did you mean 'shaky'"):
        run_experiment(request, registry, Progress())
    assert not Store.exists(request.results)


def test_globs_select_datasets(registry, tmp_path):
    request = request_of(tmp_path, names=["calibration"], datasets=["round*"])
    plan = plan_request(request, registry)
    assert questions(request.experiment.diagnostics, plan) == []


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"names": ["determinsm"]}, "Input should be 'staged'"),
        ({"nmaes": []}, "diagnostics.nmaes: unknown key 'nmaes': did you mean 'names'"),
        ({"rows": [0.0, 2.0]}, "diagnostics.rows.0"),
        ({"calls": 0}, "diagnostics.calls"),
    ],
)
def test_mistake_in_the_table_is_reported(tmp_path, table, message):
    with pytest.raises(ConfigError, match=message):
        request_of(tmp_path, **table)


def test_numpy_numbers_are_reported_as_plain_numbers(diagnostics):
    assert not any(
        isinstance(v, np.generic) for v in diagnostics["strength", "stumps", ""].found.values()
    )
